import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { didYouMean, findClosestMatch } from "@deltawire/tasks";

const settings = ["host", "port", "base_url", "api_key", "idle_timeout_seconds", "models"];

describe("findClosestMatch", () => {
  test.each([
    ["prot", "port"], // transposed letters
    ["hots", "host"],
    ["base_ulr", "base_url"],
    ["model", "models"],
    ["api_kye", "api_key"],
    ["baseUrl", "base_url"],
    ["Base-URL", "base_url"],
    ["idle_timeout", "idle_timeout_seconds"], // a prefix; the distance is too large
    ["url", "base_url"],
    ["timeout", "idle_timeout_seconds"],
  ])("suggests for %s the setting %s", (word, expected) => {
    expect(findClosestMatch(word, settings)).toBe(expected);
  });

  test.each(["color", "x", "", "zz", "portfolio_manager"])("suggests nothing for %j", (word) => {
    expect(findClosestMatch(word, settings)).toBeUndefined();
  });

  test("does not match a short word that has no letter in common with it", () => {
    expect(findClosestMatch("ab", ["cd"])).toBeUndefined();
    expect(findClosestMatch("a", ["b", ""])).toBeUndefined();
  });

  test("returns the closest candidate, and the first of equally close ones", () => {
    expect(findClosestMatch("glm-4.7", ["glm-4.5-air", "glm-4.6", "glm-4.5"])).toBe("glm-4.6");
  });

  test("finds a word with one additional letter", () => {
    const word = fc.stringMatching(/^[a-z]{4,12}$/);
    fc.assert(
      fc.property(word, fc.nat(12), fc.constantFrom("x", "q"), (name, index, letter) => {
        expect(findClosestMatch(name, [name])).toBe(name);
        expect(findClosestMatch(name.slice(0, index) + letter + name.slice(index), [name])).toBe(
          name,
        );
      }),
    );
  });

  test("returns a candidate or undefined for any input", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (word, candidates) => {
        const match = findClosestMatch(word, candidates);
        expect([undefined, ...candidates]).toContain(match);
      }),
    );
  });
});

test("didYouMean returns an empty string if no candidate is close", () => {
  expect(didYouMean("prot", settings)).toBe(" (did you mean port?)");
  expect(didYouMean("color", settings)).toBe("");
});
