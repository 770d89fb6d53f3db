import {
  commonParameters,
  genericProfile,
  withProfileFlags,
  type UpstreamProfile,
} from "./upstream-profile.ts";

/**
 * The flags in which each provider differs from the generic profile, with their sources. A profile describes the provider's
 * default models; if two of them disagree, it has the values that both accept.
 */
export const providerProfiles = {
  // The request types of OpenAI's SDK 7.53; custom tools: recording openai-gpt-5-tool. o-series and GPT-5 models reject
  // max_tokens. OpenAI's models write no think tags, so text that looks like one stays text.
  openai: {
    developerRole: "developer",
    customTools: "native",
    maxTokensParameter: "max_completion_tokens",
    parameters: [
      ...commonParameters,
      "audio",
      "logit_bias",
      "metadata",
      "modalities",
      "prediction",
      "prompt_cache_breakpoint",
      "prompt_cache_key",
      "prompt_cache_options",
      "prompt_cache_retention",
      "safety_identifier",
      "service_tier",
      "store",
      "user",
      "verbosity",
      "web_search_options",
    ],
    thinkTags: false,
  },

  // Azure "OpenAI reasoning models": max_completion_tokens, a system message counts as a developer message.
  azure: { maxTokensParameter: "max_completion_tokens" },

  // platform.claude.com "OpenAI SDK compatibility": its Chat endpoint ignores unknown fields. Flags for Messages are in
  // messages-upstream/provider-messages-flags.ts.
  anthropic: {},

  // DeepSeek "Thinking Mode": after a tool call, a request without the reasoning_content of all turns returns 400; temperature
  // and penalties are ignored.
  // DeepSeek-V3 issue 1376: no forced tool_choice. litellm 31466: no json_schema. pi issue 1048: no developer.
  deepseek: {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
    reasoningRequired: true,
    toolChoice: "unforced",
    responseFormat: "json_object",
  },

  // Z.ai "Thinking Mode": thinking is sent back with tool results, on the coding endpoint for all turns. hindsight issue 4246:
  // "Tool choice must be auto". AgentScope "GLM": no penalties. GLM-5.3: low, high and max (mistral-vibe issue 1117).
  glm: {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
    toolChoice: "auto",
    responseFormat: "json_object",
    efforts: ["low", "high", "max"],
    droppedParameters: ["frequency_penalty", "presence_penalty"],
  },

  // Model Studio "Deep thinking": most thinking models only stream. eino issue 994: no forced tool_choice while thinking.
  // Instructor "Qwen": json_schema on the newest models only. Qwen issue 956: the system message must be first. Model Studio
  // "Context cache": cache_control on content parts.
  qwen: {
    lateSystemMessages: "hoist",
    cacheControl: true,
    reasoningField: "reasoning_content",
    toolChoice: "unforced",
    responseFormat: "json_object",
    alwaysStream: true,
  },

  // Kimi "Thinking models", "Migrating from OpenAI": sampling is fixed, temperatures other than 1 return 400;
  // max_completion_tokens.
  // openai-agents 2669: calls without reasoning_content are rejected; inspect_ai 5152: no forced tool_choice while thinking;
  // openhanako 2092: effort medium is rejected (K3: low, high, max; K2: low, medium, high). Ids and schemas: RQ-ID-KIMI,
  // RQ-SCHEMA-MOONSHOT. K2.6 reads earlier thinking only with {"thinking":{"keep":"all"}}, which K3 rejects: not set here.
  kimi: {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
    reasoningRequired: true,
    callIds: "functions-name-index",
    schemaDialect: "moonshot",
    toolChoice: "unforced",
    responseFormat: "json_object",
    maxTokensParameter: "max_completion_tokens",
    efforts: ["low", "high"],
    droppedParameters: ["temperature", "top_p", "frequency_penalty", "presence_penalty"],
  },

  // MiniMax "OpenAI API": thinking is sent as <think> in the content and must be sent back in this form. MiniMax-M2 issue 51: one
  // system message. MiniMax-M2.5 issue 4: no response_format. AgentScope "MiniMax": the other flags; aimee 761: unknown
  // fields are rejected.
  minimax: {
    lateSystemMessages: "hoist",
    reasoningField: "think-tags",
    reasoningRange: "all",
    toolChoice: "auto",
    responseFormat: "none",
    maxTokensParameter: "max_completion_tokens",
    droppedParameters: [
      "reasoning_effort",
      "frequency_penalty",
      "presence_penalty",
      "parallel_tool_calls",
      "seed",
    ],
  },

  // Mistral API reference: random_seed, no logprobs. litellm 17761: no user message after a tool message (error 3230).
  // SurfSense 287: system message first. anon-kode 53: no stream_options; usage is always sent. crush 1590: no
  // reasoning_content. mistral-common 324: content null. SmartHopper 647: effort none or high. Ids: RQ-ID-MISTRAL.
  mistral: {
    lateSystemMessages: "hoist",
    userAfterTool: false,
    emptyContent: "empty",
    callIds: "nine-alphanumerics",
    streamUsage: false,
    efforts: ["none", "high"],
    droppedParameters: ["seed", "logprobs", "top_logprobs"],
  },

  // Groq "OpenAI Compatibility": logprobs return 400. vercel/ai 16540: no JSON mode together with tools. jan 8136: no
  // reasoning_content; vercel/ai 8057: `reasoning` only for some models, so none is sent. Efforts: Groq "Reasoning".
  groq: {
    responseFormat: "without-tools",
    efforts: ["low", "medium", "high"],
    droppedParameters: ["logprobs", "top_logprobs"],
  },

  // xAI "Reasoning": its reasoning models reject both penalties and stop; NativeTavern 83: all Grok models do. Efforts: those
  // of all models that support the parameter.
  xai: {
    efforts: ["low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty", "stop"],
  },

  // OpenRouter "Reasoning Tokens": reasoning_details must be sent back in full. "API Reference": its routing parameters. "Prompt
  // Caching": cache_control on content parts, converted for OpenAI's models.
  openrouter: {
    cacheControl: true,
    reasoningField: "reasoning_details",
    reasoningRange: "all",
    parameters: [
      ...commonParameters,
      "models",
      "plugins",
      "provider",
      "route",
      "transforms",
      "user",
    ],
  },

  // Together "Reasoning": replies have `reasoning`; three efforts.
  together: { efforts: ["low", "medium", "high"] },

  // Fireworks "Reasoning": reasoning_content of earlier messages is read. One system message, first: RQ-SYSTEM-FIRST.
  fireworks: { lateSystemMessages: "hoist", reasoningField: "reasoning_content" },

  // Cerebras "OpenAI Compatibility": the penalties return 400. qwen-code 11045: accepts `reasoning` in the history, rejects
  // reasoning_content. max_completion_tokens and efforts: the types of its SDK.
  cerebras: {
    reasoningField: "reasoning",
    maxTokensParameter: "max_completion_tokens",
    efforts: ["low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty"],
  },

  // ChatterUI 227, page-assist 418: Gemini's compatible endpoint supports no penalties and no seed. DeepTutor 809: Gemini 3
  // rejects effort none. Thought signatures of calls need no flag: `extra_content` is always sent back.
  gemini: {
    efforts: ["minimal", "low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty", "seed"],
  },

  // vllm pull request 33402: `reasoning` replaces reasoning_content. Templates of Qwen3.5 and later: RQ-SYSTEM-FIRST.
  // Calls that its parsers missed: quirks TC-LEAK-HERMES and TC-LEAK-QWEN-XML.
  vllm: {
    lateSystemMessages: "hoist",
    reasoningField: "reasoning",
    leakedCalls: ["hermes", "qwen-xml"],
  },

  // SGLang "Reasoning Parser": the field names of DeepSeek's API. The same templates as vLLM.
  // Calls that its parser missed: quirk TC-LEAK-KIMI.
  sglang: {
    lateSystemMessages: "hoist",
    reasoningField: "reasoning_content",
    leakedCalls: ["hermes", "qwen-xml", "kimi"],
  },

  // llama.cpp issue 20733: system message first; pull request 16934: reasoning_content is read; issue 26535: a named
  // tool_choice is treated as auto.
  "llama.cpp": {
    lateSystemMessages: "hoist",
    reasoningField: "reasoning_content",
    toolChoice: "strings",
  },

  // Ollama "OpenAI compatibility": no tool_choice. Its openai.go: `reasoning` is read, four efforts, max_tokens only.
  ollama: {
    reasoningField: "reasoning",
    toolChoice: "auto",
    efforts: ["none", "low", "medium", "high"],
  },

  // lmstudio-bug-tracker 189: json_schema, never json_object. linguito 21: tool_choice must be a string. Reasoning:
  // RQ-REASONING-FIELD. lmstudio-copilot-provider 35: four efforts. It runs the same templates as llama.cpp.
  "lm-studio": {
    lateSystemMessages: "hoist",
    reasoningField: "reasoning_content",
    toolChoice: "strings",
    responseFormat: "json_schema",
    efforts: ["none", "low", "medium", "high"],
    leakedCalls: ["hermes", "qwen-xml"],
  },
} as const satisfies Record<string, Partial<Omit<UpstreamProfile, "name">>>;

export type ProviderName = keyof typeof providerProfiles;

/** Other common names of providers. */
const providerAliases: Record<string, ProviderName | "generic"> = {
  default: "generic",
  claude: "anthropic",
  "azure-openai": "azure",
  zai: "glm",
  "z.ai": "glm",
  "z-ai": "glm",
  zhipu: "glm",
  bigmodel: "glm",
  dashscope: "qwen",
  alibaba: "qwen",
  "model-studio": "qwen",
  moonshot: "kimi",
  moonshotai: "kimi",
  mistralai: "mistral",
  grok: "xai",
  "x.ai": "xai",
  "x-ai": "xai",
  togetherai: "together",
  "together.ai": "together",
  "fireworks-ai": "fireworks",
  "fireworks.ai": "fireworks",
  google: "gemini",
  llamacpp: "llama.cpp",
  "llama-cpp": "llama.cpp",
  "llama-server": "llama.cpp",
  lmstudio: "lm-studio",
};

/** Names for `findProviderProfile`, without aliases. */
export const providerProfileNames: readonly string[] = [
  "generic",
  ...Object.keys(providerProfiles),
];

/** Returns the profile of a provider by name or alias (case, spaces and `_` do not matter). Undefined for an unknown name. */
export function findProviderProfile(name: string): UpstreamProfile | undefined {
  const normalizedName = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, "-");
  const resolvedName = Object.hasOwn(providerAliases, normalizedName)
    ? providerAliases[normalizedName]
    : normalizedName;
  if (resolvedName === genericProfile.name) return genericProfile;
  return isProviderName(resolvedName)
    ? withProfileFlags(genericProfile, {
        name: resolvedName,
        chatRequests: "adapted",
        ...providerProfiles[resolvedName],
      })
    : undefined;
}

function isProviderName(name: string | undefined): name is ProviderName {
  return name !== undefined && Object.hasOwn(providerProfiles, name);
}
