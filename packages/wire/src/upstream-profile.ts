import type { JsonObject } from "./json.ts";

/**
 * How a Chat upstream differs from others. A gateway gets these flags by the provider's name (`provider-profiles.ts`) or
 * learns them from rejected requests; no other code in this package depends on a provider.
 */
export interface UpstreamProfile {
  /** Name of the profile, for logs and the user interface. */
  readonly name: string;

  // Chat clients

  /**
   * Which flags apply to requests of Chat clients. `as-sent`: the client chose its fields for this upstream, so the flags in
   * `passthroughFlags` apply only if they are in `explicitFlags`. `adapted`: every flag applies.
   */
  readonly chatRequests: "as-sent" | "adapted";
  /** Flags of `passthroughFlags` that `withProfileFlags` set: from the configuration, or learned from a rejected request. */
  readonly explicitFlags: readonly PassthroughFlag[];

  // Roles and order

  /** The role for `developer` messages. DeepSeek, Z.ai, DashScope and DeepInfra reject `developer`. */
  readonly developerRole: "developer" | "system";
  /**
   * System messages after the first message: sent unchanged, merged into the leading system message, or sent as user
   * messages. Qwen3.5+ templates on vLLM and llama.cpp, and MiniMax, accept only one system message, at the start.
   */
  readonly lateSystemMessages: "keep" | "hoist" | "user";
  /** True if a user message may follow a tool message. If not (Mistral), an assistant message is inserted between them. */
  readonly userAfterTool: boolean;
  /** True if two messages in a row may have the same role. If not (templates of Mistral and Gemma), they are merged. */
  readonly consecutiveRoles: boolean;

  // Contents

  /** The content of an assistant message with only tool calls. Bedrock rejects "", mistral-common rejects null. */
  readonly emptyContent: "null" | "empty" | "omit";
  /** Images and files in tool results: sent in the tool message, or in a user message after all results (decision 19). */
  readonly toolResultMedia: "parts" | "user-message";
  /** True if cache breakpoints are sent as `cache_control` of content parts, the field of Anthropic (OpenRouter, DashScope). */
  readonly cacheControl: boolean;

  // Reasoning

  /**
   * Where earlier reasoning is sent back: in a field of the assistant message (DeepSeek, Kimi, GLM: reasoning_content; vLLM:
   * reasoning; OpenRouter: reasoning_details), or as `<think>` before the text (MiniMax).
   */
  readonly reasoningField:
    | "none"
    | "reasoning_content"
    | "reasoning"
    | "reasoning_details"
    | "think-tags";
  /** Which reasoning is sent back: only that after the last user message, or all. */
  readonly reasoningRange: "turn" | "all";
  /** True if a message with tool calls must have reasoning (DeepSeek V4, Kimi K2.5+): "" is sent if it is not available. */
  readonly reasoningRequired: boolean;

  // Calls and tools

  /** The format of call ids in the history. Mistral: nine letters or digits; Kimi K2: `functions.NAME:INDEX`. */
  readonly callIds: "verbatim" | "nine-alphanumerics" | "functions-name-index";
  /** Whether custom (free-form) tools are sent unchanged (OpenAI) or as functions with one string parameter. */
  readonly customTools: "native" | "function";
  /**
   * `moonshot`: no `type` next to `anyOf`, no keyword next to `$ref`, a type for every property (Kimi gateways). `gemini`:
   * only the keywords of Google's Schema, references inlined.
   */
  readonly schemaDialect: "json-schema" | "moonshot" | "gemini";
  /** True if `strict` of tools and of response_format is sent. Cerebras and routers reject it. */
  readonly strictSchemas: boolean;
  /**
   * True if the history may contain tool calls when the request has no tools, as in a request to summarize it. If not (Claude
   * on Bedrock and behind LiteLLM), calls and results are sent as text.
   */
  readonly callsWithoutTools: boolean;
  /**
   * Supported values of tool_choice. `any`: all; `strings`: no named tool, so only that tool is offered (LM Studio,
   * llama.cpp); `unforced`: only auto and none (DeepSeek V4, Qwen3 and Kimi while thinking); `auto`: only auto (Z.ai). An
   * unsupported choice is sent as an instruction in the prompt.
   */
  readonly toolChoice: "any" | "strings" | "unforced" | "auto";

  // Parameters

  /**
   * Supported types of response_format. `any`: json_object and json_schema; `without-tools`: both, but not together with
   * tools (Groq); `json_object` (DeepSeek) or `json_schema` (LM Studio): only this type; `none`: neither (MiniMax). An
   * unsupported format is sent as an instruction in the prompt.
   */
  readonly responseFormat: "any" | "without-tools" | "json_object" | "json_schema" | "none";
  /** True to request a stream even if the client wants a complete reply. DashScope's thinking models only stream. */
  readonly alwaysStream: boolean;
  /** True if `stream_options.include_usage` is sent. Some servers reject it. */
  readonly streamUsage: boolean;
  /** Name of the token limit. OpenAI's reasoning models reject max_tokens; most other servers support only max_tokens. */
  readonly maxTokensParameter: "max_tokens" | "max_completion_tokens";
  /** Supported values of reasoning_effort; others become the nearest one. Codex sends medium, which Kimi K3 rejects. */
  readonly efforts: readonly string[] | "any";
  /** Parameters that the upstream supports; others are not sent. */
  readonly parameters: readonly string[] | "all";
  /** Parameters that are not sent, even if `parameters` includes them. Kimi K2.6, for example, accepts only temperature 1. */
  readonly droppedParameters: readonly string[];
  /**
   * Fields that are added to every request and replace fields of the same name. Kimi K2.6:
   * {"thinking":{"type":"enabled","keep":"all"}}.
   */
  readonly extraBody: Readonly<JsonObject>;

  // Replies

  /** True if `<think>` in the text starts reasoning. */
  readonly thinkTags: boolean;
  /** True if the prompt template ends with `<think>`: replies start with reasoning and contain only `</think>`. */
  readonly startsInsideThink: boolean;
  /**
   * Markup of leaked tool calls: calls in the text that the server failed to parse. Hermes and Qwen on vLLM and LM Studio,
   * Kimi on SGLang. Only calls of offered tools are extracted.
   */
  readonly leakedCalls: readonly LeakDialect[];
}

/**
 * Flags whose generic value would change a valid Chat request. The generic values of the other flags change nothing, except
 * that `developer` becomes `system` and usage is requested for streams.
 */
const passthroughFlags = [
  "emptyContent",
  "toolResultMedia",
  "reasoningField",
  "customTools",
  "maxTokensParameter",
] as const satisfies readonly (keyof UpstreamProfile)[];
export type PassthroughFlag = (typeof passthroughFlags)[number];

/** True if this flag does not apply to requests of Chat clients. */
export function isSentUnchanged(profile: UpstreamProfile, flag: PassthroughFlag): boolean {
  return profile.chatRequests === "as-sent" && !profile.explicitFlags.includes(flag);
}

/** `hermes`: JSON in `<tool_call>`; `qwen-xml`: `<function=…><parameter=…>`; `kimi`: `<|tool_call_begin|>` tokens. */
export type LeakDialect = "hermes" | "qwen-xml" | "kimi";

/** The flags that apply to replies. */
export type ReplyFlags = Pick<UpstreamProfile, "thinkTags" | "startsInsideThink" | "leakedCalls">;

/** Defaults for reading a stream without a profile. Separate from the request flags to keep browser bundles small. */
export const genericReplyFlags: ReplyFlags = {
  thinkTags: true,
  startsInsideThink: false,
  leakedCalls: [],
};

/** Parameters that most Chat servers accept. */
export const commonParameters = [
  "model",
  "messages",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "response_format",
  "reasoning_effort",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "stop",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "logprobs",
  "top_logprobs",
] as const;

/** The profile for unknown servers. */
export const genericProfile: UpstreamProfile = {
  name: "generic",
  chatRequests: "as-sent",
  explicitFlags: [],
  developerRole: "system",
  lateSystemMessages: "keep",
  userAfterTool: true,
  consecutiveRoles: true,
  emptyContent: "null",
  toolResultMedia: "user-message",
  cacheControl: false,
  reasoningField: "none",
  reasoningRange: "turn",
  reasoningRequired: false,
  callIds: "verbatim",
  customTools: "function",
  schemaDialect: "json-schema",
  strictSchemas: true,
  callsWithoutTools: true,
  toolChoice: "any",
  responseFormat: "any",
  alwaysStream: false,
  streamUsage: true,
  maxTokensParameter: "max_tokens",
  efforts: "any",
  parameters: commonParameters,
  droppedParameters: [],
  extraBody: {},
  ...genericReplyFlags,
};

/** Returns a profile with these flags set. `droppedParameters`, `leakedCalls` and `extraBody` are merged, not replaced. */
export function withProfileFlags(
  profile: UpstreamProfile,
  flags: Partial<UpstreamProfile>,
): UpstreamProfile {
  return {
    ...profile,
    ...flags,
    explicitFlags: passthroughFlags.filter(
      (flag) => profile.explicitFlags.includes(flag) || flags[flag] !== undefined,
    ),
    droppedParameters: [
      ...new Set([...profile.droppedParameters, ...(flags.droppedParameters ?? [])]),
    ],
    extraBody: { ...profile.extraBody, ...flags.extraBody },
    leakedCalls: [...new Set([...profile.leakedCalls, ...(flags.leakedCalls ?? [])])],
  };
}
