import { isObject, type ResponseUsage } from "@deltawire/wire";

/** What an endpoint for media charges for, beside tokens. */
export interface MediaUsage extends ResponseUsage {
  /** Pictures that were made. */
  images?: number;
  /** Of sound. */
  seconds?: number;
}

export function noUsage(): MediaUsage {
  return {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  };
}

/** Adds what an upstream says that it used; some say nothing, and some only how long a sound was. */
export function addUsage(usage: MediaUsage, told: unknown): void {
  if (!isObject(told)) return;
  const input = amount(told["input_tokens"] ?? told["prompt_tokens"]);
  const output = amount(told["output_tokens"] ?? told["completion_tokens"]);
  usage.input_tokens += input;
  usage.output_tokens += output;
  usage.total_tokens += amount(told["total_tokens"]) || input + output;
  const details = told["input_tokens_details"];
  if (isObject(details))
    usage.input_tokens_details.cached_tokens += amount(details["cached_tokens"]);
  const seconds = amount(told["seconds"]);
  if (seconds > 0) usage.seconds = (usage.seconds ?? 0) + seconds;
}

function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
