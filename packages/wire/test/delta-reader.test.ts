import { MessagesBody, Repairs, type UpstreamMessageEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { splitAt, splitIntoBytes } from "../check/play.ts";

function decodeReads(reads: Iterable<string | Uint8Array>): UpstreamMessageEvent[] {
  const body = new MessagesBody({ repairs: new Repairs(), utf8: new TextDecoder() });
  const out: UpstreamMessageEvent[] = [];
  for (const read of reads) body.push(read, out);
  body.end("eof", out);
  return out;
}

/** Decodes the data of events, which may have any form. */
function decode(data: readonly string[]): UpstreamMessageEvent[] {
  return decodeReads(data.map((text) => `data: ${text}\n\n`));
}

const text = fc.oneof(
  fc.string(),
  fc.constantFrom("", "text", "probe", '"', "\\", "\u2028", "0", '","type":"x'),
);
const delta = fc.oneof(
  fc.record({ type: fc.constant("text_delta"), text }),
  fc.record({ text, type: fc.constant("text_delta"), extra: text }),
  fc.record({ type: fc.constant("thinking_delta"), thinking: text, estimated_tokens: fc.nat(2) }),
  fc.record({ type: fc.constant("input_json_delta"), partial_json: text }),
  fc.record({ type: fc.constant("signature_delta"), signature: text }),
);
const event = fc.oneof(
  fc.record({ type: fc.constant("content_block_delta"), index: fc.nat(1), delta }),
  fc.record({ delta, index: fc.nat(1), type: fc.constant("content_block_delta") }),
);

test("deltas that are read by a template equal those that are parsed", () => {
  const spaces = fc.constantFrom(0, 1);
  fc.assert(
    fc.property(fc.array(event, { minLength: 3, maxLength: 12 }), spaces, (events, space) => {
      const data = events.map((value) => JSON.stringify(value, null, space).replaceAll("\n", ""));
      const decoded = decode(data);
      expect(decoded).toEqual(events);
      // The order of the fields matters where events are forwarded.
      expect(decoded.map((value) => JSON.stringify(value))).toEqual(
        events.map((value) => JSON.stringify(value)),
      );
    }),
    propertyRuns(400),
  );
});

test("deltas are the same with and without names, alone and in one read, however it is split", () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 12 });
  const names = fc.constantFrom(["content_block_delta"], ["content_block_delta", "ping"], [""]);
  const lines = fc.constantFrom("", "", ": comment\n", "id: 7\n", "retry: 1\n");
  const newlines = fc.constantFrom("\n", "\n", "\n", "\r\n");
  const stream = fc.array(fc.tuple(event, lines), { minLength: 3, maxLength: 12 });
  fc.assert(
    fc.property(stream, names, newlines, cuts, (entries, eventNames, newline, lengths) => {
      const text = entries
        .map(([value, line], index) => {
          const name = eventNames[index % eventNames.length];
          return `${line}${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`;
        })
        .join("")
        .replaceAll("\n", newline);
      const expected = entries.map(([value]) => value);
      expect(decodeReads([text])).toEqual(expected);
      const bytes = new TextEncoder().encode(text);
      expect(decodeReads(splitAt(bytes, lengths))).toEqual(expected);
      expect(decodeReads(splitIntoBytes(bytes))).toEqual(expected);
    }),
    propertyRuns(200),
  );
});

test("deltas with invalid strings, or a second line of data, are not read by a template", () => {
  const delta = (text: string) =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n`;
  const repairs = new Repairs();
  const body = new MessagesBody({ repairs });
  const out: UpstreamMessageEvent[] = [];
  const events = [
    delta("a"),
    delta("b"),
    delta('c"d'),
    delta("\\x"),
    delta("\t"),
    delta("\\ud83d\\n"),
    `${delta("e")}data: {}\n`,
    delta("f"),
  ];
  body.push(events.map((text) => `${text}\n`).join(""), out);
  body.end("eof", out);
  const texts = out.map(({ delta: value }) => (value as { text: string }).text);
  expect(texts).toEqual(["a", "b", "\ud83d\n", "f"]);
  expect(repairs.counts.get("event_not_json")).toBe(4);
});

test("data that is cut or continues is not read by a template", () => {
  const delta = (text: string) =>
    `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`;
  const out = decode([
    delta("a"),
    delta("b"),
    delta('c","more":"d'),
    `${delta("e")} {}`,
    delta("\\"),
  ]);
  expect(out.map(({ delta: value }) => value)).toEqual([
    { type: "text_delta", text: "a" },
    { type: "text_delta", text: "b" },
    { type: "text_delta", text: "c", more: "d" },
  ]);
});
