import {
  WireError,
  type JsonObject,
  type ResponseUsage,
  type StreamEnd,
  type StreamMachine,
} from "@deltawire/wire";
import type { ClientWire, Output } from "./client-wire.ts";

/** What reads an upstream's bytes. */
interface BodyReader<In> extends StreamMachine<string | Uint8Array, In> {
  /** The bytes that say what came out of the last push, where there are any. */
  readonly relayed: Uint8Array | undefined;
}

/** What turns an upstream's events into a client's. */
export interface Translator<In> extends StreamMachine<In, Output> {
  readonly awaitsEnd?: boolean;
  readonly usage?: ResponseUsage | null;
  /** Increases with every piece of content; keep-alives and empty deltas do not change it. */
  readonly progress: number;
  begin?(out: Output[]): void;
  keepAlive?(out: Output[]): void;
}

/** Why a reply is ended before its upstream has ended it. */
export interface ReplyFailure {
  code: "reply_too_large" | "upstream_idle_timeout";
  message: string;
}

export interface ReplyParts<In> {
  /** Redacts what it reads. */
  body: BodyReader<In>;
  translator: Translator<In>;
  client: ClientWire;
  /** The error that an event of the upstream is, if it is one. */
  errorOf: (input: In) => unknown;
  /** An event of the upstream's wire that fails the reply. */
  failureEvent: (failure: ReplyFailure) => In;
  /** Upstream and client speak the same wire: what needs no mending can go out as it came. */
  sameWire: boolean;
}

/**
 * An upstream's reply on its way to a client: bytes in, the client's events out. All that the relay asks of the two
 * wires is here; nothing in it waits.
 */
export class Reply<In = unknown> {
  readonly #parts: ReplyParts<In>;
  readonly #inputs: In[] = [];
  /** The error that came instead of a reply, before anything else; then nothing is put out. */
  refusal: unknown;
  /** Whether the upstream has said anything yet. */
  begun = false;
  /** Whether the last event has gone out. */
  ended = false;
  /** What the last `push` put out, in the bytes in which it came, where nothing had to be mended. */
  bytes: Uint8Array | undefined;
  /** The failure that the reply ended in, as the client was told of it. */
  failure: JsonObject | undefined;

  constructor(parts: ReplyParts<In>) {
    this.#parts = parts;
  }

  /** Only usage and the sentinel can still come. */
  get awaitsEnd(): boolean {
    return !this.ended && this.#parts.translator.awaitsEnd === true;
  }

  /** Unchanged by a push that held only keep-alives or empty deltas. */
  get progress(): number {
    return this.#parts.translator.progress;
  }

  /** As the upstream told it, for the log. */
  get usage(): ResponseUsage | undefined {
    return this.#parts.translator.usage ?? undefined;
  }

  push(bytes: Uint8Array, out: Output[]): void {
    const { body, sameWire } = this.#parts;
    const before = out.length;
    body.push(bytes, this.#inputs);
    let same = sameWire;
    for (const input of this.#inputs) {
      const at = out.length;
      this.#translate(input, out);
      same &&= out.length === at + 1 && out[at] === input;
    }
    this.#inputs.length = 0;
    this.bytes = same ? body.relayed : undefined;
    this.#look(before, out);
  }

  end(how: StreamEnd, out: Output[]): void {
    const { body, translator } = this.#parts;
    this.bytes = undefined;
    const before = out.length;
    body.end(how, this.#inputs);
    for (const input of this.#inputs) this.#translate(input, out);
    this.#inputs.length = 0;
    if (this.refusal === undefined && this.begun) translator.end(how, out);
    this.#look(before, out);
  }

  /** Ends the reply with a failure of ours: the upstream exceeded a limit. Nothing more may be pushed. */
  fail(failure: ReplyFailure, out: Output[]): void {
    const { translator, failureEvent } = this.#parts;
    this.bytes = undefined;
    this.#inputs.length = 0;
    const before = out.length;
    this.begun = true;
    translator.push(failureEvent(failure), out);
    try {
      translator.end("transport_error", out);
    } catch (error) {
      // What was held back until now may exceed a limit too, once.
      if (!(error instanceof WireError)) throw error;
      translator.end("transport_error", out);
    }
    this.#look(before, out);
  }

  /** The upstream has answered but says nothing: the client's stream begins without it. */
  begin(out: Output[]): void {
    this.begun = true;
    this.#parts.translator.begin?.(out);
  }

  /** An event that says nothing, for clients to which a comment is no sign of life. */
  keepAlive(out: Output[]): void {
    this.#parts.translator.keepAlive?.(out);
  }

  #translate(input: In, out: Output[]): void {
    if (this.refusal !== undefined) return;
    const { translator, errorOf } = this.#parts;
    if (!this.begun) {
      this.refusal = errorOf(input);
      if (this.refusal !== undefined) return;
      this.begun = true;
    }
    translator.push(input, out);
  }

  /** The end can only be the last of what has just been put out. */
  #look(from: number, out: readonly Output[]): void {
    const { client } = this.#parts;
    const last = out.at(-1);
    if (out.length === from || last === undefined) return;
    if (!client.isLast(last)) return;
    this.ended = true;
    this.failure = client.failureOf(last);
  }
}
