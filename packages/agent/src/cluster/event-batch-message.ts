import type { LogEntry, TaskEvent } from "@deltawire/tasks";

/** Larger batches are only announced: followers read them from the store. In characters. */
const maxBatchLength = 64 * 1024;

/**
 * Formats a stored batch as a message: one event per line, or only the number of the last event. Never contains private data, nor
 * content that may be removed from the log later.
 */
export function encodeEventBatch(entries: readonly LogEntry[]): string {
  const number = String(entries.at(-1)?.event.sequence_number ?? -1);
  let length = 0;
  for (const { json } of entries) length += json.length;
  if (length > maxBatchLength || entries.some(isReplaceable)) return number;
  return entries.map(({ json }) => json).join("\n");
}

/** Returns the events of a message, or only the number of the last one. Undefined if the message is invalid. */
export function decodeEventBatch(message: string): LogEntry[] | number | undefined {
  if (/^\d+$/.test(message)) return Number(message);
  let entries: LogEntry[];
  try {
    entries = message.split("\n").map((json) => ({ event: JSON.parse(json) as TaskEvent, json }));
  } catch {
    return undefined;
  }
  const first = Number(entries[0]?.event.sequence_number);
  return entries.every(({ event }, index) => event.sequence_number === first + index)
    ? entries
    : undefined;
}

/** True if the stored entry may be replaced: the content of a held result is deleted when a user rejects it. */
export function isReplaceable({ event }: LogEntry): boolean {
  return event.type === "task.approval.requested";
}
