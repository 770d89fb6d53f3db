import { WireError } from "./error.ts";
import { clearArray, type ClientTranslator, type StreamEndReason } from "./stream-machine.ts";
import type { UpstreamFailure } from "./mapping/upstream-error.ts";
import type { ReplyBody } from "./reply-body.ts";
import type { ResponseUsage } from "./shapes/responses-reply.ts";

/** Translates an upstream's reply for a client: bytes in, the client's events out. */
export class UpstreamReply<Out, In = unknown> {
  readonly #body: ReplyBody<In>;
  readonly #translator: ClientTranslator<In, Out>;
  readonly #inputs: In[] = [];
  /** Set if the first event was an error instead of a reply. Then nothing is emitted, and further input is ignored. */
  rejection: UpstreamFailure | undefined;
  /** True once the upstream has sent an event or `begin` was called. */
  hasBegun = false;
  /** The upstream's bytes for the output of the last `push`, if both sides use the same wire and nothing was repaired. */
  passthroughBytes: Uint8Array | undefined;

  private constructor(body: ReplyBody<In>, translator: ClientTranslator<In, Out>) {
    this.#body = body;
    this.#translator = translator;
  }

  static create<In, Out>(
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

  /** True when only usage, `[DONE]` or the terminal event can follow. */
  get awaitsEnd(): boolean {
    return this.#translator.awaitsEnd;
  }

  /** Counter that increases with every push of content, but not with keep-alives or empty deltas. */
  get progress(): number {
    return this.#translator.progress;
  }

  get usage(): ResponseUsage | undefined {
    return this.#translator.usage ?? undefined;
  }

  /** Throws a WireError if the reply exceeds a limit. Then call `fail`. */
  push(bytes: Uint8Array, out: Out[]): void {
    const body = this.#body;
    body.push(bytes, this.#inputs);
    const start = out.length;
    for (const input of this.#inputs) this.#translate(input, out);
    const isUnchanged = body.isPassthroughEnabled && this.#isUnchanged(start, out);
    clearArray(this.#inputs);
    this.passthroughBytes = isUnchanged ? body.passthroughBytes : undefined;
  }

  /** Throws a WireError if the reply exceeds a limit, like `push`. */
  end(reason: StreamEndReason, out: Out[]): void {
    this.passthroughBytes = undefined;
    this.#body.end(reason, this.#inputs);
    for (const input of this.#inputs) this.#translate(input, out);
    clearArray(this.#inputs);
    if (this.rejection === undefined && this.hasBegun) this.#translator.end(reason, out);
  }

  /** Ends the reply with a failure that the upstream did not report itself. Do not call `push` afterwards. */
  fail(failure: UpstreamFailure, out: Out[]): void {
    this.passthroughBytes = undefined;
    clearArray(this.#inputs);
    this.hasBegun = true;
    try {
      this.#translator.fail(failure, out);
    } catch (error) {
      // Emitting buffered content may exceed a limit. The second attempt never exceeds one.
      if (!(error instanceof WireError)) throw error;
      this.#translator.fail(failure, out);
    }
  }

  /** Begins the client's stream for an upstream that has sent its headers but no event. */
  begin(out: Out[]): void {
    this.hasBegun = true;
    this.#translator.begin?.(out);
  }

  /** Emits an event without content, for clients that do not count SSE comments as activity. */
  keepAlive(out: Out[]): void {
    this.#translator.keepAlive?.(out);
  }

  /** True if the output of the last inputs is the inputs themselves. */
  #isUnchanged(start: number, out: readonly Out[]): boolean {
    const inputs = this.#inputs;
    if (out.length - start !== inputs.length) return false;
    for (let index = 0; index < inputs.length; index += 1)
      if ((out[start + index] as unknown) !== inputs[index]) return false;
    return true;
  }

  #translate(input: In, out: Out[]): void {
    if (this.rejection !== undefined) return;
    if (this.hasBegun) return this.#translator.push(input, out);
    const start = out.length;
    this.#translator.push(input, out);
    if (this.#translator.failure === undefined || this.#translator.ended) {
      this.hasBegun = true;
      return;
    }
    this.rejection = this.#translator.failure;
    out.length = start;
  }
}
