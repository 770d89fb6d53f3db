import fc from "fast-check";
import { expect, test } from "vitest";
import { readableArguments, revealed } from "../../src/texts/revealed.ts";

test("a name that is turned round to look harmless is shown as it is", () => {
  expect(revealed("\u202Egnp.exe\u202C ok")).toBe("\\u202egnp.exe\\u202c ok");
  expect(revealed("pay\u200Bpal \u{E0041}")).toBe("pay\\u200bpal \\udb40\\udc41");
});

test("what is written with letters, marks, line breaks and joiners stays", () => {
  const texts = ["مرحبا بالعالم", "می\u200Cخواهم", "👩\u200D💻", "a\tb\nc", "你好", "שלום"];
  for (const text of texts) expect(revealed(text)).toBe(text);
});

test("nothing that Unicode says to be ignored or blank is hidden, wherever it stands", () => {
  const missing: string[] = [];
  const named = /[\u115F\u1160\u17B4\u17B5\u2800\u3164\uFFA0\u{E0001}-\u{E007F}]/u;
  const blank =
    /\p{Default_Ignorable_Code_Point}|\p{White_Space}|\p{Cc}|\p{Bidi_Control}|\p{Variation_Selector}/u;
  for (let code = 0; code <= 0x10_ff_ff; code += 1) {
    const character = String.fromCodePoint(code);
    if ("\t\n ".includes(character) || !(blank.test(character) || named.test(character))) continue;
    const shown = revealed(`rm a${character}b`);
    if (!/^rm a(?:\\u[0-9a-f]{4})+b$/.test(shown)) missing.push(code.toString(16));
  }
  expect(missing).toEqual([]);
});

test("joiners and selectors that no script and no picture needs are shown", () => {
  expect(revealed("a\u200Db")).toBe("a\\u200db");
  expect(revealed("می\u200C\u200Cخ")).toBe("می\\u200c\\u200cخ");
  expect(revealed("👍\uFE0F\uFE0F\u{E0100}")).toBe("👍\uFE0F\\ufe0f\\udb40\\udd00");
  for (const text of ["❤\uFE0F", "👁\uFE0F\u200D🗨\uFE0F", "👩🏽\u200D🚀", "क्\u200Dष"])
    expect(revealed(text)).toBe(text);
});

test("arguments that are shown are the arguments, to the letter", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(JSON.parse(readableArguments(json))).toEqual(JSON.parse(json));
    }),
  );
  expect(readableArguments('{"a": "\u202E"}')).toBe('{\n  "a": "\\u202e"\n}');
});
