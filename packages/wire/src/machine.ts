import type { UpstreamFailure } from "./mapping/upstream-error.ts";
import type { Repairs } from "./repairs.ts";
import type { ResponseUsage } from "./shapes/responses-reply.ts";

/** How a stream came to its end, as told by whoever held the connection. */
export type StreamEnd = "eof" | "grace" | "idle_timeout" | "transport_error" | "aborted";

/**
 * Every translator is one of these: synchronous, without clock, ids or network of its own.
 * `push` appends what follows from one input to `out`; `end` appends what was still owed.
 * After `end`, or after a terminal event, further input is ignored.
 */
export interface StreamMachine<In, Out> {
  push(input: In, out: Out[]): void;
  end(how: StreamEnd, out: Out[]): void;
}

/**
 * A machine whose output a client reads. `begin` and `keepAlive` are for an upstream that is silent: what can be said
 * before its first event, and between two. Chat has no chunk for either, so the translators for Chat clients leave both
 * out; there a comment (`sseKeepAlive`) does.
 */
export interface ClientTranslator<In, Out> extends StreamMachine<In, Out> {
  readonly repairs: Repairs;
  /** What the reply cost, as the upstream told it or, with `estimated`, as we guess; null while nobody has said. */
  readonly usage: ResponseUsage | null;
  /** True once the terminal event has been put out. */
  readonly ended: boolean;
  /** Why the reply fails. May be set before `ended`: by an error that is not the upstream's last event. */
  readonly failure: UpstreamFailure | undefined;
  /** True when only usage, the sentinel or the terminal event can still come: wait a second at the most. */
  readonly awaitsEnd: boolean;
  /** Grows whenever the upstream says something. Unchanged after a push that held only keep-alives or empty deltas. */
  readonly progress: number;
  /** Tells that the reply has begun, unless it has; what the upstream says of its beginning is then not repeated. */
  begin?(out: Out[]): void;
  /** A sign of life that changes nothing; begins the reply if need be. Codex counts events, not comments. */
  keepAlive?(out: Out[]): void;
  /** Ends the reply with a failure that is not the upstream's own. May throw a WireError once; then call it again. */
  fail(failure: UpstreamFailure, out: Out[]): void;
}

/** Two machines as one: what the first puts out goes into the second. */
export function connect<In, Middle, Out>(
  first: StreamMachine<In, Middle>,
  second: StreamMachine<Middle, Out>,
): StreamMachine<In, Out> {
  const between: Middle[] = [];
  const passOn = (out: Out[]) => {
    if (between.length === 0) return;
    for (const value of between) second.push(value, out);
    empty(between);
  };
  return {
    push(input, out) {
      first.push(input, between);
      passOn(out);
    },
    end(how, out) {
      first.end(how, between);
      passOn(out);
      second.end(how, out);
    },
  };
}

/** Two translators as one: the client reads what the second puts out, the upstream is what the first reads. */
export function connectTranslators<In, Middle, Out>(
  first: ClientTranslator<In, Middle>,
  second: ClientTranslator<Middle, Out>,
): ClientTranslator<In, Out> {
  const both = connect(first, second);
  return {
    get repairs() {
      return second.repairs;
    },
    get usage() {
      return first.usage;
    },
    get ended() {
      return second.ended;
    },
    get failure() {
      return first.failure ?? second.failure;
    },
    get awaitsEnd() {
      return first.awaitsEnd;
    },
    get progress() {
      return first.progress;
    },
    push(input, out) {
      both.push(input, out);
      if (first.ended) second.end("eof", out);
    },
    end: (how, out) => both.end(how, out),
    fail(failure, out) {
      const last: Middle[] = [];
      first.fail(failure, last);
      for (const value of last) second.push(value, out);
      second.end("eof", out);
    },
  };
}

/** Setting `length` is a call into the runtime, and the next push allocates again; most of these arrays hold one. */
export function empty(array: unknown[]): void {
  if (array.length === 1) array.pop();
  else array.length = 0;
}
