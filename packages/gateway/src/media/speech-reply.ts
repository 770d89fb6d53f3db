import { bareType } from "@deltawire/tasks";
import { isObject, parseJson, type JsonObject } from "@deltawire/wire";
import type { FailedOutcome } from "../upstream/failure.ts";
import { brokenOff, errorOf, unreadable, type MediaReply, type ReplyHead } from "./media-reply.ts";
import { soundTypeOf, typeOfBytes } from "./media-types.ts";
import { soundEvents } from "./reply-events.ts";
import { noUsage } from "./usage.ts";

/** A sound, which is nothing before it is whole. */
export class SpeechReply implements MediaReply {
  readonly usage = noUsage();
  failure: FailedOutcome | undefined;
  isWhole = false;
  readonly #head: ReplyHead;
  readonly #spoken: { text: string; format: string };
  readonly #pieces: Buffer[] = [];
  #size = 0;

  constructor(head: ReplyHead, spoken: { text: string; format: string }) {
    this.#head = head;
    this.#spoken = spoken;
  }

  get progress(): MediaReply["progress"] {
    const { length } = this.#head;
    return {
      words: `${Math.round(this.#size / 1024)} KB of sound`,
      fraction: length ? Math.min(this.#size / length, 1) : undefined,
    };
  }

  push(bytes: Buffer): void {
    this.#size += bytes.length;
    this.#pieces.push(bytes);
  }

  end(out: JsonObject[]): void {
    const bytes = Buffer.concat(this.#pieces);
    const told = bareType(this.#head.contentType);
    // Not a sound: an error with a status of 200, or the page of a proxy.
    if (/^text\/|json$/.test(told)) {
      const text = bytes.toString("utf8");
      const reply = parseJson(text);
      this.failure = (isObject(reply) ? errorOf(reply) : undefined) ?? unreadable(text);
    } else if (this.#size === 0) this.failure = brokenOff("there was a sound");
    else {
      const { text, format } = this.#spoken;
      const type = /^(?:audio|video)\//.test(told) ? told : typeOfBytes(bytes);
      out.push(...soundEvents(bytes, type ?? soundTypeOf(format), text));
      this.isWhole = true;
    }
  }
}
