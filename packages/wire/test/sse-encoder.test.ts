import {
  encodeChatEvent,
  encodeMessageEvent,
  encodeResponseEvent,
  encodeSse,
  SseDecoder,
  sseDone,
  sseKeepAlive,
  WireError,
  type ChatChunk,
  type ChatDelta,
  type MessageEvent,
  type ResponseEvent,
  type SseEvent,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";

function decode(text: string): SseEvent[] {
  const out: SseEvent[] = [];
  const decoder = new SseDecoder();
  decoder.push(text, out);
  decoder.end("eof", out);
  return out;
}

test("any text is the same after encoding and decoding", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const [event] = decode(encodeSse({ event: "e", id: "1", data: text }));
      expect(event?.data).toBe(text.replaceAll(/\r\n|\r/g, "\n"));
    }),
  );
});

test("an id or name with a line break is rejected, because it could inject a field", () => {
  expect(() => encodeSse({ data: "a", id: "1\ndata: evil" })).toThrow(WireError);
  expect(() => encodeSse({ data: "a", event: "x\r" })).toThrow(/event/);
});

test("a keep-alive between events is not an event, even after an id", () => {
  const id = encodeSse({ id: "1", data: "a" });
  expect(decode(id + sseKeepAlive + id + sseKeepAlive + sseDone).map((e) => e.data)).toEqual([
    "a",
    "a",
    "[DONE]",
  ]);
});

test("a Responses event has its type in the event line and in the data", () => {
  const text = encodeResponseEvent({
    type: "response.refusal.delta",
    sequence_number: 3,
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    delta: "no",
  });
  expect(text).toBe(
    'event: response.refusal.delta\ndata: {"type":"response.refusal.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"no"}\n\n',
  );
});

test("deltas are encoded as JSON.stringify would encode them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), (delta, sequence_number) => {
      const at = { sequence_number, item_id: "i_1", output_index: 2 };
      const events: ResponseEvent[] = [
        { type: "response.output_text.delta", ...at, content_index: 1, delta, logprobs: [] },
        {
          type: "response.output_text.delta",
          ...at,
          content_index: 1,
          delta,
          logprobs: [{ token: "a" }],
        },
        { type: "response.reasoning_summary_text.delta", ...at, summary_index: 0, delta },
        { type: "response.function_call_arguments.delta", ...at, delta },
      ];
      for (const event of events) {
        const [decoded] = decode(encodeResponseEvent(event));
        expect(decoded?.event).toBe(event.type);
        expect(decoded?.data).toBe(JSON.stringify(event));
      }
    }),
  );
});

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ minLength: 60, maxLength: 70 }),
);

test("chunks are encoded as JSON.stringify would encode them, also between those of other replies", () => {
  const deltas = anyText.chain((text) =>
    fc.constantFrom<ChatDelta>(
      { content: text },
      { reasoning_content: text },
      { tool_calls: [{ index: 1, function: { arguments: text } }] },
      { tool_calls: [{ index: 1, id: text, function: { name: text, arguments: text } }] },
      { tool_calls: [{ index: 1, function: { arguments: text, name: text } }] },
      { role: "assistant", content: text },
      { content: text, reasoning_content: text },
      { content: null },
      {},
    ),
  );
  const envelope = fc.record(
    {
      id: fc.constantFrom("a", "b", '"'),
      object: fc.constantFrom("chat.completion.chunk", "c"),
      created: fc.constantFrom(1, 2, 1.5, -0),
      model: fc.constantFrom("m", "n\n"),
    },
    { requiredKeys: [] },
  );
  const choice = fc.record({
    index: fc.constantFrom(0, 1),
    delta: deltas,
    finish_reason: fc.constantFrom(null, null, "stop"),
  });
  const chunk = fc.tuple(envelope, fc.array(choice, { maxLength: 2 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
      for (const [fields, choices, hasUsage] of chunks) {
        const event: ChatChunk = { ...fields, choices, ...(hasUsage ? { usage: null } : {}) };
        expect(encodeChatEvent(event)).toBe(`data: ${JSON.stringify(event)}\n\n`);
      }
    }),
  );
});

test("deltas of Messages are encoded as JSON.stringify would encode them, with unknown fields", () => {
  const types = fc.constantFrom(
    ["text_delta", "text"],
    ["thinking_delta", "thinking"],
    ["input_json_delta", "partial_json"],
  );
  fc.assert(
    fc.property(anyText, types, fc.constantFrom(0, 3, "0", null), fc.nat(5), (...values) => {
      const [text, [type = "", field = ""], index, kind] = values;
      const delta = { type, [field]: text, ...(kind === 0 ? { estimated_tokens: 3 } : {}) };
      const event = {
        type: "content_block_delta",
        index,
        delta,
        ...(kind === 1 ? { usage: {} } : {}),
      } as unknown as MessageEvent;
      const [decoded] = decode(encodeMessageEvent(event));
      expect(decoded).toMatchObject({ event: event.type, data: JSON.stringify(event) });
    }),
  );
});

test("a Chat event is encoded as a data line or [DONE]", () => {
  expect(encodeChatEvent({ id: "a" })).toBe('data: {"id":"a"}\n\n');
  expect(encodeChatEvent("[DONE]")).toBe("data: [DONE]\n\n");
});
