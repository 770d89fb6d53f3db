import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import {
  encodeTaskEvent,
  Reducer,
  UiMessageStream,
  type LogEntry,
  type TaskEvent,
  type TaskTree,
  type UiChunk,
} from "@deltawire/tasks";
import type { Contestant } from "./rounds.ts";

/** The same conversation read by the `ai` SDK and by us, out of objects and out of the bytes of an SSE stream. */
export interface Readers {
  chunks: number;
  objects: { ours: Contestant; oursInBatches: Contestant; theirs: Contestant };
  bytes: { ours: Contestant; oursInBatches: Contestant; theirs: Contestant };
}

/** Events that are reduced between two looks at the state, where not every one of them is shown. */
const batch = 64;
/** What a read of a socket may bring. */
const readSize = 16 * 1024;

export function readersOf(entries: readonly LogEntry[]): Readers {
  const events = entries.map(({ event }) => event);
  const chunks: UiChunk[] = [];
  const mapping = new UiMessageStream();
  for (const event of events) mapping.push(event, chunks);
  const own = readsOf(
    entries.map(({ json, event }) => encodeTaskEvent(json, event.sequence_number)).join(""),
  );
  const sdk = readsOf(
    [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`)
      .join(""),
  );
  const count = events.length;
  const theirs = "ai: readUIMessageStream";
  const ours = "ours, the state after every event";
  const inBatches = "ours, the state after 64 events";
  return {
    chunks: chunks.length,
    objects: {
      ours: { name: ours, events: count, run: () => reduced(events, 1) },
      oursInBatches: { name: inBatches, events: count, run: () => reduced(events, batch) },
      theirs: { name: theirs, events: count, run: () => textRead(streamOf(chunks)) },
    },
    bytes: {
      ours: { name: ours, events: count, run: () => reduced(eventsIn(own), 1) },
      oursInBatches: { name: inBatches, events: count, run: () => reduced(eventsIn(own), batch) },
      theirs: {
        name: `${theirs} of a transport`,
        events: count,
        run: async () => textRead(await received(sdk)),
      },
    },
  };
}

/** Both must have read the same texts in the end. */
export async function checkReaders({ objects, bytes }: Readers): Promise<void> {
  const sums = [];
  for (const { ours, oursInBatches, theirs } of [objects, bytes])
    for (const { run } of [ours, oursInBatches, theirs]) sums.push((await run()) % texts);
  if (new Set(sums).size !== 1) throw new Error(`not the same texts: ${sums.join(", ")}`);
}

/** The length of all texts is below this; how often the state was looked at stands above it. */
const texts = 1e9;

function reduced(events: Iterable<TaskEvent>, size: number): number {
  const reducer = new Reducer();
  let looks = 0;
  let last: TaskTree = reducer.state;
  let pending = 0;
  for (const event of events) {
    reducer.apply(event);
    pending += 1;
    if (pending < size) continue;
    pending = 0;
    last = reducer.state;
    looks += last.head >= 0 ? 1 : 0;
  }
  last = reducer.state;
  return looks * texts + textIn(last);
}

function textIn({ tasks, root_task_id }: TaskTree): number {
  let length = 0;
  for (const item of tasks[root_task_id]?.output ?? []) {
    if (item.type === "reasoning") for (const { text } of item.summary) length += text.length;
    if (item.type === "message")
      for (const block of item.block_list) length += block.type === "text" ? block.text.length : 0;
  }
  return length;
}

async function textRead(stream: ReadableStream<UIMessageChunk>): Promise<number> {
  let looks = 0;
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
    looks += 1;
    last = message;
  }
  let length = 0;
  for (const part of last?.parts ?? [])
    if (part.type === "text" || part.type === "reasoning") length += part.text.length;
  return looks * texts + length;
}

function streamOf(chunks: readonly UiChunk[]): ReadableStream<UIMessageChunk> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[at];
      at += 1;
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

/** As `useChat` receives it; only the network is not there. */
async function received(reads: readonly Uint8Array[]): Promise<ReadableStream<UIMessageChunk>> {
  const body = (): ReadableStream<Uint8Array> => {
    let at = 0;
    return new ReadableStream({
      pull(controller) {
        const read = reads[at];
        at += 1;
        if (read === undefined) controller.close();
        else controller.enqueue(read);
      },
    });
  };
  const headers = { "content-type": "text/event-stream" };
  const transport = new DefaultChatTransport({
    api: "http://127.0.0.1/chat",
    fetch: () => Promise.resolve(new Response(body(), { headers })),
  });
  return transport.sendMessages({
    trigger: "submit-message",
    chatId: "bench",
    messageId: undefined,
    messages: [],
    abortSignal: undefined,
  });
}

/** What an EventSource does, for a stream that has one line of data an event. */
function* eventsIn(reads: readonly Uint8Array[]): Generator<TaskEvent> {
  const utf8 = new TextDecoder();
  let rest = "";
  for (const read of reads) {
    const text = rest + utf8.decode(read, { stream: true });
    let at = 0;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n", at)) {
      const data = text.indexOf("data: ", at);
      yield JSON.parse(text.slice(data + 6, end)) as TaskEvent;
      at = end + 2;
    }
    rest = text.slice(at);
  }
}

function readsOf(text: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const reads: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += readSize) reads.push(bytes.subarray(at, at + readSize));
  return reads;
}
