import type { UpstreamProfile } from "@deltawire/wire";
import type { ApiName, ModelTarget, UpstreamConfig } from "../config/config.ts";
import type { LessonRegistry } from "../learning/lesson-registry.ts";

/** The part of `LessonRegistry` that this file needs. */
export type LearnedProfiles = Pick<
  LessonRegistry,
  "getProfile" | "getResponsesFlags" | "getMessagesFlags" | "getSpeaks"
>;

/**
 * Returns the options that never reach a model, by their Responses names, because the profile of the upstream drops them or
 * the server has rejected them before. Options that are sent in another form, such as `tool_choice`, are not included.
 */
export function findUnsupportedOptions(
  target: ModelTarget,
  config: UpstreamConfig,
  lessons?: LearnedProfiles,
): string[] {
  const { upstream, model } = target;
  const api = resolveApi(target, config, lessons);
  if (api === "messages") {
    const { droppedParameters = [] } =
      lessons?.getMessagesFlags(upstream, model, config.messagesFlags) ?? config.messagesFlags;
    const supported = Object.entries(messagesNamesByOption)
      .filter(([, name]) => !droppedParameters.includes(name))
      .map(([option]) => option);
    return Object.keys(chatNamesByOption).filter((option) => !supported.includes(option));
  }
  if (api === "responses") {
    const { droppedParameters = [], extraBody = {} } =
      lessons?.getResponsesFlags(upstream, model) ?? {};
    const dropped = new Set([...droppedParameters, ...Object.keys(extraBody)]);
    const isDropped = (path: string): boolean =>
      dropped.has(path) || dropped.has(path.split(".")[0] ?? path);
    return [...Object.keys(chatNamesByOption).filter(isDropped), ...findUnlistedOptions(dropped)];
  }
  const flags = lessons?.getProfile(upstream, model, config.profile) ?? config.profile;
  // Fields of extraBody replace the user's values.
  const dropped = new Set([...flags.droppedParameters, ...Object.keys(flags.extraBody)]);
  const isDropped = (option: string): boolean => {
    const name = toChatName(option, flags);
    return name === null || dropped.has(name);
  };
  return [
    ...Object.keys(chatNamesByOption).filter(isDropped),
    ...findUnlistedOptions(dropped),
    ...(supportsCacheKey(target, config, lessons) ? [] : ["prompt_cache_key"]),
  ];
}

/** Returns the dropped options that only some providers have, such as `enable_thinking`. */
function findUnlistedOptions(dropped: ReadonlySet<string>): string[] {
  const listedNames = new Set([
    ...Object.keys(chatNamesByOption).flatMap((path) => [path, path.split(".")[0] ?? path]),
    ...Object.values(chatNamesByOption),
    ...ignoredNames,
  ]);
  return [...dropped].filter(
    (name) => !listedNames.has(name) && /^[\w-]+(?:\.[\w-]+)?$/.test(name),
  );
}

/** Parameters that are set by the gateway, or are another name of a listed option. */
const ignoredNames = [
  "model",
  "messages",
  "input",
  "instructions",
  "tools",
  "include",
  "store",
  "stream",
  "stream_options",
  "prompt_cache_key",
  "max_completion_tokens",
  "background",
];

/** The options that have a field in the Messages API. */
const messagesNamesByOption: Readonly<Record<string, string>> = {
  temperature: "temperature",
  top_p: "top_p",
  stop: "stop_sequences",
  max_output_tokens: "max_tokens",
  "reasoning.effort": "thinking",
  "text.format": "output_config",
  tool_choice: "tool_choice",
  parallel_tool_calls: "tool_choice",
  service_tier: "service_tier",
  safety_identifier: "metadata",
  user: "metadata",
};

/** True if a model of an upstream supports `prompt_cache_key`. */
export function supportsCacheKey(
  target: ModelTarget,
  config: UpstreamConfig,
  lessons?: LearnedProfiles,
): boolean {
  return (
    resolveApi(target, config, lessons) === "responses" ||
    isForwarded("prompt_cache_key", config.profile)
  );
}

/** Returns the API that is used for a model: the learned one, else the configured one. */
function resolveApi(
  { upstream, model }: ModelTarget,
  { speaks }: UpstreamConfig,
  lessons: LearnedProfiles | undefined,
): ApiName {
  return lessons?.getSpeaks(upstream, model) ?? speaks;
}

/** Options and their Chat names; null if Chat has no such parameter. */
const chatNamesByOption: Readonly<Record<string, string | null>> = {
  temperature: "temperature",
  top_p: "top_p",
  top_k: "top_k",
  min_p: "min_p",
  repetition_penalty: "repetition_penalty",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  seed: "seed",
  stop: "stop",
  logit_bias: "logit_bias",
  top_logprobs: "top_logprobs",
  max_output_tokens: "max_tokens",
  "reasoning.effort": "reasoning_effort",
  "text.verbosity": "verbosity",
  "text.format": "response_format",
  tool_choice: "tool_choice",
  parallel_tool_calls: "parallel_tool_calls",
  max_tool_calls: null,
  truncation: null,
  context_management: null,
  service_tier: "service_tier",
  safety_identifier: "safety_identifier",
  prompt_cache_retention: "prompt_cache_retention",
  user: "user",
};

function toChatName(option: string, { maxTokensParameter }: UpstreamProfile): string | null {
  return option === "max_output_tokens" ? maxTokensParameter : (chatNamesByOption[option] ?? null);
}

function isForwarded(
  name: string,
  { parameters, droppedParameters, extraBody }: UpstreamProfile,
): boolean {
  if (droppedParameters.includes(name) || Object.hasOwn(extraBody, name)) return false;
  return parameters === "all" || parameters.includes(name);
}
