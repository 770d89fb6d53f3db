import { SseDecoder, WireError, type SseEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";

const maxEventLength = 24;

/** The events before the limit, and whether it was met. */
function decode(reads: readonly string[]) {
  const decoder = new SseDecoder({ maxEventLength });
  const events: SseEvent[] = [];
  try {
    for (const read of reads) decoder.push(read, events);
    decoder.end("eof", events);
    return { events, refused: false };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { events, refused: true };
  }
}

/** One event between two others, its data in any form, with any line ends, cut anywhere. */
const eventOf = (length: fc.Arbitrary<number>) =>
  fc
    .tuple(
      length,
      fc.constantFrom("data: ", "data:", " data: "),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.array(fc.nat({ max: 40 }), { maxLength: 12 }),
    )
    .map(([size, field, end, sizes]) => {
      const lines = ["data: a", "", field + "x".repeat(size), "", "data: b", ""];
      const text = lines.map((line) => line + end).join("");
      const reads: string[] = [];
      let at = 0;
      for (const read of sizes) reads.push(text.slice(at, (at += read)));
      return { size, reads: [...reads, text.slice(at)], units: text.split("") };
    });

test("an event whose line is within the limit is read, wherever the text was cut", () => {
  fc.assert(
    fc.property(eventOf(fc.integer({ min: 1, max: 17 })), ({ size, reads, units }) => {
      for (const cut of [reads, units]) {
        const { events, refused } = decode(cut);
        expect(refused).toBe(false);
        expect(events.map(({ data }) => data)).toEqual(["a", "x".repeat(size), "b"]);
      }
    }),
    runs(300),
  );
});

test("an event whose data are past the limit is refused, wherever the text was cut", () => {
  fc.assert(
    fc.property(eventOf(fc.integer({ min: 25, max: 60 })), ({ reads, units }) => {
      for (const cut of [reads, units]) {
        const { events, refused } = decode(cut);
        expect(refused).toBe(true);
        expect(events.map(({ data }) => data)).toEqual(["a"]);
      }
    }),
    runs(300),
  );
});

test.each(["data: ", "data:", " data: "])(
  "after a line of %j past the limit nothing more comes, however it was cut",
  (field) => {
    const stream = `data: a\n\n${field}${"x".repeat(40)}\n\ndata: [DONE]\n\n`;
    for (const reads of [[stream], stream.split(""), stream.split(/(?=\n)/)]) {
      const decoder = new SseDecoder({ maxEventLength });
      const events: SseEvent[] = [];
      const refusals: unknown[] = [];
      for (const read of reads)
        try {
          decoder.push(read, events);
        } catch (error) {
          refusals.push(error);
        }
      decoder.end("eof", events);
      expect(events.map(({ data }) => data)).toEqual(["a"]);
      expect(refusals).toEqual([expect.objectContaining({ code: "event_too_large" })]);
    }
  },
);
