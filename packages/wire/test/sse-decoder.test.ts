import { SseDecoder, WireError, type SseEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";

function decode(reads: (string | Uint8Array)[], options = {}): SseEvent[] {
  const decoder = new SseDecoder({ utf8: new TextDecoder(), ...options });
  const out: SseEvent[] = [];
  for (const read of reads) decoder.push(read, out);
  decoder.end("eof", out);
  return out;
}

const data = (reads: (string | Uint8Array)[]) => decode(reads).map((event) => event.data);

test("an event is its data, its name, the last id, and whether it was terminated", () => {
  expect(decode(["event: ping\nid: 7\ndata: a\n\ndata: b\n\n"])).toEqual([
    { event: "ping", data: "a", id: "7", terminated: true },
    { event: undefined, data: "b", id: "7", terminated: true },
  ]);
});

test("lines end in \\n, \\r or \\r\\n, mixed", () => {
  expect(data(["data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n"])).toEqual([
    "a",
    "b",
    "c",
    "d",
  ]);
});

test("a cut between \\r and \\n makes no blank line", () => {
  expect(data(["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\n\n"])).toEqual(["a\nb", "c"]);
});

test("several data lines are joined by line ends, and a blank one counts", () => {
  expect(data(["data: a\ndata:\ndata: b\n\n"])).toEqual(["a\n\nb"]);
});

test("the blank after the colon is optional, and only the first one goes", () => {
  expect(data(["data:a\n\ndata:  b\n\ndata\n\n"])).toEqual(["a", " b", ""]);
});

test("comments, unknown fields and events without data say nothing", () => {
  expect(data([": ping\n\nfoo: bar\n\nevent: keepalive\n\n:\n\ndata: a\n\n"])).toEqual(["a"]);
});

test("an event name does not outlive an event without data", () => {
  expect(decode(["event: keepalive\n\ndata: a\n\n"])[0]?.event).toBeUndefined();
});

test("a stray blank before data: does not lose the words", () => {
  expect(data([" data: a\n\n"])).toEqual(["a"]);
});

test("a last event without its blank line comes at the end and says so", () => {
  expect(decode(["data: a\n\ndata: b\n"]).map((e) => [e.data, e.terminated])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  expect(decode(["data: b"]).map((e) => [e.data, e.terminated])).toEqual([["b", false]]);
});

test("a byte order mark is no part of the first field", () => {
  expect(data(["\uFEFFdata: a\n\n"])).toEqual(["a"]);
  expect(data([new TextEncoder().encode("\uFEFFdata: a\n\n")])).toEqual(["a"]);
});

test("retry: is kept, an id with a null character is not", () => {
  const decoder = new SseDecoder();
  const out: SseEvent[] = [];
  decoder.push("retry: 3000\nretry: soon\nid: a\0b\ndata: x\n\n", out);
  expect(decoder.retry).toBe(3000);
  expect(out[0]?.id).toBeUndefined();
});

test("bytes without a text decoder are refused with what to do", () => {
  const push = () => new SseDecoder().push(new Uint8Array([100]), []);
  expect(push).toThrow(WireError);
  expect(push).toThrow(/new TextDecoder/);
});

test("an event past the limit is refused, in one line or in many, and nothing of it is kept", () => {
  const decoder = new SseDecoder({ maxEventLength: 100 });
  const out: SseEvent[] = [];
  expect(() => decoder.push(`data: ${"x".repeat(200)}`, out)).toThrow(/more than 100 characters/);
  const lines = new SseDecoder({ maxEventLength: 100 });
  expect(() => lines.push("data: 0123456789\n".repeat(20), out)).toThrow(WireError);
  expect(out).toEqual([]);
});

test("after an event past the limit nothing more comes: it would be a reply with a hole", () => {
  const decoder = new SseDecoder({ maxEventLength: 20 });
  const out: SseEvent[] = [];
  expect(() => decoder.push(`data: ${"x".repeat(30)}`, out)).toThrow(WireError);
  decoder.push("\n\ndata: [DONE]\n\n", out);
  decoder.end("eof", out);
  expect(out).toEqual([]);
});

test("an endless line stops at the limit with bounded memory", () => {
  const decoder = new SseDecoder({ maxEventLength: 1024 * 1024 });
  const piece = "x".repeat(64 * 1024);
  let pushed = 0;
  expect(() => {
    for (; pushed < 1000; pushed += 1) decoder.push(piece, []);
  }).toThrow(WireError);
  expect(pushed).toBe(16);
});

/** Text that exercises the format: fields, colons, blanks, all line ends, characters of two to four bytes. */
const eventText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "data: ",
        "data:",
        "event: x",
        "id: 1",
        ": c",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "é",
        "中",
        "😀",
      ),
      fc.string({ maxLength: 6 }),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

test("events do not depend on where the bytes were cut, nor on bytes or text", () => {
  fc.assert(
    fc.property(eventText, fc.array(fc.nat({ max: 7 }), { maxLength: 60 }), (text, sizes) => {
      const bytes = new TextEncoder().encode(text);
      const whole = decode([bytes]);
      const reads: Uint8Array[] = [];
      let at = 0;
      for (const size of sizes) reads.push(bytes.subarray(at, (at += size)));
      reads.push(bytes.subarray(at));
      expect(decode(reads)).toEqual(whole);
      expect(decode(Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(whole);
      expect(decode([new TextDecoder().decode(bytes)])).toEqual(whole);
      expect(decode(new TextDecoder().decode(bytes).split(""))).toEqual(whole);
    }),
    runs(300),
  );
});

test("random bytes never throw", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 16 }), (reads) => {
      expect(() => decode(reads)).not.toThrow();
    }),
    runs(300),
  );
});
