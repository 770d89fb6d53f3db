import { once } from "node:events";
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { openStore, type Store } from "@deltawire/store";
import {
  emptyTree,
  Reducer,
  snapshotToTree,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";
import { afterEach } from "vitest";
import { parseConfig } from "../src/config/parse-config.ts";
import { routes, type RouteName } from "../src/http/routes.ts";
import { createTaskHandlers } from "../src/http/serve-tasks.ts";
import { createHttpServer } from "../src/http/server.ts";
import { createLog } from "../src/log.ts";
import { Redactor } from "@deltawire/agent";
import { EventStreams } from "../src/tasks/streams/event-streams.ts";
import { TaskService } from "../src/tasks/task-service.ts";
import type { TaskRuntime } from "../src/tasks/task-runtime.ts";
import { ScriptedTasks } from "./scripted-tasks.ts";

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

export interface TaskServerFixture<Tasks extends TaskRuntime = ScriptedTasks> {
  url: string;
  tasks: Tasks;
  store: Store;
  service: TaskService;
  streams: EventStreams;
  /** The server's side of all connections. */
  sockets: Set<Socket>;
  lines: string[];
  post: (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
}

export interface TaskServerOptions {
  toml?: string;
  tickMs?: number;
  firstPruneDelayMs?: number;
  pruneIntervalMs?: number;
}

/** A real server with scripted tasks and a real store. */
export async function taskServerFixture(
  options: TaskServerOptions = {},
): Promise<TaskServerFixture> {
  const store = await openStore({ path: ":memory:" });
  const fixture = await startTaskServer(new ScriptedTasks(store), store, options);
  fixture.tasks.onStatus = (id, state) => void fixture.service.saveEnd(id, state);
  return fixture;
}

export async function startTaskServer<Tasks extends TaskRuntime>(
  tasks: Tasks,
  store: Store,
  { toml = "[server]\nport = 0\ndemo = true\n", tickMs, ...pruning }: TaskServerOptions = {},
): Promise<TaskServerFixture<Tasks>> {
  const config = parseConfig(toml, { file: "deltawire.toml", env: {} });
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) }, new Redactor([]));
  const service = new TaskService({
    runtime: tasks,
    records: store,
    onFailure: (message, cause) => lines.push(`${message}: ${String(cause)}`),
    ...pruning,
  });
  const streams = new EventStreams(service, { tickMs });
  const unused = routes.map(({ name }): [RouteName, () => void] => [name, () => undefined]);
  const other = Object.fromEntries(unused) as Record<RouteName, () => void>;
  const handlers = { ...other, ...createTaskHandlers({ tasks: service, streams }) };
  const http = createHttpServer({ config: config.server, handlers, log });
  const sockets = new Set<Socket>();
  http.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const url = `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`;
  closers.push(async () => {
    const drained = http.drain();
    http.abortRequests();
    await drained;
    service.close();
    await store.close();
  });
  return {
    url,
    tasks,
    store,
    service,
    streams,
    sockets,
    lines,
    post: (path, body, headers = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
  };
}

export interface StreamFrame<Event = TaskEvent | StreamEvent> {
  id: string | undefined;
  event: Event;
}

/** A client that reads a stream frame by frame. */
export class TestStream<Event extends { type: string } = TaskEvent | StreamEvent> {
  readonly frames: StreamFrame<Event>[] = [];
  status = 0;
  headers: IncomingMessage["headers"] = {};
  ended = false;
  reply: IncomingMessage | undefined;
  readonly #request: ClientRequest;
  readonly #decoder = new SseDecoder({
    utf8: new TextDecoder(),
    maxEventLength: Infinity,
  });
  #wake: () => void = () => undefined;

  constructor(
    url: string,
    {
      headers = {},
      method = "GET",
      body,
    }: { headers?: object; method?: string; body?: string } = {},
  ) {
    this.#request = request(url, { agent: false, method, headers: { ...headers } });
    this.#request.on("error", () => this.#end());
    this.#request.on("response", (reply) => {
      this.reply = reply;
      this.status = reply.statusCode ?? 0;
      this.headers = reply.headers;
      reply.on("data", (bytes: Buffer) => this.#read(bytes));
      reply.on("error", () => undefined);
      reply.on("close", () => this.#end());
      this.#wake();
    });
    this.#request.end(body);
    closers.push(() => this.disconnect());
  }

  get types(): string[] {
    return this.frames.map(({ event }) => event.type);
  }

  get lastId(): string | undefined {
    return this.frames.findLast(({ id }) => id !== undefined)?.id;
  }

  /** Fails after thirty seconds, or if the stream ends without it. */
  async waitUntil(what: string, condition: (stream: this) => boolean): Promise<void> {
    const limit = Date.now() + 30_000;
    while (!condition(this)) {
      const last = this.types.slice(-10).join(" ");
      if (this.ended) throw new Error(`the stream ended without ${what}: ${last}`);
      if (Date.now() > limit) throw new Error(`never came: ${what}; the last: ${last}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 50);
      });
    }
  }

  async waitUntilEnd(): Promise<void> {
    const limit = Date.now() + 30_000;
    while (!this.ended) {
      if (Date.now() > limit) throw new Error("the stream never ended");
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  pause(): void {
    this.reply?.pause();
  }

  resume(): void {
    this.reply?.resume();
  }

  disconnect(): void {
    this.#request.destroy();
  }

  #read(bytes: Buffer): void {
    const events: SseEvent[] = [];
    this.#decoder.push(bytes, events);
    for (const { data, id } of events) this.frames.push({ id, event: JSON.parse(data) as Event });
    this.#wake();
  }

  #end(): void {
    this.ended = true;
    this.#wake();
  }
}

/** Reduces frames as a client does. Throws if an event is missing. */
export function reduceFrames(frames: readonly StreamFrame[], from: TaskTree = emptyTree): TaskTree {
  let reducer = new Reducer(from);
  for (const { event } of frames) {
    if (event.type === "task.snapshot") reducer = new Reducer(snapshotToTree(event));
    else if ("sequence_number" in event) reducer.apply(event);
  }
  return reducer.state;
}

/** The state hash in the last event that has one. */
export function lastStateHash({ frames }: TestStream): string | undefined {
  const event = frames.at(-1)?.event;
  return event !== undefined && "state_hash" in event ? event.state_hash : undefined;
}
