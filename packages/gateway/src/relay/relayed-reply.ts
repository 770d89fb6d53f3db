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
  /** Called when content of a good reply goes to the client, perhaps more than once. */
  onContent: (() => void) | undefined;
}

/** Seconds after an upstream's 200 in which its first event is awaited, and seconds between signs of life. */
const quietSeconds = 15;

/** What a reply may have in all. */
const mostBytes = 128 * 1024 * 1024;
/**
 * What may come without any content: comments, empty events and empty deltas. Servers send them for as long as a model
 * reasons out of sight, some of them for every token: 32 MB are 100,000 empty deltas.
 */
const mostBytesWithoutContent = 32 * 1024 * 1024;
const secondsWithoutContent = 3600;

/**
 * A reply on its way to the client: one push and one write for every read of the network, nothing in between that waits.
 */
export class RelayedReply implements ReplyReader {
  readonly #options: RelayedReplyOptions;
  readonly #reply: UpstreamReply<Output>;
  readonly #out: Output[] = [];
  #size = 0;
  #quiet = 0;
  /** The reply's `progress` when it last brought content. */
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
      if (this.#size > mostBytes)
        throw new WireError(
          "reply_too_large",
          `the upstream's reply has more than ${mostBytes} bytes, which is the limit`,
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
    // Does nothing if the reply has ended.
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
    if (this.#secondsWithoutContent > secondsWithoutContent)
      return this.#fail({
        code: "upstream_idle_timeout",
        message: `the upstream sent no content for ${secondsWithoutContent / 60} minutes, only signs that it is alive`,
      });
    const { receiver } = this.#options;
    if (!receiver.streams) return;
    this.#quiet += 1;
    if (this.#quiet < quietSeconds) return;
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
    if (this.#bytesWithoutContent > mostBytesWithoutContent)
      throw new WireError(
        "reply_too_large",
        `the upstream sent more than ${mostBytesWithoutContent} bytes without any content, which is the limit`,
      );
  }

  /** Sends on what has come. `abort`: the upstream would go on. */
  #pass(abort?: "abort"): void {
    const reply = this.#reply;
    const { receiver, connection } = this.#options;
    if (reply.refusal !== undefined) return connection.finish(refusedBy(reply.refusal));
    const { failure } = reply;
    if (failure !== undefined && !receiver.hasSent)
      return connection.finish({ is: "failed", failure });
    // The opening events come before an error too.
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

  /** What a limit of the wire package ended is the upstream's failure; anything else is a mistake of ours. */
  #failAtLimit(error: unknown): void {
    if (!(error instanceof WireError)) throw error;
    this.#fail({ code: "reply_too_large", message: error.message });
  }

  /** Ends the reply, whatever the upstream still has to say. */
  #fail(failure: UpstreamFailure): void {
    this.#reply.fail(failure, this.#out);
    this.#pass("abort");
  }
}
