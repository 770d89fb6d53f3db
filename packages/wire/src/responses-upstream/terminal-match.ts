import { nonEmptyString, type JsonObject } from "../json.ts";

/** What is known of an item that events told of. */
export interface ToldItem {
  type: string | undefined;
  id: string | undefined;
  callId: string | undefined;
}

/**
 * Which told item each item of a terminal event is: by its id, else by its call, else the next one of its type, since
 * some servers change ids and indexes between events. Undefined for an item that no event told of.
 */
export function matchTerminal<Told extends ToldItem>(
  told: readonly Told[],
  output: readonly JsonObject[],
): (Told | undefined)[] {
  const left = new Set(told);
  const matches: (Told | undefined)[] = output.map(() => undefined);
  /** Pairs items that have the same key, in the order of both lists. Linear: every candidate is looked at once. */
  const match = (
    keyOfTold: (told: Told) => string | undefined,
    keyOfItem: (item: JsonObject) => string | undefined,
  ) => {
    const candidates = new Map<string, Told[]>();
    for (const candidate of [...left].toReversed()) {
      const key = keyOfTold(candidate);
      if (key === undefined) continue;
      const same = candidates.get(key);
      if (same === undefined) candidates.set(key, [candidate]);
      else same.push(candidate);
    }
    output.forEach((item, at) => {
      if (matches[at] !== undefined) return;
      const key = keyOfItem(item);
      const candidate = key === undefined ? undefined : candidates.get(key)?.pop();
      if (candidate === undefined) return;
      left.delete(candidate);
      matches[at] = candidate;
    });
  };
  match(
    ({ id }) => id,
    (item) => nonEmptyString(item["id"]),
  );
  match(
    ({ callId }) => callId,
    (item) => nonEmptyString(item["call_id"]),
  );
  match(
    ({ type }) => type,
    (item) => nonEmptyString(item["type"]),
  );
  return matches;
}
