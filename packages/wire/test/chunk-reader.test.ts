import { ChunkReader, Repairs } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { call, chunk } from "./chat-stream.ts";

const reader = () => {
  const repairs = new Repairs();
  return { reader: new ChunkReader(repairs), repairs };
};

test("the sentinel is read in both spellings, blank events say nothing", () => {
  const { reader: chunks, repairs } = reader();
  expect(["[DONE]", " DONE ", "", "  "].map((data) => chunks.read(data))).toEqual([
    "[DONE]",
    "[DONE]",
    undefined,
    undefined,
  ]);
  expect(repairs.list).toEqual([]);
});

test("what is not JSON is skipped and counted, with the provider's words", () => {
  const { reader: chunks, repairs } = reader();
  for (const data of [": keepalive", '{"a":', "null", "[1]", '"text"'])
    expect(chunks.read(data)).toBeUndefined();
  expect(repairs.counts.get("event_not_json")).toBe(5);
  expect(repairs.list[0]).toEqual({ code: "event_not_json", choice: 0, detail: ": keepalive" });
});

test("an event that the next one was spliced into gives the next one", () => {
  const { reader: chunks, repairs } = reader();
  expect(chunks.read('{"id":"a","logprodata: {"id":"b"}')).toEqual({ id: "b" });
  expect(repairs.counts.get("event_spliced")).toBe(1);
});

test("what must be removed is removed from every chunk, however alike the chunks are", () => {
  const secret = "sk-0123456789";
  let seen = 0;
  const chunks = new ChunkReader(new Repairs(), (read) => {
    seen += 1;
    const text = JSON.stringify(read);
    return text.includes(secret)
      ? (JSON.parse(text.replaceAll(secret, "[removed]")) as typeof read)
      : read;
  });
  const said = (content: string, fields: object = {}) =>
    JSON.stringify({ ...chunk({ content }), ...fields });
  for (const nth of [1, 2, 3, 4, 5]) expect(chunks.read(said(`word ${nth}`))).toBeDefined();
  expect(seen).toBe(1);
  for (const fields of [{ model: secret }, { obfuscation: secret }, { obfuscation: "abc" }]) {
    for (const nth of [1, 2]) chunks.read(said(`word ${nth}`, fields));
    const read = chunks.read(said("word", { ...fields, system_fingerprint: secret }));
    expect(JSON.stringify(read)).not.toContain(secret);
    expect(chunks.wasRedacted).toBe(true);
  }
  for (const obfuscation of ["abc", "def", secret, `x${secret}`])
    expect(JSON.stringify(chunks.read(said("word", { obfuscation })))).not.toContain(secret);
});

/** Deltas of one stream, mostly of one kind, with strings that look like JSON, keys and probes. */
const tricky = fc.oneof(
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
  tricky.map((content) => ({ content })),
  tricky.map((content) => ({ role: "assistant", content })),
  tricky.map((reasoning_content) => ({ reasoning_content, content: null })),
  tricky.map((reasoning) => ({
    reasoning,
    reasoning_details: [{ type: "reasoning.text", text: reasoning }],
  })),
  tricky.map((args) => call({ index: 0, args })),
  fc.tuple(tricky, tricky).map(([content, name]) => ({ content, name })),
);

test("a learned template never changes what a chunk says: reading is parsing, for any stream", () => {
  fc.assert(
    fc.property(
      fc.array(delta, { maxLength: 30 }),
      fc.constantFrom(0, 1),
      fc.boolean(),
      fc.option(fc.array(tricky, { minLength: 1 }), { nil: undefined }),
      (deltas, indent, asciiOnly, padding) => {
        const { reader: chunks } = reader();
        for (const [nth, each] of deltas.entries()) {
          const pad = padding === undefined ? {} : { obfuscation: padding[nth % padding.length] };
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
    runs(400),
  );
});

test("neither does it for data that only looks like the template", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), tricky, (inside, content) => {
      const { reader: chunks } = reader();
      const data = JSON.stringify(chunk({ content: "Hello" }));
      chunks.read(data);
      chunks.read(JSON.stringify(chunk({ content })));
      const forged = data.replace("Hello", () => inside);
      let expected: unknown;
      try {
        expected = JSON.parse(forged);
      } catch {
        expected = undefined;
      }
      expect(chunks.read(forged)).toEqual(expected);
    }),
    runs(400),
  );
});

test("chunks that were read do not change when the next ones are", () => {
  const { reader: chunks } = reader();
  const read = ["a", "b", "c", "d"].map((content) =>
    chunks.read(JSON.stringify(chunk({ content }))),
  );
  expect(read).toEqual(["a", "b", "c", "d"].map((content) => chunk({ content })));
});
