import fc from "fast-check";
import { expect, test } from "vitest";
import { readableArguments } from "../../src/texts/readable-arguments.ts";
import { revealed } from "../../src/texts/revealed.ts";

test("a name that is turned round to look harmless is shown as it is", () => {
  expect(revealed("\u202Egnp.exe\u202C ok")).toBe("\\u202egnp.exe\\u202c ok");
  expect(revealed("pay\u200Bpal \u{E0041}")).toBe("pay\\u200bpal \\udb40\\udc41");
});

test("what is written with letters, marks, line breaks and joiners stays", () => {
  const texts = ["مرحبا بالعالم", "می\u200Cخواهم", "👩\u200D💻", "a\tb\nc", "你好", "שלום"];
  for (const text of texts) expect(revealed(text)).toBe(text);
});

test("arguments that are shown are the arguments, to the letter", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(JSON.parse(readableArguments(json))).toEqual(JSON.parse(json));
    }),
  );
  expect(readableArguments('{"a": "\u202E"}')).toBe('{\n  "a": "\\u202e"\n}');
});
