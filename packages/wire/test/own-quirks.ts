import type { Quirk } from "../check/quirk.ts";
import { body, call, chunk, usage, usageChunk } from "./chat-stream.ts";

/*
 * What servers do, one case a rule, so that every rule is tested without any recording. The tools that are offered:
 * get_weather, get_time, web_fetch, web_search, health.
 */

const paris = '{"city":"Paris"}';
const weather = (city: string) => ({ name: "get_weather", arguments: { city } });
const start = chunk({ role: "assistant", content: null });
const opened = (args: unknown, more: object = {}) =>
  chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args, ...more }));
const more = (args: unknown, fragment: object = {}) => chunk(call({ index: 0, args, ...fragment }));
const finished = (word = "tool_calls") => chunk({}, word);
const hello = [chunk({ role: "assistant", content: "Hel" }), chunk({ content: "lo." })];
const said = { status: "completed", text: "Hello." };
const called = (...calls: { name: string; arguments: unknown }[]) => ({
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
    [start, opened(""), more('{"city":'), more('"Paris"}'), finished(), usageChunk()],
    { ...called(weather("Paris")), usage: [11, 7] },
  ],
  [
    "finish_reason stop although there is a call",
    [start, opened(paris), finished("stop")],
    called(weather("Paris")),
  ],
  [
    "finish_reason tool_call, tool_use, function_call",
    [start, opened(paris), finished("tool_use")],
    called(weather("Paris")),
  ],
  [
    "finish_reason end_turn",
    [start, opened(paris), finished("end_turn")],
    called(weather("Paris")),
  ],
  [
    "two finishes, the weaker one last",
    [start, opened(paris), finished(), finished("stop")],
    called(weather("Paris")),
  ],
  ["no finish, only the sentinel", [start, opened(paris)], called(weather("Paris"))],
  [
    "a finish_reason tool_calls without any call",
    [...hello, finished()],
    { ...said, chat_finish: "stop" },
  ],
  [
    "several calls in one delta, without index",
    [
      chunk({
        tool_calls: [
          ...(call({ id: "call_aaa", name: "get_weather", args: paris }).tool_calls ?? []),
          ...(call({ id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' }).tool_calls ??
            []),
        ],
      }),
      finished(),
    ],
    called(weather("Paris"), weather("Tokyo")),
  ],
  [
    "calls told apart by id only, all at index 0",
    [
      opened(paris),
      chunk(call({ index: 0, id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' })),
      finished(),
    ],
    called(weather("Paris"), weather("Tokyo")),
  ],
  [
    "calls told apart by nothing but their ends",
    [
      chunk(call({ index: 0, name: "web_fetch", args: '{"url":"a"}' })),
      chunk(call({ index: 0, name: "web_search", args: '{"q":"b"}' })),
      finished(),
    ],
    called(
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
      finished(),
    ],
    called(weather("Paris")),
  ],
  [
    "a delta with text and a call",
    [
      chunk({
        content: "Checking.",
        ...call({ index: 0, id: "call_aaa", name: "get_weather", args: paris }),
      }),
      finished(),
    ],
    { ...called(weather("Paris")), text: "Checking." },
  ],
  [
    "a call in the finish chunk",
    [
      start,
      chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: paris }), "tool_calls"),
    ],
    called(weather("Paris")),
  ],
  [
    "an empty fragment with the finish",
    [start, opened(paris), chunk(call({ index: 0, args: "" }), "tool_calls")],
    called(weather("Paris")),
  ],
  [
    "a call after a finish",
    [
      start,
      opened(paris),
      finished(),
      chunk(call({ index: 1, id: "call_bbb", name: "get_weather", args: '{"city":"Tokyo"}' })),
      finished(),
    ],
    called(weather("Paris"), weather("Tokyo")),
  ],
  [
    "a legacy function_call",
    [
      chunk({ function_call: { name: "get_weather", arguments: "" } }),
      chunk({ function_call: { arguments: paris } }),
      finished("function_call"),
    ],
    called(weather("Paris")),
  ],
  [
    "arguments as an object",
    [start, opened({ city: "Paris" }), finished()],
    called(weather("Paris")),
  ],
  [
    "a type in capitals, an id that is empty, a name that is the word null",
    [
      opened('{"city":', { type: "FUNCTION" }),
      more('"Paris"}', { id: "", name: "null", type: "FUNCTION" }),
      finished(),
    ],
    called(weather("Paris")),
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
      finished("stop"),
    ],
    { ...said, reasoning: "think hard" },
  ],
  [
    "reasoning",
    [chunk({ reasoning: "think hard" }), ...hello, finished("stop")],
    { ...said, reasoning: "think hard" },
  ],
  [
    "reasoning as an object",
    [
      chunk({ reasoning: { text: "think " } }),
      chunk({ reasoning: { content: "hard" } }),
      ...hello,
      finished("stop"),
    ],
    { ...said, reasoning: "think hard" },
  ],
  [
    "reasoning_text",
    [chunk({ reasoning_text: "think hard" }), ...hello, finished("stop")],
    { ...said, reasoning: "think hard" },
  ],
  [
    "reasoning_details alone",
    [
      chunk({ reasoning_details: [{ type: "reasoning.text", text: "think " }] }),
      chunk({ reasoning_details: [{ type: "reasoning.summary", summary: "hard" }] }),
      ...hello,
      finished("stop"),
    ],
    { ...said, reasoning: "think hard" },
  ],
  [
    "the same words in three fields",
    [
      chunk({
        reasoning: "hm",
        reasoning_content: "hm",
        reasoning_details: [{ type: "reasoning.text", text: "hm" }],
      }),
      ...hello,
      finished("stop"),
    ],
    { ...said, reasoning: "hm" },
  ],
  [
    "parts of type thinking",
    [
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
      chunk({ content: [{ type: "text", text: "Hello." }] }),
      finished("stop"),
    ],
    { ...said, reasoning: "hm" },
  ],
  [
    "think tags, cut",
    [
      chunk({ content: "<thi" }),
      chunk({ content: "nk>think hard</th" }),
      chunk({ content: "ink>\n\nHello." }),
      finished("stop"),
    ],
    { ...said, reasoning: "think hard" },
  ],
  [
    "a tag in the middle of the answer",
    [chunk({ content: "Use `<think>" }), chunk({ content: "x</think>`." }), finished("stop")],
    { status: "completed", text: "Use `<think>x</think>`.", reasoning: "" },
  ],
  [
    "text, reasoning, call, in turns",
    [
      chunk({ reasoning_content: "r1" }),
      chunk({ content: "T1" }),
      chunk({ reasoning_content: "r2" }),
      opened(paris),
      finished(),
    ],
    { ...called(weather("Paris")), text: "T1", reasoning: "r1r2" },
  ],
];

const ends: Case[] = [
  [
    "a finish without a sentinel",
    [...hello, finished("stop"), usageChunk()],
    { ...said, usage: [11, 7] },
    false,
  ],
  ["a sentinel without a finish", hello, said],
  [
    "an end without either",
    hello,
    { status: "failed", error_includes: "before it had finished" },
    false,
  ],
  [
    "an end in the middle of a call",
    [start, opened('{"city":"Pa')],
    { status: "failed", no_completed_tool: true },
    false,
  ],
  [
    "an end after a whole call, without a finish",
    [start, opened(paris)],
    { status: "failed", no_completed_tool: true },
    false,
  ],
  [
    "finish_reason length",
    [...hello, finished("length")],
    {
      status: "incomplete",
      incomplete_reason: "max_output_tokens",
      text: "Hello.",
      chat_finish: "length",
    },
  ],
  [
    "length with a call that is whole",
    [start, opened(paris), finished("length")],
    { status: "incomplete", no_completed_tool: true },
  ],
  [
    "finish_reason content_filter, sensitive",
    [...hello, finished("sensitive")],
    { status: "incomplete", incomplete_reason: "content_filter", chat_finish: "content_filter" },
  ],
  ["finish_reason eos_token", [...hello, finished("eos_token")], { ...said, chat_finish: "stop" }],
  [
    "a finish_reason that nobody knows",
    [...hello, finished("banana")],
    { ...said, chat_finish: "stop" },
  ],
  [
    "finishReason",
    [...hello, { ...chunk({}), choices: [{ index: 0, delta: {}, finishReason: "stop" }] }],
    { ...said, chat_finish: "stop" },
  ],
  [
    "finish_reason network_error",
    [...hello, finished("network_error")],
    { status: "failed", error_includes: "network_error" },
  ],
  [
    "finish_reason model_context_window_exceeded",
    [...hello, finished("model_context_window_exceeded")],
    { status: "failed" },
  ],
  [
    "an error in the stream",
    [...hello, { error: { message: "no more workers", code: 502 } }],
    { status: "failed", error_includes: "no more workers" },
  ],
  [
    "an error beside a finish_reason error",
    [...hello, { ...chunk({}, "error"), error: { message: "no more workers" } }],
    { status: "failed", error_includes: "no more workers" },
  ],
  [
    "an error alone",
    [{ error: { message: "quota exceeded", code: null } }],
    { status: "failed", error_includes: "quota exceeded" },
  ],
  [
    "an error that is a string",
    [{ error: "out of order" }],
    { status: "failed", error_includes: "out of order" },
  ],
  [
    "an error after length",
    [...hello, finished("length"), { error: { message: "Token limit reached" } }],
    { status: "incomplete", incomplete_reason: "max_output_tokens" },
  ],
];

const envelopes: Case[] = [
  [
    "another choice in between",
    [
      hello[0],
      { ...chunk({}), choices: [{ index: 1, delta: { content: "OTHER" } }] },
      hello[1],
      { ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: "stop" }] },
      finished("stop"),
    ],
    said,
  ],
  [
    "filter results first, no delta, no choices",
    [
      { id: "", choices: [], prompt_filter_results: [{}] },
      hello[0],
      { ...chunk({}), choices: [{ index: 0, content_filter_results: {} }] },
      { x: 1 },
      hello[1],
      finished("stop"),
    ],
    said,
  ],
  [
    "no envelope at all",
    [
      { choices: [{ delta: { content: "Hello." } }] },
      { choices: [{ delta: {}, finish_reason: "stop" }] },
    ],
    said,
  ],
  [
    "content as parts",
    [chunk({ content: [{ type: "text", text: "Hello." }] }), finished("stop")],
    said,
  ],
  [
    "a message beside the deltas",
    [
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "Hel" }, message: { content: "Hel" } }],
      },
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "lo." }, message: { content: "Hello." } }],
      },
      finished("stop"),
    ],
    said,
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
    said,
  ],
  [
    "usage in the finish chunk",
    [...hello, chunk({}, "stop", { usage })],
    { ...said, usage: [11, 7] },
  ],
  [
    "usage with the last words",
    [hello[0], chunk({ content: "lo." }, "stop", { usage })],
    { ...said, usage: [11, 7] },
  ],
  [
    "usage in the choice",
    [...hello, { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", usage }] }],
    { ...said, usage: [11, 7] },
  ],
  [
    "usage under x_groq",
    [...hello, finished("stop"), { ...chunk({}), choices: [], x_groq: { usage } }],
    { ...said, usage: [11, 7] },
  ],
  [
    "usage that grows",
    [
      chunk({ content: "Hel" }, null, { usage: { ...usage, completion_tokens: 1 } }),
      chunk({ content: "lo." }, null, { usage: { ...usage, completion_tokens: 2 } }),
      finished("stop"),
      usageChunk(),
    ],
    { ...said, usage: [11, 7] },
  ],
  [
    "cached and reasoning tokens under other names",
    [
      ...hello,
      finished("stop"),
      usageChunk({ ...usage, prompt_cache_hit_tokens: 5, reasoning_tokens: 3 }),
    ],
    { ...said, cached: 5, reasoning_tokens: 3 },
  ],
  ["no usage", [...hello, finished("stop")], said],
];

const framed = (title: string, raw: string[], expect: Quirk["expect"], kind = "stream"): Quirk => ({
  id: title,
  class: kind,
  title,
  wire: { raw },
  ...(expect === undefined ? {} : { expect }),
});
const helloText = body([...hello, finished("stop"), usageChunk()]).join("");
const wholeText = JSON.stringify({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage,
});
const counted = { ...said, usage: [11, 7] as [number, number] };

const framing: Quirk[] = [
  framed(
    "comments between events",
    [`: ping\n\n${helloText.replaceAll("\n\n", "\n\n: ping\n\n")}`],
    counted,
  ),
  framed(
    "keep-alives as data",
    [`data: : keepalive\n\ndata:\n\nevent: keepalive\n\n${helloText}`],
    counted,
  ),
  framed("CRLF, cut in between", helloText.replaceAll("\n", "\r\n").split(/(?<=\r)/), counted),
  framed("data: without a blank", [helloText.replaceAll("data: ", "data:")], counted),
  framed("a last event without its blank line", [helloText.trimEnd()], counted),
  framed("a JSON body for a stream", [wholeText], counted),
  framed("blank lines before a JSON body", ["\n", "\n\n", wholeText], counted, "nonstream"),
  framed("a stream for a JSON body", [helloText], counted, "nonstream"),
  framed(
    "an error body",
    ['{"error":{"message":"bad key"}}'],
    { status: "failed", error_includes: "bad key" },
    "nonstream",
  ),
  framed(
    "an error body in a list",
    ['[{"error":{"message":"bad key","code":400}}]'],
    { status: "failed", error_includes: "bad key" },
    "nonstream",
  ),
  framed(
    "an error body without an error",
    ['{"detail":"Not Found"}'],
    { status: "failed", error_includes: "Not Found" },
    "nonstream",
  ),
  framed(
    "half a JSON body",
    [wholeText.slice(0, 60)],
    { status: "failed", error_includes: "chat.completion" },
    "nonstream",
  ),
  framed("a page instead of a reply", ["<html>Bad gateway</html>"], {
    status: "failed",
    error_includes: "Bad gateway",
  }),
  framed("a sentinel alone", ["data: [DONE]\n\n"], { status: "completed", chat_finish: "stop" }),
  framed("a reply without choices", ['{"choices":[]}'], { status: "completed" }, "nonstream"),
  framed("nothing at all", [], { status: "failed" }),
];

export const ownQuirks: Quirk[] = [
  ...[...calls, ...reasoning, ...ends, ...envelopes].map(
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
