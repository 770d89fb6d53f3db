import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  WireError,
  withFlags,
  type ChatRequest,
  type Profile,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";

// Few ids, so that calls and results meet, miss and repeat each other; texts that can be found again.
const callId = fc.constantFrom("call_a", "call_b", "call_c", "functions.f:0", "abcDEF123", "");
const text = fc.nat({ max: 99_999 }).map((number) => `«${number}»`);
const outputValue = fc.oneof(
  text,
  fc.constant(""),
  fc.array(
    fc.oneof(
      text.map((said) => ({ type: "input_text", text: said })),
      text.map((said) => ({ type: "input_image", image_url: `data:${said}` })),
    ),
  ),
);
const item = fc.oneof(
  fc.record({
    role: fc.constantFrom("user", "assistant", "system", "developer"),
    content: fc.oneof(text, outputValue),
  }),
  fc.record({
    type: fc.constant("function_call"),
    call_id: callId,
    name: fc.constantFrom("f", "g", "ö".repeat(80)),
    arguments: fc.oneof(
      text,
      text.map((said) => JSON.stringify({ said })),
    ),
  }),
  fc.record({
    type: fc.constant("custom_tool_call"),
    call_id: callId,
    name: fc.constant("apply_patch"),
    input: text,
  }),
  fc.record({
    type: fc.constantFrom("function_call_output", "custom_tool_call_output"),
    call_id: callId,
    output: outputValue,
  }),
  fc.record({
    type: fc.constant("mcp_call"),
    id: callId,
    server_label: fc.constant("docs"),
    name: fc.constant("find"),
    arguments: fc.constant("{}"),
    output: text,
  }),
  fc.record({ type: fc.constant("web_search_call"), action: fc.record({ query: text }) }),
  fc.record({
    type: fc.constant("reasoning"),
    summary: fc.array(fc.record({ text: fc.constant("thinking") })),
  }),
);
const history = fc.array(item, { minLength: 1, maxLength: 14 });

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
  [{ toolResultMedia: "parts", customTools: "native", emptyContent: "omit" }, ["tool-adjacency"]],
];

test.each(profiles)(
  "with %j any history goes out in order, and no word of it is lost",
  (flags, rules) => {
    const profile = withFlags(genericProfile, flags);
    fc.assert(
      fc.property(history, (input) => {
        const sent = send(input, profile);
        if (sent === undefined) return;
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

/** What is refused, as a request in which nothing is said, sends nothing. Any other error fails the test. */
function send(input: unknown, profile: Profile): ChatRequest {
  try {
    return chatRequest(decodeResponsesRequest({ model: "m", input }), { profile }).body;
  } catch (error) {
    if (error instanceof WireError) return { model: "m", messages: [] };
    throw error;
  }
}

function words(value: unknown): string[] {
  return (JSON.stringify(value).match(/«\d+»/g) ?? []).toSorted();
}

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
