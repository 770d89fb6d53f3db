import {
  ChatBody,
  ChatOverMessages,
  translateResponsesRequest,
  ChatOverResponses,
  decodeResponsesRequest,
  genericProfile,
  repairHistory,
  Repairs,
  ResponsesOverResponses,
  withProfileFlags,
  type UpstreamChatEvent,
  type ResponseInputItem,
  type JsonObject,
  type UpstreamProfile,
  type RepairCode,
  type ReplyBodyOptions,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { body, call, chunk, usage, usageChunk } from "./chat-chunks.ts";
import { createIdCounter, translateToChat, translateToResponses } from "./translate-reply.ts";

/** Returns the repairs of the body of a Chat reply. */
function repairBody(reads: string[], expect?: ReplyBodyOptions["expect"]): Repairs {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs, ...(expect === undefined ? {} : { expect }) });
  const inputs: UpstreamChatEvent[] = [];
  for (const read of reads) reader.push(read, inputs);
  reader.end("eof", inputs);
  return repairs;
}

/** Returns the repairs of chunks for a Responses client; the next function, for a Chat client. */
const repairForResponses = (...inputs: UpstreamChatEvent[]): Repairs =>
  translateToResponses(inputs).repairs;
const repairForChat = (...inputs: UpstreamChatEvent[]): Repairs => translateToChat(inputs).repairs;

/** Returns the repairs of one call with its arguments in these fragments. */
function repairCall(...args: unknown[]): Repairs {
  const [first, ...rest] = args;
  return repairForResponses(
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: first })),
    ...rest.map((fragment) => chunk(call({ index: 0, args: fragment }))),
    chunk({}, "tool_calls"),
    "[DONE]",
  );
}

/** Returns the repairs of the events of a Responses upstream for a client of either wire. */
function repairEvents(
  machine: ResponsesOverResponses | ChatOverResponses,
  ...events: UpstreamResponseEvent[]
): Repairs {
  for (const event of events) machine.push(event, []);
  machine.end("eof", []);
  return machine.repairs;
}
/** Returns the repairs of the events of a Messages upstream for a Chat client. */
function repairMessageEvents(...events: UpstreamMessageEvent[]): Repairs {
  const machine = new ChatOverMessages({ newId: createIdCounter(), createdAt: 1 });
  for (const event of events) machine.push(event, []);
  machine.end("eof", []);
  return machine.repairs;
}
const responsesOverResponses = () =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });
const chatOverResponses = () => new ChatOverResponses({ newId: createIdCounter(), createdAt: 1 });

/** Returns the repairs of a request. */
function repairRequest(request: JsonObject, flags: Partial<UpstreamProfile> = {}): Repairs {
  const decoded = decodeResponsesRequest({ model: "m", input: "Hi", ...request });
  return translateResponsesRequest(decoded, { profile: withProfileFlags(genericProfile, flags) })
    .repairs;
}
const repairInput = (...input: JsonObject[]): Repairs => repairRequest({ input });

const user = { type: "message", role: "user", content: "Weather?" };
const assistant = { type: "message", role: "assistant", content: "I look." };
const callItem = (id: string, args = "{}") => ({
  type: "function_call",
  call_id: id,
  name: "get_weather",
  arguments: args,
});
const result = (id: string) => ({ type: "function_call_output", call_id: id, output: "sunny" });
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };

const hi = chunk({ role: "assistant", content: "Hi" });
const stop = chunk({}, "stop");
const created = {
  type: "response.created",
  response: { id: "resp_1", status: "in_progress", output: [] },
};
const completed = {
  type: "response.completed",
  response: { id: "resp_1", status: "completed", output: [] },
};

/** A minimal input for each repair. */
const cases: Record<RepairCode, () => Repairs> = {
  event_not_json: () => repairBody(["data: oops\n\n", ...body([hi, stop])]),
  event_spliced: () =>
    repairBody([`data: {"id":"x","cho data: ${JSON.stringify(hi)}\n\n`, ...body([stop])]),
  complete_reply_for_stream: () => repairBody(['{"choices":[]}'], "stream"),
  stream_for_complete_reply: () => repairBody(body([hi, stop]), "complete"),
  last_event_unterminated: () => repairBody([...body([hi, stop], false), "data: [DONE]"]),

  envelope_completed: () => repairForChat({ ...hi, object: "" }, stop, "[DONE]"),
  usage_moved: () => repairForChat({ ...hi, usage }, stop, "[DONE]"),
  usage_estimated: () =>
    translateToResponses([hi, stop, "[DONE]"], { estimateInputTokens: () => 7 }).repairs,
  data_after_end: () => repairForResponses(hi, stop, "[DONE]", chunk({ content: "more" })),
  deltas_differ: () =>
    repairEvents(
      chatOverResponses(),
      created,
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hello" },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Goodbye" },
      completed,
    ),
  event_dropped: () =>
    repairEvents(responsesOverResponses(), created, { type: "keepalive" }, completed),
  event_completed: () => repairEvents(responsesOverResponses(), completed),
  response_completed: () => repairEvents(responsesOverResponses(), created, completed),

  content_parts_flattened: () =>
    repairForResponses(chunk({ content: [{ type: "text", text: "Hi" }] }), stop, "[DONE]"),
  content_not_text: () => repairForResponses(chunk({ content: 5 }), stop, "[DONE]"),
  reasoning_tags_split: () => repairForResponses(chunk({ content: "<think>hm</think>Hi" }), stop),
  reasoning_repeated: () =>
    repairForResponses(chunk({ reasoning_content: "hm", reasoning: "hm" }), stop),
  reasoning_ignored: () =>
    repairForResponses(chunk({ reasoning_content: "hm" }), chunk({ reasoning: "Aside." }), stop),
  opaque_reasoning_lost: () =>
    repairForResponses(chunk({ reasoning: "hm", reasoning_opaque: "SIG" }), stop),
  content_dropped: () =>
    repairMessageEvents(
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "citations_delta", citation: { type: "char_location" } },
      },
    ),

  call_id_generated: () =>
    repairForResponses(chunk(call({ index: 0, id: "0", name: "health", args: "{}" })), stop),
  call_id_changed: () =>
    repairForResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 0, id: "call_bbb", args: "true}" })),
      stop,
    ),
  call_name_joined: () =>
    repairForResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "get_" })),
      chunk(call({ index: 0, name: "weather", args: "{}" })),
      stop,
    ),
  call_name_ignored: () =>
    repairForResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 0, name: "get_time", args: "true}" })),
      stop,
    ),
  call_without_name: () =>
    repairForResponses(chunk(call({ index: 0, args: '{"city":"Paris"}' })), stop),
  call_index_ignored: () =>
    repairForResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 7, args: "true}" })),
      stop,
    ),
  call_withheld: () =>
    translateToResponses(
      [
        chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
        chunk({}, "length"),
        "[DONE]",
      ],
      { truncatedCalls: "withheld" },
    ).repairs,
  call_repeated: () =>
    translateToResponses(
      [
        chunk({ content: '<tool_call>{"name":"health","arguments":{}}</tool_call>' }),
        chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
        stop,
      ],
      { profile: withProfileFlags(genericProfile, { leakedCalls: ["hermes"] }) },
    ).repairs,
  call_leaked: () =>
    translateToResponses(
      [chunk({ content: '<tool_call>{"name":"health","arguments":{}}</tool_call>' }), stop],
      { profile: withProfileFlags(genericProfile, { leakedCalls: ["hermes"] }) },
    ).repairs,
  legacy_function_call: () =>
    repairForResponses(chunk({ function_call: { name: "health", arguments: "{}" } }), stop),
  arguments_blank: () => repairCall(""),
  arguments_cumulative: () => repairCall('{"a', '{"a":1', '{"a":1}'),
  arguments_repeated: () => repairCall('{"a":1}', '{"a":1}'),
  arguments_placeholder: () => repairCall("{}", '{"a":1}'),
  arguments_split: () => repairCall('{"a":1}{"b":2}'),
  arguments_object: () => repairCall({ city: "Paris" }),
  arguments_tail_dropped: () => repairCall('{"a":1}}'),
  arguments_incomplete: () => repairCall('{"city":"Pa'),
  custom_input_unwrapped: () =>
    repairForResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "write_patch", args: "*** Begin" })),
      stop,
    ),

  finish_corrected: () => repairForResponses(hi, chunk({}, "end_turn")),
  finish_unknown: () => repairForResponses(hi, chunk({}, "banana")),
  finish_repeated: () => repairForResponses(hi, stop, chunk({}, "length")),
  finish_missing: () => repairForResponses(hi, "[DONE]"),
  error_ignored: () =>
    repairForResponses(hi, {
      ...stop,
      choices: [{ index: 0, delta: {}, finish_reason: "stop", error: { message: "boom" } }],
    }),

  item_skipped: () => repairInput(user, { type: "novelty" }),
  tool_dropped: () => repairRequest({ tools: [{ type: "web_search" }] }),
  tool_renamed: () => repairRequest({ tools: [{ type: "function", name: "get.weather" }] }),
  tool_schema_completed: () => repairRequest({ tools: [{ type: "function", name: "health" }] }),
  parameter_dropped: () => repairRequest({ truncation: "auto" }),
  parameter_changed: () => repairRequest({ reasoning: { effort: "xhigh" } }, { efforts: ["high"] }),
  role_mapped: () =>
    repairRequest(
      { input: [user, { type: "message", role: "system", content: "Be brief." }] },
      { lateSystemMessages: "hoist" },
    ),
  history_reordered: () => repairInput(user, callItem("call_aaa"), assistant, result("call_aaa")),
  call_without_result: () => repairInput(user, callItem("call_aaa"), user),
  result_without_call: () => repairInput(user, result("call_aaa")),
  content_converted: () =>
    repairInput({
      ...user,
      content: [{ type: "input_file", file_url: "https://example.org/a.pdf" }],
    }),
  reasoning_dropped: () => repairInput(user, reasoning, user),
  item_id_renewed: () => {
    const repairs = new Repairs();
    const history = [user, reasoning, { ...assistant, id: "msg_1" }, user];
    repairHistory(history as unknown as ResponseInputItem[], { stored: false, repairs });
    return repairs;
  },
};

/** The expected detail of each repair: the provider's or client's text, if any. */
const details: Record<RepairCode, string> = {
  event_not_json: "oops",
  event_spliced: '{"id":"x","cho data: {',
  complete_reply_for_stream: "",
  stream_for_complete_reply: "",
  last_event_unterminated: "[DONE]",
  envelope_completed: "id chatcmpl-1",
  usage_moved: JSON.stringify(usage),
  usage_estimated: "7 in, 1 out",
  data_after_end: "more",
  deltas_differ: "Goodbye",
  event_dropped: "keepalive",
  event_completed: "response.created",
  response_completed: "completed_at, error, incomplete_details, usage, background",
  content_parts_flattened: '[{"type":"text","text":"Hi"}]',
  content_not_text: "5",
  reasoning_tags_split: "<think>hm</think>Hi",
  reasoning_repeated: "hm",
  reasoning_ignored: "Aside.",
  opaque_reasoning_lost: "opaque",
  content_dropped: "char_location",
  call_id_generated: "0",
  call_id_changed: "call_bbb",
  call_name_joined: "get_weather",
  call_name_ignored: "get_time",
  call_without_name: '{"city":"Paris"}',
  call_index_ignored: "7",
  call_withheld: "health",
  call_repeated: "health",
  call_leaked: '<tool_call>{"name":"health","arguments":{}}</tool_call>',
  legacy_function_call: "health",
  arguments_blank: "get_weather",
  arguments_cumulative: '{"a":1',
  arguments_repeated: '{"a":1}',
  arguments_placeholder: "{}",
  arguments_split: '{"b":2}',
  arguments_object: '{"city":"Paris"}',
  arguments_tail_dropped: "}",
  arguments_incomplete: '{"city":"Pa',
  custom_input_unwrapped: "*** Begin",
  finish_corrected: "end_turn",
  finish_unknown: "banana",
  finish_repeated: "length",
  finish_missing: "",
  error_ignored: '{"message":"boom"}',
  item_skipped: "novelty",
  tool_dropped: "web_search",
  tool_renamed: "get.weather -> get_weather_",
  tool_schema_completed: "health",
  parameter_dropped: "truncation",
  parameter_changed: "reasoning.effort: xhigh -> high",
  role_mapped: "a later system message moved to the start",
  history_reordered: "text after a call",
  call_without_result: "call_aaa",
  result_without_call: "call_aaa",
  content_converted: "https://example.org/a.pdf",
  reasoning_dropped: "no text or call follows it",
  item_id_renewed: "msg_1",
};

test.each(Object.keys(cases) as RepairCode[])(
  "the repair %s is recorded once with its detail",
  (code) => {
    const { counts, list } = cases[code]();
    expect(counts.get(code)).toBe(1);
    const detail = list.find((repair) => repair.code === code)?.detail;
    expect(detail).toContain(details[code]);
  },
);

test("a valid stream needs no repair for either kind of client", () => {
  const valid = [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "I must look." }),
    chunk({ content: "I look." }),
    chunk({
      tool_calls: [
        {
          index: 0,
          id: "call_aaa",
          type: "function",
          function: { name: "get_weather", arguments: "" },
        },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] }),
    chunk({}, "tool_calls"),
    usageChunk(),
  ];
  expect(repairBody(body(valid), "stream").list).toEqual([]);
  expect(repairForResponses(...valid, "[DONE]").list).toEqual([]);
  expect(repairForChat(...valid, "[DONE]").list).toEqual([]);
});

test("a valid request needs no repair", () => {
  const { list } = repairRequest({
    instructions: "Be brief.",
    stream: true,
    temperature: 1,
    tools: [
      {
        type: "function",
        name: "get_weather",
        parameters: { type: "object", properties: { city: { type: "string" } } },
      },
    ],
    input: [user, assistant, callItem("call_aaa"), result("call_aaa"), user],
  });
  expect(list).toEqual([]);
});
