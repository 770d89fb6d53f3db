import { invalid } from "../../parse-body.ts";

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

/** What stands for the feed of chats among the tasks of a connection. */
export const chatsName = "chats";

/** Where a connection that broke had come, in each of what it followed: `Last-Event-ID: chats:7,A:12,B:0`. */
export function reachedCursors(lastEventId: string | undefined): Map<string, number> {
  const reached = new Map<string, number>();
  if (lastEventId === undefined) return reached;
  for (const text of lastEventId.split(",")) {
    const { taskId, after } = readTaskCursor(text, "Last-Event-ID");
    if (after !== undefined) reached.set(taskId, after);
  }
  return reached;
}

/** Somebody who knows how far its reader has come. */
export interface Standing {
  readonly cursor: number | undefined;
}

/** Where a reader stands in all that it follows, once it has come to `number` in one of it. */
export function cursorVector(
  all: ReadonlyMap<string, Standing>,
  name: string,
  number: number,
): string {
  let vector = "";
  for (const [each, { cursor }] of all) {
    const at = each === name ? number : cursor;
    if (at !== undefined) vector += `${vector === "" ? "" : ","}${each}:${at}`;
  }
  return vector;
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
