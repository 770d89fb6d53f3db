import { createHash } from "node:crypto";
import { request, type IncomingMessage } from "node:http";
import {
  Reducer,
  stateHash,
  taskView,
  treeOf,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";

export interface Asked {
  url: string;
  /** A POST with this body; a GET without. */
  body?: object;
  accept?: string;
}

/** What a client that follows a task to its end has come to. */
export interface Followed {
  /** Milliseconds from the request to the last event reduced. */
  elapsed: number;
  /** Numbers that were covered, and frames that told them. */
  events: number;
  frames: number;
  snapshots: number;
  bytes: number;
  state: TaskTree;
}

/** Reads a stream and reduces it as it comes: the state is looked at after every read of the socket. */
export async function follow(asked: Asked, onBytes?: (bytes: Buffer) => void): Promise<Followed> {
  let reducer = new Reducer();
  const begun = performance.now();
  let [frames, snapshots, bytes] = [0, 0, 0];
  await readEvents(
    asked,
    ({ data }) => {
      const event = JSON.parse(data) as TaskEvent | StreamEvent;
      frames += 1;
      if (event.type === "task.snapshot") {
        reducer = new Reducer(treeOf(event, reducer.state));
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
  const elapsed = performance.now() - begun;
  return { elapsed, events: state.head + 1, frames, snapshots, bytes, state };
}

/** The task has ended as its last event says, and what was reduced is what the server holds. */
export async function checkWhole({ state }: Followed, url: string): Promise<void> {
  const view = taskView(state);
  if (view.status !== "completed")
    throw new Error(`${state.root_task_id} is ${view.status}: ${JSON.stringify(view.error)}`);
  const kept = await (await fetch(`${url}/api/tasks/${state.root_task_id}`)).json();
  const [here, there] = [view, kept as typeof view].map((one) => stateHash(one, sha256));
  if (here !== there) throw new Error("what was followed is not what the server holds");
}

/** The floor: the same bytes taken apart and parsed, and nothing made of them. */
export async function parseOnly(asked: Asked): Promise<{ elapsed: number; frames: number }> {
  const begun = performance.now();
  let frames = 0;
  await readEvents(asked, ({ data }) => {
    if (data !== "[DONE]") JSON.parse(data);
    frames += 1;
  });
  return { elapsed: performance.now() - begun, frames };
}

async function readEvents(
  asked: Asked,
  take: (event: SseEvent) => void,
  afterRead: (bytes: Buffer) => unknown = () => undefined,
): Promise<void> {
  const response = await open(asked);
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

/** A stream that stays open, once its first bytes are there. */
export async function hold(asked: Asked): Promise<IncomingMessage> {
  const response = await open(asked);
  await new Promise<void>((resolve, reject) => {
    response.once("data", () => resolve());
    response.once("error", reject);
  });
  response.on("error", () => undefined);
  response.resume();
  return response;
}

function open({ url, body, accept }: Asked): Promise<IncomingMessage> {
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
