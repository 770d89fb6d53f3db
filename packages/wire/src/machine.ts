import type { UpstreamFailure } from "./mapping/upstream-error.ts";
import type { Repairs } from "./repairs.ts";
import type { ResponseUsage } from "./shapes/responses-reply.ts";

/** How a stream ended, as reported by the owner of the connection. */
export type StreamEnd = "eof" | "grace" | "idle_timeout" | "transport_error" | "aborted";

/**
 * Every translator is one of these: synchronous, without clock, ids or network of its own.
 * `push` appends the output of one input to `out`; `end` appends what is still missing.
 * After `end`, or after a terminal event, further input is ignored.
 */
export interface StreamMachine<In, Out> {
  push(input: In, out: Out[]): void;
  end(how: StreamEnd, out: Out[]): void;
}

/**
 * A machine whose output a client reads. `begin` and `keepAlive` are for an upstream that is silent before its first event
 * or between two events. Chat has no chunk for either, so the translators for Chat clients have neither; send a comment
 * (`sseKeepAlive`) instead.
 */
export interface ClientTranslator<In, Out> extends StreamMachine<In, Out> {
  readonly repairs: Repairs;
  /** Reported by the upstream or, with `estimated`, estimated here; null until it is known. */
  readonly usage: ResponseUsage | null;
  /** True once the terminal event has been emitted. */
  readonly ended: boolean;
  /** Why the reply fails. Set before `ended` by an error that is not the upstream's last event. */
  readonly failure: UpstreamFailure | undefined;
  /** True when only usage, the sentinel or the terminal event can follow: wait for at most a second. */
  readonly awaitsEnd: boolean;
  /** Grows with content; unchanged by a push of only keep-alives or empty deltas. */
  readonly progress: number;
  /** Emits the opening events, unless the reply has begun; the upstream's own are then dropped. */
  begin?(out: Out[]): void;
  /** Emits an event without content, and begins the reply if necessary. Codex counts events, not comments. */
  keepAlive?(out: Out[]): void;
  /** Ends the reply with a failure that is not the upstream's own. May throw a WireError once; then call it again. */
  fail(failure: UpstreamFailure, out: Out[]): void;
}

/** Pipes the output of the first machine into the second. */
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

/** Pipes the output of the first translator, which reads the upstream, into the second, whose output the client reads. */
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
      // If the second exceeded a limit, the first has put out its last event before.
      second.fail(failure, out);
    },
  };
}

/** Empties an array, mostly of one item. Setting `length` calls into the runtime and makes the next push allocate. */
export function empty(array: unknown[]): void {
  if (array.length === 1) array.pop();
  else array.length = 0;
}
