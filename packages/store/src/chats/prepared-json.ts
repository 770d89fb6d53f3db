import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { blobsIn } from "@deltawire/tasks";

/**
 * Values as JSON, with the blobs that they refer to. Prepared before the transaction that writes them, in turns of the
 * event loop: the JSON of a chat of 25 MB takes 40 to 80 ms.
 */
export class PreparedJson {
  readonly #prepared = new Map<object, { json: string; blobs: readonly string[] }>();

  /** Prepares the value if it was not prepared. */
  of(value: object): { readonly json: string; readonly blobs: readonly string[] } {
    const known = this.#prepared.get(value);
    if (known !== undefined) return known;
    const json = JSON.stringify(value);
    const prepared = { json, blobs: blobsIn(json) };
    this.#prepared.set(value, prepared);
    return prepared;
  }
}

/** How long the work goes on before other events are served. */
const turnMs = 20;

/** Returns at once if the values are few, so that small writes are committed in the order in which they were asked for. */
export function prepareJson(values: Generator<object>): PreparedJson | Promise<PreparedJson> {
  const prepared = new PreparedJson();
  return prepareTurn(values, prepared) ? prepared : prepareRest(values, prepared);
}

async function prepareRest(
  values: Generator<object>,
  prepared: PreparedJson,
): Promise<PreparedJson> {
  do await yieldToEventLoop();
  while (!prepareTurn(values, prepared));
  return prepared;
}

/** Returns true if all values are prepared. */
function prepareTurn(values: Generator<object>, prepared: PreparedJson): boolean {
  const end = performance.now() + turnMs;
  while (performance.now() < end) {
    const { done, value } = values.next();
    if (done === true) return true;
    prepared.of(value);
  }
  return false;
}
