import type { Profile } from "@deltawire/wire";
import type { ModelTarget, UpstreamConfig } from "../config/config.ts";
import type { Lessons } from "../learning/memory.ts";

/** What was learned, where somebody keeps it. */
export type Learned = Pick<Lessons, "profileFor" | "responsesFor">;

/**
 * Options that never reach a model, by their names on the Responses wire: its upstream's profile leaves them out, or its
 * server has refused them before. What is said to it in other words instead, such as a `tool_choice`, is not one of them.
 */
export function refusedOptions(
  { upstream, model }: ModelTarget,
  { speaks, profile }: UpstreamConfig,
  learned?: Learned,
): string[] {
  if (speaks === "chat") {
    const flags = learned?.profileFor(upstream, model, profile) ?? profile;
    return Object.keys(options).filter((name) => !isPassedOn(chatNameOf(name, flags), flags));
  }
  const { droppedParameters = [], extraBody = {} } = learned?.responsesFor(upstream, model) ?? {};
  const refused = new Set([...droppedParameters, ...Object.keys(extraBody)]);
  return Object.keys(options).filter((path) => {
    const [name = ""] = path.split(".");
    return refused.has(path) || refused.has(name);
  });
}

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

function isPassedOn(
  inChat: string | null,
  { parameters, droppedParameters, extraBody }: Profile,
): boolean {
  if (inChat === null || droppedParameters.includes(inChat)) return false;
  // What is sent with every request is sent over what anybody asks for.
  return !Object.hasOwn(extraBody, inChat) && (parameters === "all" || parameters.includes(inChat));
}
