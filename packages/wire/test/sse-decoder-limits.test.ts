import { SseDecoder, WireError, type SseEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

const maxEventLength = 24;

/** Returns the events before the limit, and whether the limit was exceeded. */
function decode(reads: readonly string[]) {
  const decoder = new SseDecoder({ maxEventLength });
  const events: SseEvent[] = [];
  try {
    for (const read of reads) decoder.push(read, events);
    decoder.end("eof", events);
    return { events, isRejected: false };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { events, isRejected: true };
  }
}

/** Generates an event between two others, with different field prefixes, line breaks and splits. */
const createEvent = (length: fc.Arbitrary<number>) =>
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

test("an event within the limit is read, however the text is split", () => {
  fc.assert(
    fc.property(createEvent(fc.integer({ min: 1, max: 17 })), ({ size, reads, units }) => {
      for (const chunks of [reads, units]) {
        const { events, isRejected } = decode(chunks);
        expect(isRejected).toBe(false);
        expect(events.map(({ data }) => data)).toEqual(["a", "x".repeat(size), "b"]);
      }
    }),
    propertyRuns(300),
  );
});

test("an event over the limit is rejected, however the text is split", () => {
  fc.assert(
    fc.property(createEvent(fc.integer({ min: 25, max: 60 })), ({ reads, units }) => {
      for (const chunks of [reads, units]) {
        const { events, isRejected } = decode(chunks);
        expect(isRejected).toBe(true);
        expect(events.map(({ data }) => data)).toEqual(["a"]);
      }
    }),
    propertyRuns(300),
  );
});

test.each(["data: ", "data:", " data: "])(
  "input after a line of %j over the limit is ignored, however it is split",
  (field) => {
    const stream = `data: a\n\n${field}${"x".repeat(40)}\n\ndata: [DONE]\n\n`;
    for (const reads of [[stream], stream.split(""), stream.split(/(?=\n)/)]) {
      const decoder = new SseDecoder({ maxEventLength });
      const events: SseEvent[] = [];
      const errors: unknown[] = [];
      for (const read of reads)
        try {
          decoder.push(read, events);
        } catch (error) {
          errors.push(error);
        }
      decoder.end("eof", events);
      expect(events.map(({ data }) => data)).toEqual(["a"]);
      expect(errors).toEqual([expect.objectContaining({ code: "event_too_large" })]);
    }
  },
);
