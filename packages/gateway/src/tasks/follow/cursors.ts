import { invalid } from "../body-fields.ts";

/** Where a reader stands in a task: it has everything up to `after`, or nothing if that is undefined. */
export interface Cursor {
  taskId: string;
  after: number | undefined;
}

/** -1 is before the first event. */
export function readCursor(text: string, param: string): number {
  const number = Number(text);
  if (/^(?:\d{1,15}|-1)$/.test(text)) return number;
  throw invalid(param, `expected the number of an event, or -1, got "${text.slice(0, 50)}"`);
}

/** `A:12`, or `A` alone for a reader that has nothing. */
export function readTaskCursor(text: string, param: string): Cursor {
  const colon = text.lastIndexOf(":");
  const taskId = colon < 0 ? text : text.slice(0, colon);
  if (taskId === "") throw invalid(param, "expected TASK or TASK:NUMBER");
  const after = colon < 0 ? undefined : readCursor(text.slice(colon + 1), param);
  return { taskId, after };
}

/** The cursors of an address, each moved to where a connection that broke had come: `Last-Event-ID: A:12,B:0`. */
export function resumedCursors(
  asked: readonly Cursor[],
  lastEventId: string | undefined,
): Cursor[] {
  if (lastEventId === undefined || lastEventId === "") return [...asked];
  const reached = new Map(
    lastEventId.split(",").map((text) => {
      const { taskId, after } = readTaskCursor(text, "Last-Event-ID");
      return [taskId, after];
    }),
  );
  return asked.map(({ taskId, after }) => ({ taskId, after: reached.get(taskId) ?? after }));
}

export function cursorVector(cursors: Iterable<Cursor>): string {
  const known: string[] = [];
  for (const { taskId, after } of cursors)
    if (after !== undefined) known.push(`${taskId}:${after}`);
  return known.join(",");
}

/** How a reader is brought to the head of a log. */
export type Opening =
  | { is: "replay"; after: number }
  | { is: "snapshot"; resync: string | undefined };

/** Replaying more than this costs a reader more than the whole. */
export const mostReplayed = 20_000;

export function openingOf(
  after: number | undefined,
  { head, oldest, replayAll }: { head: number; oldest: number; replayAll: boolean },
): Opening {
  if (after === undefined) return { is: "snapshot", resync: undefined };
  if (after > head || after < oldest - 1) return { is: "snapshot", resync: "expired cursor" };
  if (head - after > mostReplayed && !replayAll) return { is: "snapshot", resync: undefined };
  return { is: "replay", after };
}
