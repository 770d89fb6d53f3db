// `npm test`: every check of the repository. The last line says how many passed and failed; a
// check counts as one, each test of vitest counts by itself.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

type Outcome = { passed: number; failed: number; note: string; output: string };
type Ended = { code: number | null; output: string };

const launcher = join(import.meta.dirname, "launch.cjs");
const running = new Set<ChildProcess>();
const total = { passed: 0, failed: 0 };

const attackOptions = ["--quick", "--seed", "1", "--minutes", "1", "--requests", "10000"];

let stopping = false;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    stopping = true;
    for (const child of running) child.kill(signal);
    const leave = () => running.size === 0 && process.kill(process.pid, signal);
    for (const child of running) child.once("close", () => setImmediate(leave));
    leave();
  });
}

// Two lanes fill two cores: vitest takes about as long as everything else together.
await Promise.all([
  step("tests", () => vitest()),
  (async () => {
    await step("format", () => check("oxfmt", "--check"));
    await step("lint", () => check("oxlint"));
    await step("types", () => check("tsc", "-b"));
    await step("unused", () => check("knip"));
  })(),
]);

// Real clients start processes of their own and fill both cores. The first run fetches them, with their types.
await step("clients", () => vitest("--config", "vitest.clients.config.ts", "--project", "clients"));
// Alone, as it measures nothing but waits for a browser that draws.
await step("page", () => vitest("--config", "vitest.clients.config.ts", "--project", "page"));
// Its gateway is measured in processor time, but has enough to do alone.
await step("attack", () => attack());
await step("typed", () => check("tsc", "-p", "packages/gateway/clients"));

// Recordings of real providers belong to others and are not in the repository.
if (!existsSync(join(import.meta.dirname, "..", "..", "shared")))
  console.log(
    "Not here: ../shared. Its recordings, quirks and vectors were not played, only our own cases.",
  );
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

async function step(name: string, work: () => Promise<Outcome>): Promise<void> {
  const began = performance.now();
  const { passed, failed, note, output } = await work();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  if (failed > 0) console.log(output.trim());
  console.log(`${failed > 0 ? "FAIL" : "ok  "} ${name.padEnd(8)}${seconds.padStart(5)} s${note}`);
  total.passed += passed;
  total.failed += failed;
}

async function check(tool: string, ...args: string[]): Promise<Outcome> {
  const { code, output } = await launch(tool, ...args);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, note: "", output };
}

async function attack(): Promise<Outcome> {
  const outcome = await check("packages/gateway/check/attack.ts", ...attackOptions);
  const [, attacks = "0"] = /(\d+) passed, \d+ failed\s*$/.exec(outcome.output) ?? [];
  return { ...outcome, note: `, ${attacks} attacks withstood` };
}

async function vitest(...options: string[]): Promise<Outcome> {
  const file = join(import.meta.dirname, "..", "artifacts", `vitest-${process.pid}.json`);
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { code, output } = await launch("vitest", ...args, ...options);
  const report = await readFile(file, "utf8").catch(() => undefined);
  await rm(file, { force: true });
  return countTests(report, code, output);
}

function countTests(report: string | undefined, code: number | null, output: string): Outcome {
  if (report === undefined) {
    return { passed: 0, failed: 1, note: `, no report (exit code ${code})`, output };
  }
  const counts = JSON.parse(report) as Record<string, number>;
  const { numPassedTests: passed = 0, numFailedTests = 0 } = counts;
  const { numPendingTests = 0, numTodoTests = 0 } = counts;
  const skipped = numPendingTests + numTodoTests;
  const note = `, ${passed} passed${skipped > 0 ? `, ${skipped} SKIPPED` : ""}`;
  // A file that cannot be loaded, an error outside of any test and a run without tests have no
  // failed test to count.
  const failed = numFailedTests || (code !== 0 || passed === 0 ? 1 : 0);
  return { passed, failed, note, output };
}

function launch(...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    if (stopping) return;
    const child = spawn(process.execPath, [launcher, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined },
    });
    running.add(child);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", reject);
    child.on("close", (code) => {
      running.delete(child);
      if (!stopping) resolve({ code, output });
    });
  });
}
