import {
  hasEnded,
  statusFromEventType,
  type Grant,
  type LogEntry,
  type LogRow,
  type TaskLog,
} from "@deltawire/tasks";

/** A task log in memory. */
export class MemoryLog implements TaskLog {
  readonly #rows = new Map<string, LogRow[]>();
  readonly #ended = new Set<string>();
  readonly #roots = new Map<string, string>();
  readonly #approvals = new Map<string, string>();
  readonly #grants = new Map<string, Grant[]>();

  append(
    rootTaskId: string,
    entries: readonly LogEntry[],
    { replacements = [] }: { replacements?: readonly LogEntry[] } = {},
  ): Promise<void> {
    const rows = this.#rows.get(rootTaskId) ?? [];
    this.#rows.set(rootTaskId, rows);
    for (const entry of entries) {
      const { event } = entry;
      rows.push(toLogRow(entry));
      if (event.type === "task.created") this.#roots.set(event.task_id, rootTaskId);
      if (event.type === "task.approval.requested")
        this.#approvals.set(event.approval.approval_id, rootTaskId);
      if (event.task_id === rootTaskId && hasEnded(statusFromEventType(event.type)))
        this.#ended.add(rootTaskId);
    }
    for (const entry of replacements) {
      const { sequence_number: number } = entry.event;
      const index = rows.findIndex(({ sequence_number }) => sequence_number === number);
      if (index >= 0) rows[index] = toLogRow(entry);
    }
    return Promise.resolve();
  }

  read(rootTaskId: string, after: number, limit: number): Promise<LogRow[]> {
    const rows = this.#rows.get(rootTaskId) ?? [];
    return Promise.resolve(rows.slice(after + 1, after + 1 + limit));
  }

  listUnfinished(): Promise<string[]> {
    return Promise.resolve([...this.#rows.keys()].filter((id) => !this.#ended.has(id)));
  }

  findRootTask(taskId: string): Promise<string | undefined> {
    return Promise.resolve(this.#roots.get(taskId));
  }

  findRootTaskByApproval(approvalId: string): Promise<string | undefined> {
    return Promise.resolve(this.#approvals.get(approvalId));
  }

  listGrants(sessionId: string, owner = ""): Promise<Grant[]> {
    return Promise.resolve([...(this.#grants.get(buildGrantKey(owner, sessionId)) ?? [])]);
  }

  addGrant(sessionId: string, grant: Grant, owner = ""): Promise<void> {
    const key = buildGrantKey(owner, sessionId);
    this.#grants.set(key, [...(this.#grants.get(key) ?? []), grant]);
    return Promise.resolve();
  }
}

function buildGrantKey(owner: string, sessionId: string): string {
  return JSON.stringify([owner, sessionId]);
}

function toLogRow({ event: { sequence_number }, json, private: privateData }: LogEntry): LogRow {
  return { sequence_number, json, ...(privateData && { private: JSON.stringify(privateData) }) };
}
