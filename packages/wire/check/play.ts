import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  connect,
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

/** The reads of a Chat upstream's body, played to a Responses client. */
export function playToResponses(
  reads: Iterable<string | Uint8Array>,
  options: PlayOptions = {},
): Played<ResponseEvent> {
  const repairs = new Repairs();
  const machine = connect(
    new ChatBody({ repairs, utf8: new TextDecoder(), expect: options.expect ?? "stream" }),
    new ResponsesOverChat({
      responseId: "resp_1",
      newId: counter(),
      createdAt: 1,
      repairs,
      ...(options.tools === undefined ? {} : { tools: options.tools }),
      ...(options.profile === undefined ? {} : { profile: options.profile }),
    }),
  );
  return { out: run(machine, reads, options.end), repairs };
}

/** The same to a Chat client. */
export function playToChat(
  reads: Iterable<string | Uint8Array>,
  options: PlayOptions = {},
): Played<ChatOutput> {
  const repairs = new Repairs();
  const toolNames = options.toolNames ?? options.tools?.upstreamNames;
  const machine = connect(
    new ChatBody({ repairs, utf8: new TextDecoder(), expect: options.expect ?? "stream" }),
    new ChatOverChat({
      newId: counter(),
      createdAt: 1,
      repairs,
      ...(toolNames === undefined ? {} : { toolNames }),
      ...(options.tools?.schemas === undefined ? {} : { toolSchemas: options.tools.schemas }),
      ...(options.profile === undefined ? {} : { profile: options.profile }),
    }),
  );
  return { out: run(machine, reads, options.end), repairs };
}

/** The reads of a Responses upstream's body, played to a Chat client. */
export function playResponsesToChat(
  reads: Iterable<string | Uint8Array>,
  options: PlayOptions = {},
): Played<ChatOutput> {
  const repairs = new Repairs();
  const toolNames = options.toolNames ?? options.tools?.upstreamNames;
  const machine = connect(
    new ResponsesBody({ repairs, utf8: new TextDecoder(), expect: options.expect ?? "stream" }),
    new ChatOverResponses({
      newId: counter(),
      createdAt: 1,
      repairs,
      ...(toolNames === undefined ? {} : { toolNames }),
      ...(options.profile === undefined ? {} : { profile: options.profile }),
    }),
  );
  return { out: run(machine, reads, options.end), repairs };
}

/** The same to a Responses client. */
export function playResponsesToResponses(
  reads: Iterable<string | Uint8Array>,
  options: PlayOptions = {},
): Played<ResponsesInput> {
  const repairs = new Repairs();
  const machine = connect(
    new ResponsesBody({ repairs, utf8: new TextDecoder(), expect: options.expect ?? "stream" }),
    new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1, repairs }),
  );
  return { out: run(machine, reads, options.end), repairs };
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

function run<Out>(
  machine: StreamMachine<string | Uint8Array, Out>,
  reads: Iterable<string | Uint8Array>,
  end: StreamEnd = "eof",
): Out[] {
  const out: Out[] = [];
  for (const read of reads) machine.push(read, out);
  machine.end(end, out);
  return out;
}

function counter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}
