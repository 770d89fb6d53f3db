import type { Profile } from "@deltawire/wire";
import type { ModelTarget, UpstreamConfig } from "../config/config.ts";
import type { Lessons } from "../learning/memory.ts";

/** What was learned, where somebody keeps it. */
export type Learned = Pick<Lessons, "profileFor" | "responsesFor">;

/**
 * Options that never reach a model, by their names on the Responses wire: its upstream's profile drops them, or its server
 * has refused them before. What is sent in another form instead, such as a `tool_choice`, is not one of them.
 */
export function refusedOptions(
  { upstream, model }: ModelTarget,
  config: UpstreamConfig,
  learned?: Learned,
): string[] {
  const { speaks, profile } = config;
  if (speaks === "responses") {
    const { droppedParameters = [], extraBody = {} } = learned?.responsesFor(upstream, model) ?? {};
    const dropped = new Set([...droppedParameters, ...Object.keys(extraBody)]);
    const isDropped = (path: string): boolean =>
      dropped.has(path) || dropped.has(path.split(".")[0] ?? path);
    return [...Object.keys(options).filter(isDropped), ...unlisted(dropped)];
  }
  const flags = learned?.profileFor(upstream, model, profile) ?? profile;
  // What is sent with every request replaces what a user sets.
  const dropped = new Set([...flags.droppedParameters, ...Object.keys(flags.extraBody)]);
  const isDropped = (option: string): boolean => {
    const name = chatNameOf(option, flags);
    return name === null || dropped.has(name);
  };
  return [
    ...Object.keys(options).filter(isDropped),
    ...unlisted(dropped),
    ...(takesCacheKey(config) ? [] : ["prompt_cache_key"]),
  ];
}

/** Dropped options that only some providers have, such as `enable_thinking`. */
function unlisted(dropped: ReadonlySet<string>): string[] {
  const listed = new Set([
    ...Object.keys(options).flatMap((path) => [path, path.split(".")[0] ?? path]),
    ...Object.values(options),
    ...notOptions,
  ]);
  return [...dropped].filter((name) => !listed.has(name) && /^[\w-]+(?:\.[\w-]+)?$/.test(name));
}

/** Set by the gateway, or another name of a listed option. */
const notOptions = [
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

/** Whether an upstream has a word for the key of its prompt cache, so that it need not be said to one that has none. */
export function takesCacheKey({ speaks, profile }: UpstreamConfig): boolean {
  return speaks === "responses" || isPassedOn("prompt_cache_key", profile);
}

/** What people set, and what Chat calls it; null: it has no word for it. */
const options: Readonly<Record<string, string | null>> = {
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

function chatNameOf(option: string, { maxTokensParameter }: Profile): string | null {
  return option === "max_output_tokens" ? maxTokensParameter : (options[option] ?? null);
}

function isPassedOn(name: string, { parameters, droppedParameters, extraBody }: Profile): boolean {
  if (droppedParameters.includes(name) || Object.hasOwn(extraBody, name)) return false;
  return parameters === "all" || parameters.includes(name);
}
