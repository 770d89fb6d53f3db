import { genericProfile, withFlags, type Profile } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";
import { history, send, words } from "./histories.ts";

const profiles: [flags: Partial<Profile>, rules: RuleName[]][] = [
  [{}, ["no-developer-role", "tool-adjacency", "no-empty-string-content"]],
  [{ laterSystem: "hoist" }, ["single-leading-system", "tool-adjacency"]],
  [{ laterSystem: "user" }, ["single-leading-system", "tool-adjacency"]],
  [{ callIds: "nine-alphanumerics", emptyContent: "empty" }, ["mistral-ids"]],
  [{ callIds: "functions-name-index" }, ["kimi-ids"]],
  [
    { reasoningField: "reasoning_content", reasoningRange: "all", reasoningRequired: true },
    ["needs-reasoning-content"],
  ],
  [{ userAfterTool: false, laterSystem: "user" }, ["no-user-after-tool", "tool-adjacency"]],
  [{ reasoningField: "think-tags", reasoningRange: "all" }, ["tool-adjacency"]],
  [{ toolResultMedia: "parts", customTools: "native", emptyContent: "omit" }, ["tool-adjacency"]],
];

test.each(profiles)(
  "with %j any history goes out in order, and no word of it is lost",
  (flags, rules) => {
    const profile = withFlags(genericProfile, flags);
    fc.assert(
      fc.property(history, (input) => {
        const sent = send(input, profile);
        for (const rule of rules) expect(upstreamRules[rule](sent)).toBeUndefined();
        const before = words(input);
        expect(words(sent.messages)).toEqual(before);
      }),
      { numRuns: 300 },
    );
  },
);

test("a part of a history that is replaced by something else is refused by our own error or goes out in order", () => {
  fc.assert(
    fc.property(history, fc.infiniteStream(fc.nat()), fc.anything(), (input, choices, wrong) => {
      const mutated = replaceOne(structuredClone(input), choices, wrong);
      expect(upstreamRules["tool-adjacency"](send(mutated, genericProfile))).toBeUndefined();
    }),
    { numRuns: 2000 },
  );
});

function replaceOne(tree: unknown, choices: Iterator<number>, wrong: unknown): unknown {
  const choice = Number(choices.next().value ?? 0);
  if (typeof tree !== "object" || tree === null || choice % 4 === 0) return wrong;
  const keys = Object.keys(tree);
  const key = keys[choice % Math.max(keys.length, 1)];
  if (key === undefined) return wrong;
  const copy = tree as Record<string, unknown>;
  copy[key] = replaceOne(copy[key], choices, wrong);
  return tree;
}
