import { isObject, type JsonObject } from "../json.ts";
import type { MessageUsage } from "../shapes/messages-reply.ts";
import type { ResponseUsage } from "../shapes/responses-reply.ts";
import type { ChatChunk } from "../shapes/chat-reply.ts";

/** Returns the usage of a chunk: from its top level, from a choice (Moonshot) or from `x_groq`. */
export function findUsage(chunk: ChatChunk): JsonObject | undefined {
  if (hasTokenCounts(chunk.usage)) return chunk.usage;
  if (Array.isArray(chunk.choices))
    for (const choice of chunk.choices) {
      const usage = isObject(choice) ? choice["usage"] : undefined;
      if (usage !== undefined && hasTokenCounts(usage)) return usage;
    }
  const groq = chunk["x_groq"];
  if (groq === undefined) return undefined;
  return isObject(groq) && hasTokenCounts(groq["usage"]) ? groq["usage"] : undefined;
}

/** True if the usage has a count. Usage without counts must not replace usage that has them. */
function hasTokenCounts(usage: unknown): usage is JsonObject {
  if (!isObject(usage)) return false;
  return (
    firstNumber(usage["prompt_tokens"], usage["input_tokens"]) !== undefined ||
    firstNumber(usage["completion_tokens"], usage["output_tokens"], usage["total_tokens"]) !==
      undefined
  );
}

/** False if all counts are zero: some servers send zeros instead of counting. */
export function isReportedUsage(usage: unknown): usage is JsonObject {
  if (!isObject(usage)) return false;
  const { input, output, total } = readTokenCounts(usage);
  return input > 0 || output > 0 || total > 0;
}

export function toResponseUsage(usage: JsonObject): ResponseUsage {
  const { input, output, total, cached, cacheWrite, reasoning } = readTokenCounts(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cached ?? 0,
      ...(cacheWrite === undefined ? {} : { cache_write_tokens: cacheWrite }),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: total,
    ...(usage["estimated"] === true ? { estimated: true } : {}),
  };
}

/** True if the usage has all counts that Codex requires in a stream. Details may be absent, but not empty. */
export function isCompleteUsage(usage: JsonObject): boolean {
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return (
    typeof usage["input_tokens"] === "number" &&
    typeof usage["output_tokens"] === "number" &&
    typeof usage["total_tokens"] === "number" &&
    (!input || typeof toObjectOrEmpty(input)["cached_tokens"] === "number") &&
    (!output || typeof toObjectOrEmpty(output)["reasoning_tokens"] === "number")
  );
}

/** Converts estimated usage to Chat fields. */
export function toEstimatedChatUsage(usage: ResponseUsage): JsonObject {
  const { reasoning_tokens } = usage.output_tokens_details;
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
    ...(reasoning_tokens > 0 ? { completion_tokens_details: { reasoning_tokens } } : {}),
    estimated: true,
  };
}

/** Adds the fields that Chat clients read to the provider's usage. */
export function toChatUsage(usage: JsonObject): JsonObject {
  const { input, output, total, cached, cacheWrite, reasoning } = readTokenCounts(usage);
  const result: JsonObject = {
    ...usage,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: total,
  };
  if (cached !== undefined || cacheWrite !== undefined)
    result["prompt_tokens_details"] = {
      ...toObjectOrEmpty(usage["prompt_tokens_details"]),
      ...(cached === undefined ? {} : { cached_tokens: cached }),
      ...(cacheWrite === undefined ? {} : { cache_write_tokens: cacheWrite }),
    };
  if (reasoning !== undefined)
    result["completion_tokens_details"] = {
      ...toObjectOrEmpty(usage["completion_tokens_details"]),
      reasoning_tokens: reasoning,
    };
  return result;
}

/**
 * Converts the usage of a Messages upstream, whose `input_tokens` exclude the tokens that were read from or written to the
 * cache. Returns undefined if it has no counts.
 */
export function fromMessageUsage(usage: JsonObject): JsonObject | undefined {
  if (!hasTokenCounts(usage)) return undefined;
  const read = firstNumber(usage["cache_read_input_tokens"]) ?? 0;
  const written = firstNumber(usage["cache_creation_input_tokens"]) ?? 0;
  const input = (firstNumber(usage["input_tokens"]) ?? 0) + read + written;
  const output = firstNumber(usage["output_tokens"]) ?? 0;
  const { thinking_tokens: thinking } = toObjectOrEmpty(usage["output_tokens_details"]);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: read,
      ...(written > 0 ? { cache_write_tokens: written } : {}),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: firstNumber(thinking) ?? 0 },
    total_tokens: input + output,
  };
}

/** The inverse of `fromMessageUsage`, for the usage of either OpenAI API. Zeros if it is unknown. */
export function toMessageUsage(usage: JsonObject | undefined): MessageUsage {
  const { input, output, ...cache } = readTokenCounts(usage ?? {});
  // Some servers report more cached tokens than input.
  const cached = Math.min(cache.cached ?? 0, input);
  const written = Math.min(cache.cacheWrite ?? 0, input - cached);
  return {
    input_tokens: toCount(input - cached - written),
    cache_creation_input_tokens: toCount(written),
    cache_read_input_tokens: toCount(cached),
    output_tokens: toCount(output),
  };
}

/** Clients reject negative and fractional counts. */
function toCount(value: number): number {
  return Math.max(0, Math.round(value));
}

function readTokenCounts(usage: JsonObject) {
  const input = firstNumber(usage["prompt_tokens"], usage["input_tokens"]) ?? 0;
  const output = firstNumber(usage["completion_tokens"], usage["output_tokens"]) ?? 0;
  return {
    input,
    output,
    total: firstNumber(usage["total_tokens"]) ?? input + output,
    cached: firstNumber(
      toObjectOrEmpty(usage["prompt_tokens_details"])["cached_tokens"],
      toObjectOrEmpty(usage["input_tokens_details"])["cached_tokens"],
      usage["prompt_cache_hit_tokens"], // DeepSeek
      usage["cached_tokens"], // Moonshot
      usage["cache_read_input_tokens"], // Anthropic's compatible endpoint
    ),
    cacheWrite: firstNumber(
      toObjectOrEmpty(usage["prompt_tokens_details"])["cache_write_tokens"],
      toObjectOrEmpty(usage["input_tokens_details"])["cache_write_tokens"],
      usage["cache_creation_input_tokens"], // Anthropic's compatible endpoint
    ),
    reasoning: firstNumber(
      toObjectOrEmpty(usage["completion_tokens_details"])["reasoning_tokens"],
      toObjectOrEmpty(usage["output_tokens_details"])["reasoning_tokens"],
      usage["reasoning_tokens"], // Perplexity
    ),
  };
}

function firstNumber(...candidates: unknown[]): number | undefined {
  for (const value of candidates)
    if (typeof value === "number" && Number.isFinite(value)) return value;
  return undefined;
}

function toObjectOrEmpty(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
