import {
  WireError,
  type StreamEnd,
  type UpstreamFailure,
  type UpstreamReply,
} from "@deltawire/wire";
import { refusedBy } from "../upstream/failure.ts";
import type { Connection, ReplyReader } from "../upstream/send-request.ts";
import type { Output } from "./client-wire.ts";
import type { Plan } from "./plan.ts";
import type { Receiver } from "./receiver.ts";

export interface RelayedReplyOptions {
  plan: Plan;
  receiver: Receiver;
  connection: Connection;
  /** Called when content goes to the client and the reply has not failed; possibly more than once. */
  onContent: (() => void) | undefined;
}

/** Seconds without output after which the client receives a keep-alive. */
const keepAliveSeconds = 15;

/** Of one reply. */
const maxBytes = 128 * 1024 * 1024;
/**
 * Of comments, empty events and empty deltas in a row. Servers send them while a model reasons without showing it, some for
 * every token: 32 MB are 100,000 empty deltas.
 */
const maxBytesWithoutContent = 32 * 1024 * 1024;
const maxSecondsWithoutContent = 3600;

/** Relays a reply to the client: one push and one write for each network read, without an await between them. */
export class RelayedReply implements ReplyReader {
  readonly #options: RelayedReplyOptions;
  readonly #reply: UpstreamReply<Output>;
  readonly #out: Output[] = [];
  #size = 0;
  #quiet = 0;
  /** `progress` of the reply at its latest content. */
  #progress = 0;
  #bytesWithoutContent = 0;
  #secondsWithoutContent = 0;

  constructor(options: RelayedReplyOptions) {
    this.#options = options;
    this.#reply = options.plan.reply();
  }

  push(bytes: Buffer): void {
    this.#size += bytes.length;
    try {
      if (this.#size > maxBytes)
        throw new WireError(
          "reply_too_large",
          `the upstream's reply has more than ${maxBytes} bytes, which is the limit`,
        );
      this.#reply.push(bytes, this.#out);
      this.#countContent(bytes.length);
      this.#pass();
    } catch (error) {
      this.#failAtLimit(error);
    }
  }

  end(how: StreamEnd): void {
    const { connection } = this.#options;
    try {
      this.#reply.end(how, this.#out);
      if (this.#reply.begun || this.#reply.refusal !== undefined) this.#pass();
    } catch (error) {
      return this.#failAtLimit(error);
    }
    // No effect if `#pass` has finished the request.
    connection.finish({
      is: "unreachable",
      timedOut: how === "idle_timeout",
      cause: "the reply ended before it began",
      connected: true,
      answered: true,
    });
  }

  beat(): void {
    this.#secondsWithoutContent += 1;
    if (this.#secondsWithoutContent > maxSecondsWithoutContent)
      return this.#fail({
        code: "upstream_idle_timeout",
        message: `the upstream sent no content for ${maxSecondsWithoutContent / 60} minutes, only keep-alives`,
      });
    const { receiver } = this.#options;
    if (!receiver.streams) return;
    this.#quiet += 1;
    if (this.#quiet < keepAliveSeconds) return;
    this.#quiet = 0;
    if (this.#reply.begun) this.#reply.keepAlive(this.#out);
    else this.#reply.begin(this.#out);
    receiver.keepAlive();
    receiver.send(this.#out, undefined);
    this.#out.length = 0;
  }

  #countContent(length: number): void {
    const { progress } = this.#reply;
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#bytesWithoutContent = 0;
      this.#secondsWithoutContent = 0;
      return;
    }
    this.#bytesWithoutContent += length;
    if (this.#bytesWithoutContent > maxBytesWithoutContent)
      throw new WireError(
        "reply_too_large",
        `the upstream sent more than ${maxBytesWithoutContent} bytes without any content, which is the limit`,
      );
  }

  /** Forwards the events in `#out`. `abort` closes the connection of an upstream that is still sending. */
  #pass(abort?: "abort"): void {
    const reply = this.#reply;
    const { receiver, connection } = this.#options;
    if (reply.refusal !== undefined) return connection.finish(refusedBy(reply.refusal));
    const { failure } = reply;
    if (failure !== undefined && !receiver.hasSent)
      return connection.finish({ is: "failed", failure });
    // Opening events are no content: an error may follow them.
    if (this.#out.length > 0 && failure === undefined && (reply.progress > 0 || reply.ended))
      this.#options.onContent?.();
    if (reply.ended) {
      receiver.end(this.#out, reply.bytes, failure);
      return connection.finish({ is: "answered", usage: reply.usage, failure }, abort);
    }
    if (this.#out.length > 0) {
      this.#quiet = 0;
      const isReady = receiver.send(this.#out, reply.bytes);
      if (this.#out.length === 1) this.#out.pop();
      else this.#out.length = 0;
      if (!isReady) connection.pause((go) => receiver.whenReady(go));
    }
    if (reply.awaitsEnd) connection.awaitEnd();
  }

  /** A WireError is a limit that the upstream exceeded; anything else is an internal error. */
  #failAtLimit(error: unknown): void {
    if (!(error instanceof WireError)) throw error;
    this.#fail({ code: "reply_too_large", message: error.message });
  }

  /** Ends the reply without waiting for the upstream. */
  #fail(failure: UpstreamFailure): void {
    this.#reply.fail(failure, this.#out);
    this.#pass("abort");
  }
}
