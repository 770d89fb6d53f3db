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

/** Setting `length` is a call into the runtime, and the next push allocates again; most of these arrays hold one. */
export function empty(array: unknown[]): void {
  if (array.length === 1) array.pop();
  else array.length = 0;
}
