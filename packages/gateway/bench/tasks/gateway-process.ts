import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MemoryUsage } from "../../check/measured-gateway.ts";
import {
  waitForMessage,
  type StartedProcess,
  type BenchEnvironment,
} from "../../../../bench/processes.ts";

/** A real gateway in a separate process, with its store in a file, and a scripted model in another process. */
export interface GatewayProcess {
  url: string;
  started: StartedProcess;
}

export async function startModel(environment: BenchEnvironment): Promise<number> {
  const started = environment.start("model", buildNodeArguments("model.ts"), { ipc: true });
  const { port } = (await waitForMessage(started)) as { port: number };
  return port;
}

export async function startGatewayProcess(
  environment: BenchEnvironment,
  name: string,
  modelPort: number,
): Promise<GatewayProcess> {
  const program = buildNodeArguments("../../check/measured-gateway.ts");
  const started = environment.start(name, program, { ipc: true });
  const toml = buildConfig(join(environment.folder, `${name}.db`), environment.folder, modelPort);
  started.child.send({ toml });
  const { url } = (await waitForMessage(started)) as { url: string };
  return { url, started };
}

export async function startBaseline(
  environment: BenchEnvironment,
  ...logFile: [] | [string]
): Promise<GatewayProcess> {
  const started = environment.start("bare", buildNodeArguments("baseline-server.ts", ...logFile), {
    ipc: true,
  });
  const { url } = (await waitForMessage(started)) as { url: string };
  return { url, started };
}

/** Measures the memory of a server after a garbage collection. */
export async function measureMemoryOf({ started }: GatewayProcess): Promise<MemoryUsage> {
  const answer = waitForMessage(started);
  started.child.send("measure");
  return ((await answer) as { held: MemoryUsage }).held;
}

export function buildNodeArguments(file: string, ...args: readonly string[]): string[] {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return [process.execPath, "--conditions=@deltawire/source", "--expose-gc", path, ...args];
}

function buildConfig(store: string, folder: string, modelPort: number): string {
  return `[server]
port = 0

[store]
path = "${store}"

[upstreams.up]
base_url = "http://127.0.0.1:${modelPort}/v1"
speaks = "chat"
api_key = "bench-key-0123456789"

[tools.shell]
folder = "${folder}"

${[...scriptedModels, "ask"]
  .map(
    (model) => `[agents.${model}]
model = "up/${model}"
tool_groups = ["${model === "ask" ? "shell" : "time"}"]
context_window = 100000000
`,
  )
  .join("\n")}`;
}

/** Agents by number of rounds, and deltas per round. */
const scriptedModels = ["talk-5-2000", "talk-5-4000", "talk-10-9990"] as const;
export type ScriptedModel = (typeof scriptedModels)[number];

export function countDeltas(modelName: ScriptedModel): number {
  const [, rounds, deltas] = modelName.split("-");
  return Number(rounds) * Number(deltas);
}
