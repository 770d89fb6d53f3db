import { SseDecoder, type SseEvent, type StreamEnd } from "@deltawire/wire";
import { chatStream, ChatStreamParser, type CodexEvent } from "@deltawire/wire/codex";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { byteByByte, cutAt } from "../check/play.ts";
import { body, call } from "./chat-stream.ts";
import { outcome } from "./outcome.ts";

function read(
  reads: Iterable<string | Uint8Array>,
  end: StreamEnd = "eof",
  show_raw_agent_reasoning = true,
): CodexEvent[] {
  const stream = chatStream({ show_raw_agent_reasoning, utf8: new TextDecoder() });
  const out: CodexEvent[] = [];
  for (const piece of reads) stream.push(piece, out);
  stream.end(end, out);
  return out;
}

const chunk = (delta: object, finish?: string) => ({ choices: [{ delta, finish_reason: finish }] });
const bytes = (text: string) => new TextEncoder().encode(text);
const chunks = (...all: object[]) => read(body(all, false));

const completed = { type: "completed", response_id: "", token_usage: null };
const message = (...texts: string[]) => ({
  type: "message",
  id: null,
  role: "assistant",
  content: texts.map((text) => ({ type: "output_text", text })),
});
const thought = (...texts: string[]) => ({
  type: "reasoning",
  id: "",
  summary: [],
  content: texts.map((text) => ({ type: "reasoning_text", text })),
  encrypted_content: null,
});
const added = (item: object) => ({ type: "output_item_added", item });
const done = (item: object) => ({ type: "output_item_done", item });
const text = (delta: string) => ({ type: "output_text_delta", delta });
const thinking = (delta: string, content_index: number) => ({
  type: "reasoning_content_delta",
  delta,
  content_index,
});
const called = (name: string, call_id: string, args = "{}") =>
  done({ type: "function_call", id: null, name, arguments: args, call_id });
const failed = (words: string) => ({ type: "error", error: "stream", message: words });

describe("text and reasoning", () => {
  test("are one item each, of as many parts as there were deltas, reasoning done first", () => {
    expect(
      chunks(
        chunk({ content: "a", reasoning: "r" }),
        chunk({ reasoning: "s" }),
        chunk({ content: "b" }, "stop"),
      ),
    ).toEqual([
      added(thought()),
      thinking("r", 0),
      added(message()),
      text("a"),
      thinking("s", 1),
      text("b"),
      done(thought("r", "s")),
      done(message("a", "b")),
      completed,
    ]);
  });

  test("reasoning is a string, or `text` or `content` of an object, also of a whole message", () => {
    expect(
      chunks(
        chunk({ reasoning: { text: "t", content: "c" } }),
        chunk({ reasoning: { text: 5, content: "c" } }),
        { choices: [{ message: { reasoning: { content: "m" } } }] },
      ).filter(({ type }) => type === "reasoning_content_delta"),
    ).toEqual([thinking("t", 0), thinking("c", 1), thinking("m", 2)]);
  });

  test("DeepSeek's reasoning_content is not read, nor usage, nor an error in the stream", () => {
    expect(
      chunks(
        { error: { message: "no" } },
        chunk({ reasoning_content: "r" }),
        { choices: [], usage: { total_tokens: 3 } },
        { choices: {} },
      ),
    ).toEqual([completed]);
  });

  test("content parts are text where they have text; an empty string makes an item, null none", () => {
    expect(chunks(chunk({ content: [{ text: "a" }, { x: 1 }, null, { text: "" }] }))).toEqual([
      added(message()),
      text("a"),
      text(""),
      done(message("a", "")),
      completed,
    ]);
    expect(chunks(chunk({ content: null, reasoning: null }))).toEqual([completed]);
  });

  test("choices share one state", () => {
    expect(
      chunks({
        choices: [
          { index: 0, delta: { content: "a" } },
          { index: 1, delta: { content: "b" } },
        ],
      }).at(-2),
    ).toEqual(done(message("a", "b")));
  });
});

describe("tool calls", () => {
  const flushed = (...deltas: object[]) =>
    chunks(...deltas.map((delta) => chunk(delta)), chunk({}, "tool_calls")).filter(
      ({ type }) => type !== "completed",
    );

  test("are joined by index, by a known id before that, and without either go on with the last", () => {
    expect(
      flushed(
        call({ index: 0, id: "a", name: "do_a", args: "{" }),
        call({ index: 1, id: "b", name: "do_b", args: "[" }),
        call({ index: 7, id: "a", args: "}" }),
        call({ index: 1, args: "]" }),
        call({ args: " " }),
      ),
    ).toEqual([called("do_a", "a"), called("do_b", "b", "[] ")]);
  });

  test("a new id without an index is a new call, at the first free index", () => {
    expect(
      flushed(
        call({ index: 0, id: "a", name: "do_a" }),
        call({ id: "b", name: "do_b" }),
        call({ index: 1, args: "1" }),
      ),
    ).toEqual([called("do_a", "a", ""), called("do_b", "b", "1")]);
  });

  test("the first id and the first name stay, though a second call at the index is lost in them", () => {
    expect(
      flushed(
        call({ index: 0, id: "a", name: "do_a", args: "{}" }),
        call({ index: 0, id: "b", name: "do_b", args: "{}" }),
      ),
    ).toEqual([called("do_a", "a", "{}{}")]);
  });

  test("an empty name is none, an empty id is one; without an id the index names it", () => {
    expect(
      flushed(
        call({ index: 0, id: "", name: "", args: "{}" }),
        call({ index: 0, id: "late", name: "do_a" }),
        call({ index: 3, name: "do_b", args: "{}" }),
        call({ index: 4, id: "nameless", args: "{}" }),
      ),
    ).toEqual([called("do_a", ""), called("do_b", "tool-call-3")]);
  });

  test("a fragment that is no object continues the last call without a word", () => {
    expect(flushed(call({ id: "a", name: "f", args: "{}" }), { tool_calls: [null, 7] })).toEqual([
      called("f", "a"),
    ]);
  });

  test("an index that is none counts as missing", () => {
    expect(
      flushed(
        call({ id: "a", name: "f", args: "{}" }),
        call({ index: -1, args: " " }),
        call({ index: 0.5, args: " " }),
        { tool_calls: [{ index: "0", function: { arguments: " " } }] },
      ),
    ).toEqual([called("f", "a", "{}   ")]);
  });

  test("come out at `tool_calls`, after the reasoning and before the text", () => {
    expect(
      chunks(
        chunk({ content: "a", reasoning: "r", ...call({ id: "c", name: "f", args: "{}" }) }),
        chunk({}, "tool_calls"),
      ).slice(-4),
    ).toEqual([done(thought("r")), called("f", "c"), done(message("a")), completed]);
  });

  test("are lost at `stop`, at the sentinel and at the end", () => {
    const pending = chunk(call({ id: "c", name: "f", args: "{}" }));
    expect(chunks(pending, chunk({}, "stop"))).toEqual([completed]);
    expect(chunks(pending)).toEqual([completed]);
    expect(read(body([pending]))).toEqual([completed]);
  });

  test("a flush keeps the ids' indexes and the last index", () => {
    expect(
      chunks(
        chunk(call({ index: 4, id: "a", name: "f", args: "1" }), "tool_calls"),
        chunk(call({ index: 0, id: "a", name: "g", args: "2" }), "tool_calls"),
        chunk(call({ name: "h", args: "3" }), "tool_calls"),
      ),
    ).toEqual([
      called("f", "a", "1"),
      called("g", "a", "2"),
      called("h", "tool-call-4", "3"),
      completed,
    ]);
  });
});

describe("the end", () => {
  test.each(["[DONE]", "DONE", "  [DONE] ", "\u0085DONE\u3000"])(
    "%j completes, and nothing is read after it",
    (sentinel) => {
      const late = `data: ${JSON.stringify(chunk({ content: "late" }))}\n\n`;
      expect(read([`data: ${sentinel}\n\n`, late])).toEqual([completed]);
    },
  );

  test("`stop` completes, but reading goes on; after it, the sentinel and the end say nothing", () => {
    const late = [chunk({ content: "a" }, "stop"), chunk({ content: "late" })];
    const events = [added(message()), text("a"), done(message("a")), completed];
    expect(read(body(late))).toEqual([...events, added(message()), text("late")]);
    expect(read(body([...late, chunk({}, "stop")]))).toEqual([
      ...events,
      added(message()),
      text("late"),
      done(message("late")),
    ]);
  });

  test("`length` is an error at once, with nothing closed and nothing read after it", () => {
    expect(
      chunks(
        {
          choices: [
            { delta: { content: "a" }, finish_reason: "length" },
            { delta: { content: "never" } },
          ],
        },
        chunk({ content: "never" }),
      ),
    ).toEqual([added(message()), text("a"), { type: "error", error: "context_window_exceeded" }]);
  });

  test("any other finish is none", () => {
    expect(chunks(chunk({ content: "a" }, "content_filter"), chunk({ content: "b" }))).toHaveLength(
      5,
    );
  });

  test.each([
    ["eof", [completed]],
    ["grace", [completed]],
    ["idle_timeout", [failed("idle timeout waiting for SSE")]],
    ["transport_error", [failed("Transport error: network error: the connection broke")]],
    ["aborted", []],
  ] as const)("%s ends it so", (end, events) => {
    expect(read([], end)).toEqual(events);
    const after = read(body([chunk({}, "stop")], false), end).slice(1);
    expect(after).toEqual(end === "eof" || end === "grace" ? [] : events);
  });

  test("what is pushed after the end is ignored", () => {
    const parser = new ChatStreamParser();
    const out: CodexEvent[] = [];
    parser.end("eof", out);
    parser.push({ event: undefined, id: undefined, data: "{}", terminated: true }, out);
    parser.end("idle_timeout", out);
    expect(out).toEqual([completed]);
  });
});

describe("the bytes", () => {
  test("an event that is no JSON is skipped, so is half an emoji", () => {
    const half = '{"choices":[{"delta":{"content":"\\ud83d"}}]}';
    const escaped = '{"choices":[{"delta":{"content":"\\\\ud83d"}}]}';
    const whole = '{"choices":[{"delta":{"content":"\\ud83d\\ude00"}}]}';
    expect(read([`data: {no\n\ndata: ${half}\n\n`])).toEqual([completed]);
    expect(read([`data: ${escaped}\n\ndata: ${whole}\n\n`]).slice(1, 3)).toEqual([
      text("\\ud83d"),
      text("😀"),
    ]);
  });

  test("a blank before `data:` makes it no data, unlike everywhere else in this library", () => {
    const line = ' data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
    expect(read([line])).toEqual([completed]);
    const lenient: SseEvent[] = [];
    new SseDecoder().push(line, lenient);
    expect(lenient).toHaveLength(1);
  });

  test("a last event without its blank line is lost", () => {
    expect(read([`data: ${JSON.stringify(chunk({ content: "a" }))}\n`])).toEqual([completed]);
  });

  test.each([
    ["a stray byte", [0x80], "invalid utf-8 sequence of 1 bytes"],
    ["a bad second byte", [0xe2, 0x28, 0xa1], "invalid utf-8 sequence of 1 bytes"],
    ["a bad third byte", [0xe2, 0x82, 0x28], "invalid utf-8 sequence of 2 bytes"],
    ["a bad fourth byte", [0xf0, 0x9f, 0x98, 0x28], "invalid utf-8 sequence of 3 bytes"],
    ["an overlong form", [0xe0, 0x80, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["a surrogate", [0xed, 0xa0, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["beyond Unicode", [0xf4, 0x90, 0x80, 0x80], "invalid utf-8 sequence of 1 bytes"],
    ["half a character at the end", [0xf0, 0x9f], "incomplete utf-8 byte sequence"],
  ])("%s stops the reading, and is an error at the end", (_what, broken, words) => {
    const before = bytes(`data: ${JSON.stringify(chunk({ content: "a" }))}\n\n`);
    const tail = words.startsWith("incomplete") ? [] : [...bytes("data: [DONE]\n\n")];
    const all = Uint8Array.from([...before, ...broken, ...tail]);
    const events = [added(message()), text("a"), failed(`UTF8 error: ${words} from index 0`)];
    expect(read([all])).toEqual(events);
    expect(read(byteByByte(all))).toEqual(events);
    expect(read([all], "idle_timeout").at(-1)).toEqual(failed("idle timeout waiting for SSE"));
  });

  test("need a text decoder, and an event has a limit", () => {
    const bare = chatStream({ show_raw_agent_reasoning: true, maxEventLength: 8 });
    expect(() => bare.push(bytes("data: x\n\n"), [])).toThrow(
      expect.objectContaining({ code: "no_text_decoder" }),
    );
    expect(() => bare.push("data: longer than that", [])).toThrow(
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
  const end = fc.constantFrom<StreamEnd[]>("eof", "idle_timeout", "transport_error", "aborted");

  test("give the same events wherever the network cut them", () => {
    fc.assert(
      fc.property(reply, fc.array(fc.nat(40)), end, fc.boolean(), (all, cuts, how, raw) => {
        const expected = read([all], how, raw);
        expect(read(cutAt(all, cuts), how, raw)).toEqual(expected);
        expect(read(byteByByte(all), how, raw)).toEqual(expected);
      }),
      runs(150),
    );
  });

  test("give at most one `completed`, and no event after an error", () => {
    fc.assert(
      fc.property(reply, end, (all, how) => {
        const types = read([all], how).map(({ type }) => type);
        expect(types.filter((type) => type === "completed").length).toBeLessThan(2);
        expect(types.indexOf("error")).toBeOneOf([-1, types.length - 1]);
      }),
      runs(150),
    );
  });

  test("of any kind throw nothing but a WireError", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.uint8Array(), fc.string(), line)), end, (reads, how) => {
        expect(["done", "refused"]).toContain(outcome(() => read(reads, how, false)));
      }),
      runs(300),
    );
  });

  test("of two hundred thousand deltas make one message", () => {
    const delta = `data: ${JSON.stringify(chunk({ content: "a" }))}\n\n`;
    const events = read([delta.repeat(200_000)], "eof", false);
    expect(events).toEqual([added(message()), done(message("a".repeat(200_000))), completed]);
  });
});
