import {
  ChatOverMessages,
  MessagesBody,
  Repairs,
  UpstreamReply,
  type ChatStreamEvent,
  type JsonObject,
  type UpstreamMessageEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  playMessagesToChat,
  playMessagesToResponses,
  unsealForChecks,
  type PlayOptions,
} from "../check/play.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { readChatEvents, readResponseEvents } from "../check/reply-content.ts";
import { findResponseSequenceFaults } from "../check/response-sequence.ts";
import {
  blockDelta,
  blockStart,
  blockStop,
  callBlock,
  encodeEvents,
  messageEnd,
  messageStart,
  textBlock,
  thinkingBlock,
} from "./message-events.ts";

/** Translates a stream for both OpenAI clients, and checks the form of both results. */
function translate(events: readonly UpstreamMessageEvent[] | string, options: PlayOptions = {}) {
  const text = typeof events === "string" ? events : encodeEvents(events);
  const responses = playMessagesToResponses([text], options);
  const chat = playMessagesToChat([text], options);
  expect(findResponseSequenceFaults(responses.out)).toEqual([]);
  expect(findChatSequenceFaults(chat.out)).toEqual([]);
  return {
    responses: readResponseEvents(responses.out),
    chat: readChatEvents(chat.out, 0),
    events: responses.out,
    chunks: chat.out,
    repairs: responses.repairs,
  };
}

const call = (id: string, name: string, args: JsonObject, isComplete = true) => ({
  id,
  name,
  namespace: undefined,
  kind: "function",
  arguments: JSON.stringify(args),
  isComplete,
});

test("text, thinking and calls arrive in order, with usage that includes the cache", () => {
  const { responses, chat } = translate([
    messageStart({
      usage: { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
    }),
    { type: "ping" },
    ...thinkingBlock(0, "Hm.", "SIG"),
    ...textBlock(1, "Look", "ing."),
    ...callBlock(2, "toolu_01A", "get_weather", '{"city":', '"Paris"}'),
    ...callBlock(3, "toolu_01B", "get_time", '{"city":"Rome"}'),
    ...messageEnd("tool_use", { output_tokens: 9, output_tokens_details: { thinking_tokens: 3 } }),
  ]);
  expect(responses).toMatchObject({
    status: "completed",
    text: "Looking.",
    reasoning: "Hm.",
    order: "rtc",
    usage: { input: 125, output: 9, total: 134, cached: 100, reasoning: 3 },
  });
  expect(responses.calls).toEqual([
    call("toolu_01A", "get_weather", { city: "Paris" }),
    call("toolu_01B", "get_time", { city: "Rome" }),
  ]);
  expect(chat).toMatchObject({
    finish: "tool_calls",
    text: "Looking.",
    reasoning: "Hm.",
    usage: responses.usage,
  });
});

test("signatures and redacted thinking are sealed with their text, in order", () => {
  const { events, chunks } = translate([
    messageStart(),
    ...thinkingBlock(0, "One.", "SIG1"),
    blockStart(1, { type: "redacted_thinking", data: "SECRET" }),
    blockStop(1),
    ...textBlock(2, "Hi"),
    ...messageEnd("end_turn"),
  ]);
  const details = [
    { type: "reasoning.text", text: "One.", signature: "SIG1", format: "anthropic-claude-v1" },
    { type: "reasoning.encrypted", data: "SECRET", format: "anthropic-claude-v1" },
  ];
  const items = events.flatMap((event) =>
    event.type === "response.output_item.done" && event.item.type === "reasoning"
      ? [event.item]
      : [],
  );
  expect(items.map(({ encrypted_content: sealed }) => unsealForChecks(sealed ?? ""))).toEqual([
    { details },
  ]);
  expect(JSON.stringify(chunks)).not.toContain("SIG1");
  const sealed = chunks.flatMap((chunk) => {
    const delta = chunk === "[DONE]" ? undefined : chunk.choices?.[0]?.delta;
    return (delta?.reasoning_details as { data: string }[] | undefined) ?? [];
  });
  expect(sealed.flatMap(({ data }) => unsealForChecks(data)?.details ?? [])).toEqual(details);
});

test("redacted thinking alone is a reasoning item without text", () => {
  const { events, responses } = translate([
    messageStart(),
    blockStart(0, { type: "redacted_thinking", data: "SECRET" }),
    blockStop(0),
    ...messageEnd("end_turn"),
  ]);
  expect(responses).toMatchObject({ status: "completed", reasoning: "", text: "" });
  expect(JSON.stringify(events)).toContain("encrypted_content");
});

test("of several signatures of a block the last one counts", () => {
  const { events } = translate([
    messageStart(),
    blockStart(0, { type: "thinking", thinking: "", signature: "" }),
    blockDelta(0, { type: "thinking_delta", thinking: "Hm." }),
    blockDelta(0, { type: "signature_delta", signature: "OLD" }),
    blockDelta(0, { type: "signature_delta", signature: "NEW" }),
    blockStop(0),
    ...messageEnd("end_turn"),
  ]);
  const [sealed = ""] = /sealed:[\w-]+/.exec(JSON.stringify(events)) ?? [];
  expect(unsealForChecks(sealed)?.details?.[0]?.["signature"]).toBe("NEW");
});

describe("a reply ends", () => {
  test.each([
    ["end_turn", "completed", "stop", undefined],
    ["stop_sequence", "completed", "stop", undefined],
    ["max_tokens", "incomplete", "length", "max_output_tokens"],
    ["model_context_window_exceeded", "incomplete", "length", "max_output_tokens"],
    ["pause_turn", "incomplete", "length", "max_output_tokens"],
    ["refusal", "incomplete", "content_filter", "content_filter"],
    ["", "completed", "stop", undefined],
    [null, "completed", "stop", undefined],
    ["banana", "completed", "stop", undefined],
  ])("with the stop reason %s as %s", (reason, status, finish, incompleteReason) => {
    const events = [messageStart(), ...textBlock(0, "Hi"), ...messageEnd(reason)];
    const { responses, chat } = translate(events);
    expect(responses).toMatchObject({ status, text: "Hi", incompleteReason });
    expect(chat.finish).toBe(finish);
  });

  test("as complete without message_stop, if the stop reason was sent", () => {
    const events = [messageStart(), ...textBlock(0, "Hi"), ...messageEnd("end_turn").slice(0, 1)];
    expect(translate(events).responses.status).toBe("completed");
  });

  test("as failed if the stream ends before the stop reason", () => {
    const { responses, chat } = translate([messageStart(), ...textBlock(0, "Hi")]);
    expect(responses).toMatchObject({ status: "failed", text: "Hi" });
    expect(chat.error).toContain("upstream_stream_truncated");
  });

  test("with an error, whose calls do not run", () => {
    const { responses, chat } = translate([
      messageStart(),
      ...callBlock(0, "toolu_01A", "health", "{}"),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]);
    expect(responses).toMatchObject({ status: "failed", error: "Overloaded" });
    expect(responses.calls.map(({ isComplete }) => isComplete)).toEqual([false]);
    expect(chat.error).toContain("server_is_overloaded");
  });

  test("as failed if a second reply begins in the middle", () => {
    const { responses } = translate([
      messageStart(),
      blockStart(0, { type: "tool_use", id: "toolu_01A", name: "health", input: {} }),
      messageStart({ id: "msg_2" }),
      ...callBlock(0, "toolu_01B", "health", "{}"),
      ...messageEnd("tool_use"),
    ]);
    expect(responses.status).toBe("failed");
    expect(responses.calls.every(({ isComplete }) => isComplete !== true)).toBe(true);
  });
});

describe("a misbehaving endpoint is repaired:", () => {
  const paris = call("toolu_01A", "get_weather", { city: "Paris" });

  test("a call although the stop reason is end_turn", () => {
    const { responses, chat, repairs } = translate([
      messageStart(),
      ...callBlock(0, "toolu_01A", "get_weather", '{"city":"Paris"}'),
      ...messageEnd("end_turn"),
    ]);
    expect(responses.calls).toEqual([paris]);
    expect(chat.finish).toBe("tool_calls");
    expect(repairs.counts.get("finish_corrected")).toBe(1);
  });

  test("input in the start of its block, and content in the start of the message", () => {
    const block = {
      type: "tool_use",
      id: "toolu_01A",
      name: "get_weather",
      input: { city: "Paris" },
    };
    const inBlock = [messageStart(), blockStart(0, block), blockStop(0), ...messageEnd("tool_use")];
    expect(translate(inBlock).responses.calls).toEqual([paris]);
    const inMessage = [
      messageStart({ content: [block], stop_reason: "tool_use" }),
      { type: "message_stop" },
    ];
    expect(translate(inMessage).responses.calls).toEqual([paris]);
  });

  test("deltas replace the input in the start of their block", () => {
    const block = {
      type: "tool_use",
      id: "toolu_01A",
      name: "get_weather",
      input: { city: "Rome" },
    };
    const { responses } = translate([
      messageStart(),
      blockStart(0, block),
      blockDelta(0, { type: "input_json_delta", partial_json: '{"city":"Paris"}' }),
      blockStop(0),
      ...messageEnd("tool_use"),
    ]);
    expect(responses.calls).toEqual([paris]);
  });

  test("blocks without stops, whose deltas alternate", () => {
    const piece = (index: number, text: string) =>
      blockDelta(index, { type: "input_json_delta", partial_json: text });
    const { responses } = translate([
      messageStart(),
      blockStart(0, { type: "tool_use", id: "toolu_01A", name: "get_weather", input: {} }),
      blockStart(1, { type: "tool_use", id: "toolu_01B", name: "get_time", input: {} }),
      piece(0, '{"city":'),
      piece(1, '{"city":"Rome"}'),
      piece(0, '"Paris"}'),
      ...messageEnd("tool_use"),
    ]);
    expect(responses.calls).toEqual([paris, call("toolu_01B", "get_time", { city: "Rome" })]);
  });

  test("two blocks with the same id are two calls with different ids", () => {
    const { responses } = translate([
      messageStart(),
      ...callBlock(0, "toolu_01A", "get_weather", '{"city":"Paris"}'),
      ...callBlock(1, "toolu_01A", "get_weather", '{"city":"Rome"}'),
      ...messageEnd("tool_use"),
    ]);
    expect(responses.calls.map(({ arguments: text }) => text)).toEqual([
      '{"city":"Paris"}',
      '{"city":"Rome"}',
    ]);
    expect(new Set(responses.calls.map(({ id }) => id)).size).toBe(2);
  });

  test("blocks without indexes, and thinking inside a text block", () => {
    const { responses } = translate([
      messageStart(),
      { type: "content_block_start", content_block: { type: "text", text: "" } },
      { type: "content_block_delta", delta: { type: "thinking_delta", thinking: "because" } },
      { type: "content_block_delta", delta: { type: "text_delta", text: "hello" } },
      { type: "content_block_stop" },
      ...messageEnd("end_turn"),
    ]);
    expect(responses).toMatchObject({ text: "hello", reasoning: "because", status: "completed" });
  });

  test("events without names, without types and after the end", () => {
    const events = [messageStart(), ...textBlock(0, "Hello"), ...messageEnd("end_turn")];
    const nameless = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    expect(translate(`${nameless}data: [DONE]\n\n`).responses.text).toBe("Hello");
    const typeless = events
      .map(({ type, ...rest }) => `event:${type}\ndata:${JSON.stringify(rest)}\n\n`)
      .join("");
    expect(translate(typeless).responses).toMatchObject({ status: "completed", text: "Hello" });
  });

  test("usage that is sent twice is not added up", () => {
    const { responses } = translate([
      messageStart({ usage: { input_tokens: 173_306, output_tokens: 0 } }),
      ...textBlock(0, "ok"),
      ...messageEnd("end_turn", {
        input_tokens: 250,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: 173_056,
        output_tokens: 166,
      }),
    ]);
    expect(responses.usage).toMatchObject({ input: 173_306, output: 166, cached: 173_056 });
  });

  test("a complete reply instead of a stream, in the same form", () => {
    const reply = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "glm",
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "text", text: "Hello" },
        { type: "tool_use", id: "toolu_01A", name: "get_weather", input: { city: "Paris" } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 11, output_tokens: 7 },
    };
    const { responses, chat } = translate(JSON.stringify(reply));
    expect(responses).toMatchObject({ text: "Hello", reasoning: "Hm.", calls: [paris] });
    expect(chat.usage).toMatchObject({ input: 11, output: 7 });
  });

  test.each([
    ['{"type":"error","error":{"type":"rate_limit_error","message":"Quota is used up"}}'],
    ['{"error":{"message":"Quota is used up","type":"invalid_request_error"}}'],
    ['data: {"error":{"message":"Quota is used up"}}\n\n'],
    ["Quota is used up"],
  ])("an error instead of a reply: %s", (text) => {
    expect(translate(text).responses).toMatchObject({
      status: "failed",
      error: expect.stringContaining("Quota is used up") as string,
    });
  });
});

test("events, blocks and deltas of unknown types are skipped", () => {
  const { responses, repairs } = translate([
    messageStart(),
    { type: "message_weather", mood: "fine" },
    blockStart(0, { type: "hologram", frame: 1 }),
    blockDelta(0, { type: "hologram_delta", frame: 2 }),
    blockStop(0),
    ...textBlock(1, "Hello"),
    ...messageEnd("end_turn"),
  ]);
  expect(responses).toMatchObject({ status: "completed", text: "Hello" });
  expect(repairs.counts.get("item_skipped")).toBe(1);
});

test("a search of the server is a web_search_call, and citations with a URL are annotations", () => {
  const { events, responses } = translate([
    messageStart(),
    blockStart(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
    blockDelta(0, { type: "input_json_delta", partial_json: '{"query":"who won"}' }),
    blockStop(0),
    blockStart(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }),
    blockStop(1),
    blockStart(2, { type: "text", text: "", citations: [] }),
    blockDelta(2, { type: "text_delta", text: "France won." }),
    blockDelta(2, {
      type: "citations_delta",
      citation: { type: "web_search_result_location", url: "https://example.com/n", title: "News" },
    }),
    blockStop(2),
    ...messageEnd("end_turn"),
  ]);
  expect(responses).toMatchObject({ text: "France won.", annotations: 1 });
  const searches = events.flatMap((event) =>
    event.type === "response.output_item.done" && event.item.type === "web_search_call"
      ? [event.item.action]
      : [],
  );
  expect(searches).toEqual([{ type: "search", query: "who won" }]);
});

test("an error before the first event can still be sent as an HTTP status", () => {
  const repairs = new Repairs();
  const body = new MessagesBody({ repairs, utf8: new TextDecoder() });
  const translator = new ChatOverMessages({ newId: (prefix) => prefix, createdAt: 1, repairs });
  const reply = UpstreamReply.create(body, translator);
  const error = { type: "overloaded_error", message: "Overloaded" };
  const out: ChatStreamEvent[] = [];
  reply.push(new TextEncoder().encode(encodeEvents([{ type: "error", error }])), out);
  expect(out).toEqual([]);
  expect(reply.rejection).toMatchObject({ code: "server_is_overloaded", message: "Overloaded" });
});
