import { isObject, type ResponseUsage } from "@deltawire/wire";

/** The usage of a media endpoint, which can charge for more than tokens. */
export interface MediaUsage extends ResponseUsage {
  /** Number of generated images. */
  images?: number;
  /** Duration of the input audio. */
  seconds?: number;
}

export function createEmptyMediaUsage(): MediaUsage {
  return {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  };
}

/** Adds the usage that an upstream reported. Some report nothing, some only the duration of the audio. */
export function addMediaUsage(usage: MediaUsage, reported: unknown): void {
  if (!isObject(reported)) return;
  const input = toNonNegativeNumber(reported["input_tokens"] ?? reported["prompt_tokens"]);
  const output = toNonNegativeNumber(reported["output_tokens"] ?? reported["completion_tokens"]);
  usage.input_tokens += input;
  usage.output_tokens += output;
  usage.total_tokens += toNonNegativeNumber(reported["total_tokens"]) || input + output;
  const details = reported["input_tokens_details"];
  if (isObject(details))
    usage.input_tokens_details.cached_tokens += toNonNegativeNumber(details["cached_tokens"]);
  const seconds = toNonNegativeNumber(reported["seconds"]);
  if (seconds > 0) usage.seconds = (usage.seconds ?? 0) + seconds;
}

function toNonNegativeNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
