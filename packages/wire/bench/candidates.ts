import {
  ChatBody,
  ChatOverChat,
  Repairs,
  ReplyBudget,
  ResponsesOverChat,
  SseDecoder,
  connectMachines,
  encodeChatEvent,
  encodeResponseEvent,
  type ChatStreamEvent,
  type ResponseEvent,
  type SseEvent,
  type StreamMachine,
} from "@deltawire/wire";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createParser } from "eventsource-parser";
import OpenAI from "openai";
import { Stream } from "openai/core/streaming";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Candidate } from "./run-candidates.ts";
import type { ChatStream, StreamContent } from "./sample-streams.ts";

type Reads = readonly Uint8Array[];

/** The fields of a chunk that the translations read. */
interface Deltas {
  choices: { delta: ChatCompletionChunk.Choice.Delta & { reasoning_content?: string | null } }[];
}

/** Returns candidates for both decoders with the same reads, text or bytes. */
export function createSseDecoders(reads: readonly (string | Uint8Array)[]) {
  return {
    ours: createDecoder("ours", (onEvent) => decodeWithOurs(reads, onEvent)),
    theirs: createDecoder("eventsource-parser", (onEvent) =>
      decodeWithEventsourceParser(reads, onEvent),
    ),
  };
}

/** Throws unless both decoders return these events. */
export function assertSameEvents(
  reads: readonly (string | Uint8Array)[],
  expected: readonly string[],
): void {
  for (const decode of [decodeWithOurs, decodeWithEventsourceParser]) {
    const events: string[] = [];
    decode(reads, (event) => events.push(JSON.stringify([event.event, event.data, event.id])));
    const isSame = events.every(
      (event, index) => event === JSON.stringify([undefined, expected[index], undefined]),
    );
    if (events.length !== expected.length || !isSame)
      throw new Error(`${decode.name}: unexpected events`);
  }
}

/** One way to process a stream of chunks. */
export interface Translation {
  name: string;
  /** How the reads arrive: pushed directly, or read from the body of a `Response`. */
  from: "pushed" | "Response";
  prepare(input: TranslationInput): () => void | Promise<void>;
}

interface TranslationInput {
  stream: ChatStream;
  reads: Reads;
  /** Receives the content of the stream, from translations that return objects. */
  content: StreamContent;
  /** Receives the output, from translations that return text. */
  write: (text: string) => void;
}

export const responsesEventsName = "ours: Responses events";
export const fromSseResponseName = "openai Stream.fromSSEResponse";

export const translations: readonly Translation[] = [
  {
    name: "JSON.parse alone, no SSE",
    from: "pushed",
    prepare:
      ({ stream, content }) =>
      () => {
        for (const data of stream.events)
          if (data !== "[DONE]") addChunk(content, JSON.parse(data) as Deltas);
      },
  },
  {
    name: "eventsource-parser + JSON.parse",
    from: "pushed",
    prepare:
      ({ reads, content }) =>
      () =>
        decodeWithEventsourceParser(reads, ({ data }) => {
          if (data !== "[DONE]") addChunk(content, JSON.parse(data) as Deltas);
        }),
  },
  {
    name: responsesEventsName,
    from: "pushed",
    prepare:
      ({ reads, content }) =>
      () =>
        pushAll(toResponses(), reads, (event) => addEvent(content, event)),
  },
  {
    name: "ours: Responses SSE text",
    from: "pushed",
    prepare:
      ({ reads, write }) =>
      () =>
        writeAll(toResponses(), reads, encodeResponseEvent, write),
  },
  {
    name: "ours: Chat chunks",
    from: "pushed",
    prepare:
      ({ reads, content }) =>
      () =>
        pushAll(toChat(), reads, (output) => addOutput(content, output)),
  },
  {
    name: "ours: Chat SSE text",
    from: "pushed",
    prepare:
      ({ reads, write }) =>
      () =>
        writeAll(toChat(), reads, encodeChatEvent, write),
  },
  {
    name: responsesEventsName,
    from: "Response",
    prepare: ({ reads, content }) => {
      const response = toFetchResponse(reads);
      return async () => {
        const machine = toResponses();
        const out: ResponseEvent[] = [];
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          machine.push(read.value, out);
          for (const event of out) addEvent(content, event);
          out.length = 0;
        }
        machine.end("eof", out);
        for (const event of out) addEvent(content, event);
      };
    },
  },
  {
    name: fromSseResponseName,
    from: "Response",
    prepare: ({ reads, content }) => {
      const response = toFetchResponse(reads);
      return async () => {
        const chunks = Stream.fromSSEResponse<Deltas>(response, new AbortController());
        for await (const chunk of chunks) addChunk(content, chunk);
      };
    },
  },
  {
    name: "openai chat.completions.stream()",
    from: "Response",
    prepare: ({ reads, content }) => {
      const response = toFetchResponse(reads);
      const client = new OpenAI({
        apiKey: "none",
        baseURL,
        fetch: () => Promise.resolve(response),
      });
      return () =>
        client.chat.completions
          .stream({ model: "any", messages: [] })
          .on("chunk", (chunk) => addChunk(content, chunk))
          .done();
    },
  },
  {
    name: "ai (openai-compatible) doStream",
    from: "Response",
    prepare: ({ reads, content }) => {
      const response = toFetchResponse(reads);
      const fetch = () => Promise.resolve(response);
      const model = createOpenAICompatible({ name: "none", baseURL, fetch }).chatModel("any");
      return async () => {
        const { stream } = await model.doStream({ prompt: [] });
        const reader = stream.getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          const part = read.value;
          if (part.type === "text-delta") content.text += part.delta;
          else if (part.type === "reasoning-delta") content.reasoning += part.delta;
          else if (part.type === "tool-input-delta") content.arguments += part.delta;
          else if (part.type === "error") throw part.error;
        }
      };
    },
  },
];

/** Creates a candidate that translates one stream. */
export function createTranslationCandidate(
  translation: Translation,
  stream: ChatStream,
  reads: Reads,
): Candidate {
  return {
    name: translation.name,
    prepare() {
      const content: StreamContent = { text: "", reasoning: "", arguments: "" };
      let written = 0;
      const write = (text: string) => {
        written += weight(text);
      };
      const run = translation.prepare({ stream, reads, content, write });
      const sum = () =>
        written + content.text.length + content.reasoning.length + content.arguments.length;
      return () => run()?.then(sum) ?? sum();
    },
  };
}

/** Throws unless the translation returns the content of the stream. */
export async function assertSameOutput(translation: Translation, stream: ChatStream, reads: Reads) {
  const content: StreamContent = { text: "", reasoning: "", arguments: "" };
  const writes: string[] = [];
  await translation.prepare({ stream, reads, content, write: (text) => writes.push(text) })();
  decodeWithOurs(writes, ({ data }) => {
    if (data === "[DONE]") return;
    const output = JSON.parse(data) as ResponseEvent | ChatStreamEvent;
    if (typeof output === "object" && "type" in output) addEvent(content, output as ResponseEvent);
    else addOutput(content, output);
  });
  if (JSON.stringify(content) !== JSON.stringify(stream.content))
    throw new Error(`${translation.name}: unexpected content of the stream "${stream.name}"`);
}

export function toResponses(): StreamMachine<string | Uint8Array, ResponseEvent> {
  const repairs = new Repairs();
  return connectMachines(
    new ChatBody({ repairs, utf8: new TextDecoder() }),
    new ResponsesOverChat({
      responseId: "resp_1",
      newId: createIdCounter(),
      createdAt: 1,
      repairs,
      budget: createLongReply(),
    }),
  );
}

export function toChat(): StreamMachine<string | Uint8Array, ChatStreamEvent> {
  const repairs = new Repairs();
  return connectMachines(
    new ChatBody({ repairs, utf8: new TextDecoder() }),
    new ChatOverChat({
      newId: createIdCounter(),
      createdAt: 1,
      repairs,
      budget: createLongReply(),
    }),
  );
}

/** Creates a budget above the default limits, which the longest call of this benchmark exceeds. */
function createLongReply(): ReplyBudget {
  return new ReplyBudget({ text: 64 * 1024 * 1024 });
}

/** Writes once per read, like the gateway's relay. */
export function writeAll<Out>(
  machine: StreamMachine<string | Uint8Array, Out>,
  reads: Reads,
  encode: (output: Out) => string,
  write: (text: string) => void,
): void {
  const out: Out[] = [];
  const writeJoined = () => {
    let text = "";
    for (const output of out) text += encode(output);
    out.length = 0;
    write(text);
  };
  for (const read of reads) {
    machine.push(read, out);
    if (out.length > 0) writeJoined();
  }
  machine.end("eof", out);
  if (out.length > 0) writeJoined();
}

/** Consumes the output of each read before the next one. */
export function pushAll<In, Out>(
  machine: StreamMachine<In, Out>,
  reads: readonly In[],
  onOutput: (output: Out) => void,
): void {
  const out: Out[] = [];
  for (const read of reads) {
    machine.push(read, out);
    if (out.length === 0) continue;
    for (const output of out) onOutput(output);
    out.length = 0;
  }
  machine.end("eof", out);
  for (const output of out) onOutput(output);
}

/** Never contacted, since every client gets its own `fetch`. */
const baseURL = "http://nowhere.invalid/v1";

function createDecoder(
  name: string,
  decode: (onEvent: (event: { data: string }) => void) => void,
): Candidate {
  return {
    name,
    prepare: () => () => {
      let sum = 0;
      decode(({ data }) => (sum += weight(data)));
      return sum;
    },
  };
}

/** Reads a character so that the engine cannot defer joining the string. */
export function weight(text: string): number {
  return text.length + text.charCodeAt(text.length >> 1);
}

function decodeWithOurs(
  reads: readonly (string | Uint8Array)[],
  onEvent: (event: SseEvent) => void,
): void {
  pushAll(new SseDecoder({ utf8: new TextDecoder() }), reads, onEvent);
}

function decodeWithEventsourceParser(
  reads: readonly (string | Uint8Array)[],
  onEvent: (event: { event?: string | undefined; data: string; id?: string | undefined }) => void,
): void {
  const utf8 = new TextDecoder();
  const parser = createParser({ onEvent: onEvent });
  for (const read of reads)
    parser.feed(typeof read === "string" ? read : utf8.decode(read, { stream: true }));
}

/** Creates a response whose reads are all queued, which is the fastest body to read. */
function toFetchResponse(reads: Reads): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const read of reads) controller.enqueue(read);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function addChunk(content: StreamContent, chunk: Deltas): void {
  const delta = chunk.choices[0]?.delta;
  if (delta === undefined) return;
  if (delta.content) content.text += delta.content;
  if (delta.reasoning_content) content.reasoning += delta.reasoning_content;
  if (delta.tool_calls) content.arguments += delta.tool_calls[0]?.function?.arguments ?? "";
}

function addOutput(content: StreamContent, output: ChatStreamEvent): void {
  if (output !== "[DONE]") addChunk(content, output as Deltas);
}

function addEvent(content: StreamContent, event: ResponseEvent): void {
  if (event.type === "response.output_text.delta") content.text += event.delta;
  else if (event.type === "response.reasoning_summary_text.delta") content.reasoning += event.delta;
  else if (event.type === "response.function_call_arguments.delta")
    content.arguments += event.delta;
}

function createIdCounter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}
