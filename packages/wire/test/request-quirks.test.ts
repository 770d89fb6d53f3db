import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  withFlags,
  type ChatRequest,
  type Profile,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { upstreamRules, type RuleName } from "../check/upstream-rules.ts";
import { ownCases, ruledCases, seenCases } from "./demanding-requests.ts";

/** The flags that satisfy a strict upstream. Rules without flags cost other servers nothing: generic satisfies them. */
const flagsFor: Record<RuleName, Partial<Profile>[]> = {
  "no-developer-role": [],
  "tool-adjacency": [],
  "no-empty-string-content": [],
  "known-params-only": [],
  "tool-content-string": [],
  "params-required": [],
  "function-tools-only": [],
  "single-leading-system": [{ laterSystem: "hoist" }, { laterSystem: "user" }],
  "needs-reasoning-content": [
    { reasoningField: "reasoning_content", reasoningRange: "turn", reasoningRequired: true },
    { reasoningField: "reasoning_content", reasoningRange: "all", reasoningRequired: true },
  ],
  "mistral-ids": [{ callIds: "nine-alphanumerics" }],
  "kimi-ids": [{ callIds: "functions-name-index" }],
  "no-forced-tool-choice": [{ toolChoice: "unforced" }],
  "no-json-schema": [{ responseFormat: "json_object" }],
  "stream-only": [{ alwaysStream: true }],
  "temperature-1-only": [{ droppedParameters: ["temperature"] }],
  "moonshot-schema": [{ schemaFlavour: "moonshot" }],
  "no-user-after-tool": [{ userAfterTool: false }],
  "string-tool-choice": [
    { toolChoice: "strings" },
    { toolChoice: "unforced" },
    { toolChoice: "auto" },
  ],
  "auto-tool-choice": [{ toolChoice: "auto" }],
  "no-json-object": [{ responseFormat: "json_schema" }, { responseFormat: "none" }],
  "no-response-format": [{ responseFormat: "none" }],
  "no-format-beside-tools": [{ responseFormat: "without-tools" }],
  "no-stream-options": [{ streamUsage: false }],
  "no-max-tokens": [{ maxTokensParameter: "max_completion_tokens" }],
  "no-null-content": [{ emptyContent: "empty" }, { emptyContent: "omit" }],
  "no-reasoning-content": [],
  "thinks-in-tags": [{ reasoningField: "think-tags", reasoningRange: "all" }],
};

const flagged = ruledCases.flatMap((one) => flagsFor[one.rule].map((flags) => ({ ...one, flags })));

test.each(ruledCases.filter(({ rule }) => flagsFor[rule].length === 0))(
  "the generic profile satisfies $rule: $title",
  ({ rule, request }) => {
    expect(upstreamRules[rule](translate(request))).toBeUndefined();
  },
);

test.each(flagged)("$flags satisfies $rule: $title", ({ rule, flags, request }) => {
  const profile = withFlags(genericProfile, flags);
  expect(upstreamRules[rule](translate(request, profile))).toBeUndefined();
});

test.each(ownCases.filter(({ rule }) => flagsFor[rule].length > 0))(
  "without its flag $rule refuses: $title",
  ({ rule, request }) => {
    expect(upstreamRules[rule](translate(request))).toBeTypeOf("string");
  },
);

test.each([...ownCases, ...seenCases])("can be translated at all: $title", ({ request }) => {
  expect(translate(request).messages).not.toEqual([]);
});

function translate(request: object, profile?: Profile): ChatRequest {
  const decoded = decodeResponsesRequest(structuredClone(request));
  return chatRequest(decoded, { upstreamModel: "q", ...(profile ? { profile } : {}) }).body;
}
