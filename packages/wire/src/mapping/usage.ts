import { isObject, type JsonObject } from "../json.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ChatChunk } from "../shapes/chat-reply.ts";

/** The usage in a chunk, wherever the server put it: on top, in a choice (Moonshot), under `x_groq`. */
export function usageIn(chunk: ChatChunk): JsonObject | undefined {
  if (isCounted(chunk.usage)) return chunk.usage;
  if (Array.isArray(chunk.choices))
    for (const choice of chunk.choices) {
      const usage = isObject(choice) ? choice["usage"] : undefined;
      if (usage !== undefined && isCounted(usage)) return usage;
    }
  const groq = chunk["x_groq"];
  if (groq === undefined) return undefined;
  return isObject(groq) && isCounted(groq["usage"]) ? groq["usage"] : undefined;
}

/** A usage that counts nothing must not take the place of one that does. */
function isCounted(usage: unknown): usage is JsonObject {
  if (!isObject(usage)) return false;
  return (
    first(usage["prompt_tokens"], usage["input_tokens"]) !== undefined ||
    first(usage["completion_tokens"], usage["output_tokens"], usage["total_tokens"]) !== undefined
  );
}

/** Whether a usage tells anything: some servers send zeros where they do not count. */
export function isToldUsage(usage: unknown): usage is JsonObject {
  if (!isObject(usage)) return false;
  const { input, output, total } = counts(usage);
  return input > 0 || output > 0 || total > 0;
}

export function responseUsage(usage: JsonObject): ResponseUsage {
  const { input, output, total, cached, reasoning } = counts(usage);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: total,
    ...(usage["estimated"] === true ? { estimated: true } : {}),
  };
}

/** Codex fails a stream whose usage is there and not whole; details may be missing, but not empty. */
export function isWholeUsage(usage: JsonObject): boolean {
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return (
    typeof usage["input_tokens"] === "number" &&
    typeof usage["output_tokens"] === "number" &&
    typeof usage["total_tokens"] === "number" &&
    (!input || typeof asObject(input)["cached_tokens"] === "number") &&
    (!output || typeof asObject(output)["reasoning_tokens"] === "number")
  );
}

/** An estimate in the words of the other wire. */
export function estimatedChatUsage(usage: ResponseUsage): JsonObject {
  const { reasoning_tokens } = usage.output_tokens_details;
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    ...(reasoning_tokens > 0 ? { completion_tokens_details: { reasoning_tokens } } : {}),
    estimated: true,
  };
}

/** The provider's own object, with the three counts and the details where Chat clients look for them. */
export function chatUsage(usage: JsonObject): JsonObject {
  const { input, output, total, cached, reasoning } = counts(usage);
  const whole: JsonObject = {
    ...usage,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
  };
  if (cached !== undefined)
    whole["prompt_tokens_details"] = {
      ...asObject(usage["prompt_tokens_details"]),
      cached_tokens: cached,
    };
  if (reasoning !== undefined)
    whole["completion_tokens_details"] = {
      ...asObject(usage["completion_tokens_details"]),
      reasoning_tokens: reasoning,
    };
  return whole;
}

function counts(usage: JsonObject) {
  const input = first(usage["prompt_tokens"], usage["input_tokens"]) ?? 0;
  const output = first(usage["completion_tokens"], usage["output_tokens"]) ?? 0;
  return {
    input,
    output,
    total: first(usage["total_tokens"]) ?? input + output,
    cached: first(
      asObject(usage["prompt_tokens_details"])["cached_tokens"],
      asObject(usage["input_tokens_details"])["cached_tokens"],
      usage["prompt_cache_hit_tokens"], // DeepSeek
      usage["cached_tokens"], // Moonshot
      usage["cache_read_input_tokens"], // Anthropic's compatible endpoint
    ),
    reasoning: first(
      asObject(usage["completion_tokens_details"])["reasoning_tokens"],
      asObject(usage["output_tokens_details"])["reasoning_tokens"],
      usage["reasoning_tokens"], // Perplexity
    ),
  };
}

function first(...candidates: unknown[]): number | undefined {
  for (const value of candidates)
    if (typeof value === "number" && Number.isFinite(value)) return value;
  return undefined;
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
