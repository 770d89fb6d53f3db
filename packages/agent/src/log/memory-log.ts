import {
  hasEnded,
  statusAfter,
  type Grant,
  type LogEntry,
  type LogRow,
  type TaskLog,
} from "@deltawire/tasks";

/** A log for as long as the process runs. */
export class MemoryLog implements TaskLog {
  readonly #rows = new Map<string, LogRow[]>();
  readonly #ended = new Set<string>();
  readonly #roots = new Map<string, string>();
  readonly #approvals = new Map<string, string>();
  readonly #grants = new Map<string, Grant[]>();

  append(
    rootTaskId: string,
    entries: readonly LogEntry[],
    { replaced = [] }: { replaced?: readonly LogEntry[] } = {},
  ): Promise<void> {
    const rows = this.#rows.get(rootTaskId) ?? [];
    this.#rows.set(rootTaskId, rows);
    for (const entry of entries) {
      const { event } = entry;
      rows.push(rowOf(entry));
      if (event.type === "task.created") this.#roots.set(event.task_id, rootTaskId);
      if (event.type === "task.approval.requested")
        this.#approvals.set(event.approval.approval_id, rootTaskId);
      if (event.task_id === rootTaskId && hasEnded(statusAfter(event.type)))
        this.#ended.add(rootTaskId);
    }
    for (const entry of replaced) {
      const { sequence_number: number } = entry.event;
      const at = rows.findIndex(({ sequence_number }) => sequence_number === number);
      if (at >= 0) rows[at] = rowOf(entry);
    }
    return Promise.resolve();
  }

  read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]> {
    const rows = this.#rows.get(rootTaskId) ?? [];
    return Promise.resolve(rows.slice(after + 1, after + 1 + limit));
  }

  unfinished(): Promise<string[]> {
    return Promise.resolve([...this.#rows.keys()].filter((id) => !this.#ended.has(id)));
  }

  rootOf(taskId: string): Promise<string | undefined> {
    return Promise.resolve(this.#roots.get(taskId));
  }

  rootOfApproval(approvalId: string): Promise<string | undefined> {
    return Promise.resolve(this.#approvals.get(approvalId));
  }

  grants(sessionId: string): Promise<Grant[]> {
    return Promise.resolve([...(this.#grants.get(sessionId) ?? [])]);
  }

  addGrant(sessionId: string, grant: Grant): Promise<void> {
    this.#grants.set(sessionId, [...(this.#grants.get(sessionId) ?? []), grant]);
    return Promise.resolve();
  }
}

function rowOf({ event: { sequence_number }, json, private: kept }: LogEntry): LogRow {
  return { sequence_number, json, ...(kept && { private: JSON.stringify(kept) }) };
}
