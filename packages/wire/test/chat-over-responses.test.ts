import {
  translateResponsesReply,
  ChatOverResponses,
  collectChat,
  translateChatRequest,
  type ChatDelta,
  type ChatStreamEvent,
  type UpstreamResponseEvent,
  type StreamEndReason,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { playResponsesToChat } from "../check/play.ts";
import { findResponsesRequestFaults } from "../check/responses-rules.ts";

function translate(
  events: object[],
  { endReason = "eof", toolNames }: { endReason?: StreamEndReason; toolNames?: Set<string> } = {},
): ChatStreamEvent[] {
  let count = 0;
  const machine = new ChatOverResponses({
    newId: (prefix) => `${prefix}_${(count += 1)}`,
    createdAt: 7,
    ...(toolNames === undefined ? {} : { toolNames }),
  });
  const out: ChatStreamEvent[] = [];
  for (const event of events) machine.push(event as UpstreamResponseEvent, out);
  machine.end(endReason, out);
  expect(findChatSequenceFaults(out)).toEqual([]);
  return out;
}

function deltas(out: ChatStreamEvent[]): unknown[] {
  return out.flatMap((output) =>
    output === "[DONE]"
      ? [output]
      : (output.choices ?? [output.error]).map((choice) =>
          "delta" in Object(choice) ? (choice as { delta: unknown }).delta : choice,
        ),
  );
}

const created = {
  type: "response.created",
  response: { id: "resp_1", created_at: 5.5, model: "gpt" },
};
const usage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 18,
};
const completed = (output: object[] = [], more: object = {}) => ({
  type: "response.completed",
  response: { id: "resp_1", status: "completed", output, usage, ...more },
});
const at = (output_index: number) => ({ output_index, item_id: `i_${output_index}` });

test("reasoning, text and a call become deltas, one finish, usage and [DONE]", () => {
  const call = { type: "function_call", id: "i_2", call_id: "call_abc", name: "get_weather" };
  const out = translate([
    created,
    { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "i_0" } },
    { type: "response.reasoning_summary_text.delta", ...at(0), summary_index: 0, delta: "hm" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "hm" }],
        encrypted_content: "ENC",
      },
    },
    { type: "response.output_text.delta", ...at(1), content_index: 0, delta: "Hi" },
    { type: "response.output_item.added", output_index: 2, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.delta", ...at(2), delta: '{"a":' },
    { type: "response.function_call_arguments.delta", ...at(2), delta: "1}" },
    {
      type: "response.output_item.done",
      output_index: 2,
      item: { ...call, arguments: '{"a":1}', status: "completed" },
    },
    completed(),
  ]);
  const envelope = { id: "resp_1", object: "chat.completion.chunk", created: 5, model: "gpt" };
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...envelope,
    choices: [{ index: 0, delta, finish_reason }],
  });
  expect(out).toEqual([
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "hm" }),
    chunk({
      reasoning_details: [
        { type: "reasoning.encrypted", data: "ENC", format: "openai-responses-v1", id: "rs_1" },
      ],
    }),
    chunk({ content: "Hi" }),
    chunk({
      tool_calls: [
        {
          index: 0,
          id: "call_abc",
          type: "function",
          function: { name: "get_weather", arguments: "" },
        },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
    chunk({}, "tool_calls"),
    {
      ...envelope,
      choices: [],
      usage: {
        prompt_tokens: 11,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens: 7,
        completion_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 18,
      },
    },
    "[DONE]",
  ]);
});

test("text that no delta contained is emitted when the text is done", () => {
  const out = translate([
    created,
    { type: "response.output_text.delta", ...at(0), delta: "He" },
    { type: "response.output_text.done", ...at(0), text: "Hello" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "message", content: [{ type: "output_text", text: "Hello" }] },
    },
    completed([{ type: "message", content: [{ type: "output_text", text: "Hello" }] }]),
  ]);
  expect(deltas(out).slice(1, 3)).toEqual([{ content: "He" }, { content: "llo" }]);
});

test("items that occur only in the terminal event are emitted, and streamed items are not repeated", () => {
  const message = { type: "message", id: "m", content: [{ type: "output_text", text: "Hi" }] };
  const call = { type: "function_call", id: "f", call_id: "call_abc", name: "f", arguments: "" };
  const terminalItems = translate([created, completed([message, call])]);
  expect(deltas(terminalItems)).toContainEqual({ content: "Hi" });
  expect(deltas(terminalItems)).toContainEqual({
    tool_calls: [{ index: 0, function: { arguments: "{}" } }],
  });
  const repeatedItems = translate([
    created,
    { type: "response.output_item.done", output_index: 3, item: message },
    completed([{ ...message, id: "other" }]),
  ]);
  expect(deltas(repeatedItems).filter((delta) => "content" in Object(delta))).toHaveLength(2);
});

test("custom calls stay custom calls, except undeclared ones, which the upstream runs itself", () => {
  const item = {
    type: "custom_tool_call",
    id: "c",
    call_id: "call_abc",
    name: "x_search",
    input: "cats",
  };
  const events = [
    created,
    { type: "response.output_item.done", output_index: 0, item },
    completed(),
  ];
  expect(deltas(translate(events))).toContainEqual({
    tool_calls: [
      { index: 0, id: "call_abc", type: "custom", custom: { name: "x_search", input: "" } },
    ],
  });
  expect(JSON.stringify(translate(events, { toolNames: new Set(["other"]) }))).not.toContain(
    "x_search",
  );
});

test("parts of a summary become paragraphs, and raw reasoning is not repeated", () => {
  const summary = ["a", "b"].map((text) => ({ type: "summary_text", text }));
  const parts = translate([
    created,
    { type: "response.output_item.done", output_index: 0, item: { type: "reasoning", summary } },
    completed(),
  ]);
  expect(
    deltas(parts)
      .map((delta) => (delta as { reasoning_content?: string }).reasoning_content ?? "")
      .join(""),
  ).toBe("a\n\nb");
  const rawReasoning = translate([
    created,
    { type: "response.reasoning_text.delta", ...at(0), delta: "raw" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "reasoning", summary, content: [{ type: "reasoning_text", text: "raw" }] },
    },
    completed(),
  ]);
  expect(deltas(rawReasoning).slice(1, 2)).toEqual([{ reasoning_content: "raw" }]);
});

test("refusals, citations and images are sent in the corresponding Chat fields", () => {
  const out = translate([
    created,
    { type: "response.refusal.delta", ...at(0), delta: "no" },
    {
      type: "response.output_text.annotation.added",
      ...at(0),
      annotation: { type: "url_citation", url: "https://example.org", title: "E" },
    },
    {
      type: "response.output_item.done",
      output_index: 1,
      item: { type: "image_generation_call", result: "AAAA", output_format: "webp" },
    },
    completed(),
  ]);
  expect(deltas(out).slice(1, 4)).toEqual([
    { refusal: "no" },
    {
      annotations: [
        { type: "url_citation", url_citation: { url: "https://example.org", title: "E" } },
      ],
    },
    { images: [{ type: "image_url", image_url: { url: "data:image/webp;base64,AAAA" } }] },
  ]);
});

test.each([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
])(
  "an incomplete response with the reason %s ends with the finish reason %s, not with an error",
  (reason, finish) => {
    const out = translate([
      created,
      { type: "response.incomplete", response: { incomplete_details: { reason }, output: [] } },
    ]);
    expect(out.at(-2)).toMatchObject({ choices: [{ finish_reason: finish }] });
    expect(out.at(-1)).toBe("[DONE]");
  },
);

test.each<[string, object[], string]>([
  [
    "response.failed",
    [{ type: "response.failed", response: { error: { code: "server_error", message: "boom" } } }],
    "boom",
  ],
  [
    "an error event",
    [{ type: "error", code: "insufficient_quota", message: "no money" }],
    "no money",
  ],
  [
    "an error and then response.failed",
    [
      { type: "error", error: { message: "first" } },
      { type: "response.failed", response: { error: { message: "then" } } },
    ],
    "first",
  ],
  ["an end without a terminal event", [], "before the reply was finished"],
])("%s is sent as an error without a finish reason", (_title, events, text) => {
  const out = translate([
    created,
    { type: "response.output_text.delta", ...at(0), delta: "Hi" },
    ...events,
  ]);
  expect(JSON.stringify(out.at(-1))).toContain(text);
  expect(out).not.toContain("[DONE]");
});

test("a call without an end is incomplete, and the reply failed", () => {
  const out = translate([
    created,
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "function_call", call_id: "call_abc", name: "f" },
    },
    { type: "response.function_call_arguments.delta", ...at(0), delta: '{"a' },
  ]);
  expect(out.at(-1)).toMatchObject({ error: { code: "upstream_stream_truncated" } });
});

test("a complete response results in the same reply as its stream", () => {
  const collected = translateResponsesReply(
    {
      id: "resp_1",
      created_at: 5,
      model: "gpt",
      status: "completed",
      output: [
        { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
        { type: "message", content: [{ type: "output_text", text: "Hi" }] },
        { type: "function_call", call_id: "call_abc", name: "f", arguments: "{}" },
      ],
      usage,
    },
    { newId: (prefix) => prefix, createdAt: 1 },
  );
  expect(collected).toMatchObject({
    ok: true,
    completion: {
      object: "chat.completion",
      choices: [
        {
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: "Hi",
            reasoning_content: "hm",
            tool_calls: [
              { id: "call_abc", type: "function", function: { name: "f", arguments: "{}" } },
            ],
          },
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    },
  });
});

test("nothing is emitted for keep-alives, [DONE] and unknown events", () => {
  const { out } = playResponsesToChat([
    'event: ping\ndata: {"type":"ping"}\n\n: c\n\n',
    `data: ${JSON.stringify(created)}\n\ndata: {"type":"response.telepathy.delta","delta":"x"}\n\n`,
    `event: response.output_text.delta\ndata: {"output_index":0,"delta":"Hi"}\n\n`,
    `data: ${JSON.stringify(completed())}\n\ndata: [DONE]\n\n`,
  ]);
  expect(collectChat(out)).toMatchObject({
    completion: { choices: [{ message: { content: "Hi" } }] },
  });
});

test("a Chat request becomes a Responses request", () => {
  const { body, toolNames, choiceCount, repairs } = translateChatRequest({
    model: "gpt",
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: "https://example.org/a.png" } },
        ],
      },
      {
        role: "assistant",
        content: "Looking.",
        reasoning_details: [
          { type: "reasoning.encrypted", data: "ENC", format: "openai-responses-v1", id: "rs_1" },
        ],
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } },
          { id: "call_2", type: "custom", custom: { name: "apply_patch", input: "***" } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "sunny" }] },
      { role: "tool", tool_call_id: "call_2", content: "ok" },
    ],
    tools: [
      { type: "function", function: { name: "get_weather", parameters: { type: "object" } } },
      {
        type: "custom",
        custom: {
          name: "apply_patch",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "start: /x/" } },
        },
      },
    ],
    tool_choice: { type: "function", function: { name: "get_weather" } },
    response_format: {
      type: "json_schema",
      json_schema: { name: "o", schema: { type: "object" }, strict: true },
    },
    reasoning_effort: "low",
    verbosity: "low",
    max_tokens: 100,
    logprobs: true,
    top_logprobs: 2,
    temperature: 0.5,
    stop: ["END"],
    n: 2,
    stream: true,
  });
  expect(body).toEqual({
    model: "gpt",
    input: [
      { type: "message", role: "system", content: "Be brief." },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "Look" },
          { type: "input_image", image_url: "https://example.org/a.png", detail: "auto" },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ENC" },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Looking.", annotations: [] }],
      },
      { type: "function_call", call_id: "call_1", name: "get_weather", arguments: "{}" },
      { type: "custom_tool_call", call_id: "call_2", name: "apply_patch", input: "***" },
      { type: "function_call_output", call_id: "call_1", output: "sunny" },
      { type: "custom_tool_call_output", call_id: "call_2", output: "ok" },
    ],
    tools: [
      { type: "function", name: "get_weather", parameters: { type: "object" }, strict: false },
      {
        type: "custom",
        name: "apply_patch",
        format: { type: "grammar", syntax: "lark", definition: "start: /x/" },
      },
    ],
    tool_choice: { type: "function", name: "get_weather" },
    text: {
      format: { type: "json_schema", name: "o", schema: { type: "object" }, strict: true },
      verbosity: "low",
    },
    reasoning: { effort: "low" },
    max_output_tokens: 100,
    top_logprobs: 2,
    temperature: 0.5,
    include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
    store: false,
    stream: true,
  });
  expect([...toolNames]).toEqual(["get_weather", "apply_patch"]);
  expect(choiceCount).toBe(2);
  expect(repairs.list).toEqual([{ code: "parameter_dropped", choice: 0, detail: "stop" }]);
});

test("the legacy field `functions` becomes `tools`", () => {
  const { body } = translateChatRequest({
    model: "gpt",
    messages: [
      { role: "user", content: "w?" },
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "sunny" },
    ],
    functions: [{ name: "f" }],
    function_call: { name: "f" },
  });
  expect(body).toMatchObject({
    input: [
      { role: "user" },
      { type: "function_call", call_id: "call_function_0", name: "f" },
      { type: "function_call_output", call_id: "call_function_0", output: "sunny" },
    ],
    tools: [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }],
    tool_choice: { type: "function", name: "f" },
  });
});

test("reasoning that another upstream sealed is not sent", () => {
  const { body, repairs } = translateChatRequest({
    model: "gpt",
    messages: [
      { role: "user", content: "hi" },
      {
        role: "assistant",
        content: "yo",
        reasoning_details: [
          { type: "reasoning.encrypted", data: "ENC", format: "google-gemini-v1" },
        ],
      },
    ],
  });
  expect(JSON.stringify(body)).not.toContain("ENC");
  expect(repairs.counts.get("reasoning_dropped")).toBe(1);
});

test("deltas of an unannounced item are not repeated at the terminal event", () => {
  const out = translate([
    created,
    { type: "response.output_text.delta", ...at(1), content_index: 0, delta: "Hi" },
    completed([{ type: "message", id: "m", content: [{ type: "output_text", text: "Hi!" }] }]),
  ]);
  expect(deltas(out).slice(1, 3)).toEqual([{ content: "Hi" }, { content: "!" }]);
});

test.each([
  { name: "call", id: "fc_1", type: "function_call", call_id: "call_abc", arguments: "{}" },
  { id: "msg_1", type: "message", content: [{ type: "output_text", text: "Hi" }] },
])("a $type whose events the upstream repeats is emitted once", (item) => {
  const itemEvents = [
    { type: "response.output_item.added", output_index: 0, item: { id: item.id, type: item.type } },
    { type: "response.output_item.done", output_index: 0, item },
  ];
  expect(deltas(translate([created, ...itemEvents, ...itemEvents, completed([item])]))).toEqual(
    deltas(translate([created, ...itemEvents, completed([item])])),
  );
});

test("an event with a known index and another item id starts another item", () => {
  const messageEvents = (id: string, text: string) => {
    const item = { id, type: "message", content: [{ type: "output_text", text }] };
    return [
      { type: "response.output_item.added", output_index: 0, item: { id, type: "message" } },
      { type: "response.output_item.done", output_index: 0, item },
    ];
  };
  const out = translate([
    created,
    ...messageEvents("msg_1", "One. "),
    ...messageEvents("msg_2", "Two."),
    completed(),
  ]);
  expect(deltas(out).slice(1, 3)).toEqual([{ content: "One. " }, { content: "Two." }]);
});

test("interleaved calls with the same index are separated by their ids", () => {
  const item = (id: string, args: string) => ({
    type: "function_call",
    id,
    call_id: `call_${id}`,
    name: "f",
    arguments: args,
  });
  const forBothCalls = (event: (id: string) => object) => [event("first"), event("second")];
  const out = translate([
    created,
    ...forBothCalls((id) => ({
      type: "response.output_item.added",
      output_index: 0,
      item: item(id, ""),
    })),
    ...forBothCalls((id) => ({
      type: "response.function_call_arguments.delta",
      output_index: 0,
      item_id: id,
      delta: JSON.stringify({ id }),
    })),
    ...forBothCalls((id) => ({
      type: "response.output_item.done",
      output_index: 0,
      item: item(id, JSON.stringify({ id })),
    })),
    completed(),
  ]);
  const calls = deltas(out).flatMap((delta) =>
    ((delta as ChatDelta).tool_calls ?? []).map(({ index, function: fn }) => [
      index,
      fn?.arguments,
    ]),
  );
  expect(calls.filter(([, args]) => args !== "")).toEqual([
    [0, '{"id":"first"}'],
    [1, '{"id":"second"}'],
  ]);
});

test("items that have only done events without index and id are all emitted", () => {
  const done = (item: object) => ({ type: "response.output_item.done", item });
  const out = translate([
    created,
    done({ type: "message", content: [{ type: "output_text", text: "I look." }] }),
    done({ type: "function_call", call_id: "call_abc", name: "f", arguments: "{}" }),
    completed(),
  ]);
  expect(deltas(out)).toContainEqual({ content: "I look." });
  expect(JSON.stringify(out)).toContain("call_abc");
});

test("a call that the upstream marks as incomplete is counted as incomplete", () => {
  const item = {
    type: "function_call",
    call_id: "call_abc",
    name: "f",
    arguments: '{"a',
    status: "incomplete",
  };
  const { repairs } = playResponsesToChat([
    `data: ${JSON.stringify({ type: "response.output_item.done", output_index: 0, item })}\n\n`,
    `data: ${JSON.stringify(completed())}\n\n`,
  ]);
  expect(repairs.counts.get("arguments_incomplete")).toBe(1);
});

test("arguments that are an object are stringified", () => {
  const item = { type: "function_call", call_id: "call_abc", name: "f", arguments: { path: "/x" } };
  const out = translate([
    created,
    { type: "response.output_item.done", output_index: 0, item },
    completed(),
  ]);
  expect(deltas(out)).toContainEqual({
    tool_calls: [{ index: 0, function: { arguments: '{"path":"/x"}' } }],
  });
});

test("citations and log probabilities of a complete reply are not lost", () => {
  const annotation = { type: "url_citation", url: "https://example.org", title: "E" };
  const part = {
    type: "output_text",
    text: "A",
    annotations: [annotation],
    logprobs: [{ token: "A" }],
  };
  const out = translate([created, completed([{ type: "message", id: "m", content: [part] }])]);
  expect(JSON.stringify(out)).toContain('"logprobs":{"content":[{"token":"A"}]');
  expect(deltas(out)).toContainEqual({
    annotations: [
      { type: "url_citation", url_citation: { url: "https://example.org", title: "E" } },
    ],
  });
});

test("legacy function calls in any order become a valid input", () => {
  const { body, includeUsage } = translateChatRequest({
    model: "gpt",
    stream: true,
    messages: [
      { role: "function", name: "f", content: "early" },
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "assistant", content: null, function_call: { name: "g", arguments: "{}" } },
      { role: "function", name: "g", content: "late" },
    ],
  });
  expect(findResponsesRequestFaults(body)).toEqual([]);
  expect(includeUsage).toBe(false);
});
