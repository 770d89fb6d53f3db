import { SseDecoder, WireError, type SseEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

function decode(reads: (string | Uint8Array)[], options = {}): SseEvent[] {
  const decoder = new SseDecoder({ utf8: new TextDecoder(), ...options });
  const out: SseEvent[] = [];
  for (const read of reads) decoder.push(read, out);
  decoder.end("eof", out);
  return out;
}

const decodeData = (reads: (string | Uint8Array)[]) => decode(reads).map((event) => event.data);

test("an event has its data, its name, the last id, and a flag for the blank line that ends it", () => {
  expect(decode(["event: ping\nid: 7\ndata: a\n\ndata: b\n\n"])).toEqual([
    { event: "ping", data: "a", id: "7", terminated: true },
    { event: undefined, data: "b", id: "7", terminated: true },
  ]);
});

test("the decoder accepts mixed line breaks \\n, \\r and \\r\\n", () => {
  expect(decodeData(["data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n"])).toEqual([
    "a",
    "b",
    "c",
    "d",
  ]);
});

test("a split between \\r and \\n is not a blank line", () => {
  expect(decodeData(["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\n\n"])).toEqual(["a\nb", "c"]);
});

test("the decoder joins data lines with line breaks, including blank ones", () => {
  expect(decodeData(["data: a\ndata:\ndata: b\n\n"])).toEqual(["a\n\nb"]);
});

test("the decoder removes only the first space after the colon", () => {
  expect(decodeData(["data:a\n\ndata:  b\n\ndata\n\n"])).toEqual(["a", " b", ""]);
});

test("the decoder ignores comments, unknown fields and events without data", () => {
  expect(decodeData([": ping\n\nfoo: bar\n\nevent: keepalive\n\n:\n\ndata: a\n\n"])).toEqual(["a"]);
});

test("an event without data resets the event name", () => {
  expect(decode(["event: keepalive\n\ndata: a\n\n"])[0]?.event).toBeUndefined();
});

test("the decoder reads data: with a leading space", () => {
  expect(decodeData([" data: a\n\n"])).toEqual(["a"]);
});

test("the decoder emits a last event without a blank line as not terminated", () => {
  expect(decode(["data: a\n\ndata: b\n"]).map((e) => [e.data, e.terminated])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  expect(decode(["data: b"]).map((e) => [e.data, e.terminated])).toEqual([["b", false]]);
});

test("the decoder skips a byte order mark", () => {
  expect(decodeData(["\uFEFFdata: a\n\n"])).toEqual(["a"]);
  expect(decodeData([new TextEncoder().encode("\uFEFFdata: a\n\n")])).toEqual(["a"]);
});

test("the decoder reads retry: and ignores an id with a null character", () => {
  const decoder = new SseDecoder();
  const out: SseEvent[] = [];
  decoder.push("retry: 3000\nretry: soon\nid: a\0b\ndata: x\n\n", out);
  expect(decoder.retry).toBe(3000);
  expect(out[0]?.id).toBeUndefined();
});

test("the decoder rejects bytes with a hint if it has no text decoder", () => {
  const push = () => new SseDecoder().push(new Uint8Array([100]), []);
  expect(push).toThrow(WireError);
  expect(push).toThrow(/new TextDecoder/);
});

test("the decoder rejects an event over the limit in one line or in many, and emits nothing of it", () => {
  const decoder = new SseDecoder({ maxEventLength: 100 });
  const out: SseEvent[] = [];
  expect(() => decoder.push(`data: ${"x".repeat(200)}`, out)).toThrow(
    "an event is longer than the limit of 100 characters",
  );
  const lines = new SseDecoder({ maxEventLength: 100 });
  expect(() => lines.push("data: 0123456789\n".repeat(20), out)).toThrow(WireError);
  expect(out).toEqual([]);
});

test("the decoder ignores input after an event over the limit, because the reply would be incomplete", () => {
  const decoder = new SseDecoder({ maxEventLength: 20 });
  const out: SseEvent[] = [];
  expect(() => decoder.push(`data: ${"x".repeat(30)}`, out)).toThrow(WireError);
  decoder.push("\n\ndata: [DONE]\n\n", out);
  decoder.end("eof", out);
  expect(out).toEqual([]);
});

test("the decoder rejects an endless line as soon as it reaches the limit", () => {
  const decoder = new SseDecoder({ maxEventLength: 1024 * 1024 });
  const piece = "x".repeat(64 * 1024);
  let pushed = 0;
  expect(() => {
    for (; pushed < 1000; pushed += 1) decoder.push(piece, []);
  }).toThrow(WireError);
  expect(pushed).toBe(16);
});

/** Generates text with fields, colons, spaces, all line endings and characters of two to four bytes. */
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

test("events do not depend on splits or on whether the input is bytes or text", () => {
  fc.assert(
    fc.property(eventText, fc.array(fc.nat({ max: 7 }), { maxLength: 60 }), (text, sizes) => {
      const bytes = new TextEncoder().encode(text);
      const unsplit = decode([bytes]);
      const reads: Uint8Array[] = [];
      let at = 0;
      for (const size of sizes) reads.push(bytes.subarray(at, (at += size)));
      reads.push(bytes.subarray(at));
      expect(decode(reads)).toEqual(unsplit);
      expect(decode(Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(unsplit);
      expect(decode([new TextDecoder().decode(bytes)])).toEqual(unsplit);
      expect(decode(new TextDecoder().decode(bytes).split(""))).toEqual(unsplit);
    }),
    propertyRuns(300),
  );
});

test("random bytes never throw", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 16 }), (reads) => {
      expect(() => decode(reads)).not.toThrow();
    }),
    propertyRuns(300),
  );
});
