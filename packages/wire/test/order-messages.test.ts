import { genericProfile, withProfileFlags, type UpstreamProfile } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";
import { arbitraryHistory, translateHistory, findTexts } from "./arbitrary-histories.ts";

const profiles: [flags: Partial<UpstreamProfile>, rules: RuleName[]][] = [
  [{}, ["no-developer-role", "tool-adjacency", "no-empty-string-content"]],
  [{ lateSystemMessages: "hoist" }, ["single-leading-system", "tool-adjacency"]],
  [{ lateSystemMessages: "user" }, ["single-leading-system", "tool-adjacency"]],
  [{ callIds: "nine-alphanumerics", emptyContent: "empty" }, ["mistral-ids"]],
  [{ callIds: "functions-name-index" }, ["kimi-ids"]],
  [
    { reasoningField: "reasoning_content", reasoningRange: "all", reasoningRequired: true },
    ["needs-reasoning-content"],
  ],
  [{ userAfterTool: false, lateSystemMessages: "user" }, ["no-user-after-tool", "tool-adjacency"]],
  [{ reasoningField: "think-tags", reasoningRange: "all" }, ["tool-adjacency"]],
  [{ toolResultMedia: "parts", customTools: "native", emptyContent: "omit" }, ["tool-adjacency"]],
];

test.each(profiles)(
  "any history is sent in a valid order without losing text, with the flags %j",
  (flags, rules) => {
    const profile = withProfileFlags(genericProfile, flags);
    fc.assert(
      fc.property(arbitraryHistory, (input) => {
        const request = translateHistory(input, profile);
        for (const rule of rules) expect(upstreamRules[rule](request)).toBeUndefined();
        const before = findTexts(input);
        expect(findTexts(request.messages)).toEqual(before);
      }),
      { numRuns: 300 },
    );
  },
);

test("a history with an invalid part is rejected with a WireError or sent in a valid order", () => {
  fc.assert(
    fc.property(
      arbitraryHistory,
      fc.infiniteStream(fc.nat()),
      fc.anything(),
      (input, choices, replacement) => {
        const mutated = replaceRandomPart(structuredClone(input), choices, replacement);
        expect(
          upstreamRules["tool-adjacency"](translateHistory(mutated, genericProfile)),
        ).toBeUndefined();
      },
    ),
    { numRuns: 2000 },
  );
});

function replaceRandomPart(
  tree: unknown,
  choices: Iterator<number>,
  replacement: unknown,
): unknown {
  const choice = Number(choices.next().value ?? 0);
  if (typeof tree !== "object" || tree === null || choice % 4 === 0) return replacement;
  const keys = Object.keys(tree);
  const key = keys[choice % Math.max(keys.length, 1)];
  if (key === undefined) return replacement;
  const copy = tree as Record<string, unknown>;
  copy[key] = replaceRandomPart(copy[key], choices, replacement);
  return tree;
}
