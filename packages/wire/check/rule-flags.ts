import type { UpstreamProfile } from "@deltawire/wire";
import type { RuleName } from "./upstream-rules.ts";

/** The sets of flags with which requests satisfy a rule. The generic profile satisfies rules without flags. */
export const ruleFlags: Readonly<Record<RuleName, readonly Partial<UpstreamProfile>[]>> = {
  "no-developer-role": [],
  "tool-adjacency": [],
  "no-empty-string-content": [],
  "known-params-only": [],
  "tool-content-string": [],
  "params-required": [],
  "function-tools-only": [],
  "single-leading-system": [{ lateSystemMessages: "hoist" }, { lateSystemMessages: "user" }],
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
  "moonshot-schema": [{ schemaDialect: "moonshot" }],
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
