import { Redactor, findSecretValues } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";

const key = 'sk-proj/Q7_xY+zA0=b9\\"c&d-41f6e2ab77';
const redactor = new Redactor([key]);

const everyCharacter = (encode: (code: number) => string): string =>
  Array.from(key, (character) => encode(character.charCodeAt(0))).join("");
const hex = (code: number): string => code.toString(16).padStart(2, "0");
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const encodings: [name: string, text: string][] = [
  ["as plain text", key],
  ["in JSON", JSON.stringify(key).slice(1, -1)],
  ["in JSON within JSON", JSON.stringify(JSON.stringify(key)).slice(2, -2)],
  ["in JSON with escaped slashes", JSON.stringify(key).slice(1, -1).replaceAll("/", "\\/")],
  ["in JSON with every character escaped", everyCharacter((code) => `\\u00${hex(code)}`)],
  ["in JSON with uppercase escapes", everyCharacter((code) => `\\u00${hex(code).toUpperCase()}`)],
  ["percent-encoded", encodeURIComponent(key)],
  ["with every character percent-encoded", everyCharacter((code) => `%${hex(code)}`)],
  ["percent-encoded twice", encodeURIComponent(encodeURIComponent(key))],
  ["form-encoded", new URLSearchParams({ key }).toString().slice(4)],
  ["as HTML", key.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("/", "&#x2F;")],
  ["in base64", base64(key)],
  ["in base64url", Buffer.from(key).toString("base64url")],
  ["in base64 after a user name of one character", base64(`u:${key}`)],
  ["in base64 after a user name of two characters", base64(`us:${key}`)],
  ["in base64 after a user name of three characters", base64(`use:${key}`)],
];

describe("a key is redacted", () => {
  test.each(encodings)("%s", (_name, text) => {
    const sentence = `Wrong key "${text}" given; Authorization: Bearer ${text}`;
    for (const redacted of [redactor.redact(sentence), redactor.excerpt(sentence, 1000)]) {
      expect(redacted).toContain("[redacted]");
      expect(longestCommonPart(redacted, text)).toBeLessThan(8);
    }
    expect(redactor.redact(sentence)).toContain("given; Authorization: Bearer ");
  });

  test("if the text contains only its beginning or most of it", () => {
    for (let length = 8; length < key.length; length += 1)
      expect(redactor.excerpt(`key: ${key.slice(0, length)}`, 1000)).toBe("key: [redacted]");
    expect(redactor.excerpt(`key: ${key.slice(0, 30)}… is wrong`, 1000)).toBe(
      "key: [redacted]… is wrong",
    );
  });

  test("before the text is truncated", () => {
    for (let length = 0; length < 60; length += 1)
      expect(redactor.excerpt(`key: ${key} is wrong`, length)).toBe(
        length >= "key: [redacted] is wrong".length
          ? "key: [redacted] is wrong"
          : `${"key: [redacted] is wrong".slice(0, length)}…`,
      );
  });

  test("that is the token or password in a header", () => {
    const secrets = findSecretValues([
      ["authorization", `Basic ${base64("anna:correct horse")}`],
      ["x-api-key", "Bearer 0123456789"],
      ["accept", "text/html"],
    ]);
    const redact = (text: string) => new Redactor(secrets).redact(text);
    expect(redact("correct horse, 0123456789, text/html")).toBe(
      "[redacted], [redacted], text/html",
    );
  });
});

describe("the redactor does not redact", () => {
  test("short values, abbreviated keys, and words that only start like a key", () => {
    const text = `abcde sk-proj…ab77 sk-proj/Q7_xY is not a key`;
    expect(new Redactor(["abcde", key]).excerpt(text, 1000)).toBe(text);
  });

  test("a common word that is used as a key, in data of successful replies", () => {
    const ollamaRedactor = new Redactor(["ollama", key]);
    expect(ollamaRedactor.redactData(`ollama/llama3 ${key}`)).toBe("ollama/llama3 [redacted]");
    expect(ollamaRedactor.redact("ollama/llama3")).toBe("[redacted]/llama3");
  });

  test("the structure of JSON", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const text = JSON.stringify({ message: before + key + after });
        const { message } = JSON.parse(redactor.redact(text)) as { message: string };
        expect(message.includes(key)).toBe(false);
      }),
    );
  });
});

describe("a streamed body", () => {
  test.each(encodings)("is redacted however it is split if it has a key %s", (_name, text) => {
    const body = Buffer.from(`{"error":"${text}","more":"${text}"}`);
    for (let cut = 0; cut <= body.length; cut += 1) {
      const stream = redactor.createStream();
      const passed = Buffer.concat([
        stream.push(body.subarray(0, cut)),
        stream.push(body.subarray(cut)),
        stream.end(),
      ]);
      expect(passed.length).toBe(body.length);
      expect(longestCommonPart(passed.toString("latin1"), text)).toBeLessThan(8);
      expect(passed.toString("latin1")).toMatch(/^\{"error":.*","more":".*\}$/);
    }
  });

  test("is redacted if it arrives byte by byte, and other bytes are unchanged", () => {
    const bytes = Buffer.from(`ä${key}ö${key}`);
    const stream = redactor.createStream();
    const pieces = Array.from(bytes, (byte) => stream.push(Buffer.from([byte])));
    const passed = Buffer.concat([...pieces, stream.end()]).toString("utf8");
    expect(passed).toBe(
      `ä${"[redacted]".padEnd(key.length, "*")}ö${"[redacted]".padEnd(key.length, "*")}`,
    );
  });

  test("is passed on without a copy if there is nothing to redact", () => {
    const piece = Buffer.from("nothing here");
    expect(redactor.createStream().push(piece)).toBe(piece);
  });

  test("keeps text that only starts like a key", () => {
    const stream = redactor.createStream();
    const pieces = [stream.push(Buffer.from("sk-pr")), stream.push(Buffer.from("etend"))];
    expect(Buffer.concat([...pieces, stream.end()]).toString()).toBe("sk-pretend");
  });
});

test("redaction takes time linear in the length of the text, whatever its content", () => {
  const keys = Array.from({ length: 20 }, (_, nth) => `sk-${nth}-${"0123456789abcdef".repeat(3)}`);
  const manyKeys = new Redactor([...keys, "a".repeat(60)]);
  const texts = ["\\", "%25", "a", "sk-", keys[0]?.slice(0, -1) ?? "", "&#", "x"];
  const excerptAll = (length: number) => () => {
    for (const text of texts) manyKeys.excerpt(text.repeat(Math.ceil(length / text.length)), 100);
  };
  excerptAll(10_000)();
  const short = measureCpuTime(excerptAll(100_000));
  const long = measureCpuTime(excerptAll(800_000));
  expect(long).toBeLessThan(short * 8 * 3 + 200);
});

/** Returns the length of the longest part of `text` that `found` contains. */
function longestCommonPart(found: string, text: string): number {
  let longest = 0;
  for (let start = 0; start < text.length; start += 1)
    while (found.includes(text.slice(start, start + longest + 1)) && start + longest < text.length)
      longest += 1;
  return longest;
}
