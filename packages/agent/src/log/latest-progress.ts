import { toProgressChange, type LogEntry, type TaskEvent, type TaskLog } from "@deltawire/tasks";
import { parseLogRow } from "./private-records.ts";

/** Limit for the reports of one root task, as JSON: a few thousand reports. The oldest ones are dropped. */
const maxCharacters = 256 * 1024;

/**
 * The latest progress report of each unfinished call and round in a tree. Progress is not part of a task's state, so these
 * reports are sent to clients that connect later.
 */
export class LatestProgress {
  /** In the order of arrival. */
  readonly #reports = new Map<string, LogEntry>();
  #characters = 0;

  get events(): TaskEvent[] {
    return [...this.#reports.values()].map(({ event }) => event);
  }

  record(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.#recordEntry(entry);
  }

  #recordEntry(entry: LogEntry): void {
    const change = toProgressChange(entry.event);
    switch (change?.type) {
      case "report":
        return this.#setReport(change.key, entry);
      case "done":
        return this.#deleteReport(change.key);
      case "ended":
        for (const [key, { event }] of this.#reports)
          if (event.task_id === change.task_id) this.#deleteReport(key);
        return undefined;
      default:
        return undefined;
    }
  }

  #setReport(key: string, entry: LogEntry): void {
    this.#deleteReport(key);
    this.#reports.set(key, entry);
    this.#characters += entry.json.length;
    for (const [oldest] of this.#reports) {
      if (this.#characters <= maxCharacters) return;
      this.#deleteReport(oldest);
    }
  }

  #deleteReport(key: string): void {
    this.#characters -= this.#reports.get(key)?.json.length ?? 0;
    this.#reports.delete(key);
  }
}

/** How many events before the end of a log are searched for reports. */
const searchedEvents = 500;

/** Reads the latest reports of a task that another process runs. Reports that are followed by very many events are not found. */
export async function readLatestProgress(
  log: Pick<TaskLog, "read">,
  rootTaskId: string,
  head: number,
): Promise<TaskEvent[]> {
  const progress = new LatestProgress();
  const rows = await log.read(rootTaskId, Math.max(-1, head - searchedEvents), searchedEvents);
  progress.record(rows.map(parseLogRow));
  return progress.events;
}
