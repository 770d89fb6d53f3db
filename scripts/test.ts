// `npm test`: runs every check of the repository. The last line counts passed and failed checks; each vitest test
// counts as one.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

type StepResult = { passed: number; failed: number; note: string; output: string };
type ProcessResult = { code: number | null; output: string };

const launcher = join(import.meta.dirname, "launch.cjs");
const running = new Set<ChildProcess>();
const total = { passed: 0, failed: 0 };

const attackOptions = ["--quick", "--seed", "1", "--minutes", "1", "--requests", "10000"];

let isStopping = false;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    isStopping = true;
    for (const child of running) child.kill(signal);
    const exitWhenIdle = () => running.size === 0 && process.kill(process.pid, signal);
    for (const child of running) child.once("close", () => setImmediate(exitWhenIdle));
    exitWhenIdle();
  });
}

// Two lanes fill two cores: vitest takes about as long as everything else together.
await Promise.all([
  runStep("tests", () => runVitest()),
  (async () => {
    await runStep("format", () => runTool("oxfmt", "--check"));
    await runStep("lint", () => runTool("oxlint"));
    await runStep("types", () => runTool("tsc", "-b"));
    await runStep("unused", () => runTool("knip"));
  })(),
]);

// Real clients start their own processes and use both cores. The first run downloads them with their types.
await runStep("clients", () =>
  runVitest("--config", "vitest.clients.config.ts", "--project", "clients"),
);
// Not in parallel: it waits for a browser to render.
await runStep("page", () => runVitest("--config", "vitest.clients.config.ts", "--project", "page"));
// Not in parallel: processes must renew their leases in time.
await runStep("scale", () =>
  runVitest("--config", "vitest.clients.config.ts", "--project", "scale"),
);
// Not in parallel: it measures CPU time of a busy gateway.
await runStep("attack", () => runAttack());
await runStep("typed", () => runTool("tsc", "-p", "packages/gateway/clients"));

// The recordings of real providers are not part of the repository, because they are not ours to publish.
if (!existsSync(join(import.meta.dirname, "..", "..", "shared")))
  console.log(
    "../shared is missing, so its recordings, quirks and vectors were skipped. The cases of this repository ran.",
  );
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

async function runStep(name: string, run: () => Promise<StepResult>): Promise<void> {
  const startedAt = performance.now();
  const { passed, failed, note, output } = await run();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (failed > 0) console.log(output.trim());
  console.log(`${failed > 0 ? "FAIL" : "ok  "} ${name.padEnd(8)}${seconds.padStart(5)} s${note}`);
  total.passed += passed;
  total.failed += failed;
}

async function runTool(tool: string, ...args: string[]): Promise<StepResult> {
  const { code, output } = await launch(tool, ...args);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, note: "", output };
}

async function runAttack(): Promise<StepResult> {
  const outcome = await runTool("packages/gateway/check/attack.ts", ...attackOptions);
  const [, attacks = "0"] = /(\d+) passed, \d+ failed\s*$/.exec(outcome.output) ?? [];
  return { ...outcome, note: `, ${attacks} attacks survived` };
}

async function runVitest(...options: string[]): Promise<StepResult> {
  const file = join(import.meta.dirname, "..", "artifacts", `vitest-${process.pid}.json`);
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { code, output } = await launch("vitest", ...args, ...options);
  const report = await readFile(file, "utf8").catch(() => undefined);
  await rm(file, { force: true });
  return countTests(report, code, output);
}

function countTests(report: string | undefined, code: number | null, output: string): StepResult {
  if (report === undefined) {
    return { passed: 0, failed: 1, note: `, no report (exit code ${code})`, output };
  }
  const counts = JSON.parse(report) as Record<string, number>;
  const { numPassedTests: passed = 0, numFailedTests = 0 } = counts;
  const { numPendingTests = 0, numTodoTests = 0 } = counts;
  const skipped = numPendingTests + numTodoTests;
  const note = `, ${passed} passed${skipped > 0 ? `, ${skipped} SKIPPED` : ""}`;
  // Files that fail to load, errors outside of tests and runs without tests have no failed test to count.
  const failed = numFailedTests || (code !== 0 || passed === 0 ? 1 : 0);
  return { passed, failed, note, output };
}

function launch(...args: string[]): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    if (isStopping) return;
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
      if (!isStopping) resolve({ code, output });
    });
  });
}
