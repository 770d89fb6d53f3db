import { asString, isObject, parseJson, type JsonObject } from "@deltawire/wire";
import type { FailedAttempt } from "../upstream/attempt-outcome.ts";
import {
  createTruncatedOutcome,
  parseReplyError,
  MediaBodyDecoder,
  createUnreadableOutcome,
  type MediaReply,
  type ReplyHead,
} from "./media-reply.ts";
import { detectMediaType } from "./media-types.ts";
import { ImageEvents } from "./media-events.ts";
import { addMediaUsage, createEmptyMediaUsage } from "./media-usage.ts";

/** An image that the server returned as a link. */
export interface ImageLink {
  readonly url: string;
  /** The index of its output item. */
  readonly index: number;
  readonly extraFields: JsonObject;
}

/** Reads generated images: a stream with previews, or a complete reply. */
export class ImageReply implements MediaReply {
  readonly usage = createEmptyMediaUsage();
  failure: FailedAttempt | undefined;
  isComplete = false;
  /** Images to fetch when the reply is complete. */
  readonly links: ImageLink[] = [];
  readonly #body: MediaBodyDecoder;
  readonly #requestedPreviewCount: number;
  #itemCount = 0;
  #image: ImageEvents | undefined;
  #previewCount = 0;
  #imageCount = 0;
  #out: JsonObject[] = [];

  constructor({ contentType }: ReplyHead, requestedPreviewCount: number, maxLength: number) {
    this.#requestedPreviewCount = requestedPreviewCount;
    this.#body = new MediaBodyDecoder(contentType, maxLength, {
      onEvent: (event) => this.#onEvent(event),
      onDone: () => undefined,
      onComplete: (text) => this.#onComplete(text),
    });
  }

  get progress(): MediaReply["progress"] {
    const fraction =
      this.#previewCount === 0 ? undefined : this.#previewCount / (this.#requestedPreviewCount + 1);
    return { message: "generating the image", fraction: fraction && Math.min(fraction, 0.99) };
  }

  push(bytes: Buffer, out: JsonObject[]): void {
    this.#out = out;
    this.#body.push(bytes);
  }

  end(out: JsonObject[]): void {
    this.#out = out;
    this.#body.end();
    if (this.#imageCount === 0) this.failure ??= createTruncatedOutcome("an image was complete");
  }

  /** Handles `image_generation.partial_image`, `image_edit.completed` and so on. */
  #onEvent(event: JsonObject): void {
    const type = asString(event["type"]);
    if (Array.isArray(event["data"])) this.#readImages(event);
    else if (type.endsWith(".partial_image")) this.#emitPreview(event);
    else if (type.endsWith(".completed")) {
      addMediaUsage(this.usage, event["usage"]);
      this.#emitImage(event, {});
      this.isComplete = true;
    } else this.failure ??= parseReplyError(event);
  }

  #emitPreview({
    b64_json,
    partial_image_index: index,
    output_format: declaredFormat,
  }: JsonObject): void {
    const base64 = stripDataUrl(asString(b64_json));
    if (base64 === "") return;
    this.#image ??= new ImageEvents(this.#itemCount++);
    const partialIndex = typeof index === "number" ? index : this.#previewCount;
    this.#previewCount += 1;
    this.#image.pushPartial(
      base64,
      partialIndex,
      detectImageFormat(base64, declaredFormat),
      this.#out,
    );
  }

  #onComplete(text: string): void {
    const reply = parseJson(text);
    if (!isObject(reply)) {
      if (text.trim() !== "") this.failure ??= createUnreadableOutcome(text);
      return;
    }
    if (Array.isArray(reply["data"])) this.#readImages(reply);
    else this.failure ??= parseReplyError(reply) ?? createUnreadableOutcome(text);
  }

  #readImages(reply: JsonObject): void {
    addMediaUsage(this.usage, reply["usage"]);
    for (const image of reply["data"] as unknown[])
      if (isObject(image)) this.#emitImage(image, reply);
    this.isComplete = true;
  }

  #emitImage(image: JsonObject, reply: JsonObject): void {
    const { b64_json, url, revised_prompt: revisedPrompt } = image;
    const dataUrl = asString(url).startsWith("data:") ? asString(url) : "";
    const base64 = stripDataUrl(asString(b64_json) || dataUrl);
    const extraFields = typeof revisedPrompt === "string" ? { revised_prompt: revisedPrompt } : {};
    if (base64 === "") return this.#addLink(asString(url), extraFields);
    const format = detectImageFormat(base64, image["output_format"] ?? reply["output_format"]);
    const events = this.#image ?? new ImageEvents(this.#itemCount++);
    this.#image = undefined;
    events.pushComplete(base64, format, extraFields, this.#out);
    this.#countImage();
  }

  #addLink(url: string, extraFields: JsonObject): void {
    if (!/^https?:\/\/[^\s<>]+$/i.test(url) || !URL.canParse(url)) return;
    this.links.push({ url, index: this.#itemCount++, extraFields });
    this.#countImage();
  }

  #countImage(): void {
    this.#imageCount += 1;
    this.usage.images = this.#imageCount;
  }
}

/** Removes the prefix of a `data:` URL, which some servers add. */
function stripDataUrl(text: string): string {
  return text.startsWith("data:") ? text.slice(text.indexOf(",") + 1) : text;
}

/** Returns the format of the data, or the declared one if it cannot be detected. */
function detectImageFormat(base64: string, declaredFormat: unknown): string {
  const detected = detectMediaType(Buffer.from(base64.slice(0, 24), "base64"));
  if (detected?.startsWith("image/")) return detected.slice("image/".length);
  return typeof declaredFormat === "string" && /^[a-z]+$/.test(declaredFormat)
    ? declaredFormat
    : "png";
}
