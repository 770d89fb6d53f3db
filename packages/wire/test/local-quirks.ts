import type { Quirk } from "../check/quirk.ts";
import { body, call, chunk, usage, usageChunk } from "./chat-chunks.ts";

/*
 * One case per quirk, so that every quirk is tested even without recordings. The offered tools are get_weather, get_time,
 * web_fetch, web_search and health.
 */

const paris = '{"city":"Paris"}';
const weather = (city: string) => ({ name: "get_weather", arguments: { city } });
const start = chunk({ role: "assistant", content: null });
const openingChunk = (args: unknown, continuationChunk: object = {}) =>
  chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args, ...continuationChunk }));
const continuationChunk = (args: unknown, fragment: object = {}) =>
  chunk(call({ index: 0, args, ...fragment }));
const finishChunk = (reason = "tool_calls") => chunk({}, reason);
const hello = [chunk({ role: "assistant", content: "Hel" }), chunk({ content: "lo." })];
const helloReply = { status: "completed", text: "Hello." };
const callReply = (...calls: { name: string; arguments: unknown }[]) => ({
  status: "completed",
  text: "",
  tool_calls: calls,
  chat_finish: "tool_calls",
});

type Case = [
  title: string,
  chunks: unknown[],
  expect: NonNullable<Quirk["expect"]>,
  done?: boolean,
];

const calls: Case[] = [
  [
    "a well-formed call",
    [
      start,
      openingChunk(""),
      continuationChunk('{"city":'),
      continuationChunk('"Paris"}'),
      finishChunk(),
      usageChunk(),
    ],
    { ...callReply(weather("Paris")), usage: [11, 7] },
  ],
  [
    "finish_reason stop after a call",
    [start, openingChunk(paris), finishChunk("stop")],
    callReply(weather("Paris")),
  ],
  [
    "finish_reason tool_call, tool_use, function_call",
    [start, openingChunk(paris), finishChunk("tool_use")],
    callReply(weather("Paris")),
  ],
  [
    "finish_reason end_turn",
    [start, openingChunk(paris), finishChunk("end_turn")],
    callReply(weather("Paris")),
  ],
  [
    "finish_reason tool_calls followed by stop",
    [start, openingChunk(paris), finishChunk(), finishChunk("stop")],
    callReply(weather("Paris")),
  ],
  [
    "a call with [DONE] but no finish_reason",
    [start, openingChunk(paris)],
    callReply(weather("Paris")),
  ],
  [
    "finish_reason tool_calls without a call",
    [...hello, finishChunk()],
    { ...helloReply, chat_finish: "stop" },
  ],
  [
    "several calls in one delta without an index",
    [
      chunk({
        tool_calls: [
          ...(call({ id: "call_aaa", name: "get_weather", args: paris }).tool_calls ?? []),
          ...(call({ id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' }).tool_calls ??
            []),
        ],
      }),
      finishChunk(),
    ],
    callReply(weather("Paris"), weather("Tokyo")),
  ],
  [
    "several calls at index 0 with different ids",
    [
      openingChunk(paris),
      chunk(call({ index: 0, id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' })),
      finishChunk(),
    ],
    callReply(weather("Paris"), weather("Tokyo")),
  ],
  [
    "several calls at index 0 without ids",
    [
      chunk(call({ index: 0, name: "web_fetch", args: '{"url":"a"}' })),
      chunk(call({ index: 0, name: "web_search", args: '{"q":"b"}' })),
      finishChunk(),
    ],
    callReply(
      { name: "web_fetch", arguments: { url: "a" } },
      { name: "web_search", arguments: { q: "b" } },
    ),
  ],
  [
    "two fragments of one call in one delta",
    [
      chunk({
        tool_calls: [
          ...(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' })
            .tool_calls ?? []),
          ...(call({ index: 0, args: '"Paris"}' }).tool_calls ?? []),
        ],
      }),
      finishChunk(),
    ],
    callReply(weather("Paris")),
  ],
  [
    "a delta with text and a call",
    [
      chunk({
        content: "Checking.",
        ...call({ index: 0, id: "call_aaa", name: "get_weather", args: paris }),
      }),
      finishChunk(),
    ],
    { ...callReply(weather("Paris")), text: "Checking." },
  ],
  [
    "a call in the finish chunk",
    [
      start,
      chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: paris }), "tool_calls"),
    ],
    callReply(weather("Paris")),
  ],
  [
    "an empty fragment in the finish chunk",
    [start, openingChunk(paris), chunk(call({ index: 0, args: "" }), "tool_calls")],
    callReply(weather("Paris")),
  ],
  [
    "a call after a finish_reason",
    [
      start,
      openingChunk(paris),
      finishChunk(),
      chunk(call({ index: 1, id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' })),
      finishChunk(),
    ],
    callReply(weather("Paris"), weather("Tokyo")),
  ],
  [
    "a legacy function_call",
    [
      chunk({ function_call: { name: "get_weather", arguments: "" } }),
      chunk({ function_call: { arguments: paris } }),
      finishChunk("function_call"),
    ],
    callReply(weather("Paris")),
  ],
  [
    "arguments as an object",
    [start, openingChunk({ city: "Paris" }), finishChunk()],
    callReply(weather("Paris")),
  ],
  [
    "a type in capitals, an empty id and the name null",
    [
      openingChunk('{"city":', { type: "FUNCTION" }),
      continuationChunk('"Paris"}', { id: "", name: "null", type: "FUNCTION" }),
      finishChunk(),
    ],
    callReply(weather("Paris")),
  ],
];

const reasoning: Case[] = [
  [
    "reasoning_content",
    [
      chunk({ reasoning_content: "" }),
      chunk({ reasoning_content: "think " }),
      chunk({ reasoning_content: "hard" }),
      chunk({ content: "Hello.", reasoning_content: null }),
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "reasoning",
    [chunk({ reasoning: "think hard" }), ...hello, finishChunk("stop")],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "reasoning as an object",
    [
      chunk({ reasoning: { text: "think " } }),
      chunk({ reasoning: { content: "hard" } }),
      ...hello,
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "reasoning_text",
    [chunk({ reasoning_text: "think hard" }), ...hello, finishChunk("stop")],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "reasoning only in reasoning_details",
    [
      chunk({ reasoning_details: [{ type: "reasoning.text", text: "think " }] }),
      chunk({ reasoning_details: [{ type: "reasoning.summary", summary: "hard" }] }),
      ...hello,
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "the same reasoning in three fields",
    [
      chunk({
        reasoning: "hm",
        reasoning_content: "hm",
        reasoning_details: [{ type: "reasoning.text", text: "hm" }],
      }),
      ...hello,
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "hm" },
  ],
  [
    "content parts of type thinking",
    [
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
      chunk({ content: [{ type: "text", text: "Hello." }] }),
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "hm" },
  ],
  [
    "think tags split over chunks",
    [
      chunk({ content: "<thi" }),
      chunk({ content: "nk>think hard</th" }),
      chunk({ content: "ink>\n\nHello." }),
      finishChunk("stop"),
    ],
    { ...helloReply, reasoning: "think hard" },
  ],
  [
    "a think tag in the middle of the answer",
    [chunk({ content: "Use `<think>" }), chunk({ content: "x</think>`." }), finishChunk("stop")],
    { status: "completed", text: "Use `<think>x</think>`.", reasoning: "" },
  ],
  [
    "alternating reasoning, text and a call",
    [
      chunk({ reasoning_content: "r1" }),
      chunk({ content: "T1" }),
      chunk({ reasoning_content: "r2" }),
      openingChunk(paris),
      finishChunk(),
    ],
    { ...callReply(weather("Paris")), text: "T1", reasoning: "r1r2" },
  ],
];

const endings: Case[] = [
  [
    "a finish_reason without [DONE]",
    [...hello, finishChunk("stop"), usageChunk()],
    { ...helloReply, usage: [11, 7] },
    false,
  ],
  ["[DONE] without a finish_reason", hello, helloReply],
  [
    "neither a finish_reason nor [DONE]",
    hello,
    { status: "failed", error_includes: "before the reply was finished" },
    false,
  ],
  [
    "a stream that ends in the middle of a call",
    [start, openingChunk('{"city":"Pa')],
    { status: "failed", no_completed_tool: true },
    false,
  ],
  [
    "a stream that ends after a complete call without a finish_reason",
    [start, openingChunk(paris)],
    { status: "failed", no_completed_tool: true },
    false,
  ],
  [
    "finish_reason length",
    [...hello, finishChunk("length")],
    {
      status: "incomplete",
      incomplete_reason: "max_output_tokens",
      text: "Hello.",
      chat_finish: "length",
    },
  ],
  [
    "finish_reason length after a complete call",
    [start, openingChunk(paris), finishChunk("length")],
    { status: "incomplete", no_completed_tool: true },
  ],
  [
    "finish_reason content_filter, sensitive",
    [...hello, finishChunk("sensitive")],
    { status: "incomplete", incomplete_reason: "content_filter", chat_finish: "content_filter" },
  ],
  [
    "finish_reason eos_token",
    [...hello, finishChunk("eos_token")],
    { ...helloReply, chat_finish: "stop" },
  ],
  [
    "an unknown finish_reason",
    [...hello, finishChunk("banana")],
    { ...helloReply, chat_finish: "stop" },
  ],
  [
    "finishReason",
    [...hello, { ...chunk({}), choices: [{ index: 0, delta: {}, finishReason: "stop" }] }],
    { ...helloReply, chat_finish: "stop" },
  ],
  [
    "finish_reason network_error",
    [...hello, finishChunk("network_error")],
    { status: "failed", error_includes: "network_error" },
  ],
  [
    "finish_reason model_context_window_exceeded",
    [...hello, finishChunk("model_context_window_exceeded")],
    { status: "incomplete", chat_finish: "length" },
  ],
  [
    "an error in the stream",
    [...hello, { error: { message: "no more workers", code: 502 } }],
    { status: "failed", error_includes: "no more workers" },
  ],
  [
    "an error together with finish_reason error",
    [...hello, { ...chunk({}, "error"), error: { message: "no more workers" } }],
    { status: "failed", error_includes: "no more workers" },
  ],
  [
    "only an error",
    [{ error: { message: "quota exceeded", code: null } }],
    { status: "failed", error_includes: "quota exceeded" },
  ],
  [
    "an error that is a string",
    [{ error: "out of order" }],
    { status: "failed", error_includes: "out of order" },
  ],
  [
    "an error after finish_reason length",
    [...hello, finishChunk("length"), { error: { message: "Token limit reached" } }],
    { status: "incomplete", incomplete_reason: "max_output_tokens" },
  ],
];

const envelopes: Case[] = [
  [
    "chunks of another choice in between",
    [
      hello[0],
      { ...chunk({}), choices: [{ index: 1, delta: { content: "OTHER" } }] },
      hello[1],
      { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: "stop" }] },
      finishChunk("stop"),
    ],
    helloReply,
  ],
  [
    "content filter results and chunks without delta or choices",
    [
      { id: "", choices: [], prompt_filter_results: [{}] },
      hello[0],
      { ...chunk({}), choices: [{ index: 0, content_filter_results: {} }] },
      { x: 1 },
      hello[1],
      finishChunk("stop"),
    ],
    helloReply,
  ],
  [
    "chunks without an envelope",
    [
      { choices: [{ delta: { content: "Hello." } }] },
      { choices: [{ delta: {}, finish_reason: "stop" }] },
    ],
    helloReply,
  ],
  [
    "content as an array of parts",
    [chunk({ content: [{ type: "text", text: "Hello." }] }), finishChunk("stop")],
    helloReply,
  ],
  [
    "a message next to the deltas",
    [
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "Hel" }, message: { content: "Hel" } }],
      },
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "lo." }, message: { content: "Hello." } }],
      },
      finishChunk("stop"),
    ],
    helloReply,
  ],
  [
    "a message instead of deltas",
    [
      {
        ...chunk({}),
        choices: [
          { index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" },
        ],
      },
    ],
    helloReply,
  ],
  [
    "usage in the finish chunk",
    [...hello, chunk({}, "stop", { usage })],
    { ...helloReply, usage: [11, 7] },
  ],
  [
    "usage in the finish chunk with the last text",
    [hello[0], chunk({ content: "lo." }, "stop", { usage })],
    { ...helloReply, usage: [11, 7] },
  ],
  [
    "usage in the choice",
    [...hello, { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", usage }] }],
    { ...helloReply, usage: [11, 7] },
  ],
  [
    "usage under x_groq",
    [...hello, finishChunk("stop"), { ...chunk({}), choices: [], x_groq: { usage } }],
    { ...helloReply, usage: [11, 7] },
  ],
  [
    "usage that grows",
    [
      chunk({ content: "Hel" }, null, { usage: { ...usage, completion_tokens: 1 } }),
      chunk({ content: "lo." }, null, { usage: { ...usage, completion_tokens: 2 } }),
      finishChunk("stop"),
      usageChunk(),
    ],
    { ...helloReply, usage: [11, 7] },
  ],
  [
    "cached and reasoning tokens under other names",
    [
      ...hello,
      finishChunk("stop"),
      usageChunk({ ...usage, prompt_cache_hit_tokens: 5, reasoning_tokens: 3 }),
    ],
    { ...helloReply, cached: 5, reasoning_tokens: 3 },
  ],
  ["no usage", [...hello, finishChunk("stop")], helloReply],
];

const rawQuirk = (
  title: string,
  raw: string[],
  expect: Quirk["expect"],
  kind = "stream",
): Quirk => ({
  id: title,
  class: kind,
  title,
  wire: { raw },
  ...(expect === undefined ? {} : { expect }),
});
const helloText = body([...hello, finishChunk("stop"), usageChunk()]).join("");
const completeText = JSON.stringify({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage,
});
const helloWithUsage = { ...helloReply, usage: [11, 7] as [number, number] };

const framing: Quirk[] = [
  rawQuirk(
    "comments between events",
    [`: ping\n\n${helloText.replaceAll("\n\n", "\n\n: ping\n\n")}`],
    helloWithUsage,
  ),
  rawQuirk(
    "keep-alives as data",
    [`data: : keepalive\n\ndata:\n\nevent: keepalive\n\n${helloText}`],
    helloWithUsage,
  ),
  rawQuirk(
    "CRLF split between CR and LF",
    helloText.replaceAll("\n", "\r\n").split(/(?<=\r)/),
    helloWithUsage,
  ),
  rawQuirk("data: without a space", [helloText.replaceAll("data: ", "data:")], helloWithUsage),
  rawQuirk("a last event without a blank line", [helloText.trimEnd()], helloWithUsage),
  rawQuirk("a complete JSON reply to a streaming request", [completeText], helloWithUsage),
  rawQuirk(
    "blank lines before a JSON body",
    ["\n", "\n\n", completeText],
    helloWithUsage,
    "nonstream",
  ),
  rawQuirk(
    "a stream as reply to a request without streaming",
    [helloText],
    helloWithUsage,
    "nonstream",
  ),
  rawQuirk(
    "an error body",
    ['{"error":{"message":"bad key"}}'],
    { status: "failed", error_includes: "bad key" },
    "nonstream",
  ),
  rawQuirk(
    "an error body in an array",
    ['[{"error":{"message":"bad key","code":400}}]'],
    { status: "failed", error_includes: "bad key" },
    "nonstream",
  ),
  rawQuirk(
    "an error body without an error",
    ['{"detail":"Not Found"}'],
    { status: "failed", error_includes: "Not Found" },
    "nonstream",
  ),
  rawQuirk(
    "a truncated JSON body",
    [completeText.slice(0, 60)],
    { status: "failed", error_includes: "chat.completion" },
    "nonstream",
  ),
  rawQuirk("a web page instead of a reply", ["<html>Bad gateway</html>"], {
    status: "failed",
    error_includes: "Bad gateway",
  }),
  rawQuirk("only [DONE]", ["data: [DONE]\n\n"], { status: "completed", chat_finish: "stop" }),
  rawQuirk("a reply without choices", ['{"choices":[]}'], { status: "completed" }, "nonstream"),
  rawQuirk("an empty body", [], { status: "failed" }),
];

export const localQuirks: Quirk[] = [
  ...[...calls, ...reasoning, ...endings, ...envelopes].map(
    ([title, chunks, expect, done]): Quirk => ({
      id: title,
      class: "stream",
      title,
      wire: { chunks, ...(done === undefined ? {} : { done }) },
      expect,
    }),
  ),
  ...framing,
];
