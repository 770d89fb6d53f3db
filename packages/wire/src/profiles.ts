import type { JsonObject } from "./json.ts";

/**
 * How a Chat upstream may differ, as data. A gateway switches flags on by the upstream's name
 * (`provider-profiles.ts`) or by learning from a refusal; nothing else in this package knows a provider.
 */
export interface Profile {
  /** For logs and for the user. */
  readonly name: string;

  // Chat clients

  /**
   * What a Chat client's request looks like on this upstream. `as-sent`: the client chose its fields for this upstream, so
   * flags in `chatClientFlags` change its request only if they are in `stated`. `adapted`: every flag applies.
   */
  readonly chatRequests: "as-sent" | "adapted";
  /** Flags of `chatClientFlags` that were set by `withFlags`: by the configuration or by a lesson. */
  readonly stated: readonly ChatClientFlag[];

  // Roles and order

  /** What a `developer` message becomes. DeepSeek, Z.ai, DashScope and DeepInfra refuse the role. */
  readonly developerRole: "developer" | "system";
  /**
   * System messages after the first message: left in place, moved into the leading one, or said as user
   * text. Qwen3.5+ templates on vLLM and llama.cpp, and MiniMax, take one system message, in front.
   */
  readonly laterSystem: "keep" | "hoist" | "user";
  /** Whether the user may speak directly after a result. Mistral refuses it: the assistant gets a word between. */
  readonly userAfterTool: boolean;
  /** Whether one role may speak twice in a row. Templates of Mistral and Gemma refuse it: the two become one message. */
  readonly sameRoleTwice: boolean;

  // Contents

  /** The content of an assistant message that only calls tools. Bedrock refuses "", mistral-common refuses null. */
  readonly emptyContent: "null" | "empty" | "omit";
  /** Pictures and files in a tool's result: in the tool message, or in a user message after all results (decision 19). */
  readonly toolResultMedia: "parts" | "user-message";

  // Reasoning

  /**
   * Where an assistant's earlier reasoning goes back: in a field (DeepSeek, Kimi, GLM: reasoning_content; vLLM:
   * reasoning; OpenRouter: reasoning_details), or as `<think>` in front of the text (MiniMax).
   */
  readonly reasoningField:
    | "none"
    | "reasoning_content"
    | "reasoning"
    | "reasoning_details"
    | "think-tags";
  /** Which part of the history it is sent for: what came after the last user message, or everything. */
  readonly reasoningRange: "turn" | "all";
  /** A message with calls and without reasoning is refused (DeepSeek V4, Kimi K2.5+): send "" when it is lost. */
  readonly reasoningRequired: boolean;

  // Calls and tools

  /** The form of call ids in the history. Mistral: nine letters or digits; Kimi K2: `functions.NAME:INDEX`. */
  readonly callIds: "verbatim" | "nine-alphanumerics" | "functions-name-index";
  /** Custom (free-form) tools as they are, or as functions with one string. Only OpenAI knows them. */
  readonly customTools: "native" | "function";
  /**
   * `moonshot`: no `type` beside `anyOf`, nothing beside `$ref`, a type for every property (Kimi gateways). `gemini`:
   * the few keywords that Google's Schema has, references written out.
   */
  readonly schemaFlavour: "json-schema" | "moonshot" | "gemini";
  /** Whether `strict` is passed on, of tools and of response_format. Cerebras and routers refuse it. */
  readonly strictSchemas: boolean;
  /**
   * Whether calls may stand in a history when no tool is offered, as in a request to summarise it. Claude on Bedrock and
   * behind LiteLLM refuses that: then calls and results are told in words.
   */
  readonly callsWithoutTools: boolean;
  /**
   * What tool_choice may be: anything; no named tool (LM Studio, llama.cpp), so that it alone is offered; not forced
   * (DeepSeek V4, Qwen3 and Kimi while they think); nothing but auto (Z.ai). What cannot be asked is said in words.
   */
  readonly toolChoice: "any" | "strings" | "unforced" | "auto";

  // Parameters

  /**
   * What response_format may be: both kinds; both, but not beside tools (Groq); one of them (DeepSeek: json_object,
   * LM Studio: json_schema); neither (MiniMax). What cannot be asked is said in words.
   */
  readonly responseFormat: "any" | "without-tools" | "json_object" | "json_schema" | "none";
  /** Ask for a stream even when the client wants a whole reply. DashScope's thinking models only stream. */
  readonly alwaysStream: boolean;
  /** `stream_options.include_usage`. Some servers refuse the option. */
  readonly streamUsage: boolean;
  /** OpenAI's reasoning models refuse max_tokens; most others know nothing else. */
  readonly maxTokensParameter: "max_tokens" | "max_completion_tokens";
  /** The words it knows for reasoning_effort; another one becomes the nearest. Codex asks for medium, Kimi K3 refuses it. */
  readonly efforts: readonly string[] | "any";
  /** Parameters the upstream is known to take; all others stay here. */
  readonly parameters: readonly string[] | "all";
  /** Exceptions from `parameters`, as learned. Kimi K2.6 takes no temperature but 1: drop it. */
  readonly droppedParameters: readonly string[];
  /** Sent with every request, over anything of the same name. Kimi K2.6: {"thinking":{"type":"enabled","keep":"all"}}. */
  readonly extraBody: Readonly<JsonObject>;

  // Replies

  /** Whether `<think>` in a text opens reasoning. */
  readonly thinkTags: boolean;
  /** The prompt's template has already opened `<think>`: a reply begins inside it and only closes it. */
  readonly startsInsideThink: boolean;
  /**
   * The markup in which its models write calls as text when the server fails to read it: Hermes and Qwen on vLLM and
   * LM Studio, Kimi on SGLang. Only calls of offered tools are taken out.
   */
  readonly leakedCalls: readonly LeakDialect[];
}

/**
 * Flags whose generic value would change a well-formed Chat request. The generic values of all others change nothing, except
 * that `developer` is renamed `system` and usage is asked of streams.
 */
const chatClientFlags = [
  "emptyContent",
  "toolResultMedia",
  "reasoningField",
  "customTools",
  "maxTokensParameter",
] as const satisfies readonly (keyof Profile)[];
export type ChatClientFlag = (typeof chatClientFlags)[number];

/** True if a Chat client's request goes out as sent in what this flag is about. */
export function isAsSent(profile: Profile, flag: ChatClientFlag): boolean {
  return profile.chatRequests === "as-sent" && !profile.stated.includes(flag);
}

/** `hermes`: JSON in `<tool_call>`; `qwen-xml`: `<function=…><parameter=…>`; `kimi`: `<|tool_call_begin|>` tokens. */
export type LeakDialect = "hermes" | "qwen-xml" | "kimi";

/** The part of a profile that reading a reply depends on. */
export type ReplyFlags = Pick<Profile, "thinkTags" | "startsInsideThink" | "leakedCalls">;

/** What every Chat server that we know of takes. */
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

/** For a server of which nothing is known. */
export const genericProfile: Profile = {
  name: "generic",
  chatRequests: "as-sent",
  stated: [],
  developerRole: "system",
  laterSystem: "keep",
  userAfterTool: true,
  sameRoleTwice: true,
  emptyContent: "null",
  toolResultMedia: "user-message",
  reasoningField: "none",
  reasoningRange: "turn",
  reasoningRequired: false,
  callIds: "verbatim",
  customTools: "function",
  schemaFlavour: "json-schema",
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
  thinkTags: true,
  startsInsideThink: false,
  leakedCalls: [],
};

/** A profile with some flags set; lists and `extraBody` are added to, not replaced. */
export function withFlags(profile: Profile, flags: Partial<Profile>): Profile {
  return {
    ...profile,
    ...flags,
    stated: chatClientFlags.filter(
      (flag) => profile.stated.includes(flag) || flags[flag] !== undefined,
    ),
    droppedParameters: [
      ...new Set([...profile.droppedParameters, ...(flags.droppedParameters ?? [])]),
    ],
    extraBody: { ...profile.extraBody, ...flags.extraBody },
    leakedCalls: [...new Set([...profile.leakedCalls, ...(flags.leakedCalls ?? [])])],
  };
}
