import {
  ChatBody,
  ChatOverChat,
  ChatOverResponses,
  encodeChatEvent,
  encodeResponseEvent,
  genericProfile,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  WireError,
  withProfileFlags,
  type ChatStreamEvent,
  type ResponseEvent,
  type StreamMachine,
} from "@deltawire/wire";
import { createIdCounter, sampleTools } from "./translate-reply.ts";

/** Creates the translators, by the upstream's wire and the client's wire. */
const routes = {
  "chat to responses": () => translate(new ChatBody(bodyOptions()), responsesOverChat()),
  "chat to chat": () => translate(new ChatBody(bodyOptions()), chatOverChat("deltas")),
  "chat to chat with complete calls": () =>
    translate(new ChatBody(bodyOptions()), chatOverChat("complete")),
  "responses to responses": () =>
    translate(new ResponsesBody(bodyOptions()), responsesOverResponses()),
  "responses to chat": () => translate(new ResponsesBody(bodyOptions()), chatOverResponses()),
} as const;

export type Route = keyof typeof routes;

export interface HostileReply {
  name: string;
  routes: readonly Route[];
  /** Returns the chunks of the body. `size` is a number of calls, items or characters. */
  make: (size: number) => string[];
  size: number;
}

/** The result of a reply. `error` is set if a limit was exceeded. */
export interface PlayedReply {
  error: WireError | undefined;
  /** Number of characters sent to the client. */
  written: number;
}

/** Reads a reply like the gateway. `onChunk` runs the action for each chunk and for the end. */
export function playReply(
  route: Route,
  chunks: readonly string[],
  onChunk: (action: () => void) => void = (action) => action(),
): PlayedReply {
  const machine = routes[route]();
  const result: PlayedReply = { error: undefined, written: 0 };
  const step = (action: () => void): void =>
    onChunk(() => {
      try {
        action();
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        result.error = error;
      }
    });
  for (const chunk of chunks) {
    if (result.error !== undefined) return result;
    step(() => (result.written += machine.push(chunk)));
  }
  if (result.error === undefined) step(() => (result.written += machine.end()));
  return result;
}

interface ReplyTranslator {
  push(chunk: string): number;
  end(): number;
}

function translate<In, Out extends ChatStreamEvent | ResponseEvent>(
  body: StreamMachine<string | Uint8Array, In>,
  translator: StreamMachine<In, Out>,
): ReplyTranslator {
  const inputs: In[] = [];
  const out: Out[] = [];
  const write = (): number => {
    let written = 0;
    for (const output of out.splice(0))
      written +=
        typeof output === "object" && "type" in output
          ? encodeResponseEvent(output as ResponseEvent).length
          : encodeChatEvent(output).length;
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
/** A profile with all features that scan text. */
const profile = withProfileFlags(genericProfile, {
  thinkTags: true,
  leakedCalls: ["hermes", "qwen-xml", "kimi"],
});
const createCommonOptions = () => ({
  newId: createIdCounter(),
  createdAt: 1,
  profile,
  estimateInputTokens: () => 1,
});
const responsesOverChat = () =>
  new ResponsesOverChat({
    ...createCommonOptions(),
    responseId: "resp_1",
    tools: sampleTools,
    seal: () => "sealed",
  });
const chatOverChat = (toolCalls: "deltas" | "complete") =>
  new ChatOverChat({
    ...createCommonOptions(),
    toolNames: sampleTools.upstreamNames,
    tools: sampleTools,
    toolCalls,
  });
const responsesOverResponses = () =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 }) as unknown as StreamMachine<
    { type: string },
    ResponseEvent
  >;
const chatOverResponses = () =>
  new ChatOverResponses({
    ...createCommonOptions(),
    toolNames: sampleTools.upstreamNames,
  }) as unknown as StreamMachine<{ type: string }, ChatStreamEvent>;

/** Characters per read. */
const readSize = 64 * 1024;

/** Splits events into reads. */
function stream(events: Iterable<unknown>, tail = ""): string[] {
  const parts: string[] = [];
  for (const event of events)
    parts.push(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  return reads(parts.join("") + tail);
}

function reads(text: string): string[] {
  const result: string[] = [];
  for (let offset = 0; offset < text.length; offset += readSize)
    result.push(text.slice(offset, offset + readSize));
  return result;
}

function* repeat<Value>(count: number, make: (index: number) => Value): Generator<Value> {
  for (let index = 0; index < count; index += 1) yield make(index);
}

const chunk = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish, ...more }],
});
const call = (fields: object) => chunk({ tool_calls: [fields] });
const toolCallEntry = (index: number, args: string, name = "get_weather") => ({
  index: index,
  id: `call_number_${index}`,
  type: "function",
  function: { name, arguments: args },
});
const chatEnd = [chunk({}, "tool_calls"), "[DONE]"];

function chatStream(events: Iterable<unknown>): string[] {
  return stream([...events, ...chatEnd]);
}

/** Splits a text into deltas of `step` characters; 0: one delta. */
function toTextDeltas(text: string, field = "content", step = 0): string[] {
  const length = step === 0 ? Math.max(1, text.length) : step;
  return chatStream(
    repeat(Math.ceil(text.length / length), (index) =>
      chunk({ [field]: text.slice(index * length, (index + 1) * length) }),
    ),
  );
}

const chatRoutes: readonly Route[] = [
  "chat to responses",
  "chat to chat",
  "chat to chat with complete calls",
];
const responsesRoutes: readonly Route[] = ["responses to responses", "responses to chat"];

function chat(name: string, size: number, make: (size: number) => string[]): HostileReply {
  return { name, routes: chatRoutes, size, make };
}

function responses(name: string, size: number, make: (size: number) => string[]): HostileReply {
  return { name, routes: responsesRoutes, size, make };
}

const completeChat = (message: object, more: object = {}): string[] =>
  reads(
    JSON.stringify({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "stop", ...more }],
    }),
  );

const item = (index: number) => ({
  type: "function_call",
  id: `fc_${index}`,
  call_id: `call_number_${index}`,
  name: "get_weather",
  arguments: "{}",
  status: "completed",
});
const completed = (output: unknown[]) => ({
  type: "response.completed",
  response: { id: "r", object: "response", status: "completed", output },
});

/** Replies of broken or malicious upstreams. */
export const hostileReplies: readonly HostileReply[] = [
  // tool calls
  chat("many calls, one per event", 16_000, (size) =>
    chatStream(repeat(size, (index) => call(toolCallEntry(index, `{"n":${index}}`)))),
  ),
  chat("many calls in one event", 4_000, (size) =>
    chatStream([
      chunk({ tool_calls: [...repeat(size, (index) => toolCallEntry(index, `{"n":${index}}`))] }),
    ]),
  ),
  chat("many calls in one complete reply", 4_000, (size) =>
    completeChat({
      content: null,
      tool_calls: [...repeat(size, (index) => toolCallEntry(index, "{}"))],
    }),
  ),
  chat("many calls that all begin before the first one ends", 4_000, (size) =>
    chatStream([
      ...repeat(size, (index) => call(toolCallEntry(index, '{"n":'))),
      ...repeat(size, (index) => call({ index: index, function: { arguments: `${index}}` } })),
    ]),
  ),
  chat("many calls without a name, followed by text", 4_000, (size) =>
    chatStream([
      ...repeat(size, (index) =>
        call({ index: index, id: `call_number_${index}`, function: { arguments: "" } }),
      ),
      ...repeat(size * 4, () => chunk({ content: "a" })),
    ]),
  ),
  chat("many calls with half a name, followed by text", 4_000, (size) =>
    chatStream([
      ...repeat(size, (index) => call(toolCallEntry(index, "", "get_"))),
      ...repeat(size * 4, () => chunk({ content: "a" })),
    ]),
  ),
  chat("many leaked calls, followed by the same calls as tool calls", 2_000, (size) =>
    chatStream([
      chunk({
        content: [
          ...repeat(
            size,
            (index) => `<tool_call>{"name":"get_weather","arguments":{"n":${index}}}</tool_call>`,
          ),
        ].join(""),
      }),
      ...repeat(size, (index) => call(toolCallEntry(index, `{"n":${index}}`))),
    ]),
  ),
  chat("many calls with signatures, each with reasoning", 2_000, (size) =>
    chatStream(
      repeat(size, (index) =>
        chunk({
          reasoning_content: "a",
          tool_calls: [
            { ...toolCallEntry(index, "{}"), extra_content: { google: { signature: "s" } } },
          ],
        }),
      ),
    ),
  ),
  chat("one call with a new unknown field in every event", 20_000, (size) =>
    chatStream(
      repeat(size, (index) =>
        call({ ...toolCallEntry(0, index === 0 ? "{}" : ""), [`f${index}`]: 1 }),
      ),
    ),
  ),
  // fields that are repeated in every event
  ...["id", "model"].map((field) =>
    chat(`a long ${field}, followed by deltas without one`, 2_000_000, (size) =>
      chatStream([
        { ...chunk({ content: "a" }), [field]: "x".repeat(size) },
        ...repeat(500, () => ({ ...chunk({ content: "a" }), [field]: undefined })),
      ]),
    ),
  ),
  chat("a long field in a chunk that finishes many choices", 2_000_000, (size) =>
    stream([
      {
        ...chunk({}),
        system_fingerprint: "x".repeat(size),
        choices: [...repeat(1_000, (index) => ({ index, delta: {}, finish_reason: "stop" }))],
      },
      "[DONE]",
    ]),
  ),
  ...["id", "model"].map((field) =>
    responses(`a response with a long ${field}, followed by deltas`, 2_000_000, (size) =>
      stream([
        { type: "response.created", response: { id: "r", model: "m", [field]: "x".repeat(size) } },
        ...repeat(500, () => ({ type: "response.output_text.delta", item_id: "i", delta: "a" })),
        completed([]),
      ]),
    ),
  ),
  // arguments
  chat("many concatenated objects as the arguments of one call", 100_000, (size) =>
    chatStream([call(toolCallEntry(0, [...repeat(size, (index) => `{"n":${index}}`)].join("")))]),
  ),
  chat("the same object repeated as arguments", 400_000, (size) =>
    chatStream([call(toolCallEntry(0, "{}".repeat(size)))]),
  ),
  chat("arguments of a million small values", 1_000_000, (size) =>
    chatStream([call(toolCallEntry(0, `{"a":[${"{},".repeat(size)}0]}`))]),
  ),
  chat("deeply nested arguments", 400_000, (size) =>
    chatStream([call(toolCallEntry(0, `{"a":${"[".repeat(size)}1${"]".repeat(size)}}`))]),
  ),
  chat("deeply nested arguments of a shell call", 100_000, (size) =>
    chatStream([
      call(toolCallEntry(0, `{"commands":${"[".repeat(size)}1${"]".repeat(size)}}`, "shell")),
    ]),
  ),
  chat("arguments followed by many closing braces", 2_000_000, (size) =>
    chatStream([call(toolCallEntry(0, `{}${"}".repeat(size)}`))]),
  ),
  chat("arguments followed by many deltas of spaces", 20_000, (size) =>
    chatStream([
      call(toolCallEntry(0, "{}")),
      ...repeat(size, () => call({ index: 0, function: { arguments: "  " } })),
    ]),
  ),
  chat("a long snapshot of arguments, followed by short ones", 10_000, (size) =>
    chatStream([
      call(toolCallEntry(0, '{"a":"')),
      call({ index: 0, function: { arguments: '{"a":"b' } }),
      call({ index: 0, function: { arguments: `{"a":"b${"c".repeat(1_000_000)}` } }),
      ...repeat(size, () => call({ index: 0, function: { arguments: "{" } })),
    ]),
  ),
  chat("a long snapshot of arguments, followed by the name repeated", 10_000, (size) =>
    chatStream([
      call(toolCallEntry(0, '{"a":"')),
      call({ index: 0, function: { arguments: `{"a":"${"c".repeat(1_000_000)}"}` } }),
      ...repeat(size, () =>
        call({ index: 0, id: "call_number_0", function: { name: "get_weather", arguments: "" } }),
      ),
    ]),
  ),
  chat("deltas of one closing brace while another call waits", 20_000, (size) =>
    chatStream([
      call(toolCallEntry(0, `{"a":"${"c".repeat(200_000)}`)),
      call(toolCallEntry(1, "{}")),
      ...repeat(size, () => call({ index: 0, function: { arguments: "}" } })),
    ]),
  ),
  // text
  ...["\\", "<", "`", "{", "}", "\n", " ", "<tool_call>", "<function=", "</think>", "<think>"].map(
    (word) =>
      chat(`the text ${JSON.stringify(word)} repeated`, 1_000_000, (size) =>
        toTextDeltas(word.repeat(Math.ceil(size / word.length))),
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
      chat(
        `the text ${word} followed by ${JSON.stringify(filler)} repeated in small deltas`,
        60_000,
        (size) =>
          toTextDeltas(word + filler.repeat(Math.ceil(size / filler.length)), "content", 12),
      ),
    ),
  ),
  chat("a Kimi call id of a million digits", 1_000_000, (size) =>
    toTextDeltas(
      `<|tool_call_begin|>get_weather:${"1".repeat(size)}<|tool_call_argument_begin|>{}`,
    ),
  ),
  chat("a leaked call with a name of two million characters", 2_000_000, (size) =>
    toTextDeltas(`<tool_call>{"${"a".repeat(size)}":1}</tool_call>`),
  ),
  chat("reasoning in think tags, repeated in a field", 100_000, (size) =>
    chatStream([
      chunk({ content: `<think>${"a".repeat(size)}` }),
      ...repeat(size / 4, () => chunk({ reasoning_content: "aaaa" })),
    ]),
  ),
  chat("an image with a media type of two megabytes", 2_000_000, (size) =>
    chatStream([chunk({ images: [{ image_url: { url: `data:image/${"a".repeat(size)}` } }] })]),
  ),
  chat("deeply nested text parts", 2_000, (size) =>
    chatStream([
      `{"id":"c","choices":[{"index":0,"delta":{"content":[{"text":${"[".repeat(size)}"a"${"]".repeat(size)}}]}}]}`,
    ]),
  ),
  chat("text of control characters", 4_000_000, (size) =>
    toTextDeltas("\u0001".repeat(size), "content", 50_000),
  ),
  chat("9 MB of text in one event", 9_000_000, (size) => toTextDeltas("a".repeat(size))),
  chat("9 MB of arguments in one event", 9_000_000, (size) =>
    chatStream([call(toolCallEntry(0, `{"a":"${"a".repeat(size)}"}`))]),
  ),
  chat("call ids and names of a megabyte each", 8, (size) =>
    chatStream(
      repeat(size, (index) =>
        call({
          ...toolCallEntry(index, "{}", "n".repeat(1_000_000)),
          id: "i".repeat(1_000_000) + index,
        }),
      ),
    ),
  ),
  // structure
  chat("many choices in one event", 100_000, (size) =>
    chatStream([
      {
        ...chunk({}),
        choices: [...repeat(size, (index) => ({ index, delta: { content: "a" } }))],
      },
    ]),
  ),
  chat("many choices, one per event", 100_000, (size) =>
    chatStream(
      repeat(size, (index) => ({ id: "c", choices: [{ index, delta: { content: "a" } }] })),
    ),
  ),
  chat("logprobs of millions of values in one event", 3_000_000, (size) =>
    chatStream([
      `{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[${"{},".repeat(size)}0]}}]}`,
    ]),
  ),
  chat("logprobs of hundreds of thousands of entries in a complete reply", 60_000, (size) =>
    completeChat(
      { role: "assistant", content: "a" },
      { logprobs: { content: [...repeat(size, () => ({ token: "a", logprob: -1 }))] } },
    ),
  ),
  chat("annotations in every event", 20_000, (size) =>
    chatStream(
      repeat(size, (index) =>
        chunk({
          content: "a",
          annotations: [{ type: "url_citation", url_citation: { url: `u${index}` } }],
        }),
      ),
    ),
  ),
  chat("deeply nested JSON in an event", 100_000, (size) =>
    chatStream([`{"id":"c","choices":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`]),
  ),
  chat("deeply nested JSON in a small event", 1_900, (size) =>
    chatStream([
      chunk({ content: "a" }),
      `{"id":"c","choices":[{"index":0,"delta":{"content":"b"}}],"x":${"[".repeat(size)}${"]".repeat(size)}}`,
    ]),
  ),
  chat("deeply nested JSON in a complete reply", 1_000_000, (size) =>
    reads(`{"id":"c","choices":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`),
  ),
  chat("usage of hundreds of thousands of fields", 200_000, (size) =>
    chatStream([
      {
        id: "c",
        choices: [],
        usage: Object.fromEntries(repeat(size, (index) => [`f${index}`, 1])),
      },
    ]),
  ),
  chat("a line that never ends", 20_000_000, (size) => reads(`data: {"a":"${"a".repeat(size)}`)),
  chat("an event of millions of data lines", 5_000_000, (size) => reads("data:\n".repeat(size))),
  chat("many comments", 1_000_000, (size) => stream([], ":\n\n".repeat(size))),
  chat("many empty events", 1_000_000, (size) => stream([], "data:\n\n".repeat(size))),
  // Responses
  responses("many items, each with added and done", 20_000, (size) =>
    stream(
      [
        ...repeat(size, (index) => [
          {
            type: "response.output_item.added",
            output_index: index,
            item: { ...item(index), arguments: "" },
          },
          { type: "response.output_item.done", output_index: index, item: item(index) },
        ]),
      ].flat(),
    ),
  ),
  responses("many items with the same index", 8_000, (size) =>
    stream([
      ...repeat(size, (index) => ({
        type: "response.output_item.added",
        output_index: 0,
        item: item(index),
      })),
      completed([]),
    ]),
  ),
  responses("many items that are only added, then all of them in the last event", 6_000, (size) =>
    stream([
      ...repeat(size, (index) => ({
        type: "response.output_item.added",
        output_index: index,
        item: { ...item(index), arguments: "" },
      })),
      completed([...repeat(size, item)].toReversed()),
    ]),
  ),
  responses("many items with different ids in the last event", 6_000, (size) =>
    stream([
      ...repeat(size, (index) => ({
        type: "response.output_item.added",
        output_index: index,
        item: { type: "message", id: `m${index}` },
      })),
      completed([...repeat(size, (index) => ({ type: "reasoning", id: `r${index}` }))]),
    ]),
  ),
  responses("many items in a complete reply", 20_000, (size) =>
    reads(JSON.stringify(completed([...repeat(size, item)]).response)),
  ),
  responses("the done event of a long item repeated", 20_000, (size) =>
    stream([
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item(0), arguments: `{"a":"${"a".repeat(1_000_000)}"}` },
      },
      ...repeat(size, () => ({
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", arguments: "{}" },
      })),
    ]),
  ),
  responses("many parts of reasoning", 20_000, (size) =>
    stream(
      repeat(size, (index) => ({
        type: "response.reasoning_text.delta",
        output_index: 0,
        content_index: index,
        delta: "a",
      })),
    ),
  ),
  responses("a new field of the response in every event", 20_000, (size) =>
    stream(
      repeat(size, (index) => ({
        type: "response.in_progress",
        response: { [`f${index}`]: index },
      })),
    ),
  ),
  responses("deeply nested JSON in an event", 100_000, (size) =>
    stream([`{"type":"response.x","x":${"[".repeat(size)}${"]".repeat(size)}}`]),
  ),
  responses("deeply nested JSON in a complete reply", 1_000_000, (size) =>
    reads(`{"id":"r","output":[],"x":${"[".repeat(size)}${"]".repeat(size)}}`),
  ),
  responses("9 MB of text in one event", 9_000_000, (size) =>
    stream([{ type: "response.output_text.delta", output_index: 0, delta: "a".repeat(size) }]),
  ),
  responses("9 MB of text in a complete reply", 9_000_000, (size) =>
    reads(
      JSON.stringify(
        completed([
          { type: "message", id: "m", content: [{ type: "output_text", text: "a".repeat(size) }] },
        ]).response,
      ),
    ),
  ),
  responses("an item of a million small values", 1_000_000, (size) =>
    stream([
      `{"type":"response.output_item.done","output_index":0,"item":{"type":"x_call","a":[${"{},".repeat(size)}0]}}`,
    ]),
  ),
  responses("many events of an unknown type", 100_000, (size) =>
    stream(repeat(size, () => ({ type: "response.x", a: 1 }))),
  ),
  responses("item indexes of almost a billion", 1_000, (size) =>
    stream([
      ...repeat(size, (index) => ({
        type: "response.output_item.done",
        output_index: 999_999_999 - index,
        item: item(index),
      })),
    ]),
  ),
];
