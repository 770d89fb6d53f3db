import type { MessageBus, TaskCommand } from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import { RuntimeError } from "../runtime-error.ts";
import { busChannels } from "./bus-channels.ts";
import type { ClusterStore } from "./cluster-options.ts";
import type { TaskAction, TaskActionResult } from "./task-command.ts";

export interface CommandReceiverOptions {
  store: Pick<ClusterStore, "listCommands" | "answerCommand" | "getCommandAnswer">;
  bus: MessageBus | undefined;
  processId: string;
  /** Returns true if this process is running the given task or, without an id, any task. */
  isRunning: (rootTaskId?: string) => boolean;
  /**
   * Returns undefined if this process no longer runs the task; the process that runs it next then answers. Must call `isOpen`
   * immediately before the action takes effect, and return undefined if it returns false: the sender has withdrawn the action.
   */
  perform: (
    rootTaskId: string,
    action: TaskAction,
    isOpen: () => Promise<boolean>,
  ) => Promise<TaskActionResult | undefined>;
  onFailure: (message: string, cause: unknown) => void;
}

const pollMs = { withoutBus: 150, withBus: 1000 };
const batchSize = 100;

/** Performs the actions that other processes send to the tasks of this one, and answers them. */
export class CommandReceiver {
  readonly #options: CommandReceiverOptions;
  readonly #performing = new Set<string>();
  readonly #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #mustPollAgain = false;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: CommandReceiverOptions) {
    this.#options = options;
    this.#unsubscribe = options.bus?.subscribe(busChannels.commands, (rootTaskId) => {
      if (options.isRunning(rootTaskId)) this.#poll();
    });
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#unsubscribe?.();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const { bus, isRunning } = this.#options;
    const delayMs = bus?.isConnected === true ? pollMs.withBus : pollMs.withoutBus;
    this.#timer = setTimeout(() => {
      if (isRunning()) this.#poll();
      this.#schedule();
    }, delayMs);
  }

  #poll(): void {
    if (this.#isClosed) return;
    if (this.#polling !== undefined) {
      this.#mustPollAgain = true;
      return;
    }
    this.#polling = this.#receive().finally(() => {
      this.#polling = undefined;
      if (!this.#mustPollAgain) return;
      this.#mustPollAgain = false;
      this.#poll();
    });
  }

  async #receive(): Promise<void> {
    const { store, processId } = this.#options;
    try {
      // Without this, actions that take long would fill the batch, and newer ones would never be received.
      const exclude = [...this.#performing];
      const commands = await store.listCommands(processId, { limit: batchSize, exclude });
      this.#hasFailed = false;
      for (const command of commands) void this.#perform(command);
    } catch (error) {
      this.#report(error);
    }
  }

  async #perform({ id, rootTaskId, json }: TaskCommand): Promise<void> {
    const { store, bus, perform } = this.#options;
    this.#performing.add(id);
    try {
      const isOpen = async () => (await store.getCommandAnswer(id)) === undefined;
      const result = await perform(rootTaskId, JSON.parse(json) as TaskAction, isOpen).catch(
        (error: unknown) => this.#toFailure(error),
      );
      if (result === undefined) return;
      await store.answerCommand(id, JSON.stringify(result));
      bus?.publish(busChannels.answers, id);
    } catch (error) {
      this.#report(error);
    } finally {
      this.#performing.delete(id);
    }
  }

  /**
   * Rethrows errors of the store, so that the action is repeated. Returns undefined if this process is shutting down, so that the
   * next process performs the action. Any other error becomes the answer.
   */
  #toFailure(error: unknown): TaskActionResult | undefined {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("store_"))
      throw error;
    if (error instanceof RuntimeError && error.code === "closed") return undefined;
    const message = getErrorMessage(error);
    this.#options.onFailure(`a request from another process failed: ${message}`, error);
    return { type: "failed", code: "unavailable", message };
  }

  /** Reports only the first of a series of failures, because every poll tries again. */
  #report(error: unknown): void {
    if (this.#hasFailed || this.#isClosed) return;
    this.#hasFailed = true;
    this.#options.onFailure(
      `could not receive requests from other processes: ${getErrorMessage(error)}`,
      error,
    );
  }
}
