import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  encodeChatOutput,
  encodeResponseEvent,
  genericProfile,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  WireError,
  withFlags,
  type ChatOutput,
  type ResponseEvent,
  type StreamMachine,
} from "@deltawire/wire";
import { newIds, tools } from "./reply-translations.ts";

/** How a reply is read: the wire of the upstream and the form that the client gets. */
const routes = {
  "chat to responses": () => translate(new ChatBody(bodyOptions()), responsesOverChat()),
  "chat to chat": () => translate(new ChatBody(bodyOptions()), chatOverChat("deltas")),
  "chat to chat, whole calls": () => translate(new ChatBody(bodyOptions()), chatOverChat("whole")),
  "responses to responses": () =>
    translate(new ResponsesBody(bodyOptions()), responsesOverResponses()),
  "responses to chat": () => translate(new ResponsesBody(bodyOptions()), chatOverResponses()),
} as const;

export type Route = keyof typeof routes;

export interface HostileReply {
  name: string;
  routes: readonly Route[];
  /** Chunks of the body, as the network brings them. `size` is a number of calls, items, characters. */
  make: (size: number) => string[];
  size: number;
}

/** What reads a reply as the gateway does, and what it found: the error is that of a limit, if one was exceeded. */
export interface PlayedReply {
  error: WireError | undefined;
  /** Characters that went to the client. */
  written: number;
}

/** `onChunk` is given the work of each chunk of the network, and of the end. */
export function play(
  route: Route,
  chunks: readonly string[],
  onChunk: (work: () => void) => void = (work) => work(),
): PlayedReply {
  const machine = routes[route]();
  const played: PlayedReply = { error: undefined, written: 0 };
  const step = (work: () => void): void =>
    onChunk(() => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        played.error = error;
      }
    });
  for (const chunk of chunks) {
    if (played.error !== undefined) return played;
    step(() => (played.written += machine.push(chunk)));
  }
  if (played.error === undefined) step(() => (played.written += machine.end()));
  return played;
}

interface Played {
  push(chunk: string): number;
  end(): number;
}

function translate<In, Out extends ChatOutput | ResponseEvent>(
  body: StreamMachine<string | Uint8Array, In>,
  translator: StreamMachine<In, Out>,
): Played {
  const inputs: In[] = [];
  const out: Out[] = [];
  const write = (): number => {
    let written = 0;
    for (const output of out.splice(0))
      written +=
        typeof output === "object" && "type" in output
          ? encodeResponseEvent(output as ResponseEvent).length
          : encodeChatOutput(output).length;
    return written;
  };
  const pass = (): void => {
    for (const input of inputs.splice(0)) translator.push(input, out);
  };
  return {
    push(chunk) {
      body.push(chunk, inputs);
      pass();
      return write();
    },
    end() {
      body.end("eof", inputs);
      pass();
      translator.end("eof", out);
      return write();
    },
  };
}

const bodyOptions = () => ({ repairs: new Repairs() });
/** Everything that looks into text is on. */
const profile = withFlags(genericProfile, {
  thinkTags: true,
  leakedCalls: ["hermes", "qwen-xml", "kimi"],
});
const common = () => ({ newId: newIds(), createdAt: 1, profile, estimateInputTokens: () => 1 });
const responsesOverChat = () =>
  new ResponsesOverChat({ ...common(), responseId: "resp_1", tools, seal: () => "sealed" });
const chatOverChat = (toolCalls: "deltas" | "whole") =>
  new ChatOverChat({ ...common(), toolNames: tools.upstreamNames, tools, toolCalls });
const responsesOverResponses = () =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 }) as unknown as StreamMachine<
    { type: string },
    ResponseEvent
  >;
const chatOverResponses = () =>
  new ChatOverResponses({
    ...common(),
    toolNames: tools.upstreamNames,
  }) as unknown as StreamMachine<{ type: string }, ChatOutput>;

/** The size of a read of the network. */
const readSize = 64 * 1024;

/** Events as the network brings them. */
function stream(events: Iterable<unknown>, tail = ""): string[] {
  const parts: string[] = [];
  for (const event of events)
    parts.push(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  return reads(parts.join("") + tail);
}

function reads(text: string): string[] {
  const cut: string[] = [];
  for (let at = 0; at < text.length; at += readSize) cut.push(text.slice(at, at + readSize));
  return cut;
}

function* times<Value>(count: number, make: (nth: number) => Value): Generator<Value> {
  for (let nth = 0; nth < count; nth += 1) yield make(nth);
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish, ...more }],
});
const call = (fields: object) => chunk({ tool_calls: [fields] });
const named = (nth: number, args: string, name = "get_weather") => ({
  index: nth,
  id: `call_number_${nth}`,
  type: "function",
  function: { name, arguments: args },
});
const finished = [chunk({}, "tool_calls"), "[DONE]"];

function chatStream(events: Iterable<unknown>): string[] {
  return stream([...events, ...finished]);
}

/** A text in deltas of some characters, or in one. */
function said(text: string, field = "content", step = 0): string[] {
  const length = step === 0 ? Math.max(1, text.length) : step;
  return chatStream(
    times(Math.ceil(text.length / length), (nth) =>
      chunk({ [field]: text.slice(nth * length, (nth + 1) * length) }),
    ),
  );
}

const chatRoutes: readonly Route[] = [
  "chat to responses",
  "chat to chat",
  "chat to chat, whole calls",
];
const responsesRoutes: readonly Route[] = ["responses to responses", "responses to chat"];

function chat(name: string, size: number, make: (size: number) => string[]): HostileReply {
  return { name, routes: chatRoutes, size, make };
}

function responses(name: string, size: number, make: (size: number) => string[]): HostileReply {
  return { name, routes: responsesRoutes, size, make };
}

const wholeChat = (message: object, more: object = {}): string[] =>
  reads(
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "stop", ...more }],
    }),
  );

const item = (nth: number) => ({
  type: "function_call",
  id: `fc_${nth}`,
  call_id: `call_number_${nth}`,
  name: "get_weather",
  arguments: "{}",
  status: "completed",
});
const completed = (output: unknown[]) => ({
  type: "response.completed",
  response: { id: "r", object: "response", status: "completed", output },
});

/** Replies that a broken or malicious upstream sends. */
export const hostileReplies: readonly HostileReply[] = [
  // tool calls
  chat("calls, one in each event", 16_000, (size) =>
    chatStream(times(size, (nth) => call(named(nth, `{"n":${nth}}`)))),
  ),
  chat("calls, all in one event", 4_000, (size) =>
    chatStream([chunk({ tool_calls: [...times(size, (nth) => named(nth, `{"n":${nth}}`))] })]),
  ),
  chat("calls, all in one complete reply", 4_000, (size) =>
    wholeChat({ content: null, tool_calls: [...times(size, (nth) => named(nth, "{}"))] }),
  ),
  chat("calls in turns: all begin, then all end", 4_000, (size) =>
    chatStream([
      ...times(size, (nth) => call(named(nth, '{"n":'))),
      ...times(size, (nth) => call({ index: nth, function: { arguments: `${nth}}` } })),
    ]),
  ),
  chat("calls without a name, and text between", 4_000, (size) =>
    chatStream([
      ...times(size, (nth) =>
        call({ index: nth, id: `call_number_${nth}`, function: { arguments: "" } }),
      ),
      ...times(size * 4, () => chunk({ content: "a" })),
    ]),
  ),
  chat("calls with half a name, and text between", 4_000, (size) =>
    chatStream([
      ...times(size, (nth) => call(named(nth, "", "get_"))),
      ...times(size * 4, () => chunk({ content: "a" })),
    ]),
  ),
  chat("calls as text, then the same as calls", 2_000, (size) =>
    chatStream([
      chunk({
        content: [
          ...times(
            size,
            (nth) => `<tool_call>{"name":"get_weather","arguments":{"n":${nth}}}</tool_call>`,
          ),
        ].join(""),
      }),
      ...times(size, (nth) => call(named(nth, `{"n":${nth}}`))),
    ]),
  ),
  chat("calls with signatures, and reasoning between", 2_000, (size) =>
    chatStream(
      times(size, (nth) =>
        chunk({
          reasoning_content: "a",
          tool_calls: [{ ...named(nth, "{}"), extra_content: { google: { signature: "s" } } }],
        }),
      ),
    ),
  ),
  chat("one call with a new unknown field in every event", 20_000, (size) =>
    chatStream(times(size, (nth) => call({ ...named(0, nth === 0 ? "{}" : ""), [`f${nth}`]: 1 }))),
  ),
  // fields that are repeated in every event
  ...["id", "model"].map((field) =>
    chat(`a long ${field}, and then deltas without one`, 2_000_000, (size) =>
      chatStream([
        { ...chunk({ content: "a" }), [field]: "x".repeat(size) },
        ...times(500, () => ({ ...chunk({ content: "a" }), [field]: undefined })),
      ]),
    ),
  ),
  chat("a long field in a chunk that finishes many choices", 2_000_000, (size) =>
    stream([
      {
        ...chunk({}),
        system_fingerprint: "x".repeat(size),
        choices: [...times(1_000, (index) => ({ index, delta: {}, finish_reason: "stop" }))],
      },
      "[DONE]",
    ]),
  ),
  ...["id", "model"].map((field) =>
    responses(`a response with a long ${field}, and then deltas`, 2_000_000, (size) =>
      stream([
        { type: "response.created", response: { id: "r", model: "m", [field]: "x".repeat(size) } },
        ...times(500, () => ({ type: "response.output_text.delta", item_id: "i", delta: "a" })),
        completed([]),
      ]),
    ),
  ),
  // arguments
  chat("objects in a row as the arguments of one call", 100_000, (size) =>
    chatStream([call(named(0, [...times(size, (nth) => `{"n":${nth}}`)].join("")))]),
  ),
  chat("the same object again and again as arguments", 400_000, (size) =>
    chatStream([call(named(0, "{}".repeat(size)))]),
  ),
  chat("arguments of a million small values", 1_000_000, (size) =>
    chatStream([call(named(0, `{"a":[${"{},".repeat(size)}0]}`))]),
  ),
  chat("arguments nested deeply", 400_000, (size) =>
    chatStream([call(named(0, `{"a":${"[".repeat(size)}1${"]".repeat(size)}}`))]),
  ),
  chat("arguments nested deeply, for a shell", 100_000, (size) =>
    chatStream([call(named(0, `{"commands":${"[".repeat(size)}1${"]".repeat(size)}}`, "shell"))]),
  ),
  chat("arguments and then closing braces", 2_000_000, (size) =>
    chatStream([call(named(0, `{}${"}".repeat(size)}`))]),
  ),
  chat("arguments, then blanks one by one", 20_000, (size) =>
    chatStream([
      call(named(0, "{}")),
      ...times(size, () => call({ index: 0, function: { arguments: "  " } })),
    ]),
  ),
  chat("snapshots of arguments, then short ones", 10_000, (size) =>
    chatStream([
      call(named(0, '{"a":"')),
      call({ index: 0, function: { arguments: '{"a":"b' } }),
      call({ index: 0, function: { arguments: `{"a":"b${"c".repeat(1_000_000)}` } }),
      ...times(size, () => call({ index: 0, function: { arguments: "{" } })),
    ]),
  ),
  chat("a long snapshot, then the name again and again", 10_000, (size) =>
    chatStream([
      call(named(0, '{"a":"')),
      call({ index: 0, function: { arguments: `{"a":"${"c".repeat(1_000_000)}"}` } }),
      ...times(size, () =>
        call({ index: 0, id: "call_number_0", function: { name: "get_weather", arguments: "" } }),
      ),
    ]),
  ),
  chat("closing braces one by one while another call waits", 20_000, (size) =>
    chatStream([
      call(named(0, `{"a":"${"c".repeat(200_000)}`)),
      call(named(1, "{}")),
      ...times(size, () => call({ index: 0, function: { arguments: "}" } })),
    ]),
  ),
  // text
  ...["\\", "<", "`", "{", "}", "\n", " ", "<tool_call>", "<function=", "</think>", "<think>"].map(
    (word) =>
      chat(`text of ${JSON.stringify(word)}`, 1_000_000, (size) =>
        said(word.repeat(Math.ceil(size / word.length))),
      ),
  ),
  ...[
    "<tool_call>{",
    '<tool_call>{"name":"',
    "<tool_call> ",
    "<function=a",
    "<function=get_weather><parameter=",
    "<function=get_weather><parameter=a>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "<think>`</think>`",
    "<|tool_call_begin|>functions.get_weather:",
  ].flatMap((word) =>
    ["1", " ", "<", "\\", "\n", "</parameter>", '"', "`"].map((filler) =>
      chat(`text of ${word}, then ${JSON.stringify(filler)} in small deltas`, 60_000, (size) =>
        said(word + filler.repeat(Math.ceil(size / filler.length)), "content", 12),
      ),
    ),
  ),
  chat("an id of Kimi's of a million digits", 1_000_000, (size) =>
    said(`<|tool_call_begin|>get_weather:${"1".repeat(size)}<|tool_call_argument_begin|>{}`),
  ),
  chat("a call as text with a name of millions of characters", 2_000_000, (size) =>
    said(`<tool_call>{"${"a".repeat(size)}":1}</tool_call>`),
  ),
  chat("reasoning in tags, then in a field again", 100_000, (size) =>
    chatStream([
      chunk({ content: `<think>${"a".repeat(size)}` }),
      ...times(size / 4, () => chunk({ reasoning_content: "aaaa" })),
    ]),
  ),
  chat("an image of endless format", 2_000_000, (size) =>
    chatStream([chunk({ images: [{ image_url: { url: `data:image/${"a".repeat(size)}` } }] })]),
  ),
  chat("an image as text parts nested deeply", 2_000, (size) =>
    chatStream([
      `{"id":"c","choices":[{"index":0,"delta":{"content":[{"text":${"[".repeat(size)}"a"${"]".repeat(size)}}]}}]}`,
    ]),
  ),
  chat("text of control characters", 4_000_000, (size) =>
    said("\u0001".repeat(size), "content", 50_000),
  ),
  chat("text of 9 MB in one event", 9_000_000, (size) => said("a".repeat(size))),
  chat("arguments of 9 MB in one event", 9_000_000, (size) =>
    chatStream([call(named(0, `{"a":"${"a".repeat(size)}"}`))]),
  ),
  chat("ids and names of megabytes", 8, (size) =>
    chatStream(
      times(size, (nth) =>
        call({ ...named(nth, "{}", "n".repeat(1_000_000)), id: "i".repeat(1_000_000) + nth }),
      ),
    ),
  ),
  // shape
  chat("choices, all in one event", 100_000, (size) =>
    chatStream([
      {
        ...chunk({}),
        choices: [...times(size, (index) => ({ index, delta: { content: "a" } }))],
      },
    ]),
  ),
  chat("choices, one in each event", 100_000, (size) =>
    chatStream(
      times(size, (index) => ({ id: "c", choices: [{ index, delta: { content: "a" } }] })),
    ),
  ),
  chat("logprobs of millions of values in one event", 3_000_000, (size) =>
    chatStream([
      `{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[${"{},".repeat(size)}0]}}]}`,
    ]),
  ),
  chat("logprobs of hundreds of thousands of entries in a complete reply", 60_000, (size) =>
    wholeChat(
      { role: "assistant", content: "a" },
      { logprobs: { content: [...times(size, () => ({ token: "a", logprob: -1 }))] } },
    ),
  ),
  chat("annotations in every event", 20_000, (size) =>
    chatStream(
      times(size, (nth) =>
        chunk({
          content: "a",
          annotations: [{ type: "url_citation", url_citation: { url: `u${nth}` } }],
        }),
      ),
    ),
  ),
  chat("JSON nested deeply in an event", 100_000, (size) =>
    chatStream([`{"id":"c","choices":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`]),
  ),
  chat("JSON nested deeply in a small event", 1_900, (size) =>
    chatStream([
      chunk({ content: "a" }),
      `{"id":"c","choices":[{"index":0,"delta":{"content":"b"}}],"x":${"[".repeat(size)}${"]".repeat(size)}}`,
    ]),
  ),
  chat("JSON nested deeply in a complete reply", 1_000_000, (size) =>
    reads(`{"id":"c","choices":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`),
  ),
  chat("usage of hundreds of thousands of fields", 200_000, (size) =>
    chatStream([
      { id: "c", choices: [], usage: Object.fromEntries(times(size, (nth) => [`f${nth}`, 1])) },
    ]),
  ),
  chat("a line that never ends", 20_000_000, (size) => reads(`data: {"a":"${"a".repeat(size)}`)),
  chat("lines of data without end", 5_000_000, (size) => reads("data:\n".repeat(size))),
  chat("comments", 1_000_000, (size) => stream([], ":\n\n".repeat(size))),
  chat("empty events", 1_000_000, (size) => stream([], "data:\n\n".repeat(size))),
  // Responses
  responses("items, each added and done", 20_000, (size) =>
    stream(
      [
        ...times(size, (nth) => [
          {
            type: "response.output_item.added",
            output_index: nth,
            item: { ...item(nth), arguments: "" },
          },
          { type: "response.output_item.done", output_index: nth, item: item(nth) },
        ]),
      ].flat(),
    ),
  ),
  responses("items under one index", 8_000, (size) =>
    stream([
      ...times(size, (nth) => ({
        type: "response.output_item.added",
        output_index: 0,
        item: item(nth),
      })),
      completed([]),
    ]),
  ),
  responses("items that only begin, then all of them in the last event", 6_000, (size) =>
    stream([
      ...times(size, (nth) => ({
        type: "response.output_item.added",
        output_index: nth,
        item: { ...item(nth), arguments: "" },
      })),
      completed([...times(size, item)].toReversed()),
    ]),
  ),
  responses("items of other ids in the last event", 6_000, (size) =>
    stream([
      ...times(size, (nth) => ({
        type: "response.output_item.added",
        output_index: nth,
        item: { type: "message", id: `m${nth}` },
      })),
      completed([...times(size, (nth) => ({ type: "reasoning", id: `r${nth}` }))]),
    ]),
  ),
  responses("items in a complete reply", 20_000, (size) =>
    reads(JSON.stringify(completed([...times(size, item)]).response)),
  ),
  responses("the end of a long item again and again", 20_000, (size) =>
    stream([
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item(0), arguments: `{"a":"${"a".repeat(1_000_000)}"}` },
      },
      ...times(size, () => ({
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", arguments: "{}" },
      })),
    ]),
  ),
  responses("parts of reasoning", 20_000, (size) =>
    stream(
      times(size, (nth) => ({
        type: "response.reasoning_text.delta",
        output_index: 0,
        content_index: nth,
        delta: "a",
      })),
    ),
  ),
  responses("a new field of the response in every event", 20_000, (size) =>
    stream(
      times(size, (nth) => ({ type: "response.in_progress", response: { [`f${nth}`]: nth } })),
    ),
  ),
  responses("JSON nested deeply in an event", 100_000, (size) =>
    stream([`{"type":"response.x","x":${"[".repeat(size)}${"]".repeat(size)}}`]),
  ),
  responses("JSON nested deeply in a complete reply", 1_000_000, (size) =>
    reads(`{"id":"r","output":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`),
  ),
  responses("text of 9 MB in one event", 9_000_000, (size) =>
    stream([{ type: "response.output_text.delta", output_index: 0, delta: "a".repeat(size) }]),
  ),
  responses("text of 9 MB in a complete reply", 9_000_000, (size) =>
    reads(
      JSON.stringify(
        completed([
          { type: "message", id: "m", content: [{ type: "output_text", text: "a".repeat(size) }] },
        ]).response,
      ),
    ),
  ),
  responses("items of a million small values", 1_000_000, (size) =>
    stream([
      `{"type":"response.output_item.done","output_index":0,"item":{"type":"x_call","a":[${"{},".repeat(size)}0]}}`,
    ]),
  ),
  responses("events of an unknown type", 100_000, (size) =>
    stream(times(size, () => ({ type: "response.x", a: 1 }))),
  ),
  responses("an index of almost a billion", 1_000, (size) =>
    stream([
      ...times(size, (nth) => ({
        type: "response.output_item.done",
        output_index: 999_999_999 - nth,
        item: item(nth),
      })),
    ]),
  ),
];
