import { expect, test } from "vitest";
import { measureSlowdown } from "../../../../test/cpu-time.ts";
import { newVault } from "./private-texts.ts";

const ignorable = /^\p{Default_Ignorable_Code_Point}$/u;
const everyIgnorable = Array.from({ length: 0x11_00_00 }, (_, code) => code)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => ignorable.test(character));

test("a value is found with any invisible character inside", () => {
  const vault = newVault();
  expect(everyIgnorable.length).toBeGreaterThan(4000);
  const missed = everyIgnorable.filter(
    (character) => !vault.isPrivate(`card 4111${character}1111 1111 1111`),
  );
  expect(missed).toEqual([]);
});

test.each([
  "ad\u00ADa@exam\u200Dple.com",
  "a\u034Fda@example.com",
  "a\u{E0101}da@example.com",
  "Ada\u2062 Love\uFE0Flace",
  "EMP-12\u06153456".replace("\u0615", "\u180E"),
  "4111\u00001111 1111 1111",
  "4111&#173;1111 1111 1111",
  "4111&shy;1111 1111 1111",
  String.raw`4111\u200b1111 1111 1111`,
  "4111%E2%81%A01111 1111 1111",
])("%j is masked, and unmasked without a change", (written) => {
  const vault = newVault();
  const masked = vault.mask(`before ${written} after`);
  expect(masked).toMatch(/^before \{\{[A-Z]+_1_x7f3\}\} after$/);
  expect(vault.unmask(masked)).toBe(`before ${written} after`);
});

test("many invisible characters take linear time", () => {
  const text = "a\u200D\u0301".repeat(100_000);
  const eighth = text.slice(0, text.length / 8);
  expect(
    measureSlowdown(
      () => newVault().isPrivate(eighth),
      () => newVault().isPrivate(text),
    ),
  ).toBeLessThan(4);
});
