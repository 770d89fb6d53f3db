import {
  chatRequest,
  decodeResponsesRequest,
  genericProfile,
  withFlags,
  type ChatRequest,
  type Profile,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { ruleFlags } from "../check/rule-flags.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { ownCases, ruledCases, seenCases } from "./demanding-requests.ts";

const flagged = ruledCases.flatMap((one) =>
  ruleFlags[one.rule].map((flags) => ({ ...one, flags })),
);

test.each(ruledCases.filter(({ rule }) => ruleFlags[rule].length === 0))(
  "the generic profile satisfies $rule: $title",
  ({ rule, request }) => {
    expect(upstreamRules[rule](translate(request))).toBeUndefined();
  },
);

test.each(flagged)("$flags satisfies $rule: $title", ({ rule, flags, request }) => {
  const profile = withFlags(genericProfile, flags);
  expect(upstreamRules[rule](translate(request, profile))).toBeUndefined();
});

test.each(ownCases.filter(({ rule }) => ruleFlags[rule].length > 0))(
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
