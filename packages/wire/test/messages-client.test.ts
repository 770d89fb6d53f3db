import {
  collectMessage,
  encodeMessageEvent,
  toMessageError,
  type ChatDelta,
  type MessageEvent,
  type UpstreamChatEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findMessageSequenceFaults } from "../check/message-sequence.ts";
import {
  playChatToMessages,
  playResponsesToMessages,
  unsealForChecks,
  type PlayOptions,
} from "../check/play.ts";
import { readMessageEvents } from "../check/reply-content.ts";
import { body, call, chunk, usageChunk } from "./chat-chunks.ts";

/** Translates a Chat reply for a Messages client, and checks the form of the result. */
function translate(inputs: UpstreamChatEvent[], options: PlayOptions = {}, hasSentinel = true) {
  const chunks = inputs.filter((input) => input !== "[DONE]");
  const { out, repairs } = playChatToMessages(body(chunks, hasSentinel), options);
  expect(findMessageSequenceFaults(out)).toEqual([]);
  const collected = collectMessage(out);
  const blocks = collected?.ok === true ? collected.message.content : [];
  return { events: out, content: readMessageEvents(out), blocks, repairs };
}

const getText = (events: readonly MessageEvent[]) => events.map(encodeMessageEvent).join("");
const stop = chunk({}, "stop");
const args = (index: number, text: string) => chunk(call({ index, args: text }));

test("text is one block between message_start and message_stop", () => {
  const { events } = translate([
    chunk({ content: "Hel" }),
    chunk({ content: "lo" }),
    stop,
    usageChunk(),
  ]);
  expect(events).toEqual([
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: expect.any(String) as string,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 0,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
        },
      },
    },
    { type: "ping" },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lo" } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: expect.objectContaining({ cache_read_input_tokens: 0 }) as never,
    },
    { type: "message_stop" },
  ]);
});

test("reasoning in its place is thinking, signed with its hash", () => {
  const { blocks } = translate([
    chunk({ reasoning_content: "First." }),
    chunk({ content: "A " }),
    chunk({ reasoning_content: "Second." }),
    chunk({ content: "B" }),
    stop,
  ]);
  expect(blocks.map((block) => block.type)).toEqual(["thinking", "text", "thinking", "text"]);
  const signatures = blocks.flatMap((block) =>
    block.type === "thinking" ? [block.signature] : [],
  );
  expect(signatures.map(unsealForChecks)).toEqual([
    { textHash: expect.stringMatching(/^6-/) as string },
    { textHash: expect.stringMatching(/^7-/) as string },
  ]);
});

test("opaque reasoning is sealed in the signature, also that of a call", () => {
  const { blocks } = translate([
    chunk({ reasoning: "hm", reasoning_opaque: "OPAQUE" }),
    chunk({
      tool_calls: [
        {
          index: 0,
          id: "call_aaa",
          type: "function",
          function: { name: "health", arguments: "{}" },
          extra_content: { google: { thought_signature: "G" } },
        },
      ],
    }),
    chunk({}, "tool_calls"),
  ]);
  expect(blocks.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
  const [thinking] = blocks;
  const sealed = thinking?.type === "thinking" ? unsealForChecks(thinking.signature) : undefined;
  expect(sealed).toMatchObject({
    opaque: "OPAQUE",
    calls: { call_aaa: { google: { thought_signature: "G" } } },
  });
});

test("encrypted reasoning without text is thinking with an empty text", () => {
  const item = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "ENC" };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "42", annotations: [] }],
  };
  const response = { id: "resp_1", status: "completed", output: [item, message] };
  const { out } = playResponsesToMessages([JSON.stringify(response)]);
  expect(findMessageSequenceFaults(out)).toEqual([]);
  const collected = collectMessage(out);
  const [thinking] = collected?.ok === true ? collected.message.content : [];
  expect(thinking).toMatchObject({ type: "thinking", thinking: "" });
  expect(thinking?.type === "thinking" && unsealForChecks(thinking.signature)).toMatchObject({
    details: [{ type: "reasoning.encrypted", data: "ENC", id: "rs_1" }],
  });
});

describe("tool calls", () => {
  test("that alternate are sent one after another, the first one streamed", () => {
    const { events, blocks } = translate([
      chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":' })),
      chunk(call({ index: 1, id: "call_bbb", name: "get_time", args: '{"city":' })),
      args(0, '"Paris"}'),
      args(1, '"Rome"}'),
      chunk({}, "tool_calls"),
    ]);
    expect(blocks).toEqual([
      { type: "tool_use", id: "call_aaa", name: "get_weather", input: { city: "Paris" } },
      { type: "tool_use", id: "call_bbb", name: "get_time", input: { city: "Rome" } },
    ]);
    const deltas = events.flatMap((event) =>
      event.type === "content_block_delta" && event.delta.type === "input_json_delta"
        ? [event.delta.partial_json]
        : [],
    );
    // The last brace follows the end of the reply. The second call was held back until then.
    expect(deltas).toEqual(['{"city":', '"Paris"', "}", '{"city":"Rome"', "}"]);
  });

  test("are closed only when the reply has ended, and content after them waits", () => {
    const { out } = playChatToMessages(
      body(
        [
          chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
          chunk({ content: "Done." }),
        ],
        false,
      ),
    );
    // The stream broke: the call must not run.
    expect(out.map(({ type }) => type)).not.toContain("content_block_stop");
    expect(out.at(-1)?.type).toBe("error");
    const { blocks } = translate([
      chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
      chunk({ content: "Done." }),
      chunk({ reasoning_content: "Hm." }),
      chunk({}, "tool_calls"),
    ]);
    expect(blocks.map(({ type }) => type)).toEqual(["tool_use", "text", "thinking"]);
  });

  test("of a truncated reply never have complete arguments", () => {
    const { events, content } = translate([
      chunk({ content: "Writing." }),
      chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":"Paris"}' })),
      chunk(call({ index: 1, id: "call_bbb", name: "health", args: "{}" })),
      chunk({}, "length"),
    ]);
    expect(content).toMatchObject({ status: "incomplete", finish: "length", calls: [] });
    expect(getText(events)).toContain('"partial_json":"{\\"city\\":\\"Paris\\""');
    expect(getText(events)).not.toContain("health");
  });

  test("whose arguments are no JSON are not complete, so the reply is cut", () => {
    const { content } = translate([
      chunk(call({ index: 0, id: "call_aaa", name: "get_weather", args: '{"city":Paris' })),
      chunk({}, "tool_calls"),
    ]);
    expect(content).toMatchObject({ finish: "length", calls: [] });
  });

  test("without arguments have an empty input", () => {
    const { blocks } = translate([
      chunk(call({ index: 0, id: "call_aaa", name: "health" })),
      chunk({}, "tool_calls"),
    ]);
    expect(blocks).toEqual([{ type: "tool_use", id: "call_aaa", name: "health", input: {} }]);
  });

  test("without a name are dropped, and fail a reply that has nothing else", () => {
    const nameless = call({ index: 0, id: "call_aaa", args: "{}" });
    const alone = translate([chunk(nameless), chunk({}, "tool_calls")]);
    expect(alone.events.at(-1)).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("without a name") as string },
    });
    const withText = translate([chunk({ content: "Hm." }), chunk(nameless), chunk({}, "stop")]);
    expect(withText.events.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" } });
    expect(withText.events.filter(({ type }) => type === "content_block_start")).toHaveLength(1);
  });

  test("have ids that clients accept, each once", () => {
    const { blocks } = translate([
      chunk(call({ index: 0, id: "functions.health:0", name: "health", args: "{}" })),
      chunk(call({ index: 1, id: "functions_health_0", name: "get_time", args: "{}" })),
      chunk(call({ index: 2, id: "x".repeat(80), name: "get_weather", args: "{}" })),
      chunk({}, "tool_calls"),
    ]);
    const ids = blocks.map((block) => (block.type === "tool_use" ? block.id : ""));
    expect(ids[0]).toBe("functions_health_0");
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });
});

test("blank text before a call or reasoning is no block, but blanks before text stay", () => {
  const { blocks } = translate([
    chunk({ content: "\n" }),
    chunk({ reasoning_content: "Hm." }),
    chunk({ content: "\n\n" }),
    chunk({ content: "Hi" }),
    chunk(call({ index: 0, id: "call_aaa", name: "health", args: "{}" })),
    chunk({ content: "\n" }),
    chunk({}, "tool_calls"),
  ]);
  expect(blocks.map((block) => (block.type === "text" ? block.text : block.type))).toEqual([
    "thinking",
    "\n\nHi",
    "tool_use",
  ]);
});

describe("the stop reason", () => {
  const end = (delta: ChatDelta, finish: string, rest: object = {}) => [
    chunk(delta),
    { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: finish, ...rest }] },
  ];
  test.each([
    ["end_turn", end({ content: "Hi" }, "stop")],
    ["end_turn", end({ content: "Hi" }, "banana")],
    ["max_tokens", end({ content: "Hi" }, "length")],
    ["max_tokens", end({ content: "Hi" }, "model_context_window_exceeded")],
    ["refusal", end({ content: "Hi" }, "content_filter")],
    ["refusal", end({ refusal: "No." }, "stop")],
    ["stop_sequence", end({ content: "Hi" }, "stop", { stop_reason: "END" })],
    ["stop_sequence", end({ content: "Hi" }, "stop", { matched_stop: "END" })],
    ["end_turn", end({ content: "Hi" }, "stop", { stop_reason: 151_645 })],
    ["tool_use", end(call({ index: 0, id: "call_aaa", name: "health", args: "{}" }), "stop")],
  ])("is %s", (reason, chunks) => {
    const { events } = translate(chunks);
    const delta = events.find((event) => event.type === "message_delta");
    expect(delta?.delta.stop_reason).toBe(reason);
    expect(delta?.delta.stop_sequence).toBe(reason === "stop_sequence" ? "END" : null);
  });
});

test("input tokens exclude those of the cache and are never negative", () => {
  const withUsage = (prompt: number, cached: number) =>
    translate([
      chunk({ content: "Hi" }),
      stop,
      {
        ...usageChunk(),
        usage: {
          prompt_tokens: prompt,
          completion_tokens: 7,
          prompt_tokens_details: { cached_tokens: cached },
        },
      },
    ]).events.find((event) => event.type === "message_delta")?.usage;
  expect(withUsage(100, 60)).toMatchObject({ input_tokens: 40, cache_read_input_tokens: 60 });
  expect(withUsage(7, 160)).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 7 });
});

describe("errors", () => {
  test("in a stream are the last event, with Anthropic's type and the provider's words", () => {
    const error = {
      message: "Rate limit reached for requests",
      type: "rate_limit_error",
      code: 429,
    };
    const { events } = translate([chunk({ content: "Hel" }), { error }], {}, false);
    expect(events.at(-1)).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "Rate limit reached for requests" },
    });
  });

  test.each([
    ["context_length_exceeded", "invalid_request_error"],
    ["insufficient_quota", "billing_error"],
    ["server_is_overloaded", "overloaded_error"],
    ["upstream_idle_timeout", "timeout_error"],
    ["upstream_stream_truncated", "api_error"],
  ])("with the code %s are of the type %s", (code, type) => {
    expect(toMessageError({ code, message: "Oops" }).error.type).toBe(type);
  });

  test.each([
    [401, "authentication_error"],
    [403, "permission_error"],
    [404, "not_found_error"],
    [413, "request_too_large"],
    [422, "invalid_request_error"],
    [500, "api_error"],
    [503, "overloaded_error"],
  ])("with the status %d are of the type %s", (status, type) => {
    const failure = { code: "upstream_error", message: "Oops" };
    expect(toMessageError(failure, { status }).error.type).toBe(type);
  });

  test.each([
    [
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens. Please reduce the length of the messages.",
      "prompt is too long: 130211 tokens > 128000 maximum",
    ],
    [
      "This model's maximum context length is 40960 tokens. However, you requested 48384 tokens (16384 in the messages, 32000 in the completion).",
      "input length and `max_tokens` exceed context limit: 16384 + 32000 > 40960",
    ],
    [
      "Your input exceeds the context window of this model.",
      "prompt is too long: Your input exceeds the context window of this model.",
    ],
    ["prompt is too long: 5 tokens > 4 maximum", "prompt is too long: 5 tokens > 4 maximum"],
  ])("about an overflow have the words that clients act on: %s", (message, expected) => {
    const failure = { code: "context_length_exceeded", message };
    expect(toMessageError(failure).error.message).toBe(expected);
  });
});

test("content without an equivalent is left out and recorded", () => {
  const { repairs, content } = translate([
    chunk({ content: "See", annotations: [{ type: "url_citation", url_citation: { url: "u" } }] }),
    chunk({ images: [{ image_url: { url: "data:image/png;base64,AA==" } }] }),
    stop,
  ]);
  expect(content.text).toBe("See");
  expect(repairs.counts.get("content_dropped")).toBe(2);
});
