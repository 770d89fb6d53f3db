import { MessagesBody, Repairs, type UpstreamMessageEvent } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";

/** Decodes the data of events, which may have any form. */
function decode(data: readonly string[]): UpstreamMessageEvent[] {
  const body = new MessagesBody({ repairs: new Repairs() });
  const out: UpstreamMessageEvent[] = [];
  for (const text of data) body.push(`data: ${text}\n\n`, out);
  body.end("eof", out);
  return out;
}

test("deltas that are read by a template equal those that are parsed", () => {
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
