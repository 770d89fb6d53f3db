import {
  ChatBody,
  ChatOverChat,
  Repairs,
  ReplyBudget,
  ResponsesOverChat,
  SseDecoder,
  connect,
  encodeChatOutput,
  encodeResponseEvent,
  type ChatOutput,
  type ResponseEvent,
  type SseEvent,
  type StreamMachine,
} from "@deltawire/wire";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createParser } from "eventsource-parser";
import OpenAI from "openai";
import { Stream } from "openai/core/streaming";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Contestant } from "./rounds.ts";
import type { ChatStream, Said } from "./streams.ts";

type Reads = readonly Uint8Array[];

/** What is looked at in a chunk. */
interface Deltas {
  choices: { delta: ChatCompletionChunk.Choice.Delta & { reasoning_content?: string | null } }[];
}

/** Both decoders on the same reads, text or bytes. */
export function sseDecoders(reads: readonly (string | Uint8Array)[]) {
  return {
    ours: decoder("ours", (seen) => ourSse(reads, seen)),
    theirs: decoder("eventsource-parser", (seen) => theirSse(reads, seen)),
  };
}

/** Throws unless both decoders find these events in the reads. */
export function checkSse(
  reads: readonly (string | Uint8Array)[],
  expected: readonly string[],
): void {
  for (const decode of [ourSse, theirSse]) {
    const found: string[] = [];
    decode(reads, (event) => found.push(JSON.stringify([event.event, event.data, event.id])));
    const same = found.every(
      (event, nth) => event === JSON.stringify([undefined, expected[nth], undefined]),
    );
    if (found.length !== expected.length || !same) throw new Error(`${decode.name}: other events`);
  }
}

/** Something done with a stream of chunks. */
export interface Translation {
  name: string;
  /** Whether the reads are handed over as they are, or come out of the body of a `Response`. */
  from: "pushed" | "Response";
  prepare(work: TranslationWork): () => void | Promise<void>;
}

interface TranslationWork {
  stream: ChatStream;
  reads: Reads;
  /** Takes what was found in the stream, from those that put out objects. */
  said: Said;
  /** Takes what would go to the client, from those that put out text. */
  write: (text: string) => void;
}

export const responsesEvents = "ours: Responses events";
export const fromSseResponse = "openai Stream.fromSSEResponse";

export const translations: readonly Translation[] = [
  {
    name: "JSON.parse alone, no SSE",
    from: "pushed",
    prepare:
      ({ stream, said }) =>
      () => {
        for (const data of stream.events)
          if (data !== "[DONE]") addChunk(said, JSON.parse(data) as Deltas);
      },
  },
  {
    name: "eventsource-parser + JSON.parse",
    from: "pushed",
    prepare:
      ({ reads, said }) =>
      () =>
        theirSse(reads, ({ data }) => {
          if (data !== "[DONE]") addChunk(said, JSON.parse(data) as Deltas);
        }),
  },
  {
    name: responsesEvents,
    from: "pushed",
    prepare:
      ({ reads, said }) =>
      () =>
        pushAll(toResponses(), reads, (event) => addEvent(said, event)),
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
      ({ reads, said }) =>
      () =>
        pushAll(toChat(), reads, (output) => addOutput(said, output)),
  },
  {
    name: "ours: Chat SSE text",
    from: "pushed",
    prepare:
      ({ reads, write }) =>
      () =>
        writeAll(toChat(), reads, encodeChatOutput, write),
  },
  {
    name: responsesEvents,
    from: "Response",
    prepare: ({ reads, said }) => {
      const response = responseOf(reads);
      return async () => {
        const machine = toResponses();
        const out: ResponseEvent[] = [];
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          machine.push(read.value, out);
          for (const event of out) addEvent(said, event);
          out.length = 0;
        }
        machine.end("eof", out);
        for (const event of out) addEvent(said, event);
      };
    },
  },
  {
    name: fromSseResponse,
    from: "Response",
    prepare: ({ reads, said }) => {
      const response = responseOf(reads);
      return async () => {
        const chunks = Stream.fromSSEResponse<Deltas>(response, new AbortController());
        for await (const chunk of chunks) addChunk(said, chunk);
      };
    },
  },
  {
    name: "openai chat.completions.stream()",
    from: "Response",
    prepare: ({ reads, said }) => {
      const response = responseOf(reads);
      const client = new OpenAI({
        apiKey: "none",
        baseURL,
        fetch: () => Promise.resolve(response),
      });
      return () =>
        client.chat.completions
          .stream({ model: "any", messages: [] })
          .on("chunk", (chunk) => addChunk(said, chunk))
          .done();
    },
  },
  {
    name: "ai (openai-compatible) doStream",
    from: "Response",
    prepare: ({ reads, said }) => {
      const response = responseOf(reads);
      const fetch = () => Promise.resolve(response);
      const model = createOpenAICompatible({ name: "none", baseURL, fetch }).chatModel("any");
      return async () => {
        const { stream } = await model.doStream({ prompt: [] });
        const reader = stream.getReader();
        for (let read = await reader.read(); !read.done; read = await reader.read()) {
          const part = read.value;
          if (part.type === "text-delta") said.text += part.delta;
          else if (part.type === "reasoning-delta") said.reasoning += part.delta;
          else if (part.type === "tool-input-delta") said.arguments += part.delta;
          else if (part.type === "error") throw part.error;
        }
      };
    },
  },
];

/** A translation of one stream, to be timed. */
export function translator(translation: Translation, stream: ChatStream, reads: Reads): Contestant {
  return {
    name: translation.name,
    prepare() {
      const said: Said = { text: "", reasoning: "", arguments: "" };
      let written = 0;
      const write = (text: string) => {
        written += weight(text);
      };
      const run = translation.prepare({ stream, reads, said, write });
      const sum = () => written + said.text.length + said.reasoning.length + said.arguments.length;
      return () => run()?.then(sum) ?? sum();
    },
  };
}

/** Throws unless the translation finds in the reads what the stream says. */
export async function checkTranslation(translation: Translation, stream: ChatStream, reads: Reads) {
  const said: Said = { text: "", reasoning: "", arguments: "" };
  const writes: string[] = [];
  await translation.prepare({ stream, reads, said, write: (text) => writes.push(text) })();
  ourSse(writes, ({ data }) => {
    if (data === "[DONE]") return;
    const output = JSON.parse(data) as ResponseEvent | ChatOutput;
    if (typeof output === "object" && "type" in output) addEvent(said, output as ResponseEvent);
    else addOutput(said, output);
  });
  if (JSON.stringify(said) !== JSON.stringify(stream.said))
    throw new Error(`${translation.name}: other words in the stream "${stream.name}"`);
}

export function toResponses(): StreamMachine<string | Uint8Array, ResponseEvent> {
  const repairs = new Repairs();
  return connect(
    new ChatBody({ repairs, utf8: new TextDecoder() }),
    new ResponsesOverChat({
      responseId: "resp_1",
      newId: counter(),
      createdAt: 1,
      repairs,
      budget: longReply(),
    }),
  );
}

export function toChat(): StreamMachine<string | Uint8Array, ChatOutput> {
  const repairs = new Repairs();
  return connect(
    new ChatBody({ repairs, utf8: new TextDecoder() }),
    new ChatOverChat({ newId: counter(), createdAt: 1, repairs, budget: longReply() }),
  );
}

/** The longest call of the measurement is longer than any reply may be. */
function longReply(): ReplyBudget {
  return new ReplyBudget({ text: 64 * 1024 * 1024 });
}

/** As the relay does it: one joined write for each read. */
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

/** What a read gave is taken away before the next one. */
export function pushAll<In, Out>(
  machine: StreamMachine<In, Out>,
  reads: readonly In[],
  take: (output: Out) => void,
): void {
  const out: Out[] = [];
  for (const read of reads) {
    machine.push(read, out);
    if (out.length === 0) continue;
    for (const output of out) take(output);
    out.length = 0;
  }
  machine.end("eof", out);
  for (const output of out) take(output);
}

/** Never called: every client gets a `fetch` of its own. */
const baseURL = "http://nowhere.invalid/v1";

function decoder(
  name: string,
  decode: (seen: (event: { data: string }) => void) => void,
): Contestant {
  return {
    name,
    prepare: () => () => {
      let sum = 0;
      decode(({ data }) => (sum += weight(data)));
      return sum;
    },
  };
}

/** Looks into the text, so that the engine must have joined it and cannot put that off. */
export function weight(text: string): number {
  return text.length + text.charCodeAt(text.length >> 1);
}

function ourSse(reads: readonly (string | Uint8Array)[], seen: (event: SseEvent) => void): void {
  pushAll(new SseDecoder({ utf8: new TextDecoder() }), reads, seen);
}

function theirSse(
  reads: readonly (string | Uint8Array)[],
  seen: (event: { event?: string | undefined; data: string; id?: string | undefined }) => void,
): void {
  const utf8 = new TextDecoder();
  const parser = createParser({ onEvent: seen });
  for (const read of reads)
    parser.feed(typeof read === "string" ? read : utf8.decode(read, { stream: true }));
}

/** A body with all its reads waiting, which is the cheapest one to read from. */
function responseOf(reads: Reads): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const read of reads) controller.enqueue(read);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function addChunk(said: Said, chunk: Deltas): void {
  const delta = chunk.choices[0]?.delta;
  if (delta === undefined) return;
  if (delta.content) said.text += delta.content;
  if (delta.reasoning_content) said.reasoning += delta.reasoning_content;
  if (delta.tool_calls) said.arguments += delta.tool_calls[0]?.function?.arguments ?? "";
}

function addOutput(said: Said, output: ChatOutput): void {
  if (output !== "[DONE]") addChunk(said, output as Deltas);
}

function addEvent(said: Said, event: ResponseEvent): void {
  if (event.type === "response.output_text.delta") said.text += event.delta;
  else if (event.type === "response.reasoning_summary_text.delta") said.reasoning += event.delta;
  else if (event.type === "response.function_call_arguments.delta") said.arguments += event.delta;
}

function counter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}
