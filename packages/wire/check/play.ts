import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  connect,
  genericProfile,
  type ChatOutput,
  type ReplyFlags,
  type ResponseEvent,
  type ResponsesInput,
  type StreamEnd,
  type StreamMachine,
  type ToolBridge,
} from "@deltawire/wire";

export interface PlayOptions {
  tools?: ToolBridge;
  /** Names the upstream was offered, where there is no bridge. */
  toolNames?: ReadonlySet<string>;
  end?: StreamEnd;
  expect?: "stream" | "whole";
  profile?: ReplyFlags;
}

export interface Played<Out> {
  out: Out[];
  repairs: Repairs;
}

type Reads = Iterable<string | Uint8Array>;

/** The reads of a Chat upstream's body, played to a Responses client. */
export function playToResponses(reads: Reads, options: PlayOptions = {}): Played<ResponseEvent> {
  const all = common(options);
  const tools = options.tools === undefined ? {} : { tools: options.tools };
  const translator = new ResponsesOverChat({ ...all, ...tools, responseId: "resp_1" });
  return play(new ChatBody(all), translator, reads, options.end, all.repairs);
}

/** The same to a Chat client. */
export function playToChat(reads: Reads, options: PlayOptions = {}): Played<ChatOutput> {
  const all = common(options);
  const translator = new ChatOverChat({ ...all, ...offered(options) });
  return play(new ChatBody(all), translator, reads, options.end, all.repairs);
}

/** The reads of a Responses upstream's body, played to a Chat client. */
export function playResponsesToChat(reads: Reads, options: PlayOptions = {}): Played<ChatOutput> {
  const all = common(options);
  const translator = new ChatOverResponses({ ...all, ...offered(options) });
  return play(new ResponsesBody(all), translator, reads, options.end, all.repairs);
}

/** The same to a Responses client. */
export function playResponsesToResponses(
  reads: Reads,
  options: PlayOptions = {},
): Played<ResponsesInput> {
  const all = common(options);
  const translator = new ResponsesOverResponses({ ...all, responseId: "resp_1" });
  return play(new ResponsesBody(all), translator, reads, options.end, all.repairs);
}

/** What every body and every translator is given. */
function common({ expect = "stream", profile = genericProfile }: PlayOptions) {
  const repairs = new Repairs();
  return { repairs, utf8: new TextDecoder(), expect, profile, newId: counter(), createdAt: 1 };
}

function offered({ tools, toolNames = tools?.upstreamNames }: PlayOptions) {
  return {
    ...(toolNames === undefined ? {} : { toolNames }),
    ...(tools?.schemas === undefined ? {} : { toolSchemas: tools.schemas }),
  };
}

/** The bytes cut at the given lengths; what is left comes last. */
export function cutAt(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const reads: Uint8Array[] = [];
  let at = 0;
  for (const length of lengths) {
    reads.push(bytes.subarray(at, at + length));
    at += length;
  }
  if (at < bytes.length) reads.push(bytes.subarray(at));
  return reads;
}

export function byteByByte(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}

function play<Input, Out>(
  body: StreamMachine<string | Uint8Array, Input>,
  translator: StreamMachine<Input, Out>,
  reads: Reads,
  end: StreamEnd | undefined,
  repairs: Repairs,
): Played<Out> {
  const machine = connect(body, translator);
  const out: Out[] = [];
  for (const read of reads) machine.push(read, out);
  machine.end(end ?? "eof", out);
  return { out, repairs };
}

function counter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}
