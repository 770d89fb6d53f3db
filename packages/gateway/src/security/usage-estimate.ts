import { estimateTokens, isObject, type JsonObject, type ResponseUsage } from "@deltawire/wire";

/** Longer text is counted in parts, so that a long reply is not stored. */
const maxPendingLength = 4096;

/** Estimates the usage of a reply that reports none, because it was aborted, has failed, or comes from a server that never reports usage. */
export class UsageEstimate {
  #outputTokens = 0;
  #pendingText = "";

  /** True once the model has sent text or a call. */
  get hasOutput(): boolean {
    return this.#outputTokens > 0 || this.#pendingText !== "";
  }

  /** Adds the text in the events of a stream of any API. */
  push(events: readonly unknown[]): void {
    for (const event of events) if (isObject(event)) this.#pendingText += extractText(event);
    if (this.#pendingText.length > maxPendingLength) this.#countPendingText();
  }

  build(inputTokens: number): ResponseUsage {
    this.#countPendingText();
    return createEstimatedUsage(inputTokens, this.#outputTokens);
  }

  #countPendingText(): void {
    this.#outputTokens += estimateTokens(this.#pendingText);
    this.#pendingText = "";
  }
}

/** Estimates the usage of a request for embeddings, speech or images from its text. */
export function estimateTextUsage({ input, instructions, prompt }: JsonObject): ResponseUsage {
  return createEstimatedUsage(estimateInputTokens([input, instructions, prompt]));
}

/** Estimates the usage of a request with an uploaded file, such as audio to transcribe, by its size. */
export function estimateUploadUsage(bytes: number): ResponseUsage {
  return createEstimatedUsage(Math.ceil(bytes / uploadBytesPerToken));
}

/** The rate for audio in chat messages: one token for a thousand base64 characters. */
const uploadBytesPerToken = 750;

/** Inputs are strings, tokens (numbers), or arrays of both. */
function estimateInputTokens(input: unknown): number {
  if (typeof input === "string") return estimateTokens(input);
  if (typeof input === "number") return 1;
  if (!Array.isArray(input)) return 0;
  return input.reduce<number>((sum, entry) => sum + estimateInputTokens(entry), 0);
}

function createEstimatedUsage(inputTokens: number, outputTokens = 0): ResponseUsage {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
    estimated: true,
  };
}

function extractText({ delta, choices }: JsonObject): string {
  if (typeof delta === "string") return delta;
  // Messages
  if (isObject(delta))
    return [delta["text"], delta["thinking"], delta["partial_json"]]
      .filter((text) => typeof text === "string")
      .join("");
  return toObjects(choices)
    .map((choice) => extractChoiceText(choice["delta"]))
    .join("");
}

function extractChoiceText(delta: unknown): string {
  if (!isObject(delta)) return "";
  const { content, reasoning, reasoning_content, refusal, tool_calls } = delta;
  const calls = toObjects(tool_calls).flatMap(({ function: call }) =>
    isObject(call) ? [call["name"], call["arguments"]] : [],
  );
  return [content, reasoning, reasoning_content, refusal, ...calls]
    .filter((text) => typeof text === "string")
    .join("");
}

function toObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
