import {
  isTaskEvent,
  Reducer,
  snapshotToTree,
  type StreamEvent,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import { SseDecoder, type SseEvent } from "@deltawire/wire";
import type { ClusterProcess } from "./cluster-process.ts";

/** An event of a stream of the gateway. */
export interface ReceivedEvent {
  type: string;
  sequence_number?: number;
  coalesced_from?: number;
}

/**
 * Reads an event stream of a process until `isEnough` returns true for the events so far, or the stream ends. `path` is the
 * path of the stream with its cursor.
 */
export async function readEvents(
  { url }: ClusterProcess,
  path: string,
  isEnough: (events: readonly ReceivedEvent[]) => boolean = () => false,
): Promise<ReceivedEvent[]> {
  const response = await fetch(`${url}${path}`, {
    signal: AbortSignal.timeout(streamTimeoutMs),
    headers: { accept: "text/event-stream" },
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`${path} replied ${response.status}: ${await response.text()}`);
  const decoder = new SseDecoder({ utf8: new TextDecoder() });
  const frames: SseEvent[] = [];
  const events: ReceivedEvent[] = [];
  for await (const bytes of response.body) {
    decoder.push(bytes as Uint8Array, frames);
    for (const { data } of frames.splice(0)) events.push(JSON.parse(data) as ReceivedEvent);
    // Also ends the request.
    if (isEnough(events)) break;
  }
  return events;
}

/** Returns the sequence numbers of the events of a task, including those of events that were joined with others. */
export function listSequenceNumbers(events: readonly ReceivedEvent[]): number[] {
  return events.flatMap(({ sequence_number: last, coalesced_from: first = last }) =>
    last === undefined || first === undefined
      ? []
      : Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
}

/** Returns the state of a client that applies these events. Throws if they are not consecutive. */
export function reduceEvents(events: readonly ReceivedEvent[]): TaskTree {
  let reducer = new Reducer();
  for (const event of events as readonly (TaskEvent | StreamEvent)[])
    if (event.type === "task.snapshot") reducer = new Reducer(snapshotToTree(event));
    else if (isTaskEvent(event)) reducer.apply(event);
  return reducer.state;
}

const streamTimeoutMs = 60_000;
