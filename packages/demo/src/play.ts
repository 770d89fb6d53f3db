import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as after } from "node:timers/promises";
import type { WireStep } from "./wire-steps.ts";

export interface Pace {
  paceMs: number;
  silenceMs: number;
}

/** Writes a reply step by step. Rejects with the signal's reason as soon as the client has left. */
export async function play(
  steps: readonly WireStep[],
  response: ServerResponse,
  { paceMs, silenceMs }: Pace,
  signal: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    signal.throwIfAborted();
    switch (step.type) {
      case "write":
        if (!response.write(step.data)) await once(response, "drain", { signal });
        // In a turn of its own, so that it is a read of its own for whoever listens.
        await nextTurn();
        break;
      case "pace":
        if (paceMs > 0) await after(paceMs, undefined, { signal });
        break;
      case "wait":
        await after(step.ms, undefined, { signal });
        break;
      case "silence":
        response.flushHeaders();
        await after(silenceMs, undefined, { signal });
        break;
      case "cut":
        response.destroy();
        return;
      case "hold":
        await left(signal);
        return;
      default:
        step satisfies never;
    }
  }
  response.end();
}

/** Waits for the client to leave. */
export async function left(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
