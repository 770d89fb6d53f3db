import { nonEmptyString, type JsonObject } from "../json.ts";

/** The fields that identify a streamed item. */
export interface ItemIdentity {
  type: string | undefined;
  id: string | undefined;
  callId: string | undefined;
}

/**
 * Returns the streamed item for each item of a terminal event, undefined for an item that was not streamed. Items match
 * by id, then by call id, then by order within their type: some servers change ids and indexes between events.
 */
export function matchTerminalItems<Streamed extends ItemIdentity>(
  streamedItems: readonly Streamed[],
  output: readonly JsonObject[],
): (Streamed | undefined)[] {
  const unmatched = new Set(streamedItems);
  const matches: (Streamed | undefined)[] = output.map(() => undefined);
  /** Pairs items with the same key, in the order of both lists, in linear time. */
  const matchByKey = (
    getStreamedKey: (streamedItem: Streamed) => string | undefined,
    getItemKey: (item: JsonObject) => string | undefined,
  ) => {
    const candidates = new Map<string, Streamed[]>();
    for (const candidate of [...unmatched].toReversed()) {
      const key = getStreamedKey(candidate);
      if (key === undefined) continue;
      const candidatesOfKey = candidates.get(key);
      if (candidatesOfKey === undefined) candidates.set(key, [candidate]);
      else candidatesOfKey.push(candidate);
    }
    output.forEach((item, index) => {
      if (matches[index] !== undefined) return;
      const key = getItemKey(item);
      const candidate = key === undefined ? undefined : candidates.get(key)?.pop();
      if (candidate === undefined) return;
      unmatched.delete(candidate);
      matches[index] = candidate;
    });
  };
  matchByKey(
    ({ id }) => id,
    (item) => nonEmptyString(item["id"]),
  );
  matchByKey(
    ({ callId }) => callId,
    (item) => nonEmptyString(item["call_id"]),
  );
  matchByKey(
    ({ type }) => type,
    (item) => nonEmptyString(item["type"]),
  );
  return matches;
}
