/*
 * npm run check:quirks [-- FOLDER [--only ID,…] [--seed N] [--once]]
 * Plays a catalog of what providers send and reject (quirks.json, its upstream.mjs and its run.mjs) through a gateway:
 * with the generic profile, in order; then through a new one in random order, 20 at a time; then the optional cases, with
 * flags that enable their repairs. Prints what failed, and a summary.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { createSeededRandom } from "../../../test/seeded-random.ts";
import { upstreamToml } from "../test/test-gateway.ts";
import { freePort } from "../../../test/free-port.ts";
import { startQuietGateway } from "./quiet-gateway.ts";

interface Quirk {
  id: string;
  optional?: boolean;
  wire?: unknown;
  rule?: string | null;
}

/** A line of the output of run.mjs. */
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
const folderArgument = positionals[0];
const folder =
  folderArgument === undefined
    ? resolve("../shared/quirks")
    : resolve(process.env["INIT_CWD"] ?? ".", folderArgument);
for (const file of ["quirks.json", "upstream.mjs", "run.mjs"])
  if (!existsSync(join(folder, file))) {
    console.error(`${join(folder, file)} does not exist.\nUsage: npm run check:quirks -- FOLDER`);
    process.exit(2);
  }

const concurrency = 20;
const catalog = JSON.parse(readFileSync(join(folder, "quirks.json"), "utf8")) as {
  quirks: Quirk[];
};
const onlyIds = values.only?.split(",");
const playable = catalog.quirks.filter(
  ({ id, wire, rule }) => (wire || rule) && onlyIds?.includes(id) !== false,
);
const optional = playable.filter((quirk) => quirk.optional === true).map(({ id }) => id);
const others = playable.filter((quirk) => quirk.optional !== true).map(({ id }) => id);

/** The flags with which an optional case is repaired. They are tried separately, because some exclude each other. */
const variants = {
  leaks: 'leaked_calls = ["hermes", "qwen-xml", "kimi"]',
  think: "starts_inside_think = true",
  schema: 'schema_dialect = "moonshot"',
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
  if (others.length > 0) await runInOrder();
  if (others.length > 0 && !values.once) await runInRandomOrder();
  if (optional.length > 0) await runOptionalCases();
} finally {
  upstream.kill();
  rmSync(outputs, { recursive: true, force: true });
}
if (passed + failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runInOrder(): Promise<void> {
  const gateway = await start();
  const startedAt = performance.now();
  printRows("in order", await run(gateway.url, others, "up/"), startedAt);
  await gateway.close();
}

async function runInRandomOrder(): Promise<void> {
  const seed = Number(values.seed);
  const random = createSeededRandom(seed);
  const queue = others
    .map((id) => ({ id, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ id }) => id);
  const gateway = await start();
  const startedAt = performance.now();
  const rows: Row[] = [];
  const runNextCases = async (): Promise<void> => {
    for (let id = queue.shift(); id !== undefined; id = queue.shift())
      rows.push(...(await run(gateway.url, [id], "up/")));
  };
  await Promise.all(Array.from({ length: concurrency }, runNextCases));
  printRows(`in random order (--seed ${seed}), ${concurrency} at a time`, rows, startedAt);
  await gateway.close();
}

/** A case passes if any of the flags makes it pass. */
async function runOptionalCases(): Promise<void> {
  const gateway = await start();
  const startedAt = performance.now();
  const results: Row[] = [];
  for (const name of Object.keys(variants))
    results.push(...(await run(gateway.url, optional, `${name}/`)));
  const rows = optional.flatMap((id) => {
    const attempts = results.filter((row) => row.id === id);
    return attempts.find(({ result }) => result === "ok") ?? attempts.slice(0, 1);
  });
  printRows("optional cases, with flags", rows, startedAt);
  await gateway.close();
}

async function start() {
  const base = `http://127.0.0.1:${port}/v1`;
  const flaggedUpstreams = Object.entries(variants).map(
    ([name, flags]) => `${upstreamToml(name, base)}[upstreams.${name}.flags]\n${flags}\n`,
  );
  return startQuietGateway(
    [
      upstreamToml("up", base),
      upstreamToml("upresp", base, { speaks: "responses" }),
      ...flaggedUpstreams,
    ].join(""),
  );
}

/** Runs the catalog's own runner on some of its cases. */
async function run(url: string, ids: readonly string[], prefix: string): Promise<Row[]> {
  const outputFile = join(outputs, `${Math.random()}.json`);
  const worker = new Worker(join(folder, "run.mjs"), {
    argv: ["--base", `${url}/v1`, "--out", outputFile, "--only", ids.join(",")].concat([
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
  await Promise.race([once(worker, "exit"), sleep(120_000, undefined, { ref: false })]);
  await worker.terminate();
  if (!existsSync(outputFile))
    return ids.map((id) => ({ id, result: "FAIL", fails: ["run.mjs failed"] }));
  return (JSON.parse(readFileSync(outputFile, "utf8")) as { rows: Row[] }).rows;
}

function printRows(label: string, rows: readonly Row[], startedAt: number): void {
  const failedRows = rows.filter(({ result }) => result !== "ok");
  passed += rows.length - failedRows.length;
  failed += failedRows.length;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${label}: ${rows.length - failedRows.length} of ${rows.length} in ${seconds} s`);
  for (const { id, result, fails = [], shape = [] } of failedRows)
    console.log(`FAILED ${id}: ${[result, ...fails, ...new Set(shape)].join(" | ")}`);
}
