import type { JsonObject } from "@deltawire/wire";
import { newId } from "../new-id.ts";

/*
 * Builds the Responses events for replies of media endpoints. An item starts only when it has content, so that another
 * upstream can be tried until then.
 */

/** The events of one image and its previews. */
export class ImageEvents {
  readonly #id = newId("ig");
  readonly #index: number;
  #isOpen = false;

  constructor(index: number) {
    this.#index = index;
  }

  pushPartial(base64: string, partialIndex: number, format: string, out: JsonObject[]): void {
    this.#begin(out);
    out.push({
      type: "response.image_generation_call.partial_image",
      item_id: this.#id,
      output_index: this.#index,
      partial_image_index: partialIndex,
      partial_image_b64: base64,
      output_format: format,
    });
  }

  pushComplete(base64: string, format: string, extraFields: JsonObject, out: JsonObject[]): void {
    this.#begin(out);
    const item = this.#buildItem("completed", base64, { ...extraFields, output_format: format });
    out.push({ type: "response.output_item.done", output_index: this.#index, item });
  }

  #begin(out: JsonObject[]): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const item = this.#buildItem("in_progress", null, {});
    out.push({ type: "response.output_item.added", output_index: this.#index, item });
  }

  #buildItem(status: string, result: string | null, extraFields: JsonObject): JsonObject {
    return { ...extraFields, type: "image_generation_call", id: this.#id, status, result };
  }
}

/** The events of one streamed message. */
export class MessageEvents {
  readonly #id = newId("msg");
  readonly #index: number;
  #isOpen = false;
  text = "";

  constructor(index: number) {
    this.#index = index;
  }

  pushDelta(delta: string, out: JsonObject[]): void {
    this.#begin(out);
    if (delta === "") return;
    this.text += delta;
    out.push({ type: "response.output_text.delta", ...this.#position, delta, logprobs: [] });
  }

  pushDone(out: JsonObject[]): void {
    this.#begin(out);
    const { text } = this;
    const part = { type: "output_text", text, annotations: [], logprobs: [] };
    const item = this.#buildItem("completed", [part]);
    out.push(
      { type: "response.output_text.done", ...this.#position, text, logprobs: [] },
      { type: "response.content_part.done", ...this.#position, part },
      { type: "response.output_item.done", output_index: this.#index, item },
    );
  }

  #begin(out: JsonObject[]): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
    const item = this.#buildItem("in_progress", []);
    out.push(
      { type: "response.output_item.added", output_index: this.#index, item },
      { type: "response.content_part.added", ...this.#position, part },
    );
  }

  get #position(): JsonObject {
    return { item_id: this.#id, output_index: this.#index, content_index: 0 };
  }

  #buildItem(status: string, content: JsonObject[]): JsonObject {
    return { type: "message", id: this.#id, status, role: "assistant", content };
  }
}

/** Builds the events of audio, which is sent only when it is complete. */
export function buildAudioEvents(
  bytes: Buffer,
  mediaType: string,
  transcript: string,
): JsonObject[] {
  const id = newId("ag");
  const item = { type: "audio_generation_call", id, media_type: mediaType, transcript };
  const startedItem = { ...item, status: "in_progress", result: null };
  const completedItem = { ...item, status: "completed", result: bytes.toString("base64") };
  return [
    { type: "response.output_item.added", output_index: 0, item: startedItem },
    { type: "response.output_item.done", output_index: 0, item: completedItem },
  ];
}

export function buildProgressEvent(message: string, fraction: number | undefined): JsonObject {
  const fractionField =
    fraction === undefined ? {} : { fraction: Math.round(fraction * 100) / 100 };
  return { type: "deltawire.progress", message, ...fractionField };
}
