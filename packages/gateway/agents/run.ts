// `npm run test:agents`: real agents on the gateway, with a table at the end. The last line counts passed and failed tests.
import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findMissingClients, installClients } from "../../../test/install-clients.ts";
import { clientSizes } from "../../../test/pinned-clients.ts";
import { agentNames, describeAgent, selectAgents } from "./agents.ts";
import { selectionEnvironment } from "./selection.ts";
import { formatTable, type TableCell } from "./table.ts";

const root = join(import.meta.dirname, "..", "..", "..");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: "boolean", default: false }, only: { type: "string", short: "t" } },
});
const selection = { names: positionals, isLong: values.long };
const unknown = positionals.filter((name) => !agentNames.includes(name));
if (unknown.length > 0) {
  console.error(`unknown agent ${unknown.join(", ")}; choose from ${agentNames.join(", ")}`);
  process.exit(2);
}

const agents = selectAgents(selection);
await installAgents();
const { code, report } = await runTests();
const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
const cells = tests.flatMap(({ meta, status, duration = 0 }) =>
  meta.cell === undefined || status === "pending"
    ? []
    : [{ ...meta.cell, hasPassed: status === "passed", seconds: duration / 1000 }],
);
console.log(`\n${formatTable(agents, cells).join("\n")}\n`);
const passed = tests.filter(({ status }) => status === "passed").length;
// Files that fail to load, errors outside of tests and runs without tests have no failed test to count.
const failed =
  tests.filter(({ status }) => status === "failed").length || (code !== 0 || passed === 0 ? 1 : 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Prints what is downloaded before anything is. */
async function installAgents(): Promise<void> {
  console.log(`Agents: ${agents.map(describeAgent).join("; ")}`);
  const missing = await findMissingClients(agents.flatMap(({ set }) => set ?? []));
  if (missing.length === 0) return;
  const total = missing.reduce((sum, set) => sum + clientSizes[set].download, 0);
  const list = missing.map((set) => `${set} ${clientSizes[set].download} MB`);
  console.log(`Downloading once: ${list.join(", ")}; in total ${total} MB`);
  for (const set of missing) await installClients(set);
}

interface TestReport {
  testResults: {
    assertionResults: { status: string; duration?: number; meta: { cell?: TableCell } }[];
  }[];
}

async function runTests(): Promise<{ code: number | null; report: TestReport | undefined }> {
  const file = join(root, "artifacts", `agents-${process.pid}.json`);
  const child = spawn(
    process.execPath,
    [
      join(root, "scripts", "launch.cjs"),
      "vitest",
      "run",
      "agents/matrix",
      // A file without tests fails.
      ...(agents.some(({ name }) => name === "claude-code") ? ["agents/claude-code-session"] : []),
      "--config=vitest.clients.config.ts",
      "--project=agents",
      "--reporter=verbose",
      "--reporter=json",
      `--outputFile.json=${file}`,
      ...(values.only === undefined ? [] : ["-t", values.only]),
    ],
    { cwd: root, stdio: "inherit", env: { ...process.env, ...selectionEnvironment(selection) } },
  );
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const text = await readFile(file, "utf8").catch(() => undefined);
  await rm(file, { force: true });
  return { code, report: text === undefined ? undefined : (JSON.parse(text) as TestReport) };
}
