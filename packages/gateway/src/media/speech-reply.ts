import { mediaTypeEssence } from "@deltawire/tasks";
import { isObject, parseJson, type JsonObject } from "@deltawire/wire";
import type { FailedAttempt } from "../upstream/attempt-outcome.ts";
import {
  createTruncatedOutcome,
  parseReplyError,
  createUnreadableOutcome,
  type MediaReply,
  type ReplyHead,
} from "./media-reply.ts";
import { toAudioType, detectMediaType } from "./media-types.ts";
import { buildAudioEvents } from "./media-events.ts";
import { createEmptyMediaUsage } from "./media-usage.ts";

/** Collects generated speech, which is sent only when it is complete. */
export class SpeechReply implements MediaReply {
  readonly usage = createEmptyMediaUsage();
  failure: FailedAttempt | undefined;
  isComplete = false;
  readonly #head: ReplyHead;
  readonly #speech: { text: string; format: string };
  readonly #chunks: Buffer[] = [];
  #size = 0;

  constructor(head: ReplyHead, speech: { text: string; format: string }) {
    this.#head = head;
    this.#speech = speech;
  }

  get progress(): MediaReply["progress"] {
    const { length } = this.#head;
    return {
      message: `${Math.round(this.#size / 1024)} KB of audio`,
      fraction: length ? Math.min(this.#size / length, 1) : undefined,
    };
  }

  push(bytes: Buffer): void {
    this.#size += bytes.length;
    this.#chunks.push(bytes);
  }

  end(out: JsonObject[]): void {
    const bytes = Buffer.concat(this.#chunks);
    const declaredType = mediaTypeEssence(this.#head.contentType);
    // Not audio: an error with status 200, or a proxy's error page.
    if (/^text\/|json$/.test(declaredType)) {
      const text = bytes.toString("utf8");
      const reply = parseJson(text);
      this.failure =
        (isObject(reply) ? parseReplyError(reply) : undefined) ?? createUnreadableOutcome(text);
    } else if (this.#size === 0) this.failure = createTruncatedOutcome("any audio arrived");
    else {
      const { text, format } = this.#speech;
      const type = /^(?:audio|video)\//.test(declaredType) ? declaredType : detectMediaType(bytes);
      out.push(...buildAudioEvents(bytes, type ?? toAudioType(format), text));
      this.isComplete = true;
    }
  }
}
