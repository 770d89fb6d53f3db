import {
  hasEnded,
  type JsonValue,
  type TaskStatus,
  type TaskTree,
  toWellFormedJson,
} from "@deltawire/tasks";
import {
  findNode,
  findRunningAnswers,
  toAnswerError,
  toAnswerStatus,
  toAnswerTask,
} from "@deltawire/tasks/chats";
import type {
  AnswerEnd,
  AnswerVersion,
  Chat,
  ChatUpdate,
  StoredChat,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import type { ResponseInputItem } from "@deltawire/wire";
import { getErrorMessage } from "../event-text.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions, SharedChatStore } from "./chats-options.ts";
import type { ChatRecords } from "./chat-records.ts";
import { withLiveAnswers, withLiveAnswersInUpdate } from "./live-answers.ts";

export interface AnswerLifecycleOptions {
  runtime: ChatsOptions["runtime"];
  store: Pick<SharedChatStore, "isShared" | "listHeads">;
  onFailure: (message: string, cause: unknown) => void;
  /** Called after the end of an answer was stored. */
  onFinished: (chatId: string) => void;
}

/** Error code of an answer whose task never started. */
export const interruptedCode = "interrupted";
/** Failed writes are retried with exponential backoff. */
const retryBackoffMs = { initial: 1000, max: 60_000 };

interface AnswerSubscription {
  stop: () => void;
  /** True if the chat shows that the answer is waiting for a user. Undefined if unknown. */
  isWaiting: boolean | undefined;
  /** Writes that are queued or in progress. */
  pendingWrites: Promise<void>;
  /** Resolves when the subscription is removed. */
  readonly ended: Promise<void>;
  end: () => void;
  onStatus: (status: TaskStatus | undefined) => void;
}

/**
 * Replaces the placeholder of an answer with its final state. Until then, the answer shows the live state of its task.
 *
 * Several processes may follow the same answer: the one that received the message, and the one that resumed the task. The end
 * is stored by whichever is first, because a change of the chat is atomic and only a running answer can end.
 */
export class AnswerLifecycle {
  readonly #records: ChatRecords;
  readonly #options: AnswerLifecycleOptions;
  readonly #subscriptions = new Map<string, AnswerSubscription>();
  readonly #retryTimers = new Set<NodeJS.Timeout>();
  #isClosed = false;

  constructor(records: ChatRecords, options: AnswerLifecycleOptions) {
    this.#records = records;
    this.#options = options;
  }

  /** True if this process stores the end of the task's answer. */
  isFollowed(taskId: string): boolean {
    return this.#subscriptions.has(taskId);
  }

  /** Updates the chat when the answer starts or stops waiting for a user, and when it ends. */
  follow(answer: RunningAnswer): void {
    this.#subscribe(answer, { isWaiting: false });
  }

  /** Follows the running answer of a task that this process has resumed. */
  async followResumed(chatId: string, taskId: string): Promise<void> {
    try {
      const { chat } = await this.#records.open(chatId, { includeDeleted: true });
      await this.recover(findRunningAnswers(chat).filter(({ task_id }) => task_id === taskId));
    } catch (error) {
      this.#options.onFailure(
        `an answer in chat ${chatId} could not be resumed: ${getErrorMessage(error)}`,
        error,
      );
    }
  }

  /** Follows the answers of an earlier process, and finishes those that have ended since. */
  async recover(answers: readonly RunningAnswer[]): Promise<void> {
    for (const answer of answers) {
      this.#subscribe(answer, { isWaiting: undefined });
      const subscription = this.#subscriptions.get(answer.task_id);
      if (subscription !== undefined) subscription.isWaiting = undefined;
      try {
        const state = await this.#options.runtime.state(answer.task_id);
        const status = state.tasks[answer.task_id]?.status;
        if (status === undefined) await this.interrupt(answer);
        else subscription?.onStatus(status);
        await subscription?.pendingWrites;
      } catch (error) {
        // An unreadable answer does not affect the others, and it can still be stopped.
        this.#options.onFailure(
          `an answer in chat ${answer.chat_id} could not be resumed: ${getErrorMessage(error)}`,
          error,
        );
      }
    }
  }

  /** Resolves when the end of a stopped answer is stored. Throws if the first attempt to store it fails. */
  async waitForEnd(answer: RunningAnswer): Promise<void> {
    const failure = await this.finish(answer);
    // The write is retried in the background; the caller does not wait for that.
    if (failure !== undefined) throw failure.error;
    // If the task ended before it was canceled, its end may not be stored yet.
    await this.#subscriptions.get(answer.task_id)?.ended;
  }

  /**
   * Performs an action on a chat. If it is rejected because of a running answer whose task has ended, stores the end of the answer
   * and performs the action again: clients may receive the end of a task before it is stored in the chat.
   */
  async performAfterEnds<Result>(chatId: string, action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      const isRunning = error instanceof ChatError && error.code === "still_running";
      if (!isRunning || !(await this.#finishEnded(chatId))) throw error;
      return action();
    }
  }

  /** If the task has ended, stores its result together with the items that are replayed to the model in later turns. */
  finish(answer: RunningAnswer): Promise<WriteFailure | undefined> {
    return this.#writeWithRetry(answer, async () => {
      const { state, items } = await this.#options.runtime.transcript(answer.task_id);
      if (!hasEnded(state.tasks[answer.task_id]?.status)) return;
      await this.#saveEnd(answer, items, (version) => buildAnswerEnd(state, version));
    });
  }

  /** Ends an answer whose task could not start. */
  async fail(answer: RunningAnswer, code: string, message: string): Promise<void> {
    await this.#writeWithRetry(answer, () =>
      this.#saveEnd(answer, [], () => ({
        status: "error",
        output: [],
        references: [],
        error: { phase: "model", code, message },
        time_ms: 0,
      })),
    );
  }

  /** Ends an answer whose process died before its task was started. */
  interrupt(answer: RunningAnswer): Promise<void> {
    return this.fail(
      answer,
      interruptedCode,
      "the gateway stopped before the model request was sent",
    );
  }

  /** Ends an answer that was stopped before its task started. */
  async abort(answer: RunningAnswer): Promise<void> {
    await this.#writeWithRetry(answer, () =>
      this.#saveEnd(answer, [], () => ({ status: "aborted", output: [], references: [] })),
    );
  }

  withLiveAnswers(stored: StoredChat): Promise<StoredChat> {
    return withLiveAnswers(stored, (taskId) => this.#readTaskState(taskId));
  }

  withLiveAnswersInUpdate(update: ChatUpdate): Promise<ChatUpdate> {
    return withLiveAnswersInUpdate(update, (taskId) => this.#readTaskState(taskId));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#retryTimers) clearTimeout(timer);
    const subscriptions = [...this.#subscriptions.values()];
    for (const { stop } of subscriptions) stop();
    await Promise.all(subscriptions.map(({ pendingWrites }) => pendingWrites));
    for (const { end } of subscriptions) end();
  }

  /** Stores the ends of all answers of a chat whose tasks have ended. Returns false if there are none. */
  async #finishEnded(chatId: string): Promise<boolean> {
    const { chat } = await this.#records.open(chatId, { includeDeleted: true });
    const answers = findRunningAnswers(chat);
    const heads = await this.#options.store.listHeads(answers.map(({ task_id }) => task_id));
    const endedTasks = new Set(
      heads.filter(({ status }) => hasEnded(status)).map(({ task_id }) => task_id),
    );
    for (const answer of answers) {
      if (!endedTasks.has(answer.task_id)) continue;
      const failure = await this.finish(answer);
      if (failure !== undefined) throw failure.error;
    }
    return answers.length === 0 || endedTasks.size > 0;
  }

  /** Returns undefined if there already is a subscription. */
  #subscribe(
    answer: RunningAnswer,
    { isWaiting }: Pick<AnswerSubscription, "isWaiting">,
  ): AnswerSubscription | undefined {
    const { task_id, chat_id } = answer;
    if (this.#isClosed || this.#subscriptions.has(task_id)) return undefined;
    const enqueue = (work: () => Promise<unknown>): void => {
      subscription.pendingWrites = subscription.pendingWrites.then(work).then(
        () => undefined,
        (error: unknown) =>
          this.#options.onFailure(`an answer in chat ${chat_id} could not be updated`, error),
      );
    };
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const subscription: AnswerSubscription = {
      stop: () => undefined,
      isWaiting,
      pendingWrites: Promise.resolve(),
      ended,
      end,
      onStatus: (status) => {
        const waitsForUser = status === "input_required";
        if (hasEnded(status)) {
          subscription.stop();
          enqueue(() => this.finish(answer));
        } else if (waitsForUser !== subscription.isWaiting && this.#mayUpdate(task_id)) {
          subscription.isWaiting = waitsForUser;
          enqueue(() => this.#saveWaiting(answer, waitsForUser));
        }
      },
    };
    this.#subscriptions.set(task_id, subscription);
    subscription.stop = this.#options.runtime.subscribe(task_id, (_entries, { status }) =>
      subscription.onStatus(status),
    );
    return subscription;
  }

  /** Only the process that runs the task knows whether it is waiting. */
  #mayUpdate(taskId: string): boolean {
    const { store, runtime } = this.#options;
    return !store.isShared || runtime.live(taskId) !== undefined;
  }

  /** Resolves after the first attempt, which may have failed; retries run in the background. */
  async #writeWithRetry(
    answer: RunningAnswer,
    write: () => Promise<void>,
    delayMs: number = retryBackoffMs.initial,
  ): Promise<WriteFailure | undefined> {
    try {
      await write();
      return undefined;
    } catch (error) {
      if (this.#isClosed) return { error };
      this.#options.onFailure(`an answer in chat ${answer.chat_id} could not be stored`, error);
      const timer = setTimeout(() => {
        this.#retryTimers.delete(timer);
        void this.#writeWithRetry(answer, write, Math.min(delayMs * 2, retryBackoffMs.max));
      }, delayMs);
      this.#retryTimers.add(timer.unref());
      return { error };
    }
  }

  async #saveEnd(
    answer: RunningAnswer,
    items: readonly ResponseInputItem[],
    buildEnd: (version: AnswerVersion) => AnswerEnd,
  ): Promise<void> {
    const { chat_id, node_id, version_id, task_id } = answer;
    try {
      await this.#records.change(
        chat_id,
        undefined,
        ({ chat }) => {
          const version = findVersion(chat, node_id, version_id);
          if (version?.status !== "running") throw new AlreadyEndedError();
          // Output of models and tools may contain lone surrogates, which cannot be stored as UTF-8.
          const end = toWellFormedJson(buildEnd(version));
          const { chat: endedChat } = this.#records.applyEdits(chat, [
            { type: "finish_answer", node_id, version_id, end },
          ]);
          const replay = toWellFormedJson(items) as unknown as readonly JsonValue[];
          return { chat: endedChat, saveOptions: { replays: { [version_id]: replay } } };
        },
        { includeDeleted: true },
      );
      this.#options.onFinished(chat_id);
    } catch (error) {
      const isChatRemoved = error instanceof ChatError && error.code === "chat_not_found";
      if (!isChatRemoved && !(error instanceof AlreadyEndedError)) throw error;
    }
    const subscription = this.#subscriptions.get(task_id);
    this.#subscriptions.delete(task_id);
    subscription?.stop();
    subscription?.end();
  }

  async #saveWaiting(answer: RunningAnswer, value: boolean): Promise<void> {
    const { chat_id, node_id, version_id } = answer;
    const edit = { type: "answer_waits", node_id, version_id, value } as const;
    try {
      await this.#records.edit(chat_id, [edit], { includeDeleted: true });
    } catch (error) {
      if (!(error instanceof ChatError))
        this.#options.onFailure(
          `an answer in chat ${chat_id} could not be updated: ${getErrorMessage(error)}`,
          error,
        );
    }
  }

  /** Returns undefined if the task cannot be read; the chat is then shown without live output. */
  async #readTaskState(taskId: string): Promise<TaskTree | undefined> {
    try {
      return await this.#options.runtime.state(taskId);
    } catch (error) {
      this.#options.onFailure(`task ${taskId} could not be read: ${getErrorMessage(error)}`, error);
      return undefined;
    }
  }
}

interface WriteFailure {
  readonly error: unknown;
}

/** The end of the answer was already stored. */
class AlreadyEndedError extends Error {}

function findVersion(chat: Chat, nodeId: string, versionId: string): AnswerVersion | undefined {
  const node = findNode(chat, nodeId);
  if (node?.kind !== "answer") return undefined;
  return node.versions.find(({ version_id }) => version_id === versionId);
}

/** Builds the final state of an answer. It includes the completed output even if the task failed or was canceled. */
function buildAnswerEnd(
  tree: TaskTree,
  { created_at }: Pick<AnswerVersion, "created_at">,
): AnswerEnd {
  const { status, ended_at } = tree.tasks[tree.root_task_id] ?? {};
  const answerStatus = toAnswerStatus(status ?? "failed");
  const error = toAnswerError(tree);
  return {
    ...toAnswerTask(tree),
    status: answerStatus === "running" ? "error" : answerStatus,
    ...(error === undefined ? {} : { error }),
    ...(ended_at === undefined
      ? {}
      : { time_ms: Math.max(0, Date.parse(ended_at) - Date.parse(created_at)) }),
  };
}
