import {
  ChatBody,
  chatRequest,
  ChatOverResponses,
  decodeResponsesRequest,
  genericProfile,
  mendHistory,
  Repairs,
  ResponsesOverResponses,
  withFlags,
  type ChatInput,
  type InputItem,
  type JsonObject,
  type Profile,
  type RepairCode,
  type ReplyBodyOptions,
  type ResponsesInput,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { body, call, chunk, usage, usageChunk } from "./chat-stream.ts";
import { newIds, toChat, toResponses } from "./reply-translations.ts";

/** What is repaired of the body of a Chat reply. */
function ofBody(reads: string[], expect?: ReplyBodyOptions["expect"]): Repairs {
  const repairs = new Repairs();
  const reader = new ChatBody({ repairs, ...(expect === undefined ? {} : { expect }) });
  const inputs: ChatInput[] = [];
  for (const read of reads) reader.push(read, inputs);
  reader.end("eof", inputs);
  return repairs;
}

/** What is repaired of chunks, on the way to a Responses and to a Chat client. */
const forResponses = (...inputs: ChatInput[]): Repairs => toResponses(inputs).repairs;
const forChat = (...inputs: ChatInput[]): Repairs => toChat(inputs).repairs;

/** What is repaired of one call, its arguments in these fragments. */
function ofCall(...args: unknown[]): Repairs {
  const [first, ...rest] = args;
  return forResponses(
    chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: first })),
    ...rest.map((more) => chunk(call({ index: 0, args: more }))),
    chunk({}, "tool_calls"),
    "[DONE]",
  );
}

/** What is repaired of the events of a Responses upstream, on the way to a client of the same wire or of Chat. */
function ofEvents(
  machine: ResponsesOverResponses | ChatOverResponses,
  ...events: ResponsesInput[]
): Repairs {
  for (const event of events) machine.push(event, []);
  machine.end("eof", []);
  return machine.repairs;
}
const sameWire = () => new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });
const otherWire = () => new ChatOverResponses({ newId: newIds(), createdAt: 1 });

/** What is repaired of a request. */
function ofRequest(request: JsonObject, flags: Partial<Profile> = {}): Repairs {
  const decoded = decodeResponsesRequest({ model: "m", input: "Hi", ...request });
  return chatRequest(decoded, { profile: withFlags(genericProfile, flags) }).repairs;
}
const ofInput = (...input: JsonObject[]): Repairs => ofRequest({ input });

const user = { type: "message", role: "user", content: "Weather?" };
const assistant = { type: "message", role: "assistant", content: "I look." };
const oldCall = (id: string, args = "{}") => ({
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

/** The smallest case of each. */
const cases: Record<RepairCode, () => Repairs> = {
  event_not_json: () => ofBody(["data: oops\n\n", ...body([hi, stop])]),
  event_spliced: () =>
    ofBody([`data: {"id":"x","cho data: ${JSON.stringify(hi)}\n\n`, ...body([stop])]),
  whole_reply_for_stream: () => ofBody(['{"choices":[]}'], "stream"),
  stream_for_whole_reply: () => ofBody(body([hi, stop]), "whole"),
  last_event_unterminated: () => ofBody([...body([hi, stop], false), "data: [DONE]"]),

  envelope_completed: () => forChat({ ...hi, object: "" }, stop, "[DONE]"),
  usage_moved: () => forChat({ ...hi, usage }, stop, "[DONE]"),
  usage_estimated: () =>
    toResponses([hi, stop, "[DONE]"], { estimateInputTokens: () => 7 }).repairs,
  data_after_end: () => forResponses(hi, stop, "[DONE]", chunk({ content: "more" })),
  deltas_differ: () =>
    ofEvents(
      otherWire(),
      created,
      { type: "response.output_text.delta", output_index: 0, content_index: 0, delta: "Hello" },
      { type: "response.output_text.done", output_index: 0, content_index: 0, text: "Goodbye" },
      completed,
    ),
  event_dropped: () => ofEvents(sameWire(), created, { type: "keepalive" }, completed),
  event_completed: () => ofEvents(sameWire(), completed),

  content_parts_flattened: () =>
    forResponses(chunk({ content: [{ type: "text", text: "Hi" }] }), stop, "[DONE]"),
  content_not_text: () => forResponses(chunk({ content: 5 }), stop, "[DONE]"),
  reasoning_tags_split: () => forResponses(chunk({ content: "<think>hm</think>Hi" }), stop),
  reasoning_repeated: () => forResponses(chunk({ reasoning_content: "hm", reasoning: "hm" }), stop),
  reasoning_ignored: () =>
    forResponses(chunk({ reasoning_content: "hm" }), chunk({ reasoning: "Aside." }), stop),
  carry_lost: () => forResponses(chunk({ reasoning: "hm", reasoning_opaque: "SIG" }), stop),

  call_id_minted: () =>
    forResponses(chunk(call({ index: 0, id: "0", name: "health", args: "{}" })), stop),
  call_id_changed: () =>
    forResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 0, id: "call_bbb", args: "true}" })),
      stop,
    ),
  call_name_joined: () =>
    forResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "get_" })),
      chunk(call({ index: 0, name: "weather", args: "{}" })),
      stop,
    ),
  call_name_ignored: () =>
    forResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 0, name: "get_time", args: "true}" })),
      stop,
    ),
  call_without_name: () => forResponses(chunk(call({ index: 0, args: '{"city":"Paris"}' })), stop),
  call_index_ignored: () =>
    forResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: '{"all":' })),
      chunk(call({ index: 7, args: "true}" })),
      stop,
    ),
  call_withheld: () =>
    toResponses(
      [
        chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
        chunk({}, "length"),
        "[DONE]",
      ],
      { cutCalls: "withheld" },
    ).repairs,
  call_repeated: () =>
    toResponses(
      [
        chunk({ content: '<tool_call>{"name":"health","arguments":{}}</tool_call>' }),
        chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
        stop,
      ],
      { profile: withFlags(genericProfile, { leakedCalls: ["hermes"] }) },
    ).repairs,
  call_leaked: () =>
    toResponses(
      [chunk({ content: '<tool_call>{"name":"health","arguments":{}}</tool_call>' }), stop],
      { profile: withFlags(genericProfile, { leakedCalls: ["hermes"] }) },
    ).repairs,
  legacy_function_call: () =>
    forResponses(chunk({ function_call: { name: "health", arguments: "{}" } }), stop),
  arguments_blank: () => ofCall(""),
  arguments_cumulative: () => ofCall('{"a', '{"a":1', '{"a":1}'),
  arguments_repeated: () => ofCall('{"a":1}', '{"a":1}'),
  arguments_placeholder: () => ofCall("{}", '{"a":1}'),
  arguments_split: () => ofCall('{"a":1}{"b":2}'),
  arguments_object: () => ofCall({ city: "Paris" }),
  arguments_tail_dropped: () => ofCall('{"a":1}}'),
  arguments_not_whole: () => ofCall('{"city":"Pa'),
  custom_input_unwrapped: () =>
    forResponses(
      chunk(call({ index: 0, id: "call_aaa", name: "write_patch", args: "*** Begin" })),
      stop,
    ),

  finish_corrected: () => forResponses(hi, chunk({}, "end_turn")),
  finish_unknown: () => forResponses(hi, chunk({}, "banana")),
  finish_repeated: () => forResponses(hi, stop, chunk({}, "length")),
  finish_missing: () => forResponses(hi, "[DONE]"),
  error_ignored: () =>
    forResponses(hi, {
      ...stop,
      choices: [{ index: 0, delta: {}, finish_reason: "stop", error: { message: "boom" } }],
    }),

  item_skipped: () => ofInput(user, { type: "novelty" }),
  tool_dropped: () => ofRequest({ tools: [{ type: "web_search" }] }),
  tool_renamed: () => ofRequest({ tools: [{ type: "function", name: "get.weather" }] }),
  tool_schema_completed: () => ofRequest({ tools: [{ type: "function", name: "health" }] }),
  parameter_dropped: () => ofRequest({ truncation: "auto" }),
  parameter_changed: () => ofRequest({ reasoning: { effort: "xhigh" } }, { efforts: ["high"] }),
  role_mapped: () =>
    ofRequest(
      { input: [user, { type: "message", role: "system", content: "Be brief." }] },
      { laterSystem: "hoist" },
    ),
  history_reordered: () => ofInput(user, oldCall("call_aaa"), assistant, result("call_aaa")),
  call_without_result: () => ofInput(user, oldCall("call_aaa"), user),
  result_without_call: () => ofInput(user, result("call_aaa")),
  content_converted: () =>
    ofInput({ ...user, content: [{ type: "input_file", file_url: "https://example.org/a.pdf" }] }),
  reasoning_dropped: () => ofInput(user, reasoning, user),
  item_id_renewed: () => {
    const repairs = new Repairs();
    const history = [user, reasoning, { ...assistant, id: "msg_1" }, user];
    mendHistory(history as unknown as InputItem[], { stored: false, repairs });
    return repairs;
  },
};

/** What the record of each says: the provider's or the client's words, nothing where there are none. */
const words: Record<RepairCode, string> = {
  event_not_json: "oops",
  event_spliced: '{"id":"x","cho data: {',
  whole_reply_for_stream: "",
  stream_for_whole_reply: "",
  last_event_unterminated: "[DONE]",
  envelope_completed: "id chatcmpl-1",
  usage_moved: JSON.stringify(usage),
  usage_estimated: "7 in, 1 out",
  data_after_end: "more",
  deltas_differ: "Goodbye",
  event_dropped: "keepalive",
  event_completed: "response.created",
  content_parts_flattened: '[{"type":"text","text":"Hi"}]',
  content_not_text: "5",
  reasoning_tags_split: "<think>hm</think>Hi",
  reasoning_repeated: "hm",
  reasoning_ignored: "Aside.",
  carry_lost: "opaque",
  call_id_minted: "0",
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
  arguments_not_whole: '{"city":"Pa',
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
  role_mapped: "a later system message moved to the front",
  history_reordered: "text after a call",
  call_without_result: "call_aaa",
  result_without_call: "call_aaa",
  content_converted: "https://example.org/a.pdf",
  reasoning_dropped: "nothing was said or called after it",
  item_id_renewed: "msg_1",
};

test.each(Object.keys(cases) as RepairCode[])("%s is counted, and told in words", (code) => {
  const { counts, list } = cases[code]();
  expect(counts.get(code)).toBe(1);
  const detail = list.find((repair) => repair.code === code)?.detail;
  expect(detail).toContain(words[code]);
});

test("a stream with nothing to mend has no repair, on either wire", () => {
  const clean = [
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
  expect(ofBody(body(clean), "stream").list).toEqual([]);
  expect(forResponses(...clean, "[DONE]").list).toEqual([]);
  expect(forChat(...clean, "[DONE]").list).toEqual([]);
});

test("a request with nothing to mend has no repair", () => {
  const { list } = ofRequest({
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
    input: [user, assistant, oldCall("call_aaa"), result("call_aaa"), user],
  });
  expect(list).toEqual([]);
});
