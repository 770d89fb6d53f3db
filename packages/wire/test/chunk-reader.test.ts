import { ChunkReader, Repairs } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { call, chunk } from "./chat-chunks.ts";

const createReader = () => {
  const repairs = new Repairs();
  return { reader: new ChunkReader(repairs), repairs };
};

test("a chunk reader accepts both spellings of [DONE] and ignores blank events", () => {
  const { reader: chunks, repairs } = createReader();
  expect(["[DONE]", " DONE ", "", "  "].map((data) => chunks.read(data))).toEqual([
    "[DONE]",
    "[DONE]",
    undefined,
    undefined,
  ]);
  expect(repairs.list).toEqual([]);
});

test("a chunk reader skips events that are not JSON, with a repair that contains the text", () => {
  const { reader: chunks, repairs } = createReader();
  for (const data of [": keepalive", '{"a":', "null", "[1]", '"text"'])
    expect(chunks.read(data)).toBeUndefined();
  expect(repairs.counts.get("event_not_json")).toBe(5);
  expect(repairs.list[0]).toEqual({ code: "event_not_json", choice: 0, detail: ": keepalive" });
});

test("a chunk reader finds an event that was spliced into a truncated one", () => {
  const { reader: chunks, repairs } = createReader();
  expect(chunks.read('{"id":"a","logprodata: {"id":"b"}')).toEqual({ id: "b" });
  expect(repairs.counts.get("event_spliced")).toBe(1);
});

test("a chunk reader redacts secrets in every chunk, even in one that matches the learned template", () => {
  const secret = "sk-0123456789";
  let redactorCalls = 0;
  const chunks = new ChunkReader(new Repairs(), (read) => {
    redactorCalls += 1;
    const text = JSON.stringify(read);
    return text.includes(secret)
      ? (JSON.parse(text.replaceAll(secret, "[removed]")) as typeof read)
      : read;
  });
  const serialize = (content: string, fields: object = {}) =>
    JSON.stringify({ ...chunk({ content }), ...fields });
  for (const index of [1, 2, 3, 4, 5])
    expect(chunks.read(serialize(`word ${index}`))).toBeDefined();
  expect(redactorCalls).toBe(1);
  for (const fields of [{ model: secret }, { obfuscation: secret }, { obfuscation: "abc" }]) {
    for (const index of [1, 2]) chunks.read(serialize(`word ${index}`, fields));
    const read = chunks.read(serialize("word", { ...fields, system_fingerprint: secret }));
    expect(JSON.stringify(read)).not.toContain(secret);
    expect(chunks.wasRedacted).toBe(true);
  }
  for (const obfuscation of ["abc", "def", secret, `x${secret}`])
    expect(JSON.stringify(chunks.read(serialize("word", { obfuscation })))).not.toContain(secret);
});

/** Generates deltas of one stream, mostly of one kind, with strings that look like JSON or keys. */
const anyTrickyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    '"',
    "\\",
    '\\"',
    "probe",
    '"content":"',
    "}]}",
    "\n",
    "\u2028",
    "😀",
    "assistant",
    "m",
  ),
);
const delta = fc.oneof(
  anyTrickyText.map((content) => ({ content })),
  anyTrickyText.map((content) => ({ role: "assistant", content })),
  anyTrickyText.map((reasoning_content) => ({ reasoning_content, content: null })),
  anyTrickyText.map((reasoning) => ({
    reasoning,
    reasoning_details: [{ type: "reasoning.text", text: reasoning }],
  })),
  anyTrickyText.map((args) => call({ index: 0, args })),
  fc.tuple(anyTrickyText, anyTrickyText).map(([content, name]) => ({ content, name })),
);

test("reading with a learned template returns the same as JSON.parse for any stream", () => {
  fc.assert(
    fc.property(
      fc.array(delta, { maxLength: 30 }),
      fc.constantFrom(0, 1),
      fc.boolean(),
      fc.option(fc.array(anyTrickyText, { minLength: 1 }), { nil: undefined }),
      (deltas, indent, asciiOnly, padding) => {
        const { reader: chunks } = createReader();
        for (const [index, each] of deltas.entries()) {
          const pad = padding === undefined ? {} : { obfuscation: padding[index % padding.length] };
          let data = JSON.stringify(chunk(each, null, pad), null, indent);
          if (asciiOnly)
            data = data.replaceAll(
              /[^\x20-\x7e\n]/g,
              (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
            );
          expect(chunks.read(data)).toEqual(JSON.parse(data));
        }
      },
    ),
    propertyRuns(400),
  );
});

test("reading with a learned template returns the same as JSON.parse for data that only resembles the template", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), anyTrickyText, (inside, content) => {
      const { reader: chunks } = createReader();
      const data = JSON.stringify(chunk({ content: "Hello" }));
      chunks.read(data);
      chunks.read(JSON.stringify(chunk({ content })));
      const lookalike = data.replace("Hello", () => inside);
      let expected: unknown;
      try {
        expected = JSON.parse(lookalike);
      } catch {
        expected = undefined;
      }
      expect(chunks.read(lookalike)).toEqual(expected);
    }),
    propertyRuns(400),
  );
});

test("reading a chunk does not change chunks that were returned before", () => {
  const { reader: chunks } = createReader();
  const read = ["a", "b", "c", "d"].map((content) =>
    chunks.read(JSON.stringify(chunk({ content }))),
  );
  expect(read).toEqual(["a", "b", "c", "d"].map((content) => chunk({ content })));
});
