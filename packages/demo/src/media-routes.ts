import { crc32 } from "node:zlib";
import { asString, type JsonObject } from "@deltawire/wire";
import { countTokens } from "./count-tokens.ts";
import { createSampleImage, createSampleAudio, readAudioComment } from "./sample-media.ts";
import type { MultipartParser } from "./multipart-parser.ts";
import { demoModels } from "./quirks.ts";
import { createRejection, type DemoRejection } from "./rejections.ts";
import type { WireStep } from "./wire-steps.ts";

/** The demo's reply for an image, audio or a transcript. */
export type DemoMediaReply =
  | { kind: "complete"; contentType: string; body: string | Buffer }
  | { kind: "stream"; steps: WireStep[] }
  | { kind: "rejected"; rejection: DemoRejection };

const maxSpeechLength = 4096;

export function createSpeech({ input }: JsonObject): DemoMediaReply {
  const text = asString(input);
  if (text.length > maxSpeechLength)
    return toRejectedReply(
      `input: String should have at most ${maxSpeechLength} characters`,
      "input",
    );
  return { kind: "complete", contentType: "audio/wav", body: createSampleAudio(text) };
}

export function generateImages(request: JsonObject, created: number): DemoMediaReply {
  const { prompt, n, stream, partial_images: previewCount } = request;
  return createImages({
    eventPrefix: "image_generation",
    prompt: asString(prompt),
    seed: 0,
    n: typeof n === "number" ? n : 1,
    stream: stream === true,
    previewCount: typeof previewCount === "number" ? previewCount : 0,
    created,
  });
}

export function editImages({ fields, files }: MultipartParser, created: number): DemoMediaReply {
  const inputImages = files.filter(({ field }) => field !== "mask");
  if (inputImages.length === 0)
    return toRejectedReply("Missing required parameter: 'image'.", "image");
  return createImages({
    eventPrefix: "image_edit",
    prompt: fields.get("prompt") ?? "",
    seed: crc32(inputImages.map(({ checksum }) => String(checksum)).join()),
    n: Number(fields.get("n") ?? 1),
    stream: fields.get("stream") === "true",
    previewCount: Number(fields.get("partial_images") ?? 0),
    created,
  });
}

interface ImageOptions {
  eventPrefix: "image_generation" | "image_edit";
  prompt: string;
  /** Seed from the input images. */
  seed: number;
  n: number;
  stream: boolean;
  /** Number of previews before the complete image. */
  previewCount: number;
  created: number;
}

const maxPreviews = 3;
/** How long one image takes with its previews, as a number of delays between chunks. */
const delaysPerImage = 60;

function createImages({
  eventPrefix,
  prompt,
  seed,
  n,
  stream,
  previewCount,
  created,
}: ImageOptions): DemoMediaReply {
  const count = Math.min(Math.max(Math.trunc(n) || 1, 1), 10);
  const renderImage = (index: number, fraction = 1): string =>
    createSampleImage(`${prompt}${index}`, { seed, fraction }).toString("base64");
  const usage = buildMediaUsage(countTokens(prompt), count * 272);
  if (!stream) {
    const data = Array.from({ length: count }, (_, index) => ({ b64_json: renderImage(index) }));
    return toJsonReply({ created, data, output_format: "png", usage });
  }
  if (previewCount < 0 || previewCount > maxPreviews)
    return toRejectedReply(`partial_images must be between 0 and ${maxPreviews}`, "partial_images");
  if (count > 1)
    return toRejectedReply("Streaming is not supported when n is greater than 1.", "n");
  const imageFields = { created_at: created, size: "64x64", output_format: "png" };
  const partials = Array.from({ length: previewCount }, (_, index) => ({
    type: `${eventPrefix}.partial_image`,
    ...imageFields,
    b64_json: renderImage(0, (index + 1) / (previewCount + 1)),
    partial_image_index: index,
  }));
  const completedEvent = {
    type: `${eventPrefix}.completed`,
    ...imageFields,
    b64_json: renderImage(0),
    usage,
  };
  const delaysPerEvent = Math.ceil(delaysPerImage / (previewCount + 1));
  return toEventStream([...partials, completedEvent], delaysPerEvent);
}

/** The demo cannot recognize speech, but one model reads the text in the demo's own audio files. */
export function createTranscript({ files, fields }: MultipartParser): DemoMediaReply {
  const [file] = files;
  const canTranscribe = demoModels.get(fields.get("model") ?? "")?.readsDemoAudio === true;
  const storedText =
    canTranscribe && file !== undefined ? readAudioComment(file.firstBytes) : undefined;
  const fileText = file && `The demo received ${file.filename} with ${file.size} bytes.`;
  const text =
    storedText ??
    (fileText ? `${fileText} It cannot understand speech.` : "The demo received no file.");
  const format = fields.get("response_format");
  const usage = {
    type: "tokens",
    ...buildMediaUsage(Math.ceil((file?.size ?? 0) / 1000), countTokens(text)),
  };
  if (format === "text")
    return { kind: "complete", contentType: "text/plain; charset=utf-8", body: `${text}\n` };
  if (fields.get("stream") === "true") {
    const words = text.match(/\s*\S+\s*$|\s*\S+/g) ?? [];
    const deltas = words.map((delta) => ({ type: "transcript.text.delta", delta }));
    return toEventStream([...deltas, { type: "transcript.text.done", text, usage }], 1);
  }
  const verboseBody = { task: "transcribe", language: "english", duration: 1, text, segments: [] };
  return toJsonReply(format === "verbose_json" ? verboseBody : { text });
}

function buildMediaUsage(input: number, output: number): JsonObject {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function toEventStream(events: readonly JsonObject[], delaysPerEvent: number): DemoMediaReply {
  const steps = events.flatMap((event): WireStep[] => [
    ...Array.from({ length: delaysPerEvent }, () => ({ type: "pace" as const })),
    {
      type: "write",
      data: `event: ${asString(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`,
    },
  ]);
  return { kind: "stream", steps };
}

function toRejectedReply(message: string, param: string): DemoMediaReply {
  return { kind: "rejected", rejection: createRejection(400, message, { param }) };
}

function toJsonReply(value: object): DemoMediaReply {
  return { kind: "complete", contentType: "application/json", body: JSON.stringify(value) };
}
