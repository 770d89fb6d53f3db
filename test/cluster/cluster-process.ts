import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { computeStateHash, type TaskView } from "@deltawire/tasks";
import { freePort } from "../free-port.ts";
import { root } from "../repository-files.ts";
import { waitUntil } from "./wait-until.ts";

export interface ClusterProcessOptions {
  name: string;
  /** The configuration file that all processes share. */
  configFile: string;
  /** The data folder of the process. */
  folder: string;
  env: Readonly<Record<string, string>>;
  /** How far the clock of the process is ahead. Default: 0. */
  clockShiftMs?: number;
  /** Sent with all requests, if given. */
  token?: string | undefined;
}

export interface JsonReply {
  status: number;
  headers: Headers;
  body: unknown;
}

/** A gateway in a separate process, as `deltawire` starts it. */
export class ClusterProcess {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly #options: ClusterProcessOptions;
  #child: ChildProcess | undefined;
  #log = "";

  private constructor(options: ClusterProcessOptions, port: number) {
    this.#options = options;
    this.name = options.name;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Creates a process with a free port. `start` starts it. */
  static async create(options: ClusterProcessOptions): Promise<ClusterProcess> {
    mkdirSync(options.folder, { recursive: true });
    return new ClusterProcess(options, await freePort());
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** The end of the output on standard error. */
  get log(): string {
    return this.#log;
  }

  /** Starts the process on its port. Resolves when it is ready for requests. */
  async start(): Promise<void> {
    this.spawn();
    await this.waitUntilReady();
  }

  spawn(): void {
    const { configFile, folder, env, clockShiftMs = 0 } = this.#options;
    const clock = pathToFileURL(join(import.meta.dirname, "shift-clock.ts")).href;
    const child = spawn(
      process.execPath,
      [
        "--conditions=@deltawire/source",
        ...(clockShiftMs === 0 ? [] : ["--import", clock]),
        join(root, "packages", "gateway", "src", "main.ts"),
        "--config",
        configFile,
        "--data",
        folder,
        "--port",
        String(this.port),
        "--json",
      ],
      {
        cwd: folder,
        stdio: ["ignore", "ignore", "pipe"],
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: folder,
          NODE_COMPILE_CACHE: join(folder, "..", "compile-cache"),
          CLOCK_SHIFT_MS: String(clockShiftMs),
          ...env,
        },
      },
    );
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#log = (this.#log + text).slice(-maxLogLength);
    });
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined;
    });
  }

  /** Resolves when `GET /readyz` replies with 200. */
  async waitUntilReady(timeoutMs = 30_000): Promise<void> {
    await waitUntil(
      `${this.name} is ready`,
      async () => {
        if (!this.isRunning) throw new Error(`${this.name} ended:\n${this.#log}`);
        return (await this.request("/readyz")).status === 200;
      },
      timeoutMs,
    );
  }

  /** Ends the process with a signal. Resolves when it has exited. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }

  /** Stops the process where it is. Its connections stay open. */
  suspend(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  /** Continues a suspended process. */
  resume(): void {
    process.kill(this.pid, "SIGCONT");
  }

  /** Sends a GET, or a POST if there is a body. */
  request(path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    const { token } = this.#options;
    return fetch(`${this.url}${path}`, {
      signal: AbortSignal.timeout(requestTimeoutMs),
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  }

  async requestJson(
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<JsonReply> {
    const response = await this.request(path, body, headers);
    const text = await response.text();
    const { status, headers: replyHeaders } = response;
    return { status, headers: replyHeaders, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** Like `requestJson`. Rejects if the status is not 2xx. */
  async fetchJson<Body>(path: string, body?: object): Promise<Body> {
    const reply = await this.requestJson(path, body);
    if (reply.status >= 300)
      throw new Error(
        `${this.name}: ${path} replied ${reply.status}: ${JSON.stringify(reply.body)}`,
      );
    return reply.body as Body;
  }

  /** Starts a task of the agent `worker` and returns its id. */
  async startTask(input: string, extraFields: object = {}): Promise<string> {
    const body = { agent: "worker", input, ...extraFields };
    return (await this.fetchJson<{ task_id: string }>("/api/tasks", body)).task_id;
  }

  readTask(taskId: string): Promise<TaskView> {
    return this.fetchJson(`/api/tasks/${taskId}`);
  }

  async readStateHash(taskId: string): Promise<string> {
    return computeStateHash(await this.readTask(taskId));
  }

  /** Waits until an approval of the task is pending, and returns its id. */
  waitForApproval(taskId: string): Promise<string> {
    return waitUntil(`${this.name} lists an approval of ${taskId}`, async () => {
      const { data } = await this.fetchJson<ApprovalList>("/api/approvals");
      return data.find(({ root_task_id }) => root_task_id === taskId)?.approval.approval_id;
    });
  }

  decide(approvalId: string, decision: "approve" | "deny" = "approve"): Promise<JsonReply> {
    return this.requestJson(`/api/approvals/${approvalId}`, { decision, scope: "once" });
  }

  sendInput(taskId: string, input: string): Promise<JsonReply> {
    return this.requestJson(`/api/tasks/${taskId}/input`, { input, delivery: "steer" });
  }

  cancel(taskId: string): Promise<JsonReply> {
    return this.requestJson(`/api/tasks/${taskId}/cancel`, {});
  }

  waitForStatus(taskId: string, status: TaskView["status"], timeoutMs?: number): Promise<TaskView> {
    return waitUntil(
      `${this.name} shows ${taskId} as ${status}`,
      async () => {
        const view = await this.readTask(taskId);
        return view.status === status ? view : undefined;
      },
      timeoutMs,
    );
  }
}

interface ApprovalList {
  data: { approval: { approval_id: string }; root_task_id: string }[];
}

const maxLogLength = 100_000;
const requestTimeoutMs = 20_000;
