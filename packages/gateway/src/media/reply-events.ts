import type { JsonObject } from "@deltawire/wire";
import { newId } from "../new-id.ts";

/*
 * What a reply of an endpoint for media is in the events of a Responses stream. An item is told when there is something of
 * it, and not before: until then another server can be asked.
 */

/** One picture, and what of it is to be seen before it is whole. */
export class PictureEvents {
  readonly #id = newId("ig");
  readonly #index: number;
  #open = false;

  constructor(index: number) {
    this.#index = index;
  }

  partial(base64: string, at: number, format: string, out: JsonObject[]): void {
    this.#begin(out);
    out.push({
      type: "response.image_generation_call.partial_image",
      item_id: this.#id,
      output_index: this.#index,
      partial_image_index: at,
      partial_image_b64: base64,
      output_format: format,
    });
  }

  whole(base64: string, format: string, more: JsonObject, out: JsonObject[]): void {
    this.#begin(out);
    const item = this.#item("completed", base64, { ...more, output_format: format });
    out.push({ type: "response.output_item.done", output_index: this.#index, item });
  }

  #begin(out: JsonObject[]): void {
    if (this.#open) return;
    this.#open = true;
    const item = this.#item("in_progress", null, {});
    out.push({ type: "response.output_item.added", output_index: this.#index, item });
  }

  #item(status: string, result: string | null, more: JsonObject): JsonObject {
    return { ...more, type: "image_generation_call", id: this.#id, status, result };
  }
}

/** One message, as its text comes. */
export class MessageEvents {
  readonly #id = newId("msg");
  readonly #index: number;
  #open = false;
  text = "";

  constructor(index: number) {
    this.#index = index;
  }

  delta(delta: string, out: JsonObject[]): void {
    this.#begin(out);
    if (delta === "") return;
    this.text += delta;
    out.push({ type: "response.output_text.delta", ...this.#place, delta, logprobs: [] });
  }

  done(out: JsonObject[]): void {
    this.#begin(out);
    const { text } = this;
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    const item = this.#item("completed", [part]);
    out.push(
      { type: "response.output_text.done", ...this.#place, text, logprobs: [] },
      { type: "response.content_part.done", ...this.#place, part },
      { type: "response.output_item.done", output_index: this.#index, item },
    );
  }

  #begin(out: JsonObject[]): void {
    if (this.#open) return;
    this.#open = true;
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const item = this.#item("in_progress", []);
    out.push(
      { type: "response.output_item.added", output_index: this.#index, item },
      { type: "response.content_part.added", ...this.#place, part },
    );
  }

  get #place(): JsonObject {
    return { item_id: this.#id, output_index: this.#index, content_index: 0 };
  }

  #item(status: string, content: JsonObject[]): JsonObject {
    return { type: "message", id: this.#id, status, role: "assistant", content };
  }
}

/** A sound, which is told when it is whole. */
export function soundEvents(bytes: Buffer, mediaType: string, transcript: string): JsonObject[] {
  const id = newId("ag");
  const item = { type: "audio_generation_call", id, media_type: mediaType, transcript };
  const begun = { ...item, status: "in_progress", result: null };
  const done = { ...item, status: "completed", result: bytes.toString("base64") };
  return [
    { type: "response.output_item.added", output_index: 0, item: begun },
    { type: "response.output_item.done", output_index: 0, item: done },
  ];
}

export function progressEvent(message: string, fraction: number | undefined): JsonObject {
  const known = fraction === undefined ? {} : { fraction: Math.round(fraction * 100) / 100 };
  return { type: "deltawire.progress", message, ...known };
}
