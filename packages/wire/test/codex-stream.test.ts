import { SseDecoder, type SseEvent, type StreamEndReason } from "@deltawire/wire";
import { createChatStream, ChatStreamParser, type CodexEvent } from "@deltawire/wire/codex";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { splitIntoBytes, splitAt } from "../check/play.ts";
import { body, call } from "./chat-chunks.ts";
import { runOutcome } from "./run-outcome.ts";

function parseReads(
  reads: Iterable<string | Uint8Array>,
  end: StreamEndReason = "eof",
  show_raw_agent_reasoning = true,
): CodexEvent[] {
  const stream = createChatStream({ show_raw_agent_reasoning, utf8: new TextDecoder() });
  const out: CodexEvent[] = [];
  for (const piece of reads) stream.push(piece, out);
  stream.end(end, out);
  return out;
}

const chunk = (delta: object, finish?: string) => ({ choices: [{ delta, finish_reason: finish }] });
const bytes = (text: string) => new TextEncoder().encode(text);
const parseChunks = (...all: object[]) => parseReads(body(all, false));

const completed = { type: "completed", response_id: "", token_usage: null };
const message = (...texts: string[]) => ({
  type: "message",
  id: null,
  role: "assistant",
  content: texts.map((text) => ({ type: "output_text", text })),
});
const reasoningItem = (...texts: string[]) => ({
  type: "reasoning",
  id: "",
  summary: [],
  content: texts.map((text) => ({ type: "reasoning_text", text })),
  encrypted_content: null,
});
const itemAdded = (item: object) => ({ type: "output_item_added", item });
const itemDone = (item: object) => ({ type: "output_item_done", item });
const text = (delta: string) => ({ type: "output_text_delta", delta });
const reasoningDelta = (delta: string, content_index: number) => ({
  type: "reasoning_content_delta",
  delta,
  content_index,
});
const callDone = (name: string, call_id: string, args = "{}") =>
  itemDone({ type: "function_call", id: null, name, arguments: args, call_id });
const streamError = (words: string) => ({ type: "error", error: "stream", message: words });

describe("text and reasoning of a Codex stream", () => {
  test("are one item each with one part per delta, and the reasoning is completed first", () => {
    expect(
      parseChunks(
        chunk({ content: "a", reasoning: "r" }),
        chunk({ reasoning: "s" }),
        chunk({ content: "b" }, "stop"),
      ),
    ).toEqual([
      itemAdded(reasoningItem()),
      reasoningDelta("r", 0),
      itemAdded(message()),
      text("a"),
      reasoningDelta("s", 1),
      text("b"),
      itemDone(reasoningItem("r", "s")),
      itemDone(message("a", "b")),
      completed,
    ]);
  });

  test("are read from a string, or from `text` or `content` of an object, even in a complete message", () => {
    expect(
      parseChunks(
        chunk({ reasoning: { text: "t", content: "c" } }),
        chunk({ reasoning: { text: 5, content: "c" } }),
        { choices: [{ message: { reasoning: { content: "m" } } }] },
      ).filter(({ type }) => type === "reasoning_content_delta"),
    ).toEqual([reasoningDelta("t", 0), reasoningDelta("c", 1), reasoningDelta("m", 2)]);
  });

  test("are not read from reasoning_content, and usage and errors are ignored", () => {
    expect(
      parseChunks(
        { error: { message: "no" } },
        chunk({ reasoning_content: "r" }),
        { choices: [], usage: { total_tokens: 3 } },
        { choices: {} },
      ),
    ).toEqual([completed]);
  });

  test("are read from content parts; an empty string opens an item, and null does not", () => {
    expect(parseChunks(chunk({ content: [{ text: "a" }, { x: 1 }, null, { text: "" }] }))).toEqual([
      itemAdded(message()),
      text("a"),
      text(""),
      itemDone(message("a", "")),
      completed,
    ]);
    expect(parseChunks(chunk({ content: null, reasoning: null }))).toEqual([completed]);
  });

  test("of all choices are joined", () => {
    expect(
      parseChunks({
        choices: [
          { index: 0, delta: { content: "a" } },
          { index: 1, delta: { content: "b" } },
        ],
      }).at(-2),
    ).toEqual(itemDone(message("a", "b")));
  });
});

describe("tool calls of a Codex stream", () => {
  const readCalls = (...deltas: object[]) =>
    parseChunks(...deltas.map((delta) => chunk(delta)), chunk({}, "tool_calls")).filter(
      ({ type }) => type !== "completed",
    );

  test("continue the call with the same id, else with the same index, else the last call", () => {
    expect(
      readCalls(
        call({ index: 0, id: "a", name: "do_a", args: "{" }),
        call({ index: 1, id: "b", name: "do_b", args: "[" }),
        call({ index: 7, id: "a", args: "}" }),
        call({ index: 1, args: "]" }),
        call({ args: " " }),
      ),
    ).toEqual([callDone("do_a", "a"), callDone("do_b", "b", "[] ")]);
  });

  test("get the first free index if they have a new id and no index", () => {
    expect(
      readCalls(
        call({ index: 0, id: "a", name: "do_a" }),
        call({ id: "b", name: "do_b" }),
        call({ index: 1, args: "1" }),
      ),
    ).toEqual([callDone("do_a", "a", ""), callDone("do_b", "b", "1")]);
  });

  test("keep their first id and name, even if a second call at the same index is lost", () => {
    expect(
      readCalls(
        call({ index: 0, id: "a", name: "do_a", args: "{}" }),
        call({ index: 0, id: "b", name: "do_b", args: "{}" }),
      ),
    ).toEqual([callDone("do_a", "a", "{}{}")]);
  });

  test("may have an empty id but not an empty name; a missing id is derived from the index", () => {
    expect(
      readCalls(
        call({ index: 0, id: "", name: "", args: "{}" }),
        call({ index: 0, id: "late", name: "do_a" }),
        call({ index: 3, name: "do_b", args: "{}" }),
        call({ index: 4, id: "nameless", args: "{}" }),
      ),
    ).toEqual([callDone("do_a", ""), callDone("do_b", "tool-call-3")]);
  });

  test("are continued by fragments that are not objects", () => {
    expect(readCalls(call({ id: "a", name: "f", args: "{}" }), { tool_calls: [null, 7] })).toEqual([
      callDone("f", "a"),
    ]);
  });

  test("are continued by fragments with an invalid index as if it were absent", () => {
    expect(
      readCalls(
        call({ id: "a", name: "f", args: "{}" }),
        call({ index: -1, args: " " }),
        call({ index: 0.5, args: " " }),
        { tool_calls: [{ index: "0", function: { arguments: " " } }] },
      ),
    ).toEqual([callDone("f", "a", "{}   ")]);
  });

  test("are emitted at `tool_calls`, after the reasoning and before the text", () => {
    expect(
      parseChunks(
        chunk({ content: "a", reasoning: "r", ...call({ id: "c", name: "f", args: "{}" }) }),
        chunk({}, "tool_calls"),
      ).slice(-4),
    ).toEqual([
      itemDone(reasoningItem("r")),
      callDone("f", "c"),
      itemDone(message("a")),
      completed,
    ]);
  });

  test("are lost if the stream ends without `tool_calls`", () => {
    const pending = chunk(call({ id: "c", name: "f", args: "{}" }));
    expect(parseChunks(pending, chunk({}, "stop"))).toEqual([completed]);
    expect(parseChunks(pending)).toEqual([completed]);
    expect(parseReads(body([pending]))).toEqual([completed]);
  });

  test("still get the index of their id or the last index after a finish reason of tool_calls", () => {
    expect(
      parseChunks(
        chunk(call({ index: 4, id: "a", name: "f", args: "1" }), "tool_calls"),
        chunk(call({ index: 0, id: "a", name: "g", args: "2" }), "tool_calls"),
        chunk(call({ name: "h", args: "3" }), "tool_calls"),
      ),
    ).toEqual([
      callDone("f", "a", "1"),
      callDone("g", "a", "2"),
      callDone("h", "tool-call-4", "3"),
      completed,
    ]);
  });
});

describe("the end of a Codex stream", () => {
  test.each(["[DONE]", "DONE", "  [DONE] ", "\u0085DONE\u3000"])(
    "is %j, after which events are ignored",
    (sentinel) => {
      const laterEvent = `data: ${JSON.stringify(chunk({ content: "late" }))}\n\n`;
      expect(parseReads([`data: ${sentinel}\n\n`, laterEvent])).toEqual([completed]);
    },
  );

  test("is reported once at `stop`, but later events are still read", () => {
    const chunksAfterStop = [chunk({ content: "a" }, "stop"), chunk({ content: "late" })];
    const events = [itemAdded(message()), text("a"), itemDone(message("a")), completed];
    expect(parseReads(body(chunksAfterStop))).toEqual([
      ...events,
      itemAdded(message()),
      text("late"),
    ]);
    expect(parseReads(body([...chunksAfterStop, chunk({}, "stop")]))).toEqual([
      ...events,
      itemAdded(message()),
      text("late"),
      itemDone(message("late")),
    ]);
  });

  test("is an error at `length`: open items are not closed and later events are ignored", () => {
    expect(
      parseChunks(
        {
          choices: [
            { delta: { content: "a" }, finish_reason: "length" },
            { delta: { content: "never" } },
          ],
        },
        chunk({ content: "never" }),
      ),
    ).toEqual([
      itemAdded(message()),
      text("a"),
      { type: "error", error: "context_window_exceeded" },
    ]);
  });

  test("is not affected by other finish reasons", () => {
    expect(
      parseChunks(chunk({ content: "a" }, "content_filter"), chunk({ content: "b" })),
    ).toHaveLength(5);
  });

  test.each([
    ["eof", [completed]],
    ["grace", [completed]],
    ["idle_timeout", [streamError("idle timeout waiting for SSE")]],
    ["transport_error", [streamError("Transport error: network error: the connection broke")]],
    ["aborted", []],
  ] as const)("with the reason %s emits the events that Codex emits", (end, events) => {
    expect(parseReads([], end)).toEqual(events);
    const after = parseReads(body([chunk({}, "stop")], false), end).slice(1);
    expect(after).toEqual(end === "eof" || end === "grace" ? [] : events);
  });

  test("is reported once, and later events are ignored", () => {
    const parser = new ChatStreamParser();
    const out: CodexEvent[] = [];
    parser.end("eof", out);
    parser.push({ event: undefined, id: undefined, data: "{}", terminated: true }, out);
    parser.end("idle_timeout", out);
    expect(out).toEqual([completed]);
  });
});

describe("the bytes of a Codex stream", () => {
  test("are skipped in events that are not JSON or contain a lone surrogate", () => {
    const loneSurrogate = '{"choices":[{"delta":{"content":"\\ud83d"}}]}';
    const escaped = '{"choices":[{"delta":{"content":"\\\\ud83d"}}]}';
    const surrogatePair = '{"choices":[{"delta":{"content":"\\ud83d\\ude00"}}]}';
    expect(parseReads([`data: {no\n\ndata: ${loneSurrogate}\n\n`])).toEqual([completed]);
    expect(parseReads([`data: ${escaped}\n\ndata: ${surrogatePair}\n\n`]).slice(1, 3)).toEqual([
      text("\\ud83d"),
      text("😀"),
    ]);
  });

  test("are ignored in a line with a space before `data:`, unlike in the rest of this package", () => {
    const line = ' data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
    expect(parseReads([line])).toEqual([completed]);
    const eventsOfSseDecoder: SseEvent[] = [];
    new SseDecoder().push(line, eventsOfSseDecoder);
    expect(eventsOfSseDecoder).toHaveLength(1);
  });

  test("are dropped in a last event without a blank line", () => {
    expect(parseReads([`data: ${JSON.stringify(chunk({ content: "a" }))}\n`])).toEqual([completed]);
  });

  test.each([
    ["a stray byte", [0x80], "invalid utf-8 sequence of 1 bytes"],
    ["a bad second byte", [0xe2, 0x28, 0xa1], "invalid utf-8 sequence of 1 bytes"],
    ["a bad third byte", [0xe2, 0x82, 0x28], "invalid utf-8 sequence of 2 bytes"],
    ["a bad fourth byte", [0xf0, 0x9f, 0x98, 0x28], "invalid utf-8 sequence of 3 bytes"],
    ["an overlong form", [0xe0, 0x80, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["a surrogate", [0xed, 0xa0, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["a code point beyond Unicode", [0xf4, 0x90, 0x80, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["half a character at the end", [0xf0, 0x9f], "incomplete utf-8 byte sequence"],
  ])("are not read after %s, which is reported at the end", (_title, broken, words) => {
    const before = bytes(`data: ${JSON.stringify(chunk({ content: "a" }))}\n\n`);
    const tail = words.startsWith("incomplete") ? [] : [...bytes("data: [DONE]\n\n")];
    const all = Uint8Array.from([...before, ...broken, ...tail]);
    const events = [
      itemAdded(message()),
      text("a"),
      streamError(`UTF8 error: ${words} from index 0`),
    ];
    expect(parseReads([all])).toEqual(events);
    expect(parseReads(splitIntoBytes(all))).toEqual(events);
    expect(parseReads([all], "idle_timeout").at(-1)).toEqual(
      streamError("idle timeout waiting for SSE"),
    );
  });

  test("need a text decoder, and events are limited in length", () => {
    const streamWithoutDecoder = createChatStream({
      show_raw_agent_reasoning: true,
      maxEventLength: 8,
    });
    expect(() => streamWithoutDecoder.push(bytes("data: x\n\n"), [])).toThrow(
      expect.objectContaining({ code: "no_text_decoder" }),
    );
    expect(() => streamWithoutDecoder.push("data: longer than that", [])).toThrow(
      expect.objectContaining({ code: "event_too_large" }),
    );
  });

  const words = fc.constantFrom("", "a", "é😀", "\uFEFF", "\n", "data: ");
  const fragment = fc.record(
    {
      index: fc.constantFrom(0, 1, 4, -1, null),
      id: fc.constantFrom("a", "b", "", null),
      function: fc.record(
        { name: fc.constantFrom("f", "g", "", null), arguments: words },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );
  const anyChunk = fc.record({
    choices: fc.array(
      fc.record(
        {
          delta: fc.record(
            {
              content: fc.oneof(words, fc.array(fc.record({ text: words }), { maxLength: 2 })),
              reasoning: fc.oneof(words, fc.record({ text: words }), fc.jsonValue()),
              tool_calls: fc.array(fc.oneof(fragment, fc.jsonValue()), { maxLength: 3 }),
            },
            { requiredKeys: [] },
          ),
          message: fc.record({ reasoning: words }),
          finish_reason: fc.constantFrom("stop", "tool_calls", "length", "other", null),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 2 },
    ),
  });
  const line = fc.oneof(
    { weight: 6, arbitrary: anyChunk.map((value) => `data: ${JSON.stringify(value)}\n\n`) },
    fc.constantFrom("data: [DONE]\n\n", ": hello\r\n\r\n", "data: {no\n\n", "event: x\n", "\r"),
  );
  const reply = fc
    .tuple(fc.array(line), fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.uint8Array()))
    .map(([lines, tail]) => Uint8Array.from([...bytes(lines.join("")), ...tail]));
  const anyEnd = fc.constantFrom<StreamEndReason[]>(
    "eof",
    "idle_timeout",
    "transport_error",
    "aborted",
  );

  test("give the same events however they are split", () => {
    fc.assert(
      fc.property(
        reply,
        fc.array(fc.nat(40)),
        anyEnd,
        fc.boolean(),
        (all, cuts, endReason, raw) => {
          const expected = parseReads([all], endReason, raw);
          expect(parseReads(splitAt(all, cuts), endReason, raw)).toEqual(expected);
          expect(parseReads(splitIntoBytes(all), endReason, raw)).toEqual(expected);
        },
      ),
      propertyRuns(150),
    );
  });

  test("give at most one `completed` and no event after an error", () => {
    fc.assert(
      fc.property(reply, anyEnd, (all, endReason) => {
        const types = parseReads([all], endReason).map(({ type }) => type);
        expect(types.filter((type) => type === "completed").length).toBeLessThan(2);
        expect(types.indexOf("error")).toBeOneOf([-1, types.length - 1]);
      }),
      propertyRuns(150),
    );
  });

  test("of any kind throw only WireErrors", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.uint8Array(), fc.string(), line)),
        anyEnd,
        (reads, endReason) => {
          expect(["done", "rejected"]).toContain(
            runOutcome(() => parseReads(reads, endReason, false)),
          );
        },
      ),
      propertyRuns(300),
    );
  });

  test("of 200,000 deltas give one message", () => {
    const delta = `data: ${JSON.stringify(chunk({ content: "a" }))}\n\n`;
    const events = parseReads([delta.repeat(200_000)], "eof", false);
    expect(events).toEqual([
      itemAdded(message()),
      itemDone(message("a".repeat(200_000))),
      completed,
    ]);
  });
});
