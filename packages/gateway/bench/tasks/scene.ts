import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Held } from "../../check/measured-gateway.ts";
import { nextMessage, type Started, type Workshop } from "../../../../bench/processes.ts";

/** A real gateway in a process of its own, with its log in a file, and a scripted model in another. */
export interface Scene {
  url: string;
  started: Started;
}

export async function startModel(workshop: Workshop): Promise<number> {
  const started = workshop.start("model", nodeFile("model.ts"), { ipc: true });
  const { port } = (await nextMessage(started)) as { port: number };
  return port;
}

export async function startScene(
  workshop: Workshop,
  name: string,
  modelPort: number,
): Promise<Scene> {
  const program = nodeFile("../../check/measured-gateway.ts");
  const started = workshop.start(name, program, { ipc: true });
  const toml = config(join(workshop.folder, `${name}.db`), workshop.folder, modelPort);
  started.child.send({ toml });
  const { url } = (await nextMessage(started)) as { url: string };
  return { url, started };
}

export async function startBare(workshop: Workshop, ...logFile: [] | [string]): Promise<Scene> {
  const started = workshop.start("bare", nodeFile("bare.ts", ...logFile), { ipc: true });
  const { url } = (await nextMessage(started)) as { url: string };
  return { url, started };
}

/** What a server holds after its garbage was collected. */
export async function heldBy({ started }: Scene): Promise<Held> {
  const answer = nextMessage(started);
  started.child.send("measure");
  return ((await answer) as { held: Held }).held;
}

export function nodeFile(file: string, ...args: readonly string[]): string[] {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return [process.execPath, "--conditions=@deltawire/source", "--expose-gc", path, ...args];
}

function config(store: string, folder: string, modelPort: number): string {
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

${[...talks, "ask"]
  .map(
    (model) => `[agents.${model}]
model = "up/${model}"
tool_groups = ["${model === "ask" ? "shell" : "time"}"]
context_window = 100000000
`,
  )
  .join("\n")}`;
}

/** Agents that speak: rounds and deltas a round. */
const talks = ["talk-5-2000", "talk-5-4000", "talk-10-9990"] as const;
export type Talk = (typeof talks)[number];

export function deltasOf(talk: Talk): number {
  const [, rounds, deltas] = talk.split("-");
  return Number(rounds) * Number(deltas);
}
