import type { JsonObject, JsonValue } from "@deltawire/wire";
import { tokensIn } from "./count.ts";
import { vectorFor } from "./media.ts";
import { quirks, usualContextWindow } from "./quirks.ts";

/** What is answered at once, in one piece. */
export interface Answered {
  contentType: string;
  body: string | Buffer;
}

export function modelList(created: number): Answered {
  const data = [...quirks].map(([id, { description, contextWindow, makes }]) => ({
    id,
    object: "model",
    created,
    owned_by: "deltawire-demo",
    description,
    ...(makes === undefined
      ? { context_length: contextWindow ?? usualContextWindow }
      : { type: makes }),
  }));
  return json({ object: "list", data });
}

const mostDimensions = 4096;
const mostInputs = 2048;

export function embeddings(request: JsonObject): Answered {
  const { input, model = null, dimensions = 64, encoding_format: format } = request;
  const texts = inputsOf(input).slice(0, mostInputs).map(String);
  const wanted = typeof dimensions === "number" ? Math.trunc(dimensions) : 64;
  const size = Math.min(Math.max(wanted, 1), mostDimensions);
  const tokens = texts.reduce((sum, text) => sum + tokensIn(text), 0);
  const data = texts.map((text, index) => {
    const vector = vectorFor(text, size);
    // The official SDK asks for base64 unless it is told otherwise.
    const embedding =
      format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return json({ object: "list", data, model, usage });
}

/** One text, one list of tokens, or a list of either. */
function inputsOf(input: JsonValue | undefined): JsonValue[] {
  if (!Array.isArray(input)) return [input ?? ""];
  return input.every((entry) => typeof entry === "number") ? [JSON.stringify(input)] : input;
}

function json(value: object): Answered {
  return { contentType: "application/json", body: JSON.stringify(value) };
}
