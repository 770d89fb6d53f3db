import type { Vault } from "@deltawire/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { StreamUnmasker } from "../../src/privacy/stream-unmasker.ts";
import { splitAt, newVault, privateText, values } from "./private-texts.ts";

const placeholderText = fc.constantFrom(
  "{{EMAIL_1_x7f3}}",
  "{{ email_1_x7f3 }}",
  "{{TEXT\\_1\\_x7f3}}",
  "{{TEXT_2_x7f3}}",
  "%7B%7BEMAIL_1_x7f3%7D%7D",
  "{{EMAIL_99_x7f3}}",
  "{{EMAIL_1_",
  "{{{{",
  "}}",
  "%7B%7B",
  "{{ {",
);
const replyText = fc
  .array(fc.oneof(placeholderText, privateText), { maxLength: 8 })
  .map((parts) => parts.join(""));

function createVaultWithValues(): Vault {
  const vault = newVault();
  vault.mask(values.join("\n"));
  return vault;
}

function unmaskStream(pieces: readonly string[], unmask: (text: string) => string): string {
  const unmasker = new StreamUnmasker(unmask);
  return pieces.map((piece) => unmasker.push(piece)).join("") + unmasker.end();
}

test("the result does not depend on how the stream is split", () => {
  const vault = createVaultWithValues();
  fc.assert(
    fc.property(replyText, fc.array(fc.nat(400), { maxLength: 30 }), (text, cuts) => {
      const pieces = splitAt(text, cuts);
      expect(unmaskStream(pieces, (one) => vault.unmask(one))).toBe(vault.unmask(text));
      expect(unmaskStream(pieces, (one) => vault.unmaskJson(one))).toBe(vault.unmaskJson(text));
    }),
    { numRuns: 500 },
  );
});

test("only a possible placeholder is held back, and a value until its word ends", () => {
  const vault = createVaultWithValues();
  const unmasker = new StreamUnmasker((text) => vault.unmask(text));
  const out = Array.from("a {b} {{EMAIL_1_x7f3}} {{x!", (letter) => unmasker.push(letter));
  expect(out.slice(0, 6)).toEqual(["a", " ", "", "{b", "}", " "]);
  expect(out.slice(6, 21).join("")).toBe("");
  expect(out.slice(21)).toEqual(["", "ada@example.com ", "", "", "", "{{x!"]);
  expect(unmasker.end()).toBe("");
});

test("text that is too long for a placeholder is not held back", () => {
  const unmasker = new StreamUnmasker((text) => text);
  expect(unmasker.push(`{{${"A".repeat(40)}`)).toBe("");
  expect(unmasker.push("A".repeat(40))).toBe(`{{${"A".repeat(80)}`);
});

test("values in arguments are escaped for JSON", () => {
  const vault = createVaultWithValues();
  const json = unmaskStream(['{"plan":"{{TE', 'XT_1_x7f3}}","at":"{{TEXT_2_x', '7f3}}"}'], (text) =>
    vault.unmaskJson(text),
  );
  expect(JSON.parse(json)).toEqual({ plan: 'the "blue\\house" plan', at: "Zeus 100%\tdone" });
});

test("a long stream in small deltas takes linear time", () => {
  const vault = createVaultWithValues();
  const time = (count: number): number => {
    const pieces = Array.from({ length: count }, (_, index) =>
      index % 20 === 0 ? " {{" : "EMAIL",
    );
    return measureCpuTime(() => unmaskStream(pieces, (text) => vault.unmask(text)));
  };
  time(10_000);
  expect(time(200_000)).toBeLessThan(2000);
});
