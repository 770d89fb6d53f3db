import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { findBlobHashes } from "@deltawire/tasks";

/**
 * Serialized values with the blobs that they refer to. Prepared before the transaction over several turns of the event
 * loop, because the JSON of a chat of 25 MB takes 40 to 80 ms.
 */
export class PreparedJson {
  readonly #prepared = new Map<object, { json: string; blobs: readonly string[] }>();

  /** Serializes the value if it is not prepared yet. */
  get(value: object): { readonly json: string; readonly blobs: readonly string[] } {
    const existing = this.#prepared.get(value);
    if (existing !== undefined) return existing;
    const json = JSON.stringify(value);
    const prepared = { json, blobs: findBlobHashes(json) };
    this.#prepared.set(value, prepared);
    return prepared;
  }
}

/** Maximum time without yielding to the event loop. */
const timeSliceMs = 20;

/** Returns synchronously if there are few values, so that small writes are committed in order. */
export function prepareJson(values: Generator<object>): PreparedJson | Promise<PreparedJson> {
  const prepared = new PreparedJson();
  return prepareSlice(values, prepared) ? prepared : prepareRest(values, prepared);
}

async function prepareRest(
  values: Generator<object>,
  prepared: PreparedJson,
): Promise<PreparedJson> {
  do await yieldToEventLoop();
  while (!prepareSlice(values, prepared));
  return prepared;
}

/** Returns true if all values are prepared. */
function prepareSlice(values: Generator<object>, prepared: PreparedJson): boolean {
  const end = performance.now() + timeSliceMs;
  while (performance.now() < end) {
    const { done, value } = values.next();
    if (done === true) return true;
    prepared.get(value);
  }
  return false;
}
