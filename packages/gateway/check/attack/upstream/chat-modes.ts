import type { JsonObject } from "@deltawire/wire";
import { event } from "../../../test/scripted-upstream.ts";
import { oddities, withOddity } from "../odd-values.ts";
import { chunkWith } from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* What an upstream may send wrongly on the Chat wire. */

const call = (at: number, more: JsonObject = {}): JsonObject => ({
  index: at,
  id: `call_${at}`,
  type: "function",
  function: { name: "look", arguments: "{}" },
  ...more,
});

/** Deltas that are long, many or malicious; the same is a message of a complete reply. */
const deltas: Record<string, () => JsonObject> = {
  "16,000 tool calls at once": () => ({
    tool_calls: Array.from({ length: 16_000 }, (_, at) => call(at)),
  }),
  "100,000 tool calls at once": () => ({
    tool_calls: Array.from({ length: 100_000 }, (_, at) => call(at)),
  }),
  "5,000 tool calls with one id": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, at) => call(at, { id: "call_0" })),
  }),
  "5,000 tool calls with one index": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, at) => call(0, { id: `call_${at}` })),
  }),
  "5,000 tool calls without ids": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, at) => call(at, { id: null })),
  }),
  "5,000 tool calls without names": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, at) =>
      call(at, { function: { arguments: "{}" } }),
    ),
  }),
  "a tool call of index 1e9": () => ({ tool_calls: [call(1e9)] }),
  "a tool call of index -1": () => ({ tool_calls: [call(-1)] }),
  "a tool call of index 2^53": () => ({ tool_calls: [call(2 ** 53)] }),
  "a tool call with an id of 2 MB": () => ({
    tool_calls: [call(0, { id: "i".repeat(2_000_000) })],
  }),
  "a tool call with a name of 2 MB": () => ({
    tool_calls: [call(0, { function: { name: "n".repeat(2_000_000), arguments: "{}" } })],
  }),
  "tool calls named after methods": () => ({
    tool_calls: ["__proto__", "constructor", "toString", "hasOwnProperty"].map((name, at) =>
      call(at, { id: name, function: { name, arguments: "{}" } }),
    ),
  }),
  "arguments that are never closed": () => ({
    tool_calls: [call(0, { function: { name: "look", arguments: '{"a":"' } })],
  }),
  "arguments of 3 MB of brackets": () => ({
    tool_calls: [call(0, { function: { name: "look", arguments: "[".repeat(3_000_000) } })],
  }),
  "arguments of 3 MB of backslashes": () => ({
    tool_calls: [
      call(0, { function: { name: "look", arguments: `{"a":"${"\\".repeat(3_000_000)}` } }),
    ],
  }),
  "arguments of 3 MB of quotes": () => ({
    tool_calls: [call(0, { function: { name: "look", arguments: '"'.repeat(3_000_000) } })],
  }),
  "arguments of 3 MB of blanks": () => ({
    tool_calls: [call(0, { function: { name: "look", arguments: " ".repeat(3_000_000) } })],
  }),
  "arguments that are garbage": () => ({
    tool_calls: [call(0, { function: { name: "look", arguments: "}{][,:\u0000" } })],
  }),
  "arguments with duplicate keys and prototypes": () => ({
    tool_calls: [
      call(0, { function: { name: "look", arguments: '{"__proto__":{"x":1},"a":1,"a":2}' } }),
    ],
  }),
  "arguments nested 50,000 deep": () => ({
    tool_calls: [
      call(0, {
        function: { name: "look", arguments: '{"a":'.repeat(50_000) + "1" + "}".repeat(50_000) },
      }),
    ],
  }),
  "a content of 20 MB": () => ({ content: "x".repeat(20_000_000) }),
  "a content of 240,000 backslashes": () => ({ content: "\\".repeat(240_000) }),
  "a content of a million quotes": () => ({ content: '"'.repeat(1_000_000) }),
  "a content of 500,000 line ends": () => ({ content: "\n".repeat(500_000) }),
  "a content of data:image/ and a million letters": () => ({
    content: `data:image/${"a".repeat(1_000_000)}`,
  }),
  "a content of 100,000 data:image/": () => ({ content: "data:image/".repeat(100_000) }),
  "a content of 100,000 opening think tags": () => ({ content: "<think>".repeat(100_000) }),
  "a content of 100,000 closing think tags": () => ({ content: "</think>".repeat(100_000) }),
  "a content of 100,000 tool call tags": () => ({ content: "<tool_call>".repeat(100_000) }),
  "a content of 100,000 function tags": () => ({
    content: "<function=look><parameter=a>".repeat(100_000),
  }),
  "a content of a million <": () => ({ content: "<".repeat(1_000_000) }),
  "a content of a million `": () => ({ content: "`".repeat(1_000_000) }),
  "a content of a million {": () => ({ content: "{".repeat(1_000_000) }),
  "a content of tokens of a template": () => ({
    content:
      "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{".repeat(
        20_000,
      ),
  }),
  "a content of lone surrogates": () => ({ content: "\ud800\udfff\ud800".repeat(50_000) }),
  "a content of combining characters": () => ({ content: `e${"\u0301".repeat(500_000)}` }),
  "a content in 100,000 parts": () => ({
    content: Array.from({ length: 100_000 }, () => ({ type: "text", text: "x" })),
  }),
  "a content in parts of parts": () => ({
    content: [{ type: "text", text: [{ type: "text", text: "x" }] }],
  }),
  "a refusal of 240,000 backslashes": () => ({ refusal: "\\".repeat(240_000) }),
  "reasoning of 20 MB": () => ({ reasoning_content: "r".repeat(20_000_000) }),
  "reasoning in every field there is": () => ({
    reasoning_content: "a",
    reasoning: "b",
    reasoning_text: "c",
    thinking: "d",
    reasoning_details: [{ type: "reasoning.text", text: "e" }],
  }),
  "100,000 details of reasoning": () => ({
    reasoning_details: Array.from({ length: 100_000 }, (_, at) => ({
      type: "reasoning.text",
      text: "x",
      index: at,
    })),
  }),
  "100,000 annotations": () => ({
    content: "x",
    annotations: Array.from({ length: 100_000 }, () => ({
      type: "url_citation",
      url_citation: { url: "x" },
    })),
  }),
  "10,000 images": () => ({
    content: "x",
    images: Array.from({ length: 10_000 }, () => ({
      type: "image_url",
      image_url: { url: "data:image/png;base64,AAAA" },
    })),
  }),
  "an audio without end": () => ({
    audio: { id: "a", data: "A".repeat(5_000_000), transcript: "x" },
  }),
  "a function call of the old form": () => ({ function_call: { name: "look", arguments: "{}" } }),
  "a role that nobody knows": () => ({ role: "system\u0000", content: "x" }),
  "10,000 fields that nobody knows": () =>
    Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`field_${at}`, at])),
};

/** Streams of many or malicious chunks. */
const streams: Record<string, () => Iterable<unknown>> = {
  "100,000 choices in a chunk": () => [
    chunkWith(Array.from({ length: 100_000 }, (_, at) => ({ index: at, delta: { content: "x" } }))),
  ],
  "choices of odd indexes": () => [
    chunkWith(
      [-1, 1.5, 1e9, 2 ** 53, "0", "x", null, {}].map((index) => ({
        index,
        delta: { content: "x" },
        finish_reason: "stop",
      })),
    ),
  ],
  *"100,000 choices, each in a chunk"() {
    for (let at = 0; at < 100_000; at += 1)
      yield chunkWith([{ index: at, delta: { content: "x" } }]);
  },
  *"16,000 tool calls, each in a chunk"() {
    for (let at = 0; at < 16_000; at += 1)
      yield chunkWith([{ index: 0, delta: { tool_calls: [call(at)] } }]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"3,000 tool calls whose arguments come in turns"() {
    for (let round = 0; round < 4; round += 1)
      for (let at = 0; at < 3000; at += 1)
        yield chunkWith([
          {
            index: 0,
            delta: {
              tool_calls: [
                round === 0
                  ? call(at, { function: { name: "look", arguments: "" } })
                  : {
                      index: at,
                      function: { arguments: round === 1 ? '{"a":' : round === 2 ? "1" : "}" },
                    },
              ],
            },
          },
        ]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"100,000 pieces of one call"() {
    yield chunkWith([
      {
        index: 0,
        delta: { tool_calls: [call(0, { function: { name: "look", arguments: '{"a":"' } })] },
      },
    ]);
    for (let at = 0; at < 100_000; at += 1)
      yield chunkWith([
        { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: "x" } }] } },
      ]);
    yield chunkWith([
      { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '"}' } }] } },
    ]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"100,000 tiny words"() {
    for (let at = 0; at < 100_000; at += 1)
      yield chunkWith([{ index: 0, delta: { content: "w" } }]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"content and reasoning in turns, 20,000 times"() {
    for (let at = 0; at < 20_000; at += 1)
      yield chunkWith([
        { index: 0, delta: at % 2 === 0 ? { content: "w" } : { reasoning_content: "r" } },
      ]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"content and calls in turns, 5,000 times"() {
    for (let at = 0; at < 5000; at += 1)
      yield chunkWith([
        { index: 0, delta: at % 2 === 0 ? { content: "w" } : { tool_calls: [call(at)] } },
      ]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"another id, model and time in each chunk"() {
    for (let at = 0; at < 50; at += 1)
      yield {
        ...chunkWith([{ index: 0, delta: { content: "w" } }]),
        id: `id-${at}`,
        model: `m-${at}`,
        created: at,
      };
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"1,000 finishes"() {
    for (let at = 0; at < 1000; at += 1)
      yield chunkWith([{ index: 0, delta: { content: "w" }, finish_reason: "stop" }]);
  },
  *"10,000 usages"() {
    yield chunkWith([{ index: 0, delta: { content: "w" }, finish_reason: "stop" }]);
    for (let at = 0; at < 10_000; at += 1)
      yield chunkWith([], {
        usage: { prompt_tokens: at, completion_tokens: at, total_tokens: at },
      });
  },
  *"an empty name, id and type in each delta of a call"() {
    for (const piece of ["", '{"a"', ":1}", ""])
      yield chunkWith([
        {
          index: 0,
          delta: {
            tool_calls: [{ index: 0, id: "", type: "", function: { name: "", arguments: piece } }],
          },
        },
      ]);
    yield chunkWith([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  "a first id of 2 MB, then 1,000 deltas without one": () => [
    { ...chunkWith([{ index: 0, delta: { content: "x" } }]), id: "i".repeat(2_000_000) },
    ...Array.from({ length: 1000 }, () => ({
      ...chunkWith([{ index: 0, delta: { content: "x" } }]),
      id: null,
    })),
  ],
  "a field of 2 MB beside the finish of 1,000 choices": () => [
    {
      ...chunkWith(
        Array.from({ length: 1000 }, (_, index) => ({ index, delta: {}, finish_reason: "stop" })),
      ),
      system_fingerprint: "f".repeat(2_000_000),
    },
  ],
  "chunks of other objects": () => [
    { object: "list", data: [] },
    {
      object: "chat.completion",
      choices: [{ message: { content: "whole" }, finish_reason: "stop" }],
    },
    { object: "text_completion", choices: [{ text: "old", finish_reason: "stop" }] },
    { type: "message_start", message: {} },
    { candidates: [{ content: { parts: [{ text: "x" }] } }] },
  ],
  "Responses events on the Chat wire": () => [
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    { type: "response.output_text.delta", delta: "x" },
    { type: "response.completed", response: { id: "resp_1", status: "completed", output: [] } },
  ],
};

/** Fields of a chunk, and of a complete reply, that get every odd value in turn. */
const fields: Record<string, (value: unknown) => JsonObject> = {
  "the chunk itself": (value) => value as JsonObject,
  id: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { id: value as string },
    ),
  created: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { created: value as number },
    ),
  model: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { model: value as string },
    ),
  object: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { object: value as string },
    ),
  choices: (value) => chunkWith(value),
  "a choice": (value) =>
    chunkWith([
      value,
      { index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" },
    ]),
  "the index of a choice": (value) =>
    chunkWith([
      { index: value, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" },
    ]),
  "delta and message": (value) =>
    chunkWith([{ index: 0, delta: value, message: value, finish_reason: "stop" }]),
  finish_reason: (value) =>
    chunkWith([
      { index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: value },
    ]),
  logprobs: (value) =>
    chunkWith([
      {
        index: 0,
        delta: { content: "x" },
        message: { content: "x" },
        finish_reason: "stop",
        logprobs: value,
      },
    ]),
  usage: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { usage: value as JsonObject },
    ),
  "numbers of the usage": (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      {
        usage: {
          prompt_tokens: value,
          completion_tokens: value,
          total_tokens: value,
          prompt_tokens_details: value,
        } as JsonObject,
      },
    ),
  error: (value) =>
    chunkWith(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { error: value as JsonObject },
    ),
  "the error of a choice": (value) =>
    chunkWith([
      {
        index: 0,
        delta: { content: "x" },
        message: { content: "x" },
        finish_reason: "stop",
        error: value,
      },
    ]),
  ...Object.fromEntries(
    [
      "role",
      "content",
      "refusal",
      "reasoning_content",
      "reasoning",
      "reasoning_details",
      "tool_calls",
      "function_call",
      "annotations",
      "audio",
      "images",
    ].map((name) => [
      `${name} of the delta`,
      (value: unknown) =>
        chunkWith([
          { index: 0, delta: { [name]: value }, message: { [name]: value }, finish_reason: "stop" },
        ]),
    ]),
  ),
  ...Object.fromEntries(
    ["index", "id", "type", "function", "custom"].map((name) => [
      `${name} of a tool call`,
      (value: unknown) =>
        chunkWith([
          {
            index: 0,
            delta: { tool_calls: [{ ...call(0), [name]: value }] },
            message: { tool_calls: [{ ...call(0), [name]: value }] },
            finish_reason: "tool_calls",
          },
        ]),
    ]),
  ),
  ...Object.fromEntries(
    ["name", "arguments"].map((name) => [
      `${name} of a called function`,
      (value: unknown) => {
        const one = call(0, {
          function: { name: "look", arguments: "{}", [name]: value as string },
        });
        return chunkWith([
          {
            index: 0,
            delta: { tool_calls: [one] },
            message: { tool_calls: [one] },
            finish_reason: "tool_calls",
          },
        ]);
      },
    ]),
  ),
};

export const chatModes: readonly UpstreamMode[] = [
  ...Object.entries(deltas).map(([name, build]): UpstreamMode => ({
    name: `chat: ${name}`,
    wires: ["chat"],
    play: async (reply) => {
      const delta = build();
      const finish_reason = "tool_calls" in delta ? "tool_calls" : "stop";
      if (!reply.stream)
        return reply.json(
          JSON.stringify(
            chunkWith([{ index: 0, message: { role: "assistant", ...delta }, finish_reason }]),
          ),
        );
      return reply.events([
        event(chunkWith([{ index: 0, delta }])),
        event(chunkWith([{ index: 0, delta: {}, finish_reason }])),
        event("[DONE]"),
      ]);
    },
  })),
  ...Object.entries(streams).map(([name, chunks]): UpstreamMode => ({
    name: `chat: ${name}`,
    wires: ["chat"],
    forms: ["streamed"],
    play: (reply) => reply.events(joined(chunks())),
  })),
  ...Object.entries(fields).map(([name, build]): UpstreamMode => ({
    name: `chat: odd values for ${name}`,
    wires: ["chat"],
    variants: oddities,
    play: (reply) => {
      const text = withOddity(reply.variant, build);
      if (!reply.stream) return reply.json(text);
      return reply.events([
        `data: ${text}\n\n`,
        event(chunkWith([{ index: 0, delta: {}, finish_reason: "stop" }])),
        event("[DONE]"),
      ]);
    },
  })),
];

/** Events in pieces of some size, as a network joins them. */
function* joined(chunks: Iterable<unknown>): Generator<string> {
  let piece = "";
  for (const chunk of chunks) {
    piece += event(chunk);
    if (piece.length < 30_000) continue;
    yield piece;
    piece = "";
  }
  yield `${piece}${event("[DONE]")}`;
}
