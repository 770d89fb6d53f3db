import type { UpstreamFailure } from "./mapping/upstream-error.ts";
import type { Repairs } from "./repairs.ts";
import type { ResponseUsage } from "./shapes/responses-reply.ts";

/**
 * How a stream ended, as reported by the owner of the connection. `grace`: the owner closed it, because it was still open
 * some time after `awaitsEnd` became true.
 */
export type StreamEndReason = "eof" | "grace" | "idle_timeout" | "transport_error" | "aborted";

/**
 * The interface of every translator: synchronous, without its own clock, id generator or network.
 * `push` appends the output for one input to `out`; `end` appends the rest of the output.
 * After `end`, or after a terminal event, further input is ignored.
 */
export interface StreamMachine<In, Out> {
  push(input: In, out: Out[]): void;
  end(reason: StreamEndReason, out: Out[]): void;
}

/**
 * A machine whose output a client reads. `begin` and `keepAlive` are for an upstream that is silent before its first event
 * or between two events. Chat has no chunk for either, so the translators for Chat clients have neither; send a comment
 * (`sseKeepAlive`) instead.
 */
export interface ClientTranslator<In, Out> extends StreamMachine<In, Out> {
  readonly repairs: Repairs;
  /** The usage that the upstream reported, or an estimate with `estimated: true`; null until it is known. */
  readonly usage: ResponseUsage | null;
  /** True once the terminal event has been emitted. */
  readonly ended: boolean;
  /** Why the reply failed. Set before `ended` if the error is not the upstream's last event. */
  readonly failure: UpstreamFailure | undefined;
  /** True when only usage, `[DONE]` or the terminal event can follow: wait for at most a second. */
  readonly awaitsEnd: boolean;
  /** Counter that increases with every push of content, but not with keep-alives or empty deltas. */
  readonly progress: number;
  /** Emits the opening events if the reply has not begun. The upstream's own opening events are dropped afterwards. */
  begin?(out: Out[]): void;
  /** Emits an event without content; begins the reply if necessary. For Codex, whose idle timeout ignores SSE comments. */
  keepAlive?(out: Out[]): void;
  /**
   * Ends the reply with a failure that the upstream did not report itself. May throw a WireError if the reply exceeds a
   * limit; then call it again.
   */
  fail(failure: UpstreamFailure, out: Out[]): void;
}

/** Pipes the output of the first machine into the second. */
export function connectMachines<In, Middle, Out>(
  first: StreamMachine<In, Middle>,
  second: StreamMachine<Middle, Out>,
): StreamMachine<In, Out> {
  const intermediate: Middle[] = [];
  const flush = (out: Out[]) => {
    if (intermediate.length === 0) return;
    for (const value of intermediate) second.push(value, out);
    clearArray(intermediate);
  };
  return {
    push(input, out) {
      first.push(input, intermediate);
      flush(out);
    },
    end(reason, out) {
      first.end(reason, intermediate);
      flush(out);
      second.end(reason, out);
    },
  };
}

/** Pipes the output of the first translator, which reads the upstream, into the second, whose output the client reads. */
export function connectTranslators<In, Middle, Out>(
  first: ClientTranslator<In, Middle>,
  second: ClientTranslator<Middle, Out>,
): ClientTranslator<In, Out> {
  const combined = connectMachines(first, second);
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
      combined.push(input, out);
      if (first.ended) second.end("eof", out);
    },
    end: (reason, out) => combined.end(reason, out),
    fail(failure, out) {
      const finalOutputs: Middle[] = [];
      first.fail(failure, finalOutputs);
      for (const value of finalOutputs) second.push(value, out);
      // For a repeated call: the first translator emits its last event only once, and the second may have thrown on it.
      second.fail(failure, out);
    },
  };
}

/** Empties an array. `pop` for the usual single item: setting `length` calls into the runtime and makes the next push allocate. */
export function clearArray(array: unknown[]): void {
  if (array.length === 1) array.pop();
  else array.length = 0;
}
