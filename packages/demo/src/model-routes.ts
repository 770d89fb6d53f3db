import type { JsonObject, JsonValue } from "@deltawire/wire";
import { countTokens } from "./count-tokens.ts";
import { createSampleEmbedding } from "./sample-media.ts";
import { demoModels, defaultContextWindow } from "./quirks.ts";

/** A complete reply, which is not streamed. */
export interface BufferedReply {
  contentType: string;
  body: string | Buffer;
}

export function listDemoModels(created: number): BufferedReply {
  const data = [...demoModels].map(([id, { description, contextWindow, modality }]) => ({
    id,
    object: "model",
    created,
    owned_by: "deltawire-demo",
    description,
    ...(modality === undefined
      ? { context_length: contextWindow ?? defaultContextWindow }
      : { type: modality }),
  }));
  return toJsonReply({ object: "list", data });
}

const maxDimensions = 4096;
const maxInputs = 2048;

export function createEmbeddings(request: JsonObject): BufferedReply {
  const { input, model = null, dimensions = 64, encoding_format: format } = request;
  const texts = toInputs(input).slice(0, maxInputs).map(String);
  const requestedSize = typeof dimensions === "number" ? Math.trunc(dimensions) : 64;
  const size = Math.min(Math.max(requestedSize, 1), maxDimensions);
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const data = texts.map((text, index) => {
    const vector = createSampleEmbedding(text, size);
    // The official SDK requests base64 by default.
    const embedding =
      format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return toJsonReply({ object: "list", data, model, usage });
}

/** Accepts one text, one list of tokens, or a list of either. */
function toInputs(input: JsonValue | undefined): JsonValue[] {
  if (!Array.isArray(input)) return [input ?? ""];
  return input.every((entry) => typeof entry === "number") ? [JSON.stringify(input)] : input;
}

function toJsonReply(value: object): BufferedReply {
  return { contentType: "application/json", body: JSON.stringify(value) };
}
