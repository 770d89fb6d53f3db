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
  const match = (same: (told: Told, item: JsonObject) => boolean) =>
    output.forEach((item, at) => {
      if (matches[at] !== undefined) return;
      for (const candidate of left)
        if (same(candidate, item)) {
          left.delete(candidate);
          matches[at] = candidate;
          return;
        }
    });
  match((candidate, item) => candidate.id !== undefined && candidate.id === item["id"]);
  match(
    (candidate, item) =>
      candidate.callId !== undefined && candidate.callId === nonEmptyString(item["call_id"]),
  );
  match((candidate, item) => candidate.type !== undefined && candidate.type === item["type"]);
  return matches;
}
