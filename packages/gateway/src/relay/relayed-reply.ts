import {
  WireError,
  type StreamEndReason,
  type UpstreamFailure,
  type UpstreamReply,
} from "@deltawire/wire";
import { toRejectedOutcome } from "../upstream/attempt-outcome.ts";
import type {
  UpstreamConnection,
  UpstreamHeaders,
  UpstreamReplyReader,
} from "../upstream/send-request.ts";
import type { ClientEvent } from "./client-wire.ts";
import type { PausableTurn } from "./relay-plan.ts";
import type { ReplyReceiver } from "./receiver.ts";

export interface RelayedReplyOptions {
  reply: UpstreamReply<ClientEvent>;
  /** If the upstream pauses this turn, the reply does not end with its body. Default: undefined. */
  turn?: PausableTurn | undefined;
  receiver: ReplyReceiver;
  connection: UpstreamConnection;
  /** Called each time content goes to the client, unless the reply has failed. */
  onContent: (() => void) | undefined;
  /** Called with the headers of the upstream's reply, before its first byte is sent. */
  onHeaders?: ((headers: UpstreamHeaders) => void) | undefined;
}

/** After this many seconds without output the client receives a keep-alive. */
const keepAliveSeconds = 10;

/** Maximum size of one reply, as the upstream sends it. */
const maxBytes = 128 * 1024 * 1024;
/**
 * Maximum total size of consecutive comments, empty events and empty deltas. Servers send them while a model's reasoning is
 * hidden, some for every token: 32 MB is about 100,000 empty deltas.
 */
const maxBytesWithoutContent = 32 * 1024 * 1024;
const maxSecondsWithoutContent = 3600;

/** Relays a reply to the client: one push and one write for each network read, without an await between them. */
export class RelayedReply implements UpstreamReplyReader {
  readonly #options: RelayedReplyOptions;
  readonly #reply: UpstreamReply<ClientEvent>;
  readonly #out: ClientEvent[] = [];
  #size = 0;
  #secondsSinceOutput = 0;
  /** Value of `UpstreamReply.progress` when the latest content arrived. */
  #lastProgress = 0;
  #bytesWithoutContent = 0;
  #secondsWithoutContent = 0;

  constructor(options: RelayedReplyOptions) {
    this.#options = options;
    this.#reply = options.reply;
  }

  begin(_status: number, headers: UpstreamHeaders): void {
    this.#options.onHeaders?.(headers);
  }

  push(bytes: Buffer): void {
    this.#size += bytes.length;
    try {
      if (this.#size > maxBytes)
        throw new WireError(
          "reply_too_large",
          `the upstream's reply is larger than the limit of ${maxBytes} bytes`,
        );
      this.#reply.push(bytes, this.#out);
      this.#trackContent(bytes.length);
      this.#flush();
    } catch (error) {
      this.#failAtLimit(error);
    }
  }

  end(endReason: StreamEndReason): void {
    const { connection, turn } = this.#options;
    try {
      this.#reply.end(endReason, this.#out);
      if (turn?.isPaused === true) {
        // A complete reply is read at its end.
        this.#flush();
        return connection.finish({
          type: "answered",
          usage: this.#reply.usage,
          failure: undefined,
        });
      }
      if (this.#reply.hasBegun || this.#reply.rejection !== undefined) this.#flush();
    } catch (error) {
      return this.#failAtLimit(error);
    }
    // No effect if `#flush` has finished the request.
    connection.finish({
      type: "unreachable",
      timedOut: endReason === "idle_timeout",
      cause: "the reply was empty",
      connected: true,
      endedWithoutReply: true,
    });
  }

  onTick(): void {
    this.#secondsWithoutContent += 1;
    if (this.#secondsWithoutContent > maxSecondsWithoutContent)
      return this.#fail({
        code: "upstream_idle_timeout",
        message: `the upstream sent no content for ${maxSecondsWithoutContent / 60} minutes, only keep-alives`,
      });
    const { receiver } = this.#options;
    if (!receiver.isStreaming) return;
    this.#secondsSinceOutput += 1;
    if (this.#secondsSinceOutput < keepAliveSeconds) return;
    this.#secondsSinceOutput = 0;
    if (this.#reply.hasBegun) this.#reply.keepAlive(this.#out);
    else this.#reply.begin(this.#out);
    receiver.keepAlive();
    receiver.send(this.#out, undefined);
    this.#out.length = 0;
  }

  #trackContent(length: number): void {
    const { progress } = this.#reply;
    if (progress !== this.#lastProgress) {
      this.#lastProgress = progress;
      this.#bytesWithoutContent = 0;
      this.#secondsWithoutContent = 0;
      return;
    }
    this.#bytesWithoutContent += length;
    if (this.#bytesWithoutContent > maxBytesWithoutContent)
      throw new WireError(
        "reply_too_large",
        `the upstream sent more than ${maxBytesWithoutContent} bytes without any content`,
      );
  }

  /** Forwards the events in `#out`. `abort` closes the connection of an upstream that is still sending. */
  #flush(abort?: "abort"): void {
    const reply = this.#reply;
    const { receiver, connection } = this.#options;
    if (reply.rejection !== undefined) return connection.finish(toRejectedOutcome(reply.rejection));
    const { failure } = reply;
    if (failure !== undefined && !receiver.hasSent)
      return connection.finish({ type: "failed", failure });
    // Opening events are not content: an error may follow them.
    if (this.#out.length > 0 && failure === undefined && (reply.progress > 0 || reply.ended))
      this.#options.onContent?.();
    if (reply.ended) {
      receiver.end(this.#out, reply.passthroughBytes, failure);
      return connection.finish({ type: "answered", usage: reply.usage, failure }, abort);
    }
    if (this.#out.length > 0) {
      this.#secondsSinceOutput = 0;
      const isReady = receiver.send(this.#out, reply.passthroughBytes);
      // `pop` keeps the storage of the array, which V8 releases at length 0: 25 instead of 100 ns per event.
      if (this.#out.length === 1) this.#out.pop();
      else this.#out.length = 0;
      if (!isReady) connection.pause((resume) => receiver.whenReady(resume));
    }
    if (reply.awaitsEnd) connection.awaitEnd();
  }

  /** A WireError means that the upstream exceeded a limit; anything else is an internal error. */
  #failAtLimit(error: unknown): void {
    if (!(error instanceof WireError)) throw error;
    this.#fail({ code: "reply_too_large", message: error.message });
  }

  /** Ends the reply without waiting for the upstream. */
  #fail(failure: UpstreamFailure): void {
    this.#reply.fail(failure, this.#out);
    this.#flush("abort");
  }
}
