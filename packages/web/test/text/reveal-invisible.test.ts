import fc from "fast-check";
import { expect, test } from "vitest";
import { formatArguments, revealInvisible } from "../../src/text/reveal-invisible.ts";

test("characters that reverse the text direction are revealed", () => {
  expect(revealInvisible("\u202Egnp.exe\u202C ok")).toBe("\\u202egnp.exe\\u202c ok");
  expect(revealInvisible("pay\u200Bpal \u{E0041}")).toBe("pay\\u200bpal \\udb40\\udc41");
});

test("letters, marks, line breaks and needed joiners stay unchanged", () => {
  const texts = ["مرحبا بالعالم", "می\u200Cخواهم", "👩\u200D💻", "a\tb\nc", "你好", "שלום"];
  for (const text of texts) expect(revealInvisible(text)).toBe(text);
});

test("every character that Unicode defines as ignorable or blank is revealed", () => {
  const missing: string[] = [];
  const named = /[\u115F\u1160\u17B4\u17B5\u2800\u3164\uFFA0\u{E0001}-\u{E007F}]/u;
  const blank =
    /\p{Default_Ignorable_Code_Point}|\p{White_Space}|\p{Cc}|\p{Bidi_Control}|\p{Variation_Selector}/u;
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const character = String.fromCodePoint(code);
    if ("\t\n ".includes(character) || !(blank.test(character) || named.test(character))) continue;
    const shown = revealInvisible(`rm a${character}b`);
    if (!/^rm a(?:\\u[0-9a-f]{4})+b$/.test(shown)) missing.push(code.toString(16));
  }
  expect(missing).toEqual([]);
});

test("joiners and variation selectors are revealed unless a script or an emoji needs them", () => {
  expect(revealInvisible("a\u200Db")).toBe("a\\u200db");
  expect(revealInvisible("می\u200C\u200Cخ")).toBe("می\\u200c\\u200cخ");
  expect(revealInvisible("👍\uFE0F\uFE0F\u{E0100}")).toBe("👍\uFE0F\\ufe0f\\udb40\\udd00");
  for (const text of ["❤\uFE0F", "👁\uFE0F\u200D🗨\uFE0F", "👩🏽\u200D🚀", "क्\u200Dष"])
    expect(revealInvisible(text)).toBe(text);
});

test("arguments with revealed characters are still equal JSON", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(JSON.parse(formatArguments(json))).toEqual(JSON.parse(json));
    }),
  );
  expect(formatArguments('{"a": "\u202E"}')).toBe('{\n  "a": "\\u202e"\n}');
});
