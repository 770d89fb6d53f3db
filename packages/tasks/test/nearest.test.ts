import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { didYouMean, nearest } from "@deltawire/tasks";

const settings = ["host", "port", "base_url", "api_key", "idle_timeout_seconds", "models"];

describe("the nearest word", () => {
  test.each([
    ["prot", "port"], // two letters swapped
    ["hots", "host"],
    ["base_ulr", "base_url"],
    ["model", "models"],
    ["api_kye", "api_key"],
    ["baseUrl", "base_url"],
    ["Base-URL", "base_url"],
    ["idle_timeout", "idle_timeout_seconds"], // too far by letters, but it begins so
    ["url", "base_url"],
    ["timeout", "idle_timeout_seconds"],
  ])("of %s is %s", (word, expected) => {
    expect(nearest(word, settings)).toBe(expected);
  });

  test.each(["colour", "x", "", "zz", "portfolio_manager"])("of %j is none", (word) => {
    expect(nearest(word, settings)).toBeUndefined();
  });

  test("of a short word is none that shares no letter with it", () => {
    expect(nearest("ab", ["cd"])).toBeUndefined();
    expect(nearest("a", ["b", ""])).toBeUndefined();
  });

  test("is the closest, and of two that are as close the first", () => {
    expect(nearest("glm-4.7", ["glm-4.5-air", "glm-4.6", "glm-4.5"])).toBe("glm-4.6");
  });

  test("of a candidate is the candidate itself, and of a candidate with one letter more too", () => {
    const word = fc.stringMatching(/^[a-z]{4,12}$/);
    fc.assert(
      fc.property(word, fc.nat(12), fc.constantFrom("x", "q"), (name, at, letter) => {
        expect(nearest(name, [name])).toBe(name);
        expect(nearest(name.slice(0, at) + letter + name.slice(at), [name])).toBe(name);
      }),
    );
  });

  test("is always one of the candidates, and never a crash", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (word, candidates) => {
        const found = nearest(word, candidates);
        expect([undefined, ...candidates]).toContain(found);
      }),
    );
  });
});

test("the question that ends a message is left out where nothing is near", () => {
  expect(didYouMean("prot", settings)).toBe(" did you mean port?");
  expect(didYouMean("colour", settings)).toBe("");
});
