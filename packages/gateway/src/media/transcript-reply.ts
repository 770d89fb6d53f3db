import { bareType } from "@deltawire/tasks";
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
import { MessageEvents } from "./reply-events.ts";
import { addUsage, noUsage } from "./usage.ts";

/** What was said, as it is understood or all at once. */
export class TranscriptReply implements MediaReply {
  readonly usage = noUsage();
  readonly progress = { words: "listening", fraction: undefined };
  failure: FailedOutcome | undefined;
  isWhole = false;
  readonly #body: MediaBody;
  readonly #isText: boolean;
  readonly #message = new MessageEvents(0);
  #out: JsonObject[] = [];

  constructor({ contentType }: ReplyHead, maxLength: number) {
    // Subtitles and plain text come as they are.
    this.#isText = /^(?:text\/|application\/x-subrip)/.test(bareType(contentType));
    this.#body = new MediaBody(contentType, maxLength, {
      event: (event) => this.#event(event),
      done: () => this.#end(),
      whole: (text) => this.#whole(text),
    });
  }

  push(bytes: Buffer, out: JsonObject[]): void {
    this.#out = out;
    this.#body.push(bytes);
  }

  end(out: JsonObject[]): void {
    this.#out = out;
    this.#body.end();
    if (!this.isWhole) this.failure ??= brokenOff("the text was whole");
  }

  #event(event: JsonObject): void {
    if (this.isWhole) return;
    addUsage(this.usage, event["usage"]);
    switch (event["type"]) {
      case "transcript.text.delta":
        return this.#message.delta(asText(event["delta"]), this.#out);
      case "transcript.text.done":
        return this.#end(asText(event["text"]));
      default: {
        this.failure ??= errorOf(event);
        // vLLM streams a transcript in the chunks of a chat.
        const delta = chunkText(event);
        if (delta !== "") this.#message.delta(delta, this.#out);
      }
    }
  }

  #whole(text: string): void {
    const reply = this.#isText ? undefined : parseJson(text);
    if (isObject(reply)) {
      addUsage(this.usage, reply["usage"]);
      if (typeof reply["text"] === "string") this.#end(reply["text"]);
      else this.failure ??= errorOf(reply) ?? unreadable(text);
    } else if (this.#isText) this.#end(text.trimEnd());
    else if (text.trim() !== "") this.failure ??= unreadable(text);
  }

  /** What was told by deltas cannot be taken back; what they left out is told at the end. */
  #end(whole = this.#message.text): void {
    if (this.isWhole) return;
    this.isWhole = true;
    const { text } = this.#message;
    if (whole.startsWith(text)) this.#message.delta(whole.slice(text.length), this.#out);
    this.#message.done(this.#out);
  }
}

function chunkText({ choices }: JsonObject): string {
  const [choice] = Array.isArray(choices) ? choices : [];
  const delta = isObject(choice) ? choice["delta"] : undefined;
  return isObject(delta) ? asText(delta["content"]) : "";
}
