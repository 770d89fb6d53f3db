import { invalidRequest } from "../../parse-body.ts";

/** The position of a client in a task. The client has all events up to `after`, or none if that is undefined. */
export interface StreamCursor {
  taskId: string;
  after: number | undefined;
}

/** Parses the number of an event; -1 is before the first event. */
export function parseCursor(text: string, param: string): number {
  const number = Number(text);
  if (/^(?:\d{1,15}|-1)$/.test(text)) return number;
  throw invalidRequest(param, `expected the number of an event, or -1, got "${text.slice(0, 50)}"`);
}

/** Parses `A:12`, or `A` for a client that has no events. */
export function parseTaskCursor(text: string, param: string): StreamCursor {
  const colon = text.lastIndexOf(":");
  const taskId = colon < 0 ? text : text.slice(0, colon);
  if (taskId === "") throw invalidRequest(param, "expected TASK or TASK:NUMBER");
  const after = colon < 0 ? undefined : parseCursor(text.slice(colon + 1), param);
  return { taskId, after };
}

/** The name for chat changes where others are task ids. */
export const chatsCursorName = "chats";

/** Parses the positions of an interrupted connection, by task id: `Last-Event-ID: chats:7,A:12,B:0`. */
export function parseLastEventId(lastEventId: string | undefined): Map<string, number> {
  const cursors = new Map<string, number>();
  if (lastEventId === undefined) return cursors;
  for (const text of lastEventId.split(",")) {
    const { taskId, after } = parseTaskCursor(text, "Last-Event-ID");
    if (after !== undefined) cursors.set(taskId, after);
  }
  return cursors;
}

/** A stream writer that tracks the position of its client. */
export interface CursorHolder {
  readonly cursor: number | undefined;
}

/** Formats the positions of a client in all followed tasks and chats, with `number` as the new position in `name`. */
export function formatCursorVector(
  cursorHolders: ReadonlyMap<string, CursorHolder>,
  name: string,
  number: number,
): string {
  let vector = "";
  for (const [key, { cursor }] of cursorHolders) {
    const position = key === name ? number : cursor;
    if (position !== undefined) vector += `${vector === "" ? "" : ","}${key}:${position}`;
  }
  return vector;
}

/** How a client catches up with a log. `resyncReason`: why its position cannot be used; undefined if it could be, or there is none. */
export type StreamStart =
  | { type: "replay"; after: number }
  | { type: "snapshot"; resyncReason: string | undefined };

/** Replaying more events than this costs a client more than a snapshot. */
export const maxReplayedEvents = 20_000;

export function chooseStreamStart(
  after: number | undefined,
  { head, oldest, replayAll }: { head: number; oldest: number; replayAll: boolean },
): StreamStart {
  if (after === undefined) return { type: "snapshot", resyncReason: undefined };
  if (after > head || after < oldest - 1)
    return { type: "snapshot", resyncReason: "expired_cursor" };
  if (head - after > maxReplayedEvents && !replayAll)
    return { type: "snapshot", resyncReason: undefined };
  return { type: "replay", after };
}
