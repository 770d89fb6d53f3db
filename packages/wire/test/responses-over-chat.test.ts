import {
  collectResponse,
  translateChatReply,
  ResponsesOverChat,
  type UpstreamChatEvent,
  type ResponseOutputItem,
  type OpaqueReasoning,
  type ResponseEvent,
  type ResponsesOverChatOptions,
  type StreamEndReason,
  type ToolTranslation,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usageChunk } from "./chat-chunks.ts";

const createCounter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${(count += 1)}`;
};

const tools: ToolTranslation = {
  upstreamNames: new Set([
    "get_weather",
    "apply_patch",
    "repo__search",
    "tool_search",
    "local_shell",
  ]),
  findDeclared: (name) => {
    switch (name) {
      case "get_weather":
        return { kind: "function", name };
      case "apply_patch":
        return { kind: "custom", name };
      case "repo__search":
        return { kind: "function", name: "search", namespace: "repo" };
      case "tool_search":
      case "local_shell":
      case "shell":
        return { kind: name };
      case "edit_file":
        return { kind: "apply_patch" };
      default:
        return undefined;
    }
  },
};

function translate(
  inputs: UpstreamChatEvent[],
  options: Partial<ResponsesOverChatOptions> = {},
  endReason: StreamEndReason = "eof",
): { events: ResponseEvent[]; output: ResponseOutputItem[]; machine: ResponsesOverChat } {
  const machine = new ResponsesOverChat({
    responseId: "resp_1",
    newId: createCounter(),
    createdAt: 1700000000,
    tools,
    ...options,
  });
  const events: ResponseEvent[] = [];
  for (const input of inputs) machine.push(input, events);
  machine.end(endReason, events);
  return { events, output: collectResponse(events)?.output ?? [], machine };
}

const listTypes = (events: ResponseEvent[]) =>
  events.map((event) => event.type.slice("response.".length));

test("reasoning, text and a call result in the complete event sequence", () => {
  const { events } = translate(
    [
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "hm" }),
      chunk({ content: "Let me " }),
      chunk({ content: "look." }),
      chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "" })),
      chunk(call({ index: 0, args: '{"city":' })),
      chunk(call({ index: 0, args: '"Paris"}' })),
      chunk({}, "stop"),
      usageChunk(),
      "[DONE]",
    ],
    {
      echo: { instructions: "Be brief.", temperature: 1 },
      model: "glm",
      getTime: () => 1700000009,
    },
  );
  const response = {
    instructions: "Be brief.",
    temperature: 1,
    id: "resp_1",
    object: "response",
    created_at: 1700000000,
    status: "in_progress",
    completed_at: null,
    error: null,
    incomplete_details: null,
    model: "glm",
    output: [],
    usage: null,
  };
  const summary = { type: "summary_text", text: "hm" };
  const reasoning = { type: "reasoning", id: "rs_1", status: "completed", summary: [summary] };
  const part = { type: "output_text", text: "Let me look.", annotations: [], logprobs: [] };
  const message = {
    type: "message",
    id: "msg_2",
    status: "completed",
    role: "assistant",
    content: [part],
    phase: "commentary",
  };
  const weather = {
    type: "function_call",
    id: "fc_3",
    status: "completed",
    call_id: "call_abc",
    name: "get_weather",
    arguments: '{"city":"Paris"}',
  };
  const summaryPosition = { item_id: "rs_1", output_index: 0, summary_index: 0 };
  const messagePosition = { item_id: "msg_2", output_index: 1, content_index: 0 };
  const callPosition = { item_id: "fc_3", output_index: 2 };
  const expected = [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...reasoning, status: "in_progress", summary: [] },
    },
    {
      type: "response.reasoning_summary_part.added",
      ...summaryPosition,
      part: { ...summary, text: "" },
    },
    { type: "response.reasoning_summary_text.delta", ...summaryPosition, delta: "hm" },
    { type: "response.reasoning_summary_text.done", ...summaryPosition, text: "hm" },
    { type: "response.reasoning_summary_part.done", ...summaryPosition, part: summary },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { ...message, status: "in_progress", content: [], phase: undefined },
    },
    { type: "response.content_part.added", ...messagePosition, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...messagePosition, delta: "Let me ", logprobs: [] },
    { type: "response.output_text.delta", ...messagePosition, delta: "look.", logprobs: [] },
    { type: "response.output_text.done", ...messagePosition, text: "Let me look.", logprobs: [] },
    { type: "response.content_part.done", ...messagePosition, part },
    { type: "response.output_item.done", output_index: 1, item: message },
    {
      type: "response.output_item.added",
      output_index: 2,
      item: { ...weather, status: "in_progress", arguments: "" },
    },
    { type: "response.function_call_arguments.delta", ...callPosition, delta: '{"city":' },
    { type: "response.function_call_arguments.delta", ...callPosition, delta: '"Paris"}' },
    {
      type: "response.function_call_arguments.done",
      ...callPosition,
      name: "get_weather",
      arguments: '{"city":"Paris"}',
    },
    { type: "response.output_item.done", output_index: 2, item: weather },
    {
      type: "response.completed",
      response: {
        ...response,
        status: "completed",
        completed_at: 1700000009,
        output: [reasoning, message, weather],
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 7,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 18,
        },
      },
    },
  ];
  expect(events).toEqual(expected.map((event, index) => ({ ...event, sequence_number: index })));
});

test("a message has the phase final_answer if the reply ends with it, commentary with calls, else none", () => {
  const text = chunk({ content: "Hi" });
  const weather = chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" }));
  const getPhases = (...chunks: UpstreamChatEvent[]) =>
    translate(chunks).output.map((item) => (item.type === "message" ? item.phase : item.type));
  expect(getPhases(text, chunk({}, "stop"))).toEqual(["final_answer"]);
  expect(getPhases(weather, text, chunk({}, "stop"))).toEqual(["function_call", "commentary"]);
  expect(getPhases(text, chunk({ reasoning: "hm" }), chunk({}, "stop"))).toEqual([
    undefined,
    "reasoning",
  ]);
  expect(getPhases(text, chunk({}, "length"))).toEqual([undefined]);
});

test("reasoning is sent as raw text if the client requested it", () => {
  const { events, output } = translate([chunk({ reasoning: "hm" }), chunk({}, "stop")], {
    reasoning: "raw",
  });
  expect(listTypes(events).slice(2)).toEqual([
    "output_item.added",
    "content_part.added",
    "reasoning_text.delta",
    "reasoning_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  expect(output).toEqual([
    {
      type: "reasoning",
      id: "rs_1",
      status: "completed",
      summary: [],
      content: [{ type: "reasoning_text", text: "hm" }],
    },
  ]);
});

test("the text of reasoning is sealed with its signatures if the client requested it", () => {
  const sealed: unknown[] = [];
  const { output } = translate(
    [
      chunk({ reasoning: "hm" }),
      chunk({ content: "Hi" }),
      chunk({ reasoning: "so", reasoning_opaque: "SIG" }),
      chunk({}, "stop"),
    ],
    { sealsText: true, seal: (reasoning) => `sealed ${sealed.push(reasoning)}` },
  );
  expect(sealed).toEqual([{ text: "hm" }, { text: "so", opaque: "SIG" }]);
  expect(output).toMatchObject([
    { type: "reasoning", summary: [{ text: "hm" }], encrypted_content: "sealed 1" },
    { type: "message" },
    { type: "reasoning", encrypted_content: "sealed 2" },
  ]);
});

test("a refusal becomes a separate part after the text", () => {
  const { output } = translate([
    chunk({ content: "Well. " }),
    chunk({ refusal: "I can" }),
    chunk({ refusal: "not." }),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([
    {
      type: "message",
      content: [
        { type: "output_text", text: "Well. " },
        { type: "refusal", refusal: "I cannot." },
      ],
    },
  ]);
});

test("citations become annotations of the text, even if they arrive before it", () => {
  const citation = {
    type: "url_citation",
    url_citation: { url: "https://example.org", title: "E", start_index: 0, end_index: 0 },
  };
  const { events, output } = translate([
    chunk({ annotations: [citation] }),
    chunk({ content: "See." }),
    chunk({ annotations: [citation] }),
    chunk({}, "stop"),
  ]);
  const flatCitation = {
    type: "url_citation",
    url: "https://example.org",
    title: "E",
    start_index: 0,
    end_index: 0,
  };
  expect(output).toMatchObject([
    { content: [{ text: "See.", annotations: [flatCitation, flatCitation] }] },
  ]);
  expect(listTypes(events).filter((type) => type.includes("annotation"))).toHaveLength(2);
});

test("spoken answers stream as audio and transcript", () => {
  const { events, output } = translate([
    chunk({ audio: { id: "a", transcript: "Hel" } }),
    chunk({ audio: { data: "AAAA" } }),
    chunk({ audio: { transcript: "lo", data: "BBBB" } }),
    "[DONE]",
  ]);
  expect(output).toMatchObject([
    { content: [{ type: "output_audio", data: "AAAABBBB", transcript: "Hello" }] },
  ]);
  expect(listTypes(events)).toContain("audio.transcript.delta");
});

test("log probabilities are sent with their text, with the bytes that the upstream omits", () => {
  const token = "aé€🙂";
  const logprobs = {
    content: [{ token, logprob: -0.1, bytes: null, top_logprobs: [{ token: "b", logprob: -2 }] }],
  };
  const { output } = translate([
    { ...chunk({}), choices: [{ index: 0, delta: { content: "Hi" }, logprobs }] },
    chunk({}, "stop"),
  ]);
  const bytes = [...new TextEncoder().encode(token)];
  const top_logprobs = [{ token: "b", logprob: -2, bytes: [98] }];
  const expected = [{ token, logprob: -0.1, bytes, top_logprobs }];
  expect(output).toMatchObject([{ content: [{ text: "Hi", logprobs: expected }] }]);
});

test("items are in the order in which they opened, and each run of text or reasoning is one item", () => {
  const { output } = translate([
    chunk({ reasoning_content: "r1" }),
    chunk({ content: "t1" }),
    chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" })),
    chunk({ content: "t2" }),
    chunk({ reasoning_content: "r2" }),
    chunk(call({ index: 1, id: "call_def", name: "get_weather", args: "{}" })),
    chunk({}, "tool_calls"),
  ]);
  expect(output.map((item) => item.type)).toEqual([
    "reasoning",
    "message",
    "function_call",
    "message",
    "reasoning",
    "function_call",
  ]);
});

test("blank text before the first reasoning is prepended to the later text", () => {
  const { output } = translate([
    chunk({ content: "\n" }),
    chunk({ reasoning_content: "hm" }),
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([
    { type: "reasoning" },
    { type: "message", content: [{ text: "\nHi" }] },
  ]);
});

test("blank text is not lost if no other text follows", () => {
  const { output } = translate([
    chunk({ content: "\n\n" }),
    chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" })),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([
    { type: "message", content: [{ text: "\n\n" }] },
    { type: "function_call" },
  ]);
  expect(translate([chunk({ content: " " }), chunk({}, "stop")]).output).toMatchObject([
    { content: [{ text: " " }] },
  ]);
});

test("a call of a function in a namespace has both names", () => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "repo__search", args: '{"q":"x"}' })),
    chunk({}, "stop"),
  ]);
  expect(output).toEqual([
    {
      type: "function_call",
      id: "fc_1",
      status: "completed",
      call_id: "call_abc",
      name: "search",
      namespace: "repo",
      arguments: '{"q":"x"}',
    },
  ]);
});

test("a call of an undeclared tool keeps its name, so that the client can reject it", () => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "rm_rf", args: "{}" })),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([{ type: "function_call", name: "rm_rf" }]);
});

test("a function call of a custom tool becomes a custom call, and its input is unescaped while it streams", () => {
  const { events, output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "apply_patch", args: '{"in' })),
    chunk(call({ index: 0, args: 'put": "*** Begin\\' })),
    chunk(call({ index: 0, args: "nPatch \\u00" })),
    chunk(call({ index: 0, args: 'e9 \\"x\\"' })),
    chunk(call({ index: 0, args: '"}' })),
    chunk({}, "tool_calls"),
  ]);
  const input = '*** Begin\nPatch é "x"';
  expect(output).toEqual([
    {
      type: "custom_tool_call",
      id: "ctc_1",
      status: "completed",
      call_id: "call_abc",
      name: "apply_patch",
      input,
    },
  ]);
  const deltas = events.flatMap((event) =>
    event.type === "response.custom_tool_call_input.delta" ? [event.delta] : [],
  );
  expect(deltas).toEqual(["*** Begin", "\nPatch ", 'é "x"']);
});

test.each([
  ["another key", '{"patch":"*** Begin"}', "*** Begin"],
  ["a JSON string", '"*** Begin"', "*** Begin"],
  ["bare text", "*** Begin {not json", "*** Begin {not json"],
  ["a fenced block", "```patch\n*** Begin\n```", "*** Begin"],
  ["an empty string", "", ""],
])("the input of a custom tool is also read from %s", (_title, args, input) => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "apply_patch", args })),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "completed", input }]);
});

test.each([
  ["at the token limit", '{"input":"*** Begin\\nPa', "length"],
  ["with finish reason tool_calls", '{"input":"*** Begin\\nPa', "tool_calls"],
  ["as plain text at the token limit", "*** Begin", "length"],
])("a truncated custom input is never complete: %s", (_title, args, finish) => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "apply_patch", args })),
    chunk({}, finish),
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
});

test("custom calls of an upstream that supports them keep their text unchanged", () => {
  const { output } = translate([
    chunk({
      tool_calls: [
        {
          index: 0,
          id: "call_abc",
          type: "custom",
          custom: { name: "apply_patch", input: "*** {" },
        },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, custom: { input: "}{" } }] }),
    chunk({}, "tool_calls"),
  ]);
  expect(output).toMatchObject([
    { type: "custom_tool_call", status: "completed", input: "*** {}{" },
  ]);
});

test("calls of built-in tools are returned as items of their own types", () => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "tool_search", args: '{"query":"git"}' })),
    chunk(
      call({
        index: 1,
        id: "call_def",
        name: "local_shell",
        args: '{"command":["ls"],"timeout_ms":5}',
      }),
    ),
    chunk(call({ index: 2, id: "call_ghi", name: "shell", args: '{"commands":["ls"]}' })),
    chunk(
      call({
        index: 3,
        id: "call_jkl",
        name: "edit_file",
        args: '{"type":"delete_file","path":"a"}',
      }),
    ),
    chunk({}, "tool_calls"),
  ]);
  expect(output).toEqual([
    {
      type: "tool_search_call",
      id: "tsc_1",
      status: "completed",
      call_id: "call_abc",
      execution: "client",
      arguments: { query: "git" },
    },
    {
      type: "local_shell_call",
      id: "lsh_2",
      status: "completed",
      call_id: "call_def",
      action: { type: "exec", command: ["ls"], env: {}, timeout_ms: 5 },
    },
    {
      type: "shell_call",
      id: "sh_3",
      status: "completed",
      call_id: "call_ghi",
      action: { commands: ["ls"], timeout_ms: null, max_output_length: null },
    },
    {
      type: "apply_patch_call",
      id: "apc_4",
      status: "completed",
      call_id: "call_jkl",
      operation: { type: "delete_file", path: "a" },
    },
  ]);
});

test.each([
  ["truncated at the token limit", [chunk({}, "length")]],
  ["followed by an error", [{ error: { message: "boom" } }]],
  ["left unfinished", []],
])("for clients that ignore the status, a call that is %s has no done event", (_title, rest) => {
  const { events, machine } = translate(
    [
      chunk({ content: "Hi" }),
      chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":"Paris"}' })),
      ...rest,
    ],
    { truncatedCalls: "withheld" },
  );
  expect(listTypes(events).filter((type) => type === "output_item.done")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ response: { output: [{ type: "message" }] } });
  expect(machine.repairs.counts.get("call_withheld")).toBe(1);
});

test.each([
  ["with the names of two tools", "get_weather", ['{"city":', '"Paris"}'], "local_shell"],
  ["of a custom tool with truncated input", "apply_patch", ['{"input":"*** Beg'], undefined],
  ["of a built-in tool without a required argument", "shell", ["{}"], undefined],
])(
  "for clients that ignore the status, a call %s has no done event",
  (_title, name, [first, ...rest], secondName) => {
    const { output, machine } = translate(
      [
        chunk(call({ index: 0, id: "call_abc", name, args: first })),
        ...rest.map((args) => chunk(call({ index: 0, name: secondName ?? null, args }))),
        chunk({}, "tool_calls"),
      ],
      { truncatedCalls: "withheld" },
    );
    expect(output).toEqual([]);
    expect(machine.repairs.counts.get("call_withheld")).toBe(1);
  },
);

test("clients that ignore the status still receive invalid JSON arguments, which they report to the model", () => {
  const { output } = translate(
    [
      chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":' })),
      chunk({}, "tool_calls"),
    ],
    { truncatedCalls: "withheld" },
  );
  expect(output).toMatchObject([{ status: "incomplete", arguments: '{"city":' }]);
});

/** "Seals" reasoning as readable JSON. */
const seal = (reasoning: OpaqueReasoning) => JSON.stringify(reasoning);

test("signatures are sealed in the reasoning item, with their fragments joined", () => {
  const { output } = translate(
    [
      chunk({
        reasoning: "a",
        reasoning_details: [{ type: "reasoning.text", text: "a", index: 0, format: "f" }],
      }),
      chunk({
        reasoning: "b",
        reasoning_details: [{ type: "reasoning.text", text: "b", index: 0 }],
      }),
      chunk({ reasoning_details: [{ type: "reasoning.text", signature: "SIG", index: 0 }] }),
      chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "ENC", index: 1 }] }),
      chunk({ content: "Hi" }),
      chunk({}, "stop"),
    ],
    { seal },
  );
  expect(output[0]).toMatchObject({
    type: "reasoning",
    summary: [{ text: "ab" }],
    encrypted_content: JSON.stringify({
      details: [
        { type: "reasoning.text", text: "ab", index: 0, format: "f", signature: "SIG" },
        { type: "reasoning.encrypted", data: "ENC", index: 1 },
      ],
    }),
  });
});

test("a thought signature of a call is sent in a separate item, and only if it can be sealed", () => {
  const inputs = [
    chunk(
      call({
        index: 0,
        id: "call_abc",
        name: "get_weather",
        args: "{}",
        extra_content: { google: { thought_signature: "SIG" } },
      }),
    ),
    chunk({}, "stop"),
  ];
  expect(translate(inputs, { seal }).output).toMatchObject([
    { type: "function_call" },
    {
      type: "reasoning",
      summary: [],
      encrypted_content: '{"calls":{"call_abc":{"google":{"thought_signature":"SIG"}}}}',
    },
  ]);
  const { output, machine } = translate(inputs);
  expect(output).toHaveLength(1);
  expect(machine.repairs.counts.get("opaque_reasoning_lost")).toBe(1);
});

test.each<[StreamEndReason, string]>([
  ["eof", "upstream_stream_truncated"],
  ["grace", "upstream_stream_truncated"],
  ["transport_error", "upstream_stream_truncated"],
  ["idle_timeout", "upstream_idle_timeout"],
  ["aborted", "request_aborted"],
])(
  "an end by %s before the finish fails the response, and open items are incomplete",
  (endReason, code) => {
    const { events, output } = translate(
      [
        chunk({ content: "Hi" }),
        chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":"Paris"}' })),
      ],
      {},
      endReason,
    );
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { error: { code } } });
    expect(output).toMatchObject([{ status: "completed" }, { status: "incomplete" }]);
  },
);

test.each<StreamEndReason>(["eof", "grace", "transport_error", "idle_timeout"])(
  "after a finish, an end by %s completes the response",
  (endReason) => {
    const { events, machine } = translate(
      [chunk({ content: "Hi" }), chunk({}, "stop")],
      {},
      endReason,
    );
    expect(events.at(-1)?.type).toBe("response.completed");
    expect(machine.awaitsEnd).toBe(false);
  },
);

test("awaitsEnd is true if only usage and [DONE] are missing", () => {
  const machine = new ResponsesOverChat({ responseId: "r", newId: createCounter(), createdAt: 1 });
  const states: boolean[] = [];
  for (const input of [
    chunk({ content: "Hi" }),
    chunk({}, "stop"),
    usageChunk(),
    "[DONE]",
  ] as const) {
    machine.push(input, []);
    states.push(machine.awaitsEnd);
  }
  expect(states).toEqual([false, true, true, false]);
});

test("data after the end is counted and otherwise ignored", () => {
  const { events, machine } = translate([
    chunk({ content: "Hi" }, "stop"),
    "[DONE]",
    chunk({ content: "!" }),
    "[DONE]",
  ]);
  expect(events.filter((event) => event.type === "response.completed")).toHaveLength(1);
  expect(machine.repairs.counts.get("data_after_end")).toBe(1);
});

test.each([
  [{ message: "Rate limit reached", code: "rate_limit_exceeded" }, "rate_limit_exceeded"],
  [{ message: "slow down", status_code: 429 }, "rate_limit_exceeded"],
  [{ message: "slow down", status_code: "", status: "429" }, "rate_limit_exceeded"],
  [{ message: "This model's maximum context length is 8192 tokens" }, "context_length_exceeded"],
  [{ message: "You exceeded your current quota" }, "insufficient_quota"],
  [{ message: "busy", code: 503 }, "server_is_overloaded"],
  [{ message: "bad arguments", code: "tool_use_failed" }, "tool_use_failed"],
  [{ message: "?" }, "upstream_error"],
])("the error %j gets the code that clients act on", (error, code) => {
  const { events } = translate([chunk({ content: "Hi" }), { error }, "[DONE]"]);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: { error: { code, message: error.message } },
  });
});

test("the cause is found inside a wrapping error", () => {
  const { events } = translate([
    { error: { message: "Provider returned error", metadata: { raw: "malformed call" } } },
  ]);
  expect(events.at(-1)).toMatchObject({
    response: { error: { message: "Provider returned error: malformed call" } },
  });
});

test("a reply that fills the context window is incomplete, not failed", () => {
  const { events, machine } = translate([
    chunk({ content: "Hi" }),
    chunk({}, "model_context_window_exceeded"),
  ]);
  expect(events.at(-1)).toMatchObject({
    response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  });
  expect(machine.failure).toBeUndefined();
});

test("every repair contains the provider's data and the choice, and is counted", () => {
  const { machine } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" })),
    chunk({}, "stop"),
    chunk({}, "banana"),
  ]);
  expect(machine.repairs.list).toEqual([
    { code: "finish_unknown", choice: 0, detail: "banana" },
    { code: "finish_repeated", choice: 0, detail: "banana" },
    { code: "finish_corrected", choice: 0, detail: "stop" },
  ]);
});

test("a valid stream reports no repairs", () => {
  const { machine } = translate([
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "Hi" }),
    chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: "{}" })),
    chunk({}, "tool_calls"),
    usageChunk(),
    "[DONE]",
  ]);
  expect(machine.repairs.list).toEqual([]);
});

test("a complete reply results in the same response as its stream", () => {
  const { response, repairs } = translateChatReply(
    {
      id: "x",
      model: "m",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "<think>hm</think>Hi",
            tool_calls: [
              { type: "function", function: { name: "get_weather", arguments: { city: "Paris" } } },
            ],
          },
          finish_reason: "stop",
        },
      ],
      usage: { input_tokens: 3, output_tokens: 4 },
    },
    { responseId: "resp_1", newId: createCounter(), createdAt: 1 },
  );
  expect(response).toMatchObject({
    status: "completed",
    model: "m",
    output: [
      { type: "reasoning", summary: [{ text: "hm" }] },
      { type: "message", content: [{ text: "Hi" }] },
      {
        type: "function_call",
        name: "get_weather",
        arguments: '{"city":"Paris"}',
        status: "completed",
      },
    ],
    usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  });
  expect([...repairs.counts.keys()]).toEqual([
    "reasoning_tags_split",
    "arguments_object",
    "call_id_generated",
    "finish_corrected",
  ]);
});
