import { WireError } from "./error.ts";
import { empty, type ClientTranslator, type StreamEnd } from "./machine.ts";
import type { UpstreamFailure } from "./mapping/upstream-error.ts";
import type { ReplyBody } from "./reply-body.ts";
import type { ResponseUsage } from "./shapes/responses-reply.ts";

/** Translates an upstream's reply for a client: bytes in, the client's events out. */
export class UpstreamReply<Out, In = unknown> {
  readonly #body: ReplyBody<In>;
  readonly #translator: ClientTranslator<In, Out>;
  readonly #inputs: In[] = [];
  /** Set if the first event was an error instead of a reply. Then nothing is emitted, and further input is ignored. */
  refusal: UpstreamFailure | undefined;
  /** True once the upstream has sent an event or `begin` was called. */
  begun = false;
  /** The upstream's own bytes for the output of the last `push`, if both sides speak the same wire and nothing was repaired. */
  bytes: Uint8Array | undefined;

  private constructor(body: ReplyBody<In>, translator: ClientTranslator<In, Out>) {
    this.#body = body;
    this.#translator = translator;
  }

  static of<In, Out>(
    body: ReplyBody<In>,
    translator: ClientTranslator<In, Out>,
  ): UpstreamReply<Out> {
    return new UpstreamReply(body, translator) as UpstreamReply<Out>;
  }

  /** True once the terminal event has been emitted. */
  get ended(): boolean {
    return this.#translator.ended;
  }

  /** Why the reply failed. Undefined until it has ended. */
  get failure(): UpstreamFailure | undefined {
    return this.#translator.ended ? this.#translator.failure : undefined;
  }

  /** True when only usage, the sentinel or the terminal event can follow. */
  get awaitsEnd(): boolean {
    return this.#translator.awaitsEnd;
  }

  /** Grows with content; unchanged by a push of only keep-alives or empty deltas. */
  get progress(): number {
    return this.#translator.progress;
  }

  get usage(): ResponseUsage | undefined {
    return this.#translator.usage ?? undefined;
  }

  /** Throws a WireError if the reply exceeds a limit; call `fail` then. */
  push(bytes: Uint8Array, out: Out[]): void {
    const body = this.#body;
    body.push(bytes, this.#inputs);
    let same = body.relays;
    for (const input of this.#inputs) {
      const at = out.length;
      this.#translate(input, out);
      same &&= out.length === at + 1 && (out[at] as unknown) === input;
    }
    empty(this.#inputs);
    this.bytes = same ? body.relayed : undefined;
  }

  /** Throws a WireError, like `push`. */
  end(how: StreamEnd, out: Out[]): void {
    this.bytes = undefined;
    this.#body.end(how, this.#inputs);
    for (const input of this.#inputs) this.#translate(input, out);
    empty(this.#inputs);
    if (this.refusal === undefined && this.begun) this.#translator.end(how, out);
  }

  /** Ends the reply with a failure that is not the upstream's own. Nothing more may be pushed. */
  fail(failure: UpstreamFailure, out: Out[]): void {
    this.bytes = undefined;
    empty(this.#inputs);
    this.begun = true;
    try {
      this.#translator.fail(failure, out);
    } catch (error) {
      // Content that was held back until now may exceed a limit too, but only once.
      if (!(error instanceof WireError)) throw error;
      this.#translator.fail(failure, out);
    }
  }

  /** Begins the client's stream for an upstream that has answered but sends nothing yet. */
  begin(out: Out[]): void {
    this.begun = true;
    this.#translator.begin?.(out);
  }

  /** Emits an event without content, for clients that do not count SSE comments as activity. */
  keepAlive(out: Out[]): void {
    this.#translator.keepAlive?.(out);
  }

  #translate(input: In, out: Out[]): void {
    if (this.refusal !== undefined) return;
    if (this.begun) return this.#translator.push(input, out);
    const before = out.length;
    this.#translator.push(input, out);
    if (this.#translator.failure === undefined || this.#translator.ended) {
      this.begun = true;
      return;
    }
    this.refusal = this.#translator.failure;
    out.length = before;
  }
}
