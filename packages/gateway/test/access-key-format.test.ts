import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createAccessKeyToken,
  hashAccessKey,
  isAccessKeyToken,
} from "../src/security/access-key-format.ts";
import { createRedactor } from "../src/security/create-redactor.ts";
import { parseToml } from "./config-fixture.ts";

const token = createAccessKeyToken();

describe("an access key", () => {
  test("has a prefix, 40 random letters and digits, and a checksum", () => {
    expect(token).toMatch(/^dwk_[0-9A-Za-z]{46}$/);
    expect(isAccessKeyToken(token)).toBe(true);
    const keys = new Set(Array.from({ length: 1000 }, createAccessKeyToken));
    expect(keys.size).toBe(1000);
    expect([...keys].filter((key) => !isAccessKeyToken(key))).toEqual([]);
    // Every character occurs at every position, so none is constant.
    for (let index = 4; index < 44; index += 1)
      expect(new Set([...keys].map((key) => key[index])).size).toBeGreaterThan(50);
  });

  test("with a wrong character or length is recognized without the store", () => {
    fc.assert(
      fc.property(
        fc.nat(token.length - 1),
        fc.constantFrom("0", "a", "Z", "_"),
        (index, character) => {
          const changed = token.slice(0, index) + character + token.slice(index + 1);
          expect(isAccessKeyToken(changed)).toBe(changed === token);
        },
      ),
    );
    for (const text of ["", "dwk_", token.slice(0, -1), `${token}0`, ` ${token}`, `${token}\n`])
      expect([text, isAccessKeyToken(text)]).toEqual([text, false]);
  });

  test("is stored as its SHA-256", () => {
    expect(hashAccessKey(token)).toBe(createHash("sha256").update(token).digest("hex"));
  });
});

describe("text that contains an access key", () => {
  const redactor = createRedactor(parseToml(""));

  test("are redacted, although the configuration does not contain the key", () => {
    const text = `Authorization: Bearer ${token}, {"key":"${token}"}`;
    for (const redacted of [
      redactor.redact(text),
      redactor.redactData(text),
      redactor.excerpt(text, 1000),
    ]) {
      expect(redacted).not.toContain(token.slice(4, 20));
      expect(redacted).toContain("[redacted]");
    }
  });

  test("are held back while a key may be incomplete, wherever a stream is cut", () => {
    const text = `the key is ${token} and more`;
    for (let cut = 1; cut < text.length; cut += 1) {
      const start = text.slice(0, cut);
      const shown = start.slice(0, redactor.findOpenStart(start));
      expect([cut, redactor.redact(shown).includes("dwk_")]).toEqual([cut, false]);
    }
  });

  test("that only begin like a key are not changed", () => {
    expect(redactor.redact("dwk_ is the prefix, dwk_short too")).toBe(
      "dwk_ is the prefix, dwk_short too",
    );
  });
});
