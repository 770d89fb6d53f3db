import { createHash } from "node:crypto";
import { request, type IncomingMessage } from "node:http";
import {
  Reducer,
  computeStateHash,
  buildTaskView,
  snapshotToTree,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

export interface FollowRequest {
  url: string;
  /** If set, a POST with this body; else a GET. */
  body?: object;
  accept?: string;
}

/** The result of following a task to its end. */
export interface FollowResult {
  /** Milliseconds from the request until the last event was reduced. */
  elapsed: number;
  /** Number of events, and of the SSE frames that contained them. */
  events: number;
  frames: number;
  snapshots: number;
  bytes: number;
  state: TaskTree;
}

/** Reads and reduces a stream. The state is checked after every read of the socket. */
export async function follow(
  requestOptions: FollowRequest,
  onBytes?: (bytes: Buffer) => void,
): Promise<FollowResult> {
  let reducer = new Reducer();
  const startedAt = performance.now();
  let [frames, snapshots, bytes] = [0, 0, 0];
  await readEvents(
    requestOptions,
    ({ data }) => {
      const event = JSON.parse(data) as TaskEvent | StreamEvent;
      frames += 1;
      if (event.type === "task.snapshot") {
        reducer = new Reducer(snapshotToTree(event, reducer.state));
        snapshots += 1;
      } else if ("sequence_number" in event) reducer.apply(event);
    },
    (read) => {
      bytes += read.length;
      onBytes?.(read);
      return reducer.state;
    },
  );
  const { state } = reducer;
  const elapsed = performance.now() - startedAt;
  return { elapsed, events: state.head + 1, frames, snapshots, bytes, state };
}

/** Checks that the task has ended and that the reduced state equals that of the server. */
export async function checkComplete({ state }: FollowResult, url: string): Promise<void> {
  const view = buildTaskView(state);
  if (view.status !== "completed")
    throw new Error(`${state.root_task_id} is ${view.status}: ${JSON.stringify(view.error)}`);
  const stored = await (await fetch(`${url}/api/tasks/${state.root_task_id}`)).json();
  const [here, there] = [view, stored as typeof view].map((state) =>
    computeStateHash(state, sha256),
  );
  if (here !== there) throw new Error("the followed state differs from the state of the server");
}

/** The baseline: the same bytes, split into events and parsed, but not reduced. */
export async function parseOnly(
  requestOptions: FollowRequest,
): Promise<{ elapsed: number; frames: number }> {
  const startedAt = performance.now();
  let frames = 0;
  await readEvents(requestOptions, ({ data }) => {
    if (data !== "[DONE]") JSON.parse(data);
    frames += 1;
  });
  return { elapsed: performance.now() - startedAt, frames };
}

async function readEvents(
  requestOptions: FollowRequest,
  take: (event: SseEvent) => void,
  afterRead: (bytes: Buffer) => unknown = () => undefined,
): Promise<void> {
  const response = await openRequest(requestOptions);
  const decoder = new SseDecoder({ utf8: new TextDecoder() });
  const events: SseEvent[] = [];
  await new Promise<void>((resolve, reject) => {
    response.on("data", (bytes: Buffer) => {
      try {
        decoder.push(bytes, events);
        for (const event of events) take(event);
        events.length = 0;
        afterRead(bytes);
      } catch (error) {
        response.destroy(error as Error);
      }
    });
    response.on("end", resolve);
    response.on("error", reject);
  });
}

/** Opens a stream that stays open. Resolves after its first bytes. */
export async function openIdle(requestOptions: FollowRequest): Promise<IncomingMessage> {
  const response = await openRequest(requestOptions);
  await new Promise<void>((resolve, reject) => {
    response.once("data", () => resolve());
    response.once("error", reject);
  });
  response.on("error", () => undefined);
  response.resume();
  return response;
}

function openRequest({ url, body, accept }: FollowRequest): Promise<IncomingMessage> {
  const headers = {
    ...(accept === undefined ? {} : { accept }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = request(url, { method, agent: false, headers }, (response) => {
      if ((response.statusCode ?? 0) < 300) return resolve(response);
      response.resume();
      reject(new Error(`${method} ${url}: ${response.statusCode}`));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
