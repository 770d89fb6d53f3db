import Anthropic from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import {
  ChatOverMessages,
  connectMachines,
  encodeChatEvent,
  encodeMessageEvent,
  encodeResponseEvent,
  MessagesBody,
  MessagesOverMessages,
  Repairs,
  ResponsesOverMessages,
  UpstreamReply,
  type MessageEvent,
  type StreamMachine,
  type UpstreamMessageEvent,
} from "@deltawire/wire";
import { writeAll, weight } from "./candidates.ts";
import type { Candidate } from "./run-candidates.ts";
import {
  createTextStream,
  createToolCallStream,
  splitIntoReads,
  type ChatStream,
} from "./sample-streams.ts";

/* Streams of a Messages upstream, and everything that reads them. */

/** A generated Messages stream with the content of a Chat stream. */
export interface MessagesStream {
  name: string;
  bytes: Uint8Array;
  /** The SSE text of each event. */
  events: readonly string[];
  /** Number of characters of text and arguments that every reader must find. */
  contentLength: number;
}

export const sdkStreamName = "@anthropic-ai/sdk Stream.fromSSEResponse";

/** Creates streams of text and of tool calls, in deltas of the same sizes as the Chat streams. */
export function createMessagesStreams(tokens: number): MessagesStream[] {
  return [createTextStream(tokens), createToolCallStream(tokens)].map(toMessagesStream);
}

function toMessagesStream({ name, events, content }: ChatStream): MessagesStream {
  const messages: UpstreamMessageEvent[] = [startEvent];
  let index = -1;
  for (const data of events) {
    if (data === "[DONE]") continue;
    const [choice] = (JSON.parse(data) as { choices: { delta: ChunkDelta }[] }).choices;
    const { content: text, tool_calls: calls } = choice?.delta ?? {};
    const [call] = calls ?? [];
    if (text && index === -1) index = pushStart(messages, index, { type: "text", text: "" });
    if (call?.id !== undefined) {
      const { id } = call;
      index = pushStart(messages, index, { type: "tool_use", id, name: "write_file", input: {} });
    }
    const piece = call?.function.arguments;
    if (text) messages.push(deltaEvent(index, { type: "text_delta", text }));
    if (piece) messages.push(deltaEvent(index, { type: "input_json_delta", partial_json: piece }));
  }
  const stop_reason = content.arguments === "" ? "end_turn" : "tool_use";
  messages.push(
    { type: "content_block_stop", index },
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 1000 },
    },
    { type: "message_stop" },
  );
  const texts = messages.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return {
    name,
    bytes: new TextEncoder().encode(texts.join("")),
    events: texts,
    contentLength: content.text.length + content.arguments.length,
  };
}

interface ChunkDelta {
  content?: string | null;
  tool_calls?: { id?: string; function: { arguments: string } }[];
}

const startEvent: UpstreamMessageEvent = {
  type: "message_start",
  message: {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-5-5",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 90, output_tokens: 1 },
  },
};

function pushStart(
  messages: UpstreamMessageEvent[],
  index: number,
  content_block: UpstreamMessageEvent[string],
): number {
  if (index >= 0) messages.push({ type: "content_block_stop", index });
  messages.push({ type: "content_block_start", index: index + 1, content_block });
  return index + 1;
}

function deltaEvent(index: number, delta: UpstreamMessageEvent[string]): UpstreamMessageEvent {
  return { type: "content_block_delta", index, delta };
}

/** Returns the reads of a stream: one per event, or of 4 KiB. */
export function createFeeds({ bytes, events }: MessagesStream): Record<string, Uint8Array[]> {
  const encoder = new TextEncoder();
  return {
    "one event per read": events.map((event) => encoder.encode(event)),
    "4 KiB reads": splitIntoReads(bytes, 4096),
  };
}

type Reads = readonly Uint8Array[];
const newId = (prefix: string): string => `${prefix}_123456`;
const createBody = (passthrough = false) =>
  new MessagesBody({ repairs: new Repairs(), utf8: new TextDecoder(), passthrough });
const writer = { newId, createdAt: 1, responseId: "resp_1", messageId: "msg_1" };

/** Returns everything that reads a Messages stream, each with a checksum of its output. */
export function createMessagesCandidates(
  { contentLength }: MessagesStream,
  reads: Reads,
): Candidate[] {
  return [
    createWriter("ours: Responses SSE text", encodeResponseEvent, reads, () =>
      connectMachines(createBody(), new ResponsesOverMessages(writer)),
    ),
    createWriter("ours: Chat SSE text", encodeChatEvent, reads, () =>
      connectMachines(createBody(), new ChatOverMessages(writer)),
    ),
    createWriter("ours: Messages SSE text", encodeForwarded, reads, () =>
      connectMachines(createBody(), new MessagesOverMessages(writer)),
    ),
    {
      name: "ours: Messages bytes",
      prepare: () => () => {
        const reply = UpstreamReply.create(createBody(true), new MessagesOverMessages(writer));
        const out: UpstreamMessageEvent[] = [];
        let written = 0;
        for (const read of reads) {
          reply.push(read, out);
          written += reply.passthroughBytes?.length ?? 0;
          out.length = 0;
        }
        reply.end("eof", out);
        return written;
      },
    },
    createSdkReader(sdkStreamName, contentLength, reads, async (response, onText) => {
      const events = Stream.fromSSEResponse<Anthropic.RawMessageStreamEvent>(
        response,
        new AbortController(),
      );
      for await (const event of events) onText(getDeltaLength(event));
    }),
    createSdkReader(
      "@anthropic-ai/sdk messages.stream()",
      contentLength,
      reads,
      async (response, onText) => {
        const fetch = () => Promise.resolve(response);
        const client = new Anthropic({ apiKey: "none", fetch });
        const request = { model: "m", max_tokens: 1, messages: [] };
        const stream = client.messages.stream(request);
        stream.on("streamEvent", (event) => onText(getDeltaLength(event)));
        await stream.done();
      },
    ),
  ];
}

function createWriter<Out>(
  name: string,
  encode: (event: Out) => string,
  reads: Reads,
  create: () => StreamMachine<string | Uint8Array, Out>,
): Candidate {
  return {
    name,
    prepare: () => () => {
      let written = 0;
      writeAll(create(), reads, encode, (text) => (written += weight(text)));
      return written;
    },
  };
}

function encodeForwarded(event: UpstreamMessageEvent): string {
  return encodeMessageEvent(event as unknown as MessageEvent);
}

function createSdkReader(
  name: string,
  contentLength: number,
  reads: Reads,
  read: (response: Response, onText: (length: number) => void) => Promise<void>,
): Candidate {
  return {
    name,
    prepare() {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const chunk of reads) controller.enqueue(chunk);
          controller.close();
        },
      });
      const headers = { "content-type": "text/event-stream" };
      const response = new Response(body, { headers });
      return async () => {
        let length = 0;
        await read(response, (added) => (length += added));
        if (length !== contentLength) throw new Error(`${name}: read ${length} characters`);
        return length;
      };
    },
  };
}

function getDeltaLength(event: Anthropic.RawMessageStreamEvent): number {
  if (event.type !== "content_block_delta") return 0;
  const { delta } = event;
  if (delta.type === "text_delta") return delta.text.length;
  return delta.type === "input_json_delta" ? delta.partial_json.length : 0;
}
