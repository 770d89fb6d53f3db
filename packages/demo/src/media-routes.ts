import { crc32 } from "node:zlib";
import { asText, type JsonObject } from "@deltawire/wire";
import { tokensIn } from "./count.ts";
import { pictureFor, toneFor, wordsIn } from "./media.ts";
import type { Multipart } from "./multipart.ts";
import { quirks } from "./quirks.ts";
import { refusal, type Refusal } from "./refusals.ts";
import type { WireStep } from "./wire-steps.ts";

/** What the demo writes for a picture, a sound or a transcript. */
export type MediaAnswer =
  | { is: "whole"; contentType: string; body: string | Buffer }
  | { is: "stream"; steps: WireStep[] }
  | { is: "refused"; refusal: Refusal };

const longestSpeech = 4096;

export function speech({ input }: JsonObject): MediaAnswer {
  const text = asText(input);
  if (text.length > longestSpeech)
    return refused(`input: String should have at most ${longestSpeech} characters`, "input");
  return { is: "whole", contentType: "audio/wav", body: toneFor(text) };
}

export function images(request: JsonObject, created: number): MediaAnswer {
  const { prompt, n, stream, partial_images: previews } = request;
  return pictures({
    kind: "image_generation",
    prompt: asText(prompt),
    from: 0,
    n: typeof n === "number" ? n : 1,
    stream: stream === true,
    previews: typeof previews === "number" ? previews : 0,
    created,
  });
}

export function editedImages({ fields, files }: Multipart, created: number): MediaAnswer {
  const given = files.filter(({ field }) => field !== "mask");
  if (given.length === 0) return refused("Missing required parameter: 'image'.", "image");
  return pictures({
    kind: "image_edit",
    prompt: fields.get("prompt") ?? "",
    from: crc32(given.map(({ checksum }) => String(checksum)).join()),
    n: Number(fields.get("n") ?? 1),
    stream: fields.get("stream") === "true",
    previews: Number(fields.get("partial_images") ?? 0),
    created,
  });
}

interface Order {
  kind: "image_generation" | "image_edit";
  prompt: string;
  /** What it is made of. */
  from: number;
  n: number;
  stream: boolean;
  previews: number;
  created: number;
}

const mostPreviews = 3;
/** A picture takes as long as a few dozen words. */
const pacesForPicture = 60;

function pictures({ kind, prompt, from, n, stream, previews, created }: Order): MediaAnswer {
  const count = Math.min(Math.max(Math.trunc(n) || 1, 1), 10);
  const picture = (at: number, share = 1): string =>
    pictureFor(`${prompt}${at}`, { from, share }).toString("base64");
  const usage = usageOf(tokensIn(prompt), count * 272);
  if (!stream) {
    const data = Array.from({ length: count }, (_, at) => ({ b64_json: picture(at) }));
    return json({ created, data, output_format: "png", usage });
  }
  if (previews < 0 || previews > mostPreviews)
    return refused(`partial_images must be between 0 and ${mostPreviews}`, "partial_images");
  if (count > 1) return refused("Streaming is not supported when n is greater than 1.", "n");
  const about = { created_at: created, size: "64x64", output_format: "png" };
  const partials = Array.from({ length: previews }, (_, at) => ({
    type: `${kind}.partial_image`,
    ...about,
    b64_json: picture(0, (at + 1) / (previews + 1)),
    partial_image_index: at,
  }));
  const whole = { type: `${kind}.completed`, ...about, b64_json: picture(0), usage };
  const paces = Math.ceil(pacesForPicture / (previews + 1));
  return streamed([...partials, whole], paces);
}

/** The demo cannot hear, but one of its models reads what a sound of the demo's own says of itself. */
export function transcript({ files, fields }: Multipart): MediaAnswer {
  const [file] = files;
  const hears = quirks.get(fields.get("model") ?? "")?.hears === true;
  const words = hears && file !== undefined ? wordsIn(file.beginning) : undefined;
  const got = file && `The demo got ${file.filename} with ${file.size} bytes.`;
  const text = words ?? (got ? `${got} It cannot listen to it.` : "The demo got no file.");
  const format = fields.get("response_format");
  const usage = { type: "tokens", ...usageOf(Math.ceil((file?.size ?? 0) / 1000), tokensIn(text)) };
  if (format === "text")
    return { is: "whole", contentType: "text/plain; charset=utf-8", body: `${text}\n` };
  if (fields.get("stream") === "true") {
    const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
    const deltas = words.map((delta) => ({ type: "transcript.text.delta", delta }));
    return streamed([...deltas, { type: "transcript.text.done", text, usage }], 1);
  }
  const verbose = { task: "transcribe", language: "english", duration: 1, text, segments: [] };
  return json(format === "verbose_json" ? verbose : { text });
}

function usageOf(input: number, output: number): JsonObject {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function streamed(events: readonly JsonObject[], paces: number): MediaAnswer {
  const steps = events.flatMap((event): WireStep[] => [
    ...Array.from({ length: paces }, () => ({ type: "pace" as const })),
    {
      type: "write",
      data: `event: ${asText(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`,
    },
  ]);
  return { is: "stream", steps };
}

function refused(message: string, param: string): MediaAnswer {
  return { is: "refused", refusal: refusal(400, message, { param }) };
}

function json(value: object): MediaAnswer {
  return { is: "whole", contentType: "application/json", body: JSON.stringify(value) };
}
