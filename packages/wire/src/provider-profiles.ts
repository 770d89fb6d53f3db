import { commonParameters, genericProfile, withFlags, type Profile } from "./profiles.ts";

/**
 * The flags in which each provider differs from the generic profile, and where that was seen. A profile is for what
 * its provider serves by default; where two of its models contradict each other, what both take.
 */
export const profiles = {
  // The request types of OpenAI's SDK 7.53; custom tools: recording openai-gpt-5-tool. max_tokens is refused by o-series
  // and GPT-5. Its models write no think tags: what looks like one is meant as text.
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
      "prompt_cache_key",
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

  // DeepSeek "Thinking Mode": after a call, reasoning_content of all turns or 400; temperature and penalties do nothing.
  // DeepSeek-V3 issue 1376: no forced tool_choice. litellm 31466: no json_schema. pi issue 1048: no developer.
  deepseek: {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
    reasoningRequired: true,
    toolChoice: "unforced",
    responseFormat: "json_object",
  },

  // Z.ai "Thinking Mode": thinking goes back with the results, of all turns on the coding endpoint. hindsight issue 4246:
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
  // Instructor "Qwen": json_schema on the newest models only. Qwen issue 956: the system message is the first.
  qwen: {
    laterSystem: "hoist",
    reasoningField: "reasoning_content",
    toolChoice: "unforced",
    responseFormat: "json_object",
    alwaysStream: true,
  },

  // Kimi "Thinking models", "Migrating from OpenAI": sampling is fixed, temperature 1 or 400; max_completion_tokens.
  // openai-agents 2669: calls without reasoning_content are refused; inspect_ai 5152: no forced tool_choice while thinking;
  // openhanako 2092: effort medium is refused (K3: low, high, max; K2: low, medium, high). Ids and schemas: RQ-ID-KIMI,
  // RQ-SCHEMA-MOONSHOT. K2.6 keeps earlier thinking only with {"thinking":{"keep":"all"}}, which K3 refuses: not set here.
  kimi: {
    reasoningField: "reasoning_content",
    reasoningRange: "all",
    reasoningRequired: true,
    callIds: "functions-name-index",
    schemaFlavour: "moonshot",
    toolChoice: "unforced",
    responseFormat: "json_object",
    maxTokensParameter: "max_completion_tokens",
    efforts: ["low", "high"],
    droppedParameters: ["temperature", "top_p", "frequency_penalty", "presence_penalty"],
  },

  // MiniMax "OpenAI API": thinking stands as <think> in the content and has to come back so. MiniMax-M2 issue 51: one
  // system message. MiniMax-M2.5 issue 4: no response_format. AgentScope "MiniMax": the rest; aimee 761: strict on fields.
  minimax: {
    laterSystem: "hoist",
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

  // Mistral API reference: random_seed, no logprobs. litellm 17761: no user after tool (3230). SurfSense 287: system in
  // front. anon-kode 53: no stream_options; usage comes unasked. crush 1590: no reasoning_content. mistral-common 324:
  // content null. SmartHopper 647: effort none or high. Ids: RQ-ID-MISTRAL.
  mistral: {
    laterSystem: "hoist",
    userAfterTool: false,
    emptyContent: "empty",
    callIds: "nine-alphanumerics",
    streamUsage: false,
    efforts: ["none", "high"],
    droppedParameters: ["seed", "logprobs", "top_logprobs"],
  },

  // Groq "OpenAI Compatibility": logprobs are 400. vercel/ai 16540: no JSON mode beside tools. jan 8136: no
  // reasoning_content; vercel/ai 8057: `reasoning` only for some models, so none is sent. Efforts: Groq "Reasoning".
  groq: {
    responseFormat: "without-tools",
    efforts: ["low", "medium", "high"],
    droppedParameters: ["logprobs", "top_logprobs"],
  },

  // xAI "Reasoning": its models refuse both penalties and stop; NativeTavern 83: all Grok models do. Efforts: of all
  // models that take one.
  xai: {
    efforts: ["low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty", "stop"],
  },

  // OpenRouter "Reasoning Tokens": reasoning_details come back whole. "API Reference": how it routes is asked for in fields
  // of its own.
  openrouter: {
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

  // Together "Reasoning": replies have `reasoning`, efforts are these three.
  together: { efforts: ["low", "medium", "high"] },

  // Fireworks "Reasoning": reasoning_content of earlier messages is read. One system message in front: RQ-SYSTEM-FIRST.
  fireworks: { laterSystem: "hoist", reasoningField: "reasoning_content" },

  // Cerebras "OpenAI Compatibility": the penalties are 400. qwen-code 11045: takes `reasoning` back, refuses
  // reasoning_content. max_completion_tokens and efforts: its SDK's types.
  cerebras: {
    reasoningField: "reasoning",
    maxTokensParameter: "max_completion_tokens",
    efforts: ["low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty"],
  },

  // ChatterUI 227, page-assist 418: Gemini's compatible endpoint knows no penalties and no seed. DeepTutor 809: Gemini 3
  // refuses effort none. Signatures of calls come back by themselves (`extra_content`).
  gemini: {
    efforts: ["minimal", "low", "medium", "high"],
    droppedParameters: ["frequency_penalty", "presence_penalty", "seed"],
  },

  // vllm pull request 33402: `reasoning`, no longer reasoning_content. Templates of Qwen3.5 and later: RQ-SYSTEM-FIRST.
  // Calls that its parsers missed: quirks TC-LEAK-HERMES and TC-LEAK-QWEN-XML.
  vllm: {
    laterSystem: "hoist",
    reasoningField: "reasoning",
    leakedCalls: ["hermes", "qwen-xml"],
  },

  // SGLang "Reasoning Parser": the names of DeepSeek's API. The same templates as vLLM.
  // Calls that its parser missed: quirk TC-LEAK-KIMI.
  sglang: {
    laterSystem: "hoist",
    reasoningField: "reasoning_content",
    leakedCalls: ["hermes", "qwen-xml", "kimi"],
  },

  // llama.cpp issue 20733: system in front; pull request 16934: reasoning_content is read; issue 26535: a named
  // tool_choice counts as auto.
  "llama.cpp": {
    laterSystem: "hoist",
    reasoningField: "reasoning_content",
    toolChoice: "strings",
  },

  // Ollama "OpenAI compatibility": no tool_choice. Its openai.go: `reasoning` is read, four efforts, max_tokens only.
  ollama: {
    reasoningField: "reasoning",
    toolChoice: "auto",
    efforts: ["none", "low", "medium", "high"],
  },

  // lmstudio-bug-tracker 189: json_schema, never json_object. linguito 21: tool_choice is a string. Reasoning:
  // RQ-REASONING-FIELD. lmstudio-copilot-provider 35: four efforts. It runs the same templates as llama.cpp.
  "lm-studio": {
    laterSystem: "hoist",
    reasoningField: "reasoning_content",
    toolChoice: "strings",
    responseFormat: "json_schema",
    efforts: ["none", "low", "medium", "high"],
    leakedCalls: ["hermes", "qwen-xml"],
  },
} as const satisfies Record<string, Partial<Omit<Profile, "name">>>;

export type ProviderName = keyof typeof profiles;

/** What people call them otherwise. */
const aliases: Record<string, ProviderName | "generic"> = {
  default: "generic",
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

/** The names that `profileNamed` knows, without aliases. */
export const profileNames: readonly string[] = ["generic", ...Object.keys(profiles)];

/** The profile of a provider by its name, however it is written; undefined for one that nobody wrote down. */
export function profileNamed(name: string): Profile | undefined {
  const written = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, "-");
  const known = Object.hasOwn(aliases, written) ? aliases[written] : written;
  if (known === genericProfile.name) return genericProfile;
  return isProvider(known)
    ? withFlags(genericProfile, { name: known, chatRequests: "adapted", ...profiles[known] })
    : undefined;
}

function isProvider(name: string | undefined): name is ProviderName {
  return name !== undefined && Object.hasOwn(profiles, name);
}
