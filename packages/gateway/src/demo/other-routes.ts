import type { JsonObject, JsonValue } from "@deltawire/wire";
import { tokensIn } from "./count.ts";
import { asText } from "../json.ts";
import { pictureFor, toneFor, vectorFor } from "./media.ts";
import type { Multipart } from "./multipart.ts";
import { quirks, usualContextWindow } from "./quirks.ts";

/** What is answered at once, in one piece. */
export interface Answered {
  contentType: string;
  body: string | Buffer;
}

export function modelList(created: number): Answered {
  const data = [...quirks].map(([id, { description, contextWindow = usualContextWindow }]) => ({
    id,
    object: "model",
    created,
    owned_by: "deltawire-demo",
    description,
    context_length: contextWindow,
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

export function speech({ input }: JsonObject): Answered {
  return { contentType: "audio/wav", body: toneFor(asText(input)) };
}

export function images(request: JsonObject, created: number): Answered {
  const { prompt, n } = request;
  return pictures(asText(prompt), typeof n === "number" ? n : 1, created);
}

export function editedImages({ fields }: Multipart, created: number): Answered {
  return pictures(fields.get("prompt") ?? "", Number(fields.get("n") ?? 1), created);
}

function pictures(prompt: string, n: number, created: number): Answered {
  const count = Math.min(Math.max(Math.trunc(n) || 1, 1), 10);
  const data = Array.from({ length: count }, (_, at) => ({
    b64_json: pictureFor(`${prompt}${at}`).toString("base64"),
  }));
  return json({ created, data });
}

/** The demo cannot hear; it says what it got. */
export function transcript({ files, fields }: Multipart): Answered {
  const [file] = files;
  const text =
    file === undefined
      ? "The demo got no file."
      : `The demo got ${file.filename} with ${file.size} bytes. It cannot listen to it.`;
  const format = fields.get("response_format");
  if (format === "text") return { contentType: "text/plain; charset=utf-8", body: `${text}\n` };
  const verbose = { task: "transcribe", language: "english", duration: 1, text, segments: [] };
  return json(format === "verbose_json" ? verbose : { text });
}

function json(value: object): Answered {
  return { contentType: "application/json", body: JSON.stringify(value) };
}
