import { join } from "node:path";
import {
  waitForMessage,
  buildNodeCommand,
  type BenchEnvironment,
  type StartedProcess,
} from "../../../../bench/processes.ts";
import type { StreamOrder, StreamResult } from "./stream-clients.ts";

/** Where gateways store their tasks: in a file for one gateway, or in a database for several. */
export type ClusterStore = { path: string } | { url: string; redisUrl?: string | undefined };

/** Gateways in processes of their own, and the model and the clients in two others. */
export class MeasuredCluster {
  readonly gateways: readonly StartedProcess[];
  readonly urls: readonly string[];
  readonly #environment: BenchEnvironment;
  readonly #clients: StartedProcess;

  private constructor(
    environment: BenchEnvironment,
    parts: { gateways: StartedProcess[]; urls: string[]; clients: StartedProcess },
  ) {
    this.#environment = environment;
    this.gateways = parts.gateways;
    this.urls = parts.urls;
    this.#clients = parts.clients;
  }

  /** `agents` are names of models of `stamped-model.ts`. */
  static async start(
    environment: BenchEnvironment,
    options: {
      count: number;
      store: ClusterStore;
      modelPort: number;
      clients: StartedProcess;
      agents: readonly string[];
    },
  ): Promise<MeasuredCluster> {
    const gateways: StartedProcess[] = [];
    const urls: string[] = [];
    for (let index = 0; index < options.count; index += 1) {
      const name = `gateway-${index + 1}`;
      const program = buildNodeCommand(import.meta.resolve("../../check/measured-gateway.ts"));
      const started = environment.start(name, program, { ipc: true });
      started.child.send({ toml: buildConfig(options) });
      gateways.push(started);
      urls.push(((await waitForMessage(started)) as { url: string }).url);
    }
    return new MeasuredCluster(environment, { gateways, urls, clients: options.clients });
  }

  /** Starts tasks on all gateways in turn, and follows each on the same gateway or on the next one. */
  async stream(
    order: Pick<StreamOrder, "agent" | "streams" | "repeats"> & { isFollowedElsewhere: boolean },
  ): Promise<StreamResult> {
    const { isFollowedElsewhere, ...rest } = order;
    const startUrls = [...this.urls];
    const followUrls = isFollowedElsewhere
      ? [...startUrls.slice(1), ...startUrls.slice(0, 1)]
      : startUrls;
    const answer = waitForMessage(this.#clients);
    this.#clients.child.send({ ...rest, startUrls, followUrls } satisfies StreamOrder);
    return (await answer) as StreamResult;
  }

  async stop(): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => this.#environment.stop(gateway)));
  }
}

/** Starts the model. Resolves with its port. */
export async function startStampedModel(
  environment: BenchEnvironment,
): Promise<{ started: StartedProcess; port: number }> {
  const program = buildNodeCommand(import.meta.resolve("./stamped-model.ts"));
  const started = environment.start("model", program, { ipc: true });
  const { port } = (await waitForMessage(started)) as { port: number };
  return { started, port };
}

export async function startStreamClients(environment: BenchEnvironment): Promise<StartedProcess> {
  const program = buildNodeCommand(import.meta.resolve("./stream-clients.ts"));
  const started = environment.start("clients", program, { ipc: true });
  await waitForMessage(started);
  return started;
}

export function createSqliteStore(environment: BenchEnvironment, name: string): ClusterStore {
  return { path: join(environment.folder, `${name}.db`) };
}

function buildConfig({
  store,
  modelPort,
  agents,
}: {
  store: ClusterStore;
  modelPort: number;
  agents: readonly string[];
}): string {
  const storeLine = "path" in store ? `path = "${store.path}"` : `url = "${store.url}"`;
  const redisUrl = "url" in store ? store.redisUrl : undefined;
  return `[server]
port = 0
log_level = "error"

[store]
${storeLine}
${redisUrl === undefined ? "" : `[bus]\nurl = "${redisUrl}"`}

[upstreams.up]
base_url = "http://127.0.0.1:${modelPort}/v1"
speaks = "chat"
api_key = "bench-key-0123456789"
${agents
  .map(
    (model) => `
[agents.${model}]
model = "up/${model}"
context_window = 100000000
`,
  )
  .join("")}`;
}
