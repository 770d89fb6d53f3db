import {
  statusFromEventType,
  type LogEntry,
  type TaskEvent,
  type TaskLog,
  type TaskStatus,
} from "@deltawire/tasks";
import { isReplaceable } from "./event-batch-message.ts";

/** The last event in the log of a root task, and the status of the task after it. `head` is -1 for an empty log. */
export interface LogHead {
  readonly head: number;
  readonly status: TaskStatus;
}

export const emptyLogHead: LogHead = { head: -1, status: "created" };

/**
 * Receives the stored events of a root task, each event once and in order. `logHead` is the position after these events. The
 * first call for a task that another process runs may have no entries: it only provides the position from which events are
 * delivered. Earlier events must be read from the log. A position before that of the last call means that the store has lost events
 * after it, as a crash of a PostgreSQL server may: a listener that depends on them must start over.
 */
export type TaskListener = (entries: readonly LogEntry[], logHead: LogHead) => void;

/** Maximum number of events that are read from the log at once. */
const pageSize = 500;
/** Maximum number of events that are held while the log is read. Later events are read from the log. */
const maxHeldEvents = 1000;

/**
 * Delivers the stored events of one root task. Events may arrive repeatedly, late or not at all, from this process or another
 * one; missing events are read from the log.
 */
export class TaskDelivery {
  readonly rootTaskId: string;
  readonly listeners = new Set<TaskListener>();
  readonly #notify: (call: () => void) => void;
  /** The last delivered event. Undefined until the end of the log is known. */
  #position: LogHead | undefined;
  /** Number of the last event that is known to be stored. */
  #storedHead = -1;
  #isReading = false;
  /** Batches that arrived during a read or before `#position` was known. */
  #heldBatches: (readonly LogEntry[])[] = [];
  #heldEvents = 0;

  /** `position`: where delivery begins; undefined if unknown. `notify` calls a listener and handles its errors. */
  constructor(
    rootTaskId: string,
    position: LogHead | undefined,
    notify: (call: () => void) => void,
  ) {
    this.rootTaskId = rootTaskId;
    this.#position = position;
    this.#storedHead = position?.head ?? -1;
    this.#notify = notify;
  }

  /** The status after the last delivered event. */
  get status(): TaskStatus | undefined {
    return this.#position?.status;
  }

  /** Number of the last delivered event. Undefined until the end of the log is known. */
  get head(): number | undefined {
    return this.#position?.head;
  }

  /** True if there are stored events that have not been delivered. */
  get isBehind(): boolean {
    return this.#position !== undefined && this.#position.head < this.#storedHead;
  }

  /** Must be called with the end of the stored log. Returns true if it contains events that were unknown so far. */
  setStoredHead(logHead: LogHead): boolean {
    const hasNewEvents = logHead.head > this.#storedHead;
    this.announce(logHead.head);
    if (this.#position !== undefined) return hasNewEvents;
    this.#position = logHead;
    if (logHead.head >= 0) this.#callListeners([], logHead);
    this.#deliverHeldBatches();
    return hasNewEvents;
  }

  /** Must be called with the end of the stored log if it is before the last delivered event. */
  rewind(logHead: LogHead): void {
    this.#position = logHead;
    this.#storedHead = logHead.head;
    this.#heldBatches = [];
    this.#heldEvents = 0;
    this.#callListeners([], logHead);
  }

  /** Must be called with the number of a stored event. */
  announce(sequenceNumber: number): void {
    this.#storedHead = Math.max(this.#storedHead, sequenceNumber);
  }

  /** Must be called with stored events, which have consecutive numbers. */
  push(entries: readonly LogEntry[]): void {
    const last = entries.at(-1);
    if (last === undefined) return;
    this.announce(last.event.sequence_number);
    if (this.#position !== undefined && !this.#isReading) return this.#deliver(entries);
    if (this.#heldEvents + entries.length > maxHeldEvents || entries.some(isReplaceable)) return;
    this.#heldBatches.push(entries);
    this.#heldEvents += entries.length;
  }

  /** Reads and delivers the next events of the log. Must not be called while a read is running. */
  async readNext(log: Pick<TaskLog, "read">): Promise<void> {
    const position = this.#position;
    if (position === undefined) return;
    const storedHead = this.#storedHead;
    this.#isReading = true;
    try {
      const rows = await log.read(this.rootTaskId, position.head, pageSize);
      const [first] = rows;
      if (this.#position !== position) return; // The log was rewound meanwhile.
      if (first !== undefined)
        // The first events of a long log may have been removed.
        this.#position = { ...position, head: first.sequence_number - 1 };
      else if (this.#storedHead === storedHead)
        // The log was removed.
        this.#storedHead = position.head;
      this.#deliver(rows.map(({ json }) => ({ event: JSON.parse(json) as TaskEvent, json })));
    } finally {
      this.#isReading = false;
    }
    this.#deliverHeldBatches();
  }

  /** Delivers the events that directly follow the last delivered one, if any. */
  #deliver(entries: readonly LogEntry[]): void {
    const [first] = entries;
    if (first === undefined || this.#position === undefined) return;
    const start = this.#position.head + 1 - first.event.sequence_number;
    if (start < 0 || start >= entries.length) return;
    const newEntries = start === 0 ? entries : entries.slice(start);
    let { head, status } = this.#position;
    for (const { event } of newEntries) {
      head = event.sequence_number;
      if (event.task_id === this.rootTaskId) status = statusFromEventType(event.type) ?? status;
    }
    this.#position = { head, status };
    this.#callListeners(newEntries, this.#position);
  }

  #deliverHeldBatches(): void {
    const batches = this.#heldBatches;
    this.#heldBatches = [];
    this.#heldEvents = 0;
    for (const batch of batches) this.#deliver(batch);
  }

  #callListeners(entries: readonly LogEntry[], logHead: LogHead): void {
    for (const listener of this.listeners) this.#notify(() => listener(entries, logHead));
  }
}
