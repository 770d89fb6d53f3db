import fc from "fast-check";
import { expect, test } from "vitest";
import { SseReader } from "../../src/connection/sse-reader.ts";

/** In pieces that end anywhere, also within a character. */
function read(text: string, cuts: readonly number[] = []): string[] {
  const bytes = new TextEncoder().encode(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted(
    (one, other) => one - other,
  );
  const reader = new SseReader(new TextDecoder());
  return places.flatMap((place, index) => reader.push(bytes.slice(places[index - 1] ?? 0, place)));
}

const fields = ["data: ", "data:", "data", "id: 7", ": a comment", "event: x"];
const ends = ["\n", "\r\n", "\r", "\n\n", "\n\ndata: next\n\n"];
const texts = ["日本", "é", "👩‍👩‍👧", '{"a":1}', " "];
const piece = fc.constantFrom(...fields, ...ends, ...texts);
const cuts = fc.array(fc.nat(), { maxLength: 40 });

test("what is read does not depend on where the network cut the bytes", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), cuts, (pieces, places) => {
      const text = pieces.join("");
      expect(read(text, places)).toEqual(read(text));
    }),
    { numRuns: 1000 },
  );
});

test("every event that was written comes out, with every kind of line end", () => {
  const words = fc.stringMatching(/^[^\r\n]*$/).filter((text) => text === text.toWellFormed());
  const end = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(fc.array(words), end, cuts, (events, line, places) => {
      const text = events.map((data) => `id: 1${line}data: ${data}${line}${line}`).join("");
      expect(read(text, places)).toEqual(events);
    }),
  );
});

test("lines of data are one text, comments and other fields are none, and a blank after the colon is no part of it", () => {
  expect(read(": hello\nretry: 5\ndata: a\ndata:b\ndata\ndata:  c\n\nevent: x\n\n")).toEqual([
    "a\nb\n\n c",
  ]);
});

test("an event that has not ended is not told", () => {
  expect(read("data: whole\n\ndata: half\n")).toEqual(["whole"]);
});
