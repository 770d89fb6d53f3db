import {
  collectMessage,
  encodeMessageEvent,
  MessagesBody,
  MessagesOverMessages,
  Repairs,
  UpstreamReply,
  type JsonObject,
  type MessageEvent,
  type UpstreamMessageEvent,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findMessageSequenceFaults } from "../check/message-sequence.ts";
import { playMessagesToMessages, unsealForChecks } from "../check/play.ts";
import {
  blockDelta,
  blockStart,
  blockStop,
  callBlock,
  encodeEvents,
  messageEnd,
  messageStart,
  messageUsage,
  textBlock,
  thinkingBlock,
} from "./message-events.ts";

/** Repairs a stream, and checks the form of the result. */
function repair(events: readonly UpstreamMessageEvent[]) {
  const { out, repairs } = playMessagesToMessages([encodeEvents(events)]);
  expect(findMessageSequenceFaults(out, { isForwarded: true })).toEqual([]);
  const collected = collectMessage(out as unknown as MessageEvent[]);
  const message = collected?.ok === true ? collected.message : undefined;
  return { out, repairs, message, content: (message?.content ?? []) as unknown as JsonObject[] };
}

const reply = [
  messageStart({ service_tier: "standard" }),
  { type: "ping" },
  ...thinkingBlock(0, "Hm.", "SIG"),
  ...textBlock(1, "Hello"),
  ...callBlock(2, "toolu_01A", "get_weather", '{"city":', '"Paris"}'),
  ...messageEnd("tool_use"),
];

test("a valid stream is forwarded event by event, without repairs", () => {
  const { out, repairs } = repair(reply);
  expect(out).toEqual(reply);
  expect(repairs.total).toBe(0);
});

test("the bytes of a valid stream are forwarded, however they are split", () => {
  const text = encodeEvents(reply);
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, 100, bytes.length]) {
    const repairs = new Repairs();
    const body = new MessagesBody({ repairs, utf8: new TextDecoder(), passthrough: true });
    const options = { messageId: "msg_x", newId: (prefix: string) => prefix, repairs };
    const machine = UpstreamReply.create(body, new MessagesOverMessages(options));
    let received = "";
    let forwardedReads = 0;
    const out: UpstreamMessageEvent[] = [];
    for (let offset = 0; offset < bytes.length; offset += size) {
      const start = out.length;
      machine.push(bytes.subarray(offset, offset + size), out);
      const forwarded = machine.passthroughBytes;
      received +=
        forwarded === undefined
          ? (out.slice(start) as unknown as MessageEvent[]).map(encodeMessageEvent).join("")
          : new TextDecoder().decode(forwarded);
      forwardedReads += forwarded === undefined ? 0 : 1;
    }
    machine.end("eof", out);
    expect(received).toBe(text);
    expect(forwardedReads).toBeGreaterThan(0);
  }
});

test("unknown blocks and fields pass through; unknown events and deltas only on request", () => {
  const events = [
    messageStart({ tomorrow: 1 }),
    { type: "message_weather", mood: "fine" },
    blockStart(0, { type: "hologram", frame: 1 }),
    blockDelta(0, { type: "hologram_delta", frame: 2 }),
    blockStop(0),
    ...textBlock(1, "Hi"),
    ...messageEnd("end_turn"),
  ];
  const { out } = repair(events);
  expect(out).toEqual(
    events.filter(
      ({ type, delta }) =>
        type !== "message_weather" &&
        (delta as JsonObject | undefined)?.["type"] !== "hologram_delta",
    ),
  );
  const options = { messageId: "msg_x", newId: (prefix: string) => prefix, forwardsUnknown: true };
  const machine = new MessagesOverMessages(options);
  const forwarded: UpstreamMessageEvent[] = [];
  for (const event of events) machine.push(event, forwarded);
  expect(forwarded).toEqual(events);
});

describe("a misbehaving endpoint is repaired:", () => {
  test("a ping before the start, after which nothing could be retried", () => {
    const { out } = repair([
      { type: "ping" },
      messageStart(),
      { type: "ping" },
      ...textBlock(0, "Hi"),
      ...messageEnd("end_turn"),
    ]);
    expect(out.map(({ type }) => type).slice(0, 3)).toEqual([
      "message_start",
      "ping",
      "content_block_start",
    ]);
  });

  test("token counts that are not numbers", () => {
    const usage = { input_tokens: 5, output_tokens: "many", cache_read_input_tokens: -1 };
    const { message } = repair([
      messageStart({ usage }),
      ...textBlock(0, "Hi"),
      ...messageEnd("end_turn", { output_tokens: false }),
    ]);
    expect(message?.usage).toMatchObject({ input_tokens: 5, output_tokens: 0 });
  });

  test("a start without the required fields, and usage of another wire", () => {
    const { out, message } = repair([
      { type: "message_start", message: { id: "chatcmpl-1", content: [], model: "glm" } },
      ...textBlock(0, "Hi"),
      {
        type: "message_delta",
        delta: { stop_reason: "" },
        usage: { input_tokens: 5, output_tokens: 2, prompt_tokens: 5, total_tokens: 7 },
      },
      { type: "message_stop" },
    ]);
    expect(out[0]?.["message"]).toEqual({
      id: "chatcmpl-1",
      type: "message",
      role: "assistant",
      model: "glm",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...messageUsage, input_tokens: 0, output_tokens: 0 },
    });
    expect(message).toMatchObject({
      stop_reason: "end_turn",
      usage: { input_tokens: 5, output_tokens: 2 },
    });
    expect(JSON.stringify(out)).not.toContain("total_tokens");
  });

  test("content in the start of the message, and input in the start of a call", () => {
    const call = { type: "tool_use", id: "toolu_01A", name: "f", input: { a: 1 } };
    const { content, message } = repair([
      messageStart({ content: [call, { type: "text", text: "Hi" }], stop_reason: "tool_use" }),
      { type: "message_stop" },
    ]);
    expect(content).toEqual([call, { type: "text", text: "Hi" }]);
    expect(message?.stop_reason).toBe("tool_use");
  });

  test("a complete reply for a stream", () => {
    const { out } = playMessagesToMessages([
      JSON.stringify({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{ type: "text", text: "Hi", citations: [{ type: "x" }] }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 2 },
      }),
    ]);
    const collected = collectMessage(out as unknown as MessageEvent[]);
    expect(collected).toMatchObject({
      ok: true,
      message: { content: [{ type: "text", text: "Hi" }], usage: { output_tokens: 2 } },
    });
  });

  test("calls with another stop reason, and a stop reason without a call", () => {
    const call = [messageStart(), ...callBlock(0, "toolu_01A", "f", "{}")];
    expect(repair([...call, ...messageEnd("end_turn")]).message?.stop_reason).toBe("tool_use");
    expect(repair([...call, ...messageEnd("max_tokens")]).message?.stop_reason).toBe("max_tokens");
    const text = [messageStart(), ...textBlock(0, "Hi"), ...messageEnd("tool_use")];
    expect(repair(text).message?.stop_reason).toBe("end_turn");
  });

  test("blocks without stops, with wrong indexes or thinking inside text", () => {
    const { content } = repair([
      messageStart(),
      blockStart(5, { type: "text", text: "" }),
      blockDelta(5, { type: "thinking_delta", thinking: "because" }),
      blockDelta(5, { type: "text_delta", text: "hello" }),
      blockStart(5, { type: "tool_use", id: "toolu_01A", name: "f", input: {} }),
      ...messageEnd("tool_use"),
    ]);
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use"]);
  });

  test("thinking that is not signed gets a signature of ours, and no other is changed", () => {
    const { content } = repair([
      messageStart(),
      ...thinkingBlock(0, "One.", ""),
      ...thinkingBlock(1, "Two.", "SIG"),
      ...textBlock(2, "Hi"),
      ...messageEnd("end_turn"),
    ]);
    const [own, foreign] = content.map(({ signature }) => signature as string);
    expect(unsealForChecks(own ?? "")).toEqual({
      textHash: expect.stringMatching(/^4-/) as string,
    });
    expect(foreign).toBe("SIG");
  });

  test("a call without an id gets one", () => {
    const { content } = repair([
      messageStart(),
      blockStart(0, { type: "tool_use", name: "f", input: {} }),
      blockStop(0),
      ...messageEnd("tool_use"),
    ]);
    expect(content[0]?.["id"]).toMatch(/^toolu_/);
  });

  test("empty text blocks are dropped", () => {
    const { content, repairs } = repair([
      messageStart(),
      ...textBlock(0),
      ...callBlock(1, "toolu_01A", "f", "{}"),
      ...messageEnd("tool_use"),
    ]);
    expect(content.map(({ type }) => type)).toEqual(["tool_use"]);
    expect(repairs.counts.get("event_dropped")).toBe(1);
  });
});

describe("the end:", () => {
  test("a stream without message_stop is complete if its stop reason was sent", () => {
    const { out } = repair(reply.slice(0, -1));
    expect(out).toEqual(reply);
  });

  test("a stream that breaks off ends with an error", () => {
    const { out } = repair(reply.slice(0, 5));
    expect(out.at(-1)).toEqual({
      type: "error",
      error: { type: "api_error", message: expect.stringContaining("closed the stream") as string },
    });
  });

  test("errors of Anthropic are forwarded, others are converted", () => {
    const anthropic = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(repair([messageStart(), anthropic]).out.at(-1)).toEqual(anthropic);
    const other = { type: "error", error: { message: "Rate limit reached", code: 429 } };
    expect(repair([messageStart(), other]).out.at(-1)).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "Rate limit reached" },
    });
  });

  test("a repeated start is dropped, a second reply is an error", () => {
    const twice = [
      messageStart(),
      messageStart(),
      ...textBlock(0, "Hi"),
      ...messageEnd("end_turn"),
    ];
    expect(repair(twice).message?.stop_reason).toBe("end_turn");
    const spliced = [messageStart(), ...textBlock(0, "Hi"), messageStart({ id: "msg_2" })];
    expect(repair(spliced).out.at(-1)?.type).toBe("error");
  });

  test("a silent upstream can be started and kept alive", () => {
    const options = { messageId: "msg_x", newId: (prefix: string) => prefix, requestedModel: "m" };
    const machine = new MessagesOverMessages(options);
    const out: UpstreamMessageEvent[] = [];
    machine.begin(out);
    machine.keepAlive(out);
    for (const event of reply) machine.push(event, out);
    expect(findMessageSequenceFaults(out, { isForwarded: true })).toEqual([]);
    expect(machine.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });
});
