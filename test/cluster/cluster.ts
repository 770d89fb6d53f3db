import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startDemoServer } from "@deltawire/demo";
import type { Client } from "pg";
import { connectToPostgres, startPostgres, type PostgresServer } from "../postgres-server.ts";
import { startRedis, type RedisServer } from "../redis-server.ts";
import { ClusterProcess } from "./cluster-process.ts";
import { startLedger, type Ledger } from "./ledger.ts";
import { startModelProxy, type ModelProxy } from "./model-proxy.ts";
import { waitUntil } from "./wait-until.ts";

export interface ClusterOptions {
  /** How many gateways are started. */
  processes: number;
  /** Delay of the model between two words, in milliseconds. Default: 2. */
  paceMs?: number;
  /** Returns how long a tool takes, in milliseconds. Default: 0. */
  getToolDelayMs?: () => number;
  /** Starts a Redis server that all gateways use. Default: false. */
  redis?: boolean;
  /** A token that the gateways require. Default: none. */
  token?: string;
  /** Lines that are appended to the configuration. */
  toml?: string;
}

export interface AddProcessOptions {
  name?: string;
  /** The port on which the process reaches PostgreSQL. Default: the port of the server. */
  postgresPort?: number;
  clockShiftMs?: number;
}

/** Gateways in separate processes, with a PostgreSQL server, a model and a tool server that all of them use. */
export class Cluster {
  readonly folder: string;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer | undefined;
  readonly model: ModelProxy;
  readonly ledger: Ledger;
  readonly processes: ClusterProcess[] = [];
  readonly #configFile: string;
  readonly #token: string | undefined;
  readonly #closeModel: () => Promise<void>;
  #database: Client | undefined;

  private constructor(
    parts: Pick<Cluster, "folder" | "postgres" | "redis" | "model" | "ledger">,
    configFile: string,
    token: string | undefined,
    closeModel: () => Promise<void>,
  ) {
    this.folder = parts.folder;
    this.postgres = parts.postgres;
    this.redis = parts.redis;
    this.model = parts.model;
    this.ledger = parts.ledger;
    this.#configFile = configFile;
    this.#token = token;
    this.#closeModel = closeModel;
  }

  static async start({
    processes,
    paceMs = 2,
    redis: hasRedis = false,
    getToolDelayMs,
    token,
    toml = "",
  }: ClusterOptions): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), "deltawire-cluster-"));
    const postgres = await startPostgres();
    const redis = hasRedis ? await startRedis() : undefined;
    const demo = await startDemoServer({ paceMs });
    const model = await startModelProxy(demo.url);
    const ledger = await startLedger(getToolDelayMs);
    const configFile = join(folder, "deltawire.toml");
    const bus = redis === undefined ? "" : `[bus]\nurl = "${redis.url}"\n`;
    writeFileSync(configFile, buildConfig(model.url, ledger.url, token) + bus + toml);
    const parts = { folder, postgres, redis, model, ledger };
    const cluster = new Cluster(parts, configFile, token, () => demo.close());
    try {
      await createRole(postgres);
      for (let count = 0; count < processes; count += 1) await cluster.addProcess();
      await Promise.all(cluster.processes.map((process) => process.start()));
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** Adds a process without starting it. */
  async addProcess({
    name = `gateway-${this.processes.length + 1}`,
    postgresPort,
    clockShiftMs = 0,
  }: AddProcessOptions = {}): Promise<ClusterProcess> {
    const url = new URL(this.postgres.url);
    url.username = roleName;
    if (postgresPort !== undefined) url.port = String(postgresPort);
    const process = await ClusterProcess.create({
      name,
      configFile: this.#configFile,
      folder: join(this.folder, name),
      env: { DATABASE_URL: url.href },
      clockShiftMs,
      token: this.#token,
    });
    this.processes.push(process);
    return process;
  }

  /** Returns the process at an index. Throws if there is none. */
  process(index: number): ClusterProcess {
    const process = this.processes[index];
    if (process === undefined) throw new Error(`the cluster has no process ${index}`);
    return process;
  }

  /** Runs a statement as the owner of the server. */
  async query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    this.#database ??= await this.#connect();
    const { rows } = await this.#database.query(sql, [...values]);
    return rows as Row[];
  }

  /** Returns the id of the process that holds a task, and the epoch. Undefined if the task is not in the store. */
  async readLease(taskId: string): Promise<{ holder: string | null; epoch: number } | undefined> {
    const [row] = await this.query<{ holder: string | null; epoch: string | number }>(
      `SELECT holder, epoch FROM ${schemaName}.tasks WHERE task_id = $1`,
      [taskId],
    );
    return row && { holder: row.holder, epoch: Number(row.epoch) };
  }

  /** Resolves with the elapsed time when another process has claimed the task. */
  async waitForTakeover(taskId: string, epoch: number, timeoutMs = takeoverMs): Promise<number> {
    const startedAt = performance.now();
    await waitUntil(
      `another process takes over ${taskId}`,
      async () => ((await this.readLease(taskId))?.epoch ?? 0) > epoch,
      timeoutMs,
    );
    return performance.now() - startedAt;
  }

  /** Resolves when the server accepts connections again. */
  async restartPostgres(): Promise<void> {
    await this.#disconnect();
    await this.postgres.restart();
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.end("SIGKILL")));
    await this.#disconnect();
    await this.ledger.close();
    await this.model.close();
    await this.#closeModel();
    await this.postgres.stop();
    await this.redis?.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #connect(): Promise<Client> {
    const client = await connectToPostgres(this.postgres.url);
    client.on("error", () => (this.#database = undefined));
    return client;
  }

  async #disconnect(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    await database?.end().catch(() => undefined);
  }
}

/** Another process must have taken over a task within this time. */
export const takeoverMs = 10_000;

/** The gateways connect as this user, which is not a superuser. */
export const roleName = "gateway";

const schemaName = "deltawire";

async function createRole({ url }: PostgresServer): Promise<void> {
  const owner = await connectToPostgres(url);
  await owner.query(`CREATE ROLE ${roleName} LOGIN`);
  await owner.query(`GRANT CREATE ON DATABASE postgres TO ${roleName}`);
  await owner.end();
}

function buildConfig(modelUrl: string, ledgerUrl: string, token: string | undefined): string {
  return `
[server]
tokens = ${JSON.stringify(token === undefined ? [] : [token])}
log_level = "warn"
drain_seconds = 5
[store]
url = "env:DATABASE_URL"
[upstreams.lab]
base_url = "${modelUrl}"
speaks = "chat"
[agents.worker]
model = "lab/clean"
instructions = "You keep the books."
tool_groups = ["ledger"]
agents = ["helper"]
[agents.helper]
model = "lab/clean"
description = "Keeps the books, too."
instructions = "You help."
tool_groups = ["ledger"]
[mcp.ledger]
url = "${ledgerUrl}"
[chats]
agent = "worker"
`;
}
