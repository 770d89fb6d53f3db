import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { WireStep } from "./wire-steps.ts";

export interface Pacing {
  paceMs: number;
  silenceMs: number;
}

/** Writes a reply step by step. Rejects with the signal's reason if the client disconnects. */
export async function playSteps(
  steps: readonly WireStep[],
  response: ServerResponse,
  { paceMs, silenceMs }: Pacing,
  signal: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    signal.throwIfAborted();
    switch (step.type) {
      case "write":
        if (!response.write(step.data)) await once(response, "drain", { signal });
        // Wait for the next turn of the event loop, so that the client reads each step separately.
        await nextTurn();
        break;
      case "pace":
        if (paceMs > 0) await sleep(paceMs, undefined, { signal });
        break;
      case "wait":
        await sleep(step.ms, undefined, { signal });
        break;
      case "silence":
        response.flushHeaders();
        await sleep(silenceMs, undefined, { signal });
        break;
      case "destroy":
        response.destroy();
        return;
      case "keep_open":
        await waitForDisconnect(signal);
        return;
      default:
        step satisfies never;
    }
  }
  response.end();
}

/** Waits until the client disconnects. */
export async function waitForDisconnect(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
