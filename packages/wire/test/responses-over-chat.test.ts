import {
  collectResponse,
  responseOfChat,
  ResponsesOverChat,
  type ChatInput,
  type OutputItem,
  type ReasoningCarry,
  type ResponseEvent,
  type ResponsesOverChatOptions,
  type StreamEnd,
  type ToolBridge,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { call, chunk, usageChunk } from "./chat-stream.ts";

const counter = () => {
  let count = 0;
  return (prefix: string) => `${prefix}_${(count += 1)}`;
};

const tools: ToolBridge = {
  upstreamNames: new Set([
    "get_weather",
    "apply_patch",
    "repo__search",
    "tool_search",
    "local_shell",
  ]),
  declared: (name) => {
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
  inputs: ChatInput[],
  options: Partial<ResponsesOverChatOptions> = {},
  how: StreamEnd = "eof",
): { events: ResponseEvent[]; output: OutputItem[]; machine: ResponsesOverChat } {
  const machine = new ResponsesOverChat({
    responseId: "resp_1",
    newId: counter(),
    createdAt: 1700000000,
    tools,
    ...options,
  });
  const events: ResponseEvent[] = [];
  for (const input of inputs) machine.push(input, events);
  machine.end(how, events);
  return { events, output: collectResponse(events)?.output ?? [], machine };
}

const types = (events: ResponseEvent[]) =>
  events.map((event) => event.type.slice("response.".length));

test("reasoning, text and a call give the full event sequence", () => {
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
    { echo: { instructions: "Be brief.", temperature: 1 }, model: "glm" },
  );
  const response = {
    instructions: "Be brief.",
    temperature: 1,
    id: "resp_1",
    object: "response",
    created_at: 1700000000,
    status: "in_progress",
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
  };
  const weather = {
    type: "function_call",
    id: "fc_3",
    status: "completed",
    call_id: "call_abc",
    name: "get_weather",
    arguments: '{"city":"Paris"}',
  };
  const inSummary = { item_id: "rs_1", output_index: 0, summary_index: 0 };
  const inMessage = { item_id: "msg_2", output_index: 1, content_index: 0 };
  const inCall = { item_id: "fc_3", output_index: 2 };
  const expected = [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...reasoning, status: "in_progress", summary: [] },
    },
    { type: "response.reasoning_summary_part.added", ...inSummary, part: { ...summary, text: "" } },
    { type: "response.reasoning_summary_text.delta", ...inSummary, delta: "hm" },
    { type: "response.reasoning_summary_text.done", ...inSummary, text: "hm" },
    { type: "response.reasoning_summary_part.done", ...inSummary, part: summary },
    { type: "response.output_item.done", output_index: 0, item: reasoning },
    {
      type: "response.output_item.added",
      output_index: 1,
      item: { ...message, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", ...inMessage, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...inMessage, delta: "Let me ", logprobs: [] },
    { type: "response.output_text.delta", ...inMessage, delta: "look.", logprobs: [] },
    { type: "response.output_text.done", ...inMessage, text: "Let me look.", logprobs: [] },
    { type: "response.content_part.done", ...inMessage, part },
    { type: "response.output_item.done", output_index: 1, item: message },
    {
      type: "response.output_item.added",
      output_index: 2,
      item: { ...weather, status: "in_progress", arguments: "" },
    },
    { type: "response.function_call_arguments.delta", ...inCall, delta: '{"city":' },
    { type: "response.function_call_arguments.delta", ...inCall, delta: '"Paris"}' },
    {
      type: "response.function_call_arguments.done",
      ...inCall,
      name: "get_weather",
      arguments: '{"city":"Paris"}',
    },
    { type: "response.output_item.done", output_index: 2, item: weather },
    {
      type: "response.completed",
      response: {
        ...response,
        status: "completed",
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
  expect(events).toEqual(expected.map((event, nth) => ({ ...event, sequence_number: nth })));
});

test("reasoning as raw text, where the client asked for it", () => {
  const { events, output } = translate([chunk({ reasoning: "hm" }), chunk({}, "stop")], {
    reasoning: "text",
  });
  expect(types(events).slice(2)).toEqual([
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

test("a refusal is a part of its own, after the text before it", () => {
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

test("citations become annotations of the text, also those that come before it", () => {
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
  const flat = {
    type: "url_citation",
    url: "https://example.org",
    title: "E",
    start_index: 0,
    end_index: 0,
  };
  expect(output).toMatchObject([{ content: [{ text: "See.", annotations: [flat, flat] }] }]);
  expect(types(events).filter((type) => type.includes("annotation"))).toHaveLength(2);
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
  expect(types(events)).toContain("audio.transcript.delta");
});

test("log probabilities go with their text", () => {
  const logprobs = { content: [{ token: "Hi", logprob: -0.1, bytes: null, top_logprobs: [] }] };
  const { output } = translate([
    { ...chunk({}), choices: [{ index: 0, delta: { content: "Hi" }, logprobs }] },
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([{ content: [{ text: "Hi", logprobs: logprobs.content }] }]);
});

test("items stand in the order in which they opened, each run of text or reasoning its own", () => {
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

test("blank text before the first reasoning joins the later text", () => {
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

test("blank text is not lost where no other text comes", () => {
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

test("a function in a namespace comes back with both names", () => {
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

test("a name that nobody declared comes back as it is, for the client to refuse", () => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "rm_rf", args: "{}" })),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([{ type: "function_call", name: "rm_rf" }]);
});

test("a custom tool that was called as a function comes back as a custom call, its input unescaped as it streams", () => {
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
  ["nothing", "", ""],
])("a custom tool's input is also taken from %s", (_form, args, input) => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "apply_patch", args })),
    chunk({}, "stop"),
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "completed", input }]);
});

test.each([
  ["cut by the limit", '{"input":"*** Begin\\nPa', "length"],
  ["cut and yet finished", '{"input":"*** Begin\\nPa', "tool_calls"],
  ["bare and cut by the limit", "*** Begin", "length"],
])("half a custom input is never whole: %s", (_how, args, finish) => {
  const { output } = translate([
    chunk(call({ index: 0, id: "call_abc", name: "apply_patch", args })),
    chunk({}, finish),
  ]);
  expect(output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
});

test("custom calls of an upstream that knows them keep their text as it is", () => {
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

test("tools with call items of their own come back as these", () => {
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
  ["cut by the limit", [chunk({}, "length")]],
  ["followed by an error", [{ error: { message: "boom" } }]],
  ["broken off", []],
])("for clients that never look at a status, a call that was %s is never done", (_how, rest) => {
  const { events, machine } = translate(
    [
      chunk({ content: "Hi" }),
      chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":"Paris"}' })),
      ...rest,
    ],
    { cutCalls: "withheld" },
  );
  expect(types(events).filter((type) => type === "output_item.done")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ response: { output: [{ type: "message" }] } });
  expect(machine.repairs.counts.get("call_withheld")).toBe(1);
});

test.each([
  ["of which nobody knows the tool", "get_weather", ['{"city":', '"Paris"}'], "local_shell"],
  ["of a custom tool, with half its input", "apply_patch", ['{"input":"*** Beg'], undefined],
  ["of a tool with a form of its own, without what it needs", "shell", ["{}"], undefined],
])(
  "for clients that never look at a status, a call %s is never done",
  (_what, name, [first, ...rest], other) => {
    const { output, machine } = translate(
      [
        chunk(call({ index: 0, id: "call_abc", name, args: first })),
        ...rest.map((args) => chunk(call({ index: 0, name: other ?? null, args }))),
        chunk({}, "tool_calls"),
      ],
      { cutCalls: "withheld" },
    );
    expect(output).toEqual([]);
    expect(machine.repairs.counts.get("call_withheld")).toBe(1);
  },
);

test("a function's arguments that are no JSON are shown to such a client too: it tells the model", () => {
  const { output } = translate(
    [
      chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":' })),
      chunk({}, "tool_calls"),
    ],
    { cutCalls: "withheld" },
  );
  expect(output).toMatchObject([{ status: "incomplete", arguments: '{"city":' }]);
});

/** A seal that can be looked into. */
const seal = (carry: ReasoningCarry) => JSON.stringify(carry);

test("signatures travel sealed in the reasoning item, their fragments joined", () => {
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

test("a thought signature of a call travels in an item of its own, and only where it can be sealed", () => {
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
  expect(machine.repairs.counts.get("carry_lost")).toBe(1);
});

test.each<[StreamEnd, string]>([
  ["eof", "upstream_stream_truncated"],
  ["grace", "upstream_stream_truncated"],
  ["transport_error", "upstream_stream_truncated"],
  ["idle_timeout", "upstream_idle_timeout"],
  ["aborted", "request_aborted"],
])(
  "an end by %s before the finish fails the response, and open items are incomplete",
  (how, code) => {
    const { events, output } = translate(
      [
        chunk({ content: "Hi" }),
        chunk(call({ index: 0, id: "call_abc", name: "get_weather", args: '{"city":"Paris"}' })),
      ],
      {},
      how,
    );
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { error: { code } } });
    expect(output).toMatchObject([{ status: "completed" }, { status: "incomplete" }]);
  },
);

test.each<StreamEnd>(["eof", "grace", "transport_error", "idle_timeout"])(
  "after a finish, an end by %s completes the response",
  (how) => {
    const { events, machine } = translate([chunk({ content: "Hi" }), chunk({}, "stop")], {}, how);
    expect(events.at(-1)?.type).toBe("response.completed");
    expect(machine.awaitsEnd).toBe(false);
  },
);

test("awaitsEnd tells when only usage and the sentinel are missing", () => {
  const machine = new ResponsesOverChat({ responseId: "r", newId: counter(), createdAt: 1 });
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

test("what comes after the end is counted and otherwise ignored", () => {
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
  [{ message: "This model's maximum context length is 8192 tokens" }, "context_length_exceeded"],
  [{ message: "You exceeded your current quota" }, "insufficient_quota"],
  [{ message: "busy", code: 503 }, "server_is_overloaded"],
  [{ message: "bad arguments", code: "tool_use_failed" }, "tool_use_failed"],
  [{ message: "?" }, "upstream_error"],
])("an error %j has the code that clients act on", (error, code) => {
  const { events } = translate([chunk({ content: "Hi" }), { error }, "[DONE]"]);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: { error: { code, message: error.message } },
  });
});

test("an error may hide its cause", () => {
  const { events } = translate([
    { error: { message: "Provider returned error", metadata: { raw: "malformed call" } } },
  ]);
  expect(events.at(-1)).toMatchObject({
    response: { error: { message: "Provider returned error: malformed call" } },
  });
});

test("a context that ran out is a failure that Codex understands", () => {
  const { events } = translate([
    chunk({ content: "Hi" }),
    chunk({}, "model_context_window_exceeded"),
  ]);
  expect(events.at(-1)).toMatchObject({
    response: { status: "failed", error: { code: "context_length_exceeded" } },
  });
});

test("every repair says what the provider said, in which choice, and is counted", () => {
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

test("a stream with nothing to mend reports no repair", () => {
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

test("a whole reply is the fold over the same machine", () => {
  const { response, repairs } = responseOfChat(
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
    { responseId: "resp_1", newId: counter(), createdAt: 1 },
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
    "call_id_minted",
    "finish_corrected",
  ]);
});
