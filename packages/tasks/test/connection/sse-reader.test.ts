import fc from "fast-check";
import { expect, test } from "vitest";
import { SseReader } from "../../src/connection/sse-reader.ts";

/** Reads a text in chunks that may end anywhere, even within a character. */
function read(text: string, cuts: readonly number[] = []): string[] {
  const bytes = new TextEncoder().encode(text);
  const positions = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  const reader = new SseReader(new TextDecoder());
  return positions.flatMap((position, index) =>
    reader.push(bytes.slice(positions[index - 1] ?? 0, position)),
  );
}

const fields = ["data: ", "data:", "data", "id: 7", ": a comment", "event: x"];
const ends = ["\n", "\r\n", "\r", "\n\n", "\n\ndata: next\n\n"];
const texts = ["日本", "é", "👩‍👩‍👧", '{"a":1}', " "];
const piece = fc.constantFrom(...fields, ...ends, ...texts);
const cuts = fc.array(fc.nat(), { maxLength: 40 });

test("the data of events does not depend on chunk boundaries", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), cuts, (pieces, positions) => {
      const text = pieces.join("");
      expect(read(text, positions)).toEqual(read(text));
    }),
    { numRuns: 1000 },
  );
});

test("all events are read, with any kind of line ending", () => {
  const anyData = fc.stringMatching(/^[^\r\n]*$/).filter((text) => text === text.toWellFormed());
  const end = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(fc.array(anyData), end, cuts, (events, line, positions) => {
      const text = events.map((data) => `id: 1${line}data: ${data}${line}${line}`).join("");
      expect(read(text, positions)).toEqual(events);
    }),
  );
});

test("data lines are joined, comments and other fields are ignored, and one space after the colon is removed", () => {
  expect(read(": hello\nretry: 5\ndata: a\ndata:b\ndata\ndata:  c\n\nevent: x\n\n")).toEqual([
    "a\nb\n\n c",
  ]);
});

test("an unfinished event is not returned", () => {
  expect(read("data: complete\n\ndata: half\n")).toEqual(["complete"]);
});
