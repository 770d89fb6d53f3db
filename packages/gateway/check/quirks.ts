/*
 * npm run check:quirks [-- FOLDER [--only ID,…] [--seed N] [--once]]
 * Plays a catalogue of what providers send and refuse (quirks.json, its upstream.mjs and its run.mjs) through a gateway:
 * with the generic profile, in order; then through a fresh one in random order, 20 at a time; then those that are a matter
 * of taste, with flags that switch their repairs on. Names what failed; the last line counts.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { chanceFrom } from "../../../test/seeded-random.ts";
import { upstreamToml } from "../test/running-gateway.ts";
import { freePort } from "../../../test/free-port.ts";
import { checkedGateway } from "./checked-gateway.ts";

interface Quirk {
  id: string;
  optional?: boolean;
  wire?: unknown;
  rule?: string | null;
}

/** A line of what run.mjs writes. */
interface Row {
  id: string;
  result: "ok" | "shape" | "FAIL" | "n/a";
  fails?: string[];
  shape?: string[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    once: { type: "boolean", default: false },
  },
});
const given = positionals[0];
const folder =
  given === undefined
    ? resolve("../shared/quirks")
    : resolve(process.env["INIT_CWD"] ?? ".", given);
for (const file of ["quirks.json", "upstream.mjs", "run.mjs"])
  if (!existsSync(join(folder, file))) {
    console.error(`${join(folder, file)} does not exist.\nUsage: npm run check:quirks -- FOLDER`);
    process.exit(2);
  }

const atOnce = 20;
const catalogue = JSON.parse(readFileSync(join(folder, "quirks.json"), "utf8")) as {
  quirks: Quirk[];
};
const asked = values.only?.split(",");
const playable = catalogue.quirks.filter(
  ({ id, wire, rule }) => (wire || rule) && asked?.includes(id) !== false,
);
const optional = playable.filter((quirk) => quirk.optional === true).map(({ id }) => id);
const others = playable.filter((quirk) => quirk.optional !== true).map(({ id }) => id);

/** Under which flags a matter of taste is repaired; each by itself, for some exclude each other. */
const tastes = {
  leaks: 'leaked_calls = ["hermes", "qwen-xml", "kimi"]',
  think: "starts_inside_think = true",
  schema: 'schema_flavour = "moonshot"',
};

const port = await freePort();
const outputs = mkdtempSync(join(tmpdir(), "deltawire-quirks-"));
const upstream = spawn(process.execPath, [join(folder, "upstream.mjs")], {
  env: { PORT: String(port), PATH: process.env["PATH"] },
  stdio: ["ignore", "pipe", "inherit"],
});
let passed = 0;
let failed = 0;
try {
  await once(upstream.stdout, "data");
  if (others.length > 0) await inOrder();
  if (others.length > 0 && !values.once) await inRandomOrder();
  if (optional.length > 0) await withFlags();
} finally {
  upstream.kill();
  rmSync(outputs, { recursive: true, force: true });
}
if (passed + failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function inOrder(): Promise<void> {
  const gateway = await start();
  const began = performance.now();
  tell("in order", await run(gateway.url, others, "up/"), began);
  await gateway.close();
}

async function inRandomOrder(): Promise<void> {
  const seed = Number(values.seed);
  const chance = chanceFrom(seed);
  const waiting = others
    .map((id) => ({ id, place: chance() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ id }) => id);
  const gateway = await start();
  const began = performance.now();
  const rows: Row[] = [];
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift())
      rows.push(...(await run(gateway.url, [id], "up/")));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  tell(`in random order (--seed ${seed}), ${atOnce} at a time`, rows, began);
  await gateway.close();
}

/** A case passes if any of the flags makes it pass. */
async function withFlags(): Promise<void> {
  const gateway = await start();
  const began = performance.now();
  const tries: Row[] = [];
  for (const name of Object.keys(tastes))
    tries.push(...(await run(gateway.url, optional, `${name}/`)));
  const rows = optional.flatMap((id) => {
    const mine = tries.filter((row) => row.id === id);
    return mine.find(({ result }) => result === "ok") ?? mine.slice(0, 1);
  });
  tell("a matter of taste, with flags", rows, began);
  await gateway.close();
}

async function start() {
  const base = `http://127.0.0.1:${port}/v1`;
  const flagged = Object.entries(tastes).map(
    ([name, flags]) => `${upstreamToml(name, base)}[upstreams.${name}.flags]\n${flags}\n`,
  );
  return checkedGateway(
    [
      upstreamToml("up", base),
      upstreamToml("upresp", base, { speaks: "responses" }),
      ...flagged,
    ].join(""),
  );
}

/** The catalogue's own runner, on some of its cases. */
async function run(url: string, ids: readonly string[], prefix: string): Promise<Row[]> {
  const out = join(outputs, `${Math.random()}.json`);
  const worker = new Worker(join(folder, "run.mjs"), {
    argv: ["--base", `${url}/v1`, "--out", out, "--only", ids.join(",")].concat([
      "--name",
      "deltawire",
      "--prefix",
      prefix,
      "--resp-prefix",
      "upresp/",
    ]),
    stdout: true,
  });
  worker.stdout.resume();
  await Promise.race([once(worker, "exit"), after(120_000, undefined, { ref: false })]);
  await worker.terminate();
  if (!existsSync(out)) return ids.map((id) => ({ id, result: "FAIL", fails: ["run.mjs failed"] }));
  return (JSON.parse(readFileSync(out, "utf8")) as { rows: Row[] }).rows;
}

function tell(how: string, rows: readonly Row[], began: number): void {
  const bad = rows.filter(({ result }) => result !== "ok");
  passed += rows.length - bad.length;
  failed += bad.length;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`${how}: ${rows.length - bad.length} of ${rows.length} in ${seconds} s`);
  for (const { id, result, fails = [], shape = [] } of bad)
    console.log(`FAILED ${id}: ${[result, ...fails, ...new Set(shape)].join(" | ")}`);
}
