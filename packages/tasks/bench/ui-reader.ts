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
import type { Candidate } from "./rounds.ts";

/** Readers of the same conversation, the `ai` SDK and ours: for objects and for the bytes of an SSE stream. */
export interface Readers {
  chunks: number;
  objects: { ours: Candidate; oursInBatches: Candidate; sdk: Candidate };
  bytes: { ours: Candidate; oursInBatches: Candidate; sdk: Candidate };
}

/** Number of events between two reads of the state, for the batched readers. */
const batch = 64;
/** Size of a socket read in bytes. */
const readSize = 16 * 1024;

export function createReaders(entries: readonly LogEntry[]): Readers {
  const events = entries.map(({ event }) => event);
  const chunks: UiChunk[] = [];
  const stream = new UiMessageStream();
  for (const event of events) stream.push(event, chunks);
  const ourReads = splitIntoReads(
    entries.map(({ json, event }) => encodeTaskEvent(json, event.sequence_number)).join(""),
  );
  const sdkReads = splitIntoReads(
    [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`)
      .join(""),
  );
  const count = events.length;
  const sdkName = "ai: readUIMessageStream";
  const singleName = "ours, state read after every event";
  const batchedName = "ours, state read after 64 events";
  return {
    chunks: chunks.length,
    objects: {
      ours: { name: singleName, events: count, run: () => reduceAll(events, 1) },
      oursInBatches: { name: batchedName, events: count, run: () => reduceAll(events, batch) },
      sdk: { name: sdkName, events: count, run: () => readWithSdk(toStream(chunks)) },
    },
    bytes: {
      ours: { name: singleName, events: count, run: () => reduceAll(parseEvents(ourReads), 1) },
      oursInBatches: {
        name: batchedName,
        events: count,
        run: () => reduceAll(parseEvents(ourReads), batch),
      },
      sdk: {
        name: `${sdkName} of a transport`,
        events: count,
        run: async () => readWithSdk(await receiveWithSdk(sdkReads)),
      },
    },
  };
}

/** Throws if the readers do not produce the same texts. */
export async function checkReaders({ objects, bytes }: Readers): Promise<void> {
  const sums = [];
  for (const { ours, oursInBatches, sdk } of [objects, bytes])
    for (const { run } of [ours, oursInBatches, sdk]) sums.push((await run()) % lengthLimit);
  if (new Set(sums).size !== 1)
    throw new Error(`the readers have different texts: ${sums.join(", ")}`);
}

/** A checksum is the number of state reads times this, plus the length of all texts, which is below this. */
const lengthLimit = 1e9;

function reduceAll(events: Iterable<TaskEvent>, size: number): number {
  const reducer = new Reducer();
  let reads = 0;
  let last: TaskTree = reducer.state;
  let pending = 0;
  for (const event of events) {
    reducer.apply(event);
    pending += 1;
    if (pending < size) continue;
    pending = 0;
    last = reducer.state;
    reads += last.head >= 0 ? 1 : 0;
  }
  last = reducer.state;
  return reads * lengthLimit + measureText(last);
}

function measureText({ tasks, root_task_id }: TaskTree): number {
  let length = 0;
  for (const item of tasks[root_task_id]?.output ?? []) {
    if (item.type === "reasoning") for (const { text } of item.summary) length += text.length;
    if (item.type === "message")
      for (const block of item.block_list) length += block.type === "text" ? block.text.length : 0;
  }
  return length;
}

async function readWithSdk(stream: ReadableStream<UIMessageChunk>): Promise<number> {
  let reads = 0;
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
    reads += 1;
    last = message;
  }
  let length = 0;
  for (const part of last?.parts ?? [])
    if (part.type === "text" || part.type === "reasoning") length += part.text.length;
  return reads * lengthLimit + length;
}

function toStream(chunks: readonly UiChunk[]): ReadableStream<UIMessageChunk> {
  let index = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[index];
      index += 1;
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}

/** Receives the stream like `useChat`, without a network. */
async function receiveWithSdk(
  reads: readonly Uint8Array[],
): Promise<ReadableStream<UIMessageChunk>> {
  const body = (): ReadableStream<Uint8Array> => {
    let index = 0;
    return new ReadableStream({
      pull(controller) {
        const read = reads[index];
        index += 1;
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

/** Parses an SSE stream with one data line per event. */
function* parseEvents(reads: readonly Uint8Array[]): Generator<TaskEvent> {
  const utf8 = new TextDecoder();
  let rest = "";
  for (const read of reads) {
    const text = rest + utf8.decode(read, { stream: true });
    let index = 0;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n", index)) {
      const data = text.indexOf("data: ", index);
      yield JSON.parse(text.slice(data + 6, end)) as TaskEvent;
      index = end + 2;
    }
    rest = text.slice(index);
  }
}

function splitIntoReads(text: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const reads: Uint8Array[] = [];
  for (let index = 0; index < bytes.length; index += readSize)
    reads.push(bytes.subarray(index, index + readSize));
  return reads;
}
