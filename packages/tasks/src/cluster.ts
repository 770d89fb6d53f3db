/*
 * The interfaces with which several processes share the tasks of one store. `@deltawire/store` implements them; the runtime of
 * `@deltawire/agent` uses them.
 */

/** A claimed root task. Each claim of a task increments its epoch. */
export interface TaskLease {
  readonly taskId: string;
  readonly epoch: number;
}

export interface ClaimOptions {
  limit: number;
  /** Claims only these tasks, including those that the process already holds, which get a new epoch. */
  taskIds?: readonly string[];
  /** Tasks that are not claimed. */
  exclude?: readonly string[];
}

/** Which process runs which task. A process holds its tasks as long as it renews its lease. Times are those of the store's clock. */
export interface TaskLeases {
  /**
   * Claims unfinished root tasks that no live process holds, oldest first, and returns them. The lease of the process must be
   * valid, see `renewLease`; otherwise no task is claimed.
   */
  claimTasks(processId: string, options: ClaimOptions): Promise<TaskLease[]>;
  /**
   * Starts or extends the lease of a process: it is valid for `ttlMs` from now. Returns false if it had expired or did not exist;
   * other processes may have claimed its tasks then.
   */
  renewLease(processId: string, ttlMs: number): Promise<boolean>;
  /** Returns the time of the store in milliseconds. It decides when leases expire. */
  getTime(): Promise<number>;
  /** Returns the unfinished tasks that the process holds. */
  listLeases(processId: string): Promise<TaskLease[]>;
  /** Gives up these tasks, or all tasks and the lease of the process. */
  releaseLeases(processId: string, taskIds?: readonly string[]): Promise<void>;
}

/** A request to the process that runs a task: a decision, a message or a cancellation. Stored until it is answered. */
export interface TaskCommand {
  readonly id: string;
  readonly rootTaskId: string;
  readonly json: string;
}

/** Carries commands to the process that runs a task, and the answers back. */
export interface TaskInbox {
  /** Stores a command. No effect if a command with this id exists. */
  sendCommand(command: TaskCommand): Promise<void>;
  /** Returns the unanswered commands to the tasks that the process holds, oldest first. `exclude`: ids that are left out. */
  listCommands(
    processId: string,
    options: { limit: number; exclude?: readonly string[] },
  ): Promise<TaskCommand[]>;
  /** Stores the answer. Only the first one counts. */
  answerCommand(commandId: string, json: string): Promise<void>;
  /** Returns the answer, undefined if there is none yet. */
  getCommandAnswer(commandId: string): Promise<string | undefined>;
}

/**
 * Notifies other processes of changes, on a best-effort basis: messages may be lost, so receivers also check the store
 * periodically.
 */
export interface MessageBus {
  /** True while messages are delivered. */
  readonly isConnected: boolean;
  publish(channel: string, message: string): void;
  /** Returns a function that unsubscribes. */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  close(): Promise<void>;
}
