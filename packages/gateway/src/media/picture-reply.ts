import { asText, isObject, parseJson, type JsonObject } from "@deltawire/wire";
import type { FailedOutcome } from "../upstream/failure.ts";
import {
  brokenOff,
  errorOf,
  MediaBody,
  unreadable,
  type MediaReply,
  type ReplyHead,
} from "./media-reply.ts";
import { typeOfBytes } from "./media-types.ts";
import { PictureEvents } from "./reply-events.ts";
import { addUsage, noUsage } from "./usage.ts";

/** A picture for which the server has given an address. */
export interface PictureLink {
  readonly url: string;
  /** Its place among the items of the reply. */
  readonly index: number;
  readonly more: JsonObject;
}

/** Pictures: as they become clearer, or all at once. */
export class PictureReply implements MediaReply {
  readonly usage = noUsage();
  failure: FailedOutcome | undefined;
  isWhole = false;
  /** What is to be fetched when the reply is complete. */
  readonly links: PictureLink[] = [];
  readonly #body: MediaBody;
  /** How many previews were asked for. */
  readonly #previews: number;
  #items = 0;
  #picture: PictureEvents | undefined;
  #seen = 0;
  #made = 0;
  #out: JsonObject[] = [];

  constructor({ contentType }: ReplyHead, previews: number, maxLength: number) {
    this.#previews = previews;
    this.#body = new MediaBody(contentType, maxLength, {
      event: (event) => this.#event(event),
      done: () => undefined,
      whole: (text) => this.#wholeReply(text),
    });
  }

  get progress(): MediaReply["progress"] {
    const fraction = this.#seen === 0 ? undefined : this.#seen / (this.#previews + 1);
    return { words: "the picture is being made", fraction: fraction && Math.min(fraction, 0.99) };
  }

  push(bytes: Buffer, out: JsonObject[]): void {
    this.#out = out;
    this.#body.push(bytes);
  }

  end(out: JsonObject[]): void {
    this.#out = out;
    this.#body.end();
    if (this.#made === 0) this.failure ??= brokenOff("there was a picture");
  }

  /** `image_generation.partial_image`, `image_edit.completed` and so on. */
  #event(event: JsonObject): void {
    const type = asText(event["type"]);
    if (Array.isArray(event["data"])) this.#pictures(event);
    else if (type.endsWith(".partial_image")) this.#preview(event);
    else if (type.endsWith(".completed")) {
      addUsage(this.usage, event["usage"]);
      this.#finished(event, {});
      this.isWhole = true;
    } else this.failure ??= errorOf(event);
  }

  #preview({ b64_json, partial_image_index: index, output_format: told }: JsonObject): void {
    const base64 = bareBase64(asText(b64_json));
    if (base64 === "") return;
    this.#picture ??= new PictureEvents(this.#items++);
    const at = typeof index === "number" ? index : this.#seen;
    this.#seen += 1;
    this.#picture.partial(base64, at, formatOf(base64, told), this.#out);
  }

  #wholeReply(text: string): void {
    const reply = parseJson(text);
    if (!isObject(reply)) {
      if (text.trim() !== "") this.failure ??= unreadable(text);
      return;
    }
    if (Array.isArray(reply["data"])) this.#pictures(reply);
    else this.failure ??= errorOf(reply) ?? unreadable(text);
  }

  #pictures(reply: JsonObject): void {
    addUsage(this.usage, reply["usage"]);
    for (const picture of reply["data"] as unknown[])
      if (isObject(picture)) this.#finished(picture, reply);
    this.isWhole = true;
  }

  #finished(picture: JsonObject, reply: JsonObject): void {
    const { b64_json, url, revised_prompt: revised } = picture;
    const inUrl = asText(url).startsWith("data:") ? asText(url) : "";
    const base64 = bareBase64(asText(b64_json) || inUrl);
    const more = typeof revised === "string" ? { revised_prompt: revised } : {};
    if (base64 === "") return this.#link(asText(url), more);
    const format = formatOf(base64, picture["output_format"] ?? reply["output_format"]);
    const events = this.#picture ?? new PictureEvents(this.#items++);
    this.#picture = undefined;
    events.whole(base64, format, more, this.#out);
    this.#count();
  }

  #link(url: string, more: JsonObject): void {
    if (!/^https?:\/\/[^\s<>]+$/i.test(url) || !URL.canParse(url)) return;
    this.links.push({ url, index: this.#items++, more });
    this.#count();
  }

  #count(): void {
    this.#made += 1;
    this.usage.images = this.#made;
  }
}

/** Some servers put the head of a `data:` URL before it. */
function bareBase64(text: string): string {
  return text.startsWith("data:") ? text.slice(text.indexOf(",") + 1) : text;
}

/** What the picture is, and not what was asked for or told. */
function formatOf(base64: string, told: unknown): string {
  const found = typeOfBytes(Buffer.from(base64.slice(0, 24), "base64"));
  if (found?.startsWith("image/")) return found.slice("image/".length);
  return typeof told === "string" && /^[a-z]+$/.test(told) ? told : "png";
}
