import { mediaTypeEssence } from "@deltawire/tasks";
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
import { MessageEvents } from "./media-events.ts";
import { addMediaUsage, createEmptyMediaUsage } from "./media-usage.ts";

/** Reads a transcript, streamed or complete. */
export class TranscriptReply implements MediaReply {
  readonly usage = createEmptyMediaUsage();
  readonly progress = { message: "transcribing", fraction: undefined };
  failure: FailedAttempt | undefined;
  isComplete = false;
  readonly #body: MediaBodyDecoder;
  readonly #isText: boolean;
  readonly #message = new MessageEvents(0);
  #out: JsonObject[] = [];

  constructor({ contentType }: ReplyHead, maxLength: number) {
    // Subtitles and plain text are not JSON.
    this.#isText = /^(?:text\/|application\/x-subrip)/.test(mediaTypeEssence(contentType));
    this.#body = new MediaBodyDecoder(contentType, maxLength, {
      onEvent: (event) => this.#onEvent(event),
      onDone: () => this.#finish(),
      onComplete: (text) => this.#onComplete(text),
    });
  }

  push(bytes: Buffer, out: JsonObject[]): void {
    this.#out = out;
    this.#body.push(bytes);
  }

  end(out: JsonObject[]): void {
    this.#out = out;
    this.#body.end();
    if (!this.isComplete) this.failure ??= createTruncatedOutcome("the transcript was complete");
  }

  #onEvent(event: JsonObject): void {
    if (this.isComplete) return;
    addMediaUsage(this.usage, event["usage"]);
    switch (event["type"]) {
      case "transcript.text.delta":
        return this.#message.pushDelta(asString(event["delta"]), this.#out);
      case "transcript.text.done":
        return this.#finish(asString(event["text"]));
      default: {
        this.failure ??= parseReplyError(event);
        // vLLM streams transcripts as Chat chunks.
        const delta = getChunkText(event);
        if (delta !== "") this.#message.pushDelta(delta, this.#out);
      }
    }
  }

  #onComplete(text: string): void {
    const reply = this.#isText ? undefined : parseJson(text);
    if (isObject(reply)) {
      addMediaUsage(this.usage, reply["usage"]);
      if (typeof reply["text"] === "string") this.#finish(reply["text"]);
      else this.failure ??= parseReplyError(reply) ?? createUnreadableOutcome(text);
    } else if (this.#isText) this.#finish(text.trimEnd());
    else if (text.trim() !== "") this.failure ??= createUnreadableOutcome(text);
  }

  /** Sent deltas cannot be retracted; text that is missing after them is sent as a last delta. */
  #finish(completeText = this.#message.text): void {
    if (this.isComplete) return;
    this.isComplete = true;
    const { text } = this.#message;
    if (completeText.startsWith(text))
      this.#message.pushDelta(completeText.slice(text.length), this.#out);
    this.#message.pushDone(this.#out);
  }
}

function getChunkText({ choices }: JsonObject): string {
  const [choice] = Array.isArray(choices) ? choices : [];
  const delta = isObject(choice) ? choice["delta"] : undefined;
  return isObject(delta) ? asString(delta["content"]) : "";
}
