import { Vault } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandReferences, findReferences } from "../../src/variables/variable-references.ts";

const fields = [{ kind: "password" }] as const;

/** Creates a vault with placeholders for these values. */
function createVaultWith(values: readonly string[]): { vault: Vault; placeholders: string[] } {
  const known = values.map((value, index) => ({
    placeholder: `{{PASSWORD_${index + 1}_x7f3}}`,
    value,
    kind: "password",
  }));
  const vault = new Vault({ fields, known, tag: "x7f3" });
  return { vault, placeholders: known.map(({ placeholder }) => placeholder) };
}

const secrets = new Map(["x", "read_secret_1"].map((name) => [name, "THE-SECRET"]));

describe("a private value", () => {
  test("that contains a reference is restored exactly, and the reference is not expanded", () => {
    const { vault } = createVaultWith([]);
    for (const result of [
      'password: "ab{{var:read_secret_1}}cd"',
      '{"password":"ab{{var:read_secret_1}}cd"}',
      String.raw`{"password":"ab\u007b\u007bvar:read_secret_1\u007d}cd"}`,
      'password: "ab%41{{var:read_secret_1}}cd"',
      'password: "a\u200Bb{{var:read_secret_1}}cd"',
    ]) {
      const masked = vault.maskJson(result);
      const [placeholder = "none"] = /\{\{PASSWORD_\d+_x7f3\}\}/.exec(masked) ?? [];
      const value = vault.unmask(placeholder);
      expect(value).toContain("{{var:read_secret_1}}");
      const args = vault.unmaskJson(JSON.stringify({ text: `It is ${placeholder}.` }));
      expect(expandReferences(args, secrets)).toEqual({ text: `It is ${value}.` });
    }
  });

  test("never becomes part of a reference, however values and text are combined", () => {
    const references = [
      "{{var:",
      "{{var:x",
      "{{var:x}}",
      "%41{{var:x}}",
      '"',
      "\\",
      "\\u007b",
      " ",
    ];
    const fragments = [
      "{",
      "{{",
      "}",
      "}}",
      "v",
      "va",
      "var",
      "var:",
      "ar:x",
      "r:x",
      ":",
      ":x",
      "x}}",
    ];
    const piece = fc.constantFrom("x", ...references, ...fragments);
    const value = fc.array(piece, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(""));
    const word = fc.oneof(piece, fc.nat(2));
    fc.assert(
      fc.property(
        fc.tuple(value, value, value),
        fc.array(word, { maxLength: 6 }),
        fc.boolean(),
        (values, words, isAddress) => {
          const { vault, placeholders } = createVaultWith(values);
          const text = (of: readonly string[]): string =>
            words.map((one) => (typeof one === "string" ? one : of[one])).join("");
          const braces = isAddress ? ["%7B%7B", "%7D%7D"] : ["{{", "}}"];
          const written = text(placeholders.map((one) => braces.join(one.slice(2, -2))));
          fc.pre(!/\{\{var:[^\s{}]+\}\}/.test(text(["\uFFFC", "\uFFFC", "\uFFFC"])));
          const args = vault.unmaskJson(JSON.stringify({ written }));
          expect(findReferences(args)).toEqual([]);
          expect(expandReferences(args, secrets)).toEqual(JSON.parse(args));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("may be the name in a reference that the model wrote", () => {
    const { vault, placeholders } = createVaultWith(["read_secret_1", "var:x"]);
    const args = vault.unmaskJson(JSON.stringify({ text: `{{var:${placeholders[0]}}}` }));
    expect(expandReferences(args, secrets)).toEqual({ text: "THE-SECRET" });
    const other = vault.unmaskJson(JSON.stringify({ text: `{{${placeholders[1]}}}` }));
    expect(expandReferences(other, secrets)).toEqual({ text: "{{var:x}}" });
  });

  test("with quotes and percent signs stays inside the string of a URL", () => {
    const { vault } = createVaultWith(['a%20b","admin":"yes']);
    const args = vault.unmaskJson('{"url":"https://x.test/?p=%7B%7BPASSWORD_1_x7f3%7D%7D"}');
    expect(JSON.parse(args)).toEqual({ url: 'https://x.test/?p=a%20b","admin":"yes' });
  });
});
