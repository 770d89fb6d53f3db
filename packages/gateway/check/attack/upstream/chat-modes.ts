import type { JsonObject } from "@deltawire/wire";
import { formatEvent } from "../../../test/scripted-upstream.ts";
import { malformedCount, withMalformed } from "../malformed-values.ts";
import { buildChunk } from "./good-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

/* What an upstream may do wrong in the Chat API. */

const buildCall = (index: number, overrides: JsonObject = {}): JsonObject => ({
  index,
  id: `call_${index}`,
  type: "function",
  function: { name: "look", arguments: "{}" },
  ...overrides,
});

/** Long, many or malicious deltas; also sent as the message of a complete reply. */
const deltas: Record<string, () => JsonObject> = {
  "16,000 tool calls at once": () => ({
    tool_calls: Array.from({ length: 16_000 }, (_, index) => buildCall(index)),
  }),
  "100,000 tool calls at once": () => ({
    tool_calls: Array.from({ length: 100_000 }, (_, index) => buildCall(index)),
  }),
  "5,000 tool calls with one id": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, index) => buildCall(index, { id: "call_0" })),
  }),
  "5,000 tool calls with one index": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, index) => buildCall(0, { id: `call_${index}` })),
  }),
  "5,000 tool calls without ids": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, index) => buildCall(index, { id: null })),
  }),
  "5,000 tool calls without names": () => ({
    tool_calls: Array.from({ length: 5000 }, (_, index) =>
      buildCall(index, { function: { arguments: "{}" } }),
    ),
  }),
  "a tool call of index 1e9": () => ({ tool_calls: [buildCall(1e9)] }),
  "a tool call of index -1": () => ({ tool_calls: [buildCall(-1)] }),
  "a tool call of index 2^53": () => ({ tool_calls: [buildCall(2 ** 53)] }),
  "a tool call with an id of 2 MB": () => ({
    tool_calls: [buildCall(0, { id: "i".repeat(2_000_000) })],
  }),
  "a tool call with a name of 2 MB": () => ({
    tool_calls: [buildCall(0, { function: { name: "n".repeat(2_000_000), arguments: "{}" } })],
  }),
  "tool calls named after methods": () => ({
    tool_calls: ["__proto__", "constructor", "toString", "hasOwnProperty"].map((name, index) =>
      buildCall(index, { id: name, function: { name, arguments: "{}" } }),
    ),
  }),
  "arguments that are never closed": () => ({
    tool_calls: [buildCall(0, { function: { name: "look", arguments: '{"a":"' } })],
  }),
  "arguments of 3 MB of brackets": () => ({
    tool_calls: [buildCall(0, { function: { name: "look", arguments: "[".repeat(3_000_000) } })],
  }),
  "arguments of 3 MB of backslashes": () => ({
    tool_calls: [
      buildCall(0, { function: { name: "look", arguments: `{"a":"${"\\".repeat(3_000_000)}` } }),
    ],
  }),
  "arguments of 3 MB of quotes": () => ({
    tool_calls: [buildCall(0, { function: { name: "look", arguments: '"'.repeat(3_000_000) } })],
  }),
  "arguments of 3 MB of spaces": () => ({
    tool_calls: [buildCall(0, { function: { name: "look", arguments: " ".repeat(3_000_000) } })],
  }),
  "arguments that are garbage": () => ({
    tool_calls: [buildCall(0, { function: { name: "look", arguments: "}{][,:\u0000" } })],
  }),
  "arguments with duplicate keys and prototypes": () => ({
    tool_calls: [
      buildCall(0, { function: { name: "look", arguments: '{"__proto__":{"x":1},"a":1,"a":2}' } }),
    ],
  }),
  "arguments nested 50,000 deep": () => ({
    tool_calls: [
      buildCall(0, {
        function: { name: "look", arguments: '{"a":'.repeat(50_000) + "1" + "}".repeat(50_000) },
      }),
    ],
  }),
  "a content of 20 MB": () => ({ content: "x".repeat(20_000_000) }),
  "a content of 240,000 backslashes": () => ({ content: "\\".repeat(240_000) }),
  "a content of a million quotes": () => ({ content: '"'.repeat(1_000_000) }),
  "a content of 500,000 line breaks": () => ({ content: "\n".repeat(500_000) }),
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
  "a content of chat template tokens": () => ({
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
    reasoning_details: Array.from({ length: 100_000 }, (_, index) => ({
      type: "reasoning.text",
      text: "x",
      index,
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
  "a function call in the legacy format": () => ({
    function_call: { name: "look", arguments: "{}" },
  }),
  "an unknown role": () => ({ role: "system\u0000", content: "x" }),
  "10,000 unknown fields": () =>
    Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field_${index}`, index])),
};

/** Streams of many or malicious chunks. */
const streams: Record<string, () => Iterable<unknown>> = {
  "100,000 choices in a chunk": () => [
    buildChunk(Array.from({ length: 100_000 }, (_, index) => ({ index, delta: { content: "x" } }))),
  ],
  "choices of odd indexes": () => [
    buildChunk(
      [-1, 1.5, 1e9, 2 ** 53, "0", "x", null, {}].map((index) => ({
        index,
        delta: { content: "x" },
        finish_reason: "stop",
      })),
    ),
  ],
  *"100,000 choices, each in a chunk"() {
    for (let index = 0; index < 100_000; index += 1)
      yield buildChunk([{ index, delta: { content: "x" } }]);
  },
  *"16,000 tool calls, each in a chunk"() {
    for (let index = 0; index < 16_000; index += 1)
      yield buildChunk([{ index: 0, delta: { tool_calls: [buildCall(index)] } }]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"3,000 tool calls whose arguments come in turns"() {
    for (let round = 0; round < 4; round += 1)
      for (let index = 0; index < 3000; index += 1)
        yield buildChunk([
          {
            index: 0,
            delta: {
              tool_calls: [
                round === 0
                  ? buildCall(index, { function: { name: "look", arguments: "" } })
                  : {
                      index,
                      function: { arguments: round === 1 ? '{"a":' : round === 2 ? "1" : "}" },
                    },
              ],
            },
          },
        ]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"100,000 deltas of one call"() {
    yield buildChunk([
      {
        index: 0,
        delta: { tool_calls: [buildCall(0, { function: { name: "look", arguments: '{"a":"' } })] },
      },
    ]);
    for (let index = 0; index < 100_000; index += 1)
      yield buildChunk([
        { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: "x" } }] } },
      ]);
    yield buildChunk([
      { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '"}' } }] } },
    ]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  *"100,000 deltas of one letter"() {
    for (let index = 0; index < 100_000; index += 1)
      yield buildChunk([{ index: 0, delta: { content: "w" } }]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"content and reasoning in turns, 20,000 times"() {
    for (let index = 0; index < 20_000; index += 1)
      yield buildChunk([
        { index: 0, delta: index % 2 === 0 ? { content: "w" } : { reasoning_content: "r" } },
      ]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"content and calls in turns, 5,000 times"() {
    for (let index = 0; index < 5000; index += 1)
      yield buildChunk([
        {
          index: 0,
          delta: index % 2 === 0 ? { content: "w" } : { tool_calls: [buildCall(index)] },
        },
      ]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"another id, model and time in each chunk"() {
    for (let index = 0; index < 50; index += 1)
      yield {
        ...buildChunk([{ index: 0, delta: { content: "w" } }]),
        id: `id-${index}`,
        model: `m-${index}`,
        created: index,
      };
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
  },
  *"1,000 finishes"() {
    for (let index = 0; index < 1000; index += 1)
      yield buildChunk([{ index: 0, delta: { content: "w" }, finish_reason: "stop" }]);
  },
  *"10,000 usages"() {
    yield buildChunk([{ index: 0, delta: { content: "w" }, finish_reason: "stop" }]);
    for (let index = 0; index < 10_000; index += 1)
      yield buildChunk([], {
        usage: { prompt_tokens: index, completion_tokens: index, total_tokens: index },
      });
  },
  *"an empty name, id and type in each delta of a call"() {
    for (const text of ["", '{"a"', ":1}", ""])
      yield buildChunk([
        {
          index: 0,
          delta: {
            tool_calls: [{ index: 0, id: "", type: "", function: { name: "", arguments: text } }],
          },
        },
      ]);
    yield buildChunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]);
  },
  "a first id of 2 MB, then 1,000 deltas without one": () => [
    { ...buildChunk([{ index: 0, delta: { content: "x" } }]), id: "i".repeat(2_000_000) },
    ...Array.from({ length: 1000 }, () => ({
      ...buildChunk([{ index: 0, delta: { content: "x" } }]),
      id: null,
    })),
  ],
  "a field of 2 MB beside the finish of 1,000 choices": () => [
    {
      ...buildChunk(
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

/** Fields of a chunk and of a complete reply that get every malformed value in turn. */
const fields: Record<string, (value: unknown) => JsonObject> = {
  "the chunk itself": (value) => value as JsonObject,
  id: (value) =>
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { id: value as string },
    ),
  created: (value) =>
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { created: value as number },
    ),
  model: (value) =>
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { model: value as string },
    ),
  object: (value) =>
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { object: value as string },
    ),
  choices: (value) => buildChunk(value),
  "a choice": (value) =>
    buildChunk([
      value,
      { index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" },
    ]),
  "the index of a choice": (value) =>
    buildChunk([
      { index: value, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" },
    ]),
  "delta and message": (value) =>
    buildChunk([{ index: 0, delta: value, message: value, finish_reason: "stop" }]),
  finish_reason: (value) =>
    buildChunk([
      { index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: value },
    ]),
  logprobs: (value) =>
    buildChunk([
      {
        index: 0,
        delta: { content: "x" },
        message: { content: "x" },
        finish_reason: "stop",
        logprobs: value,
      },
    ]),
  usage: (value) =>
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { usage: value as JsonObject },
    ),
  "numbers of the usage": (value) =>
    buildChunk(
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
    buildChunk(
      [{ index: 0, delta: { content: "x" }, message: { content: "x" }, finish_reason: "stop" }],
      { error: value as JsonObject },
    ),
  "the error of a choice": (value) =>
    buildChunk([
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
        buildChunk([
          { index: 0, delta: { [name]: value }, message: { [name]: value }, finish_reason: "stop" },
        ]),
    ]),
  ),
  ...Object.fromEntries(
    ["index", "id", "type", "function", "custom"].map((name) => [
      `${name} of a tool call`,
      (value: unknown) =>
        buildChunk([
          {
            index: 0,
            delta: { tool_calls: [{ ...buildCall(0), [name]: value }] },
            message: { tool_calls: [{ ...buildCall(0), [name]: value }] },
            finish_reason: "tool_calls",
          },
        ]),
    ]),
  ),
  ...Object.fromEntries(
    ["name", "arguments"].map((name) => [
      `${name} of a called function`,
      (value: unknown) => {
        const toolCall = buildCall(0, {
          function: { name: "look", arguments: "{}", [name]: value as string },
        });
        return buildChunk([
          {
            index: 0,
            delta: { tool_calls: [toolCall] },
            message: { tool_calls: [toolCall] },
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
            buildChunk([{ index: 0, message: { role: "assistant", ...delta }, finish_reason }]),
          ),
        );
      return reply.events([
        formatEvent(buildChunk([{ index: 0, delta }])),
        formatEvent(buildChunk([{ index: 0, delta: {}, finish_reason }])),
        formatEvent("[DONE]"),
      ]);
    },
  })),
  ...Object.entries(streams).map(([name, chunks]): UpstreamMode => ({
    name: `chat: ${name}`,
    wires: ["chat"],
    forms: ["streamed"],
    play: (reply) => reply.events(joinEvents(chunks())),
  })),
  ...Object.entries(fields).map(([name, build]): UpstreamMode => ({
    name: `chat: odd values for ${name}`,
    wires: ["chat"],
    variants: malformedCount,
    play: (reply) => {
      const text = withMalformed(reply.variant, build);
      if (!reply.stream) return reply.json(text);
      return reply.events([
        `data: ${text}\n\n`,
        formatEvent(buildChunk([{ index: 0, delta: {}, finish_reason: "stop" }])),
        formatEvent("[DONE]"),
      ]);
    },
  })),
];

/** Yields several events at once, as a network joins them. */
function* joinEvents(chunks: Iterable<unknown>): Generator<string> {
  let text = "";
  for (const chunk of chunks) {
    text += formatEvent(chunk);
    if (text.length < 30_000) continue;
    yield text;
    text = "";
  }
  yield `${text}${formatEvent("[DONE]")}`;
}
