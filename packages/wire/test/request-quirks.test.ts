import {
  translateResponsesRequest,
  decodeResponsesRequest,
  genericProfile,
  withProfileFlags,
  type ChatRequest,
  type UpstreamProfile,
} from "@deltawire/wire";
import { expect, test } from "vitest";
import { ruleFlags } from "../check/rule-flags.ts";
import { upstreamRules } from "../check/upstream-rules.ts";
import { localCases, casesWithRule, catalogCases } from "./strict-rule-requests.ts";

const casesWithFlags = casesWithRule.flatMap((entry) =>
  ruleFlags[entry.rule].map((flags) => ({ ...entry, flags })),
);

test.each(casesWithRule.filter(({ rule }) => ruleFlags[rule].length === 0))(
  "with the generic profile, the request satisfies $rule: $title",
  ({ rule, request }) => {
    expect(upstreamRules[rule](translate(request))).toBeUndefined();
  },
);

test.each(casesWithFlags)(
  "with the flags $flags, the request satisfies $rule: $title",
  ({ rule, flags, request }) => {
    const profile = withProfileFlags(genericProfile, flags);
    expect(upstreamRules[rule](translate(request, profile))).toBeUndefined();
  },
);

test.each(localCases.filter(({ rule }) => ruleFlags[rule].length > 0))(
  "without flags, the request violates $rule: $title",
  ({ rule, request }) => {
    expect(upstreamRules[rule](translate(request))).toBeTypeOf("string");
  },
);

test.each([...localCases, ...catalogCases])(
  "the request can be translated: $title",
  ({ request }) => {
    expect(translate(request).messages).not.toEqual([]);
  },
);

function translate(request: object, profile?: UpstreamProfile): ChatRequest {
  const decoded = decodeResponsesRequest(structuredClone(request));
  return translateResponsesRequest(decoded, { upstreamModel: "q", ...(profile ? { profile } : {}) })
    .body;
}
