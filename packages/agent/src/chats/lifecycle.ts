import {
  hasEnded,
  type JsonValue,
  type TaskStatus,
  type TaskTree,
  wellFormedJson,
} from "@deltawire/tasks";
import { answerError, answerStatus, answerTask, nodeOf } from "@deltawire/tasks/chats";
import type {
  AnswerEnd,
  AnswerVersion,
  Chat,
  ChatSince,
  KeptChat,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import type { InputItem } from "@deltawire/wire";
import { messageOf } from "../event-text.ts";
import { ChatError } from "./chat-error.ts";
import type { ChatsOptions } from "./chat-ports.ts";
import type { ChatRecords } from "./chat-records.ts";
import { liveChat, liveSince } from "./live-answers.ts";

export interface LifecycleOptions {
  runtime: ChatsOptions["runtime"];
  onFailure: (message: string, cause: unknown) => void;
  /** An answer has come to its end, and that is kept. */
  onFinished: (chatId: string) => void;
}

/** The code of an answer whose task was promised and never begun. */
export const interrupted = "interrupted";
/** A store that could not be written is tried again; every try doubles the wait. */
const againAfterMs = { first: 1000, longest: 60_000 };

interface Following {
  stop: () => void;
  /** Whether the chat says that a person has to decide something; undefined: nobody knows what it says. */
  waits: boolean | undefined;
  /** What is being written of it. */
  work: Promise<void>;
  /** Resolves when nobody follows it any more. */
  readonly ended: Promise<void>;
  end: () => void;
  look: (status: TaskStatus | undefined) => void;
}

/** From the placeholder of an answer to what it came to. In between the answer is its task, live. */
export class Lifecycle {
  readonly #records: ChatRecords;
  readonly #options: LifecycleOptions;
  readonly #following = new Map<string, Following>();
  readonly #again = new Set<NodeJS.Timeout>();
  #isClosed = false;

  constructor(records: ChatRecords, options: LifecycleOptions) {
    this.#records = records;
    this.#options = options;
  }

  /** From now on the chat tells when the answer waits for a person, and what it came to. */
  follow(answer: RunningAnswer): void {
    this.#followed(answer, { waits: false });
  }

  /** Follows what an earlier process left, and ends what has ended meanwhile. */
  async recover(answers: readonly RunningAnswer[]): Promise<void> {
    for (const answer of answers) {
      const following = this.#followed(answer, { waits: undefined });
      try {
        const state = await this.#options.runtime.state(answer.task_id);
        const status = state.tasks[answer.task_id]?.status;
        if (status === undefined)
          await this.fail(answer, interrupted, "the gateway stopped before the model was asked");
        else following?.look(status);
        await following?.work;
      } catch (error) {
        // One that cannot be read costs no other, and can be stopped.
        this.#options.onFailure(
          `an answer of chat ${answer.chat_id} could not be taken up: ${messageOf(error)}`,
          error,
        );
      }
    }
  }

  /** Until an answer whose task was stopped has its end. */
  async stopped(answer: RunningAnswer): Promise<void> {
    const failure = await this.finish(answer);
    // It is tried again: nobody has to wait for that.
    if (failure !== undefined) throw failure.error;
    // It may have come to its end by itself, and that is about to be kept.
    await this.#following.get(answer.task_id)?.ended;
  }

  /** Writes what a task came to if it has ended, with what its model gets back of it in later turns. */
  finish(answer: RunningAnswer): Promise<Failure | undefined> {
    return this.#untilKept(answer, async () => {
      const { state, items } = await this.#options.runtime.transcript(answer.task_id);
      if (!hasEnded(state.tasks[answer.task_id]?.status)) return;
      await this.#end(answer, items, (version) => answerEnd(state, version));
    });
  }

  /** Of an answer whose task could not begin. */
  async fail(answer: RunningAnswer, code: string, message: string): Promise<void> {
    await this.#untilKept(answer, () =>
      this.#end(answer, [], () => ({
        status: "error",
        output: [],
        references: [],
        error: { phase: "model", code, message },
        time_ms: 0,
      })),
    );
  }

  /** Of an answer that nobody has begun and somebody has stopped. */
  async abort(answer: RunningAnswer): Promise<void> {
    await this.#untilKept(answer, () =>
      this.#end(answer, [], () => ({ status: "aborted", output: [], references: [] })),
    );
  }

  live(kept: KeptChat): Promise<KeptChat> {
    return liveChat(kept, (taskId) => this.#stateOf(taskId));
  }

  liveSince(since: ChatSince): Promise<ChatSince> {
    return liveSince(since, (taskId) => this.#stateOf(taskId));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#again) clearTimeout(timer);
    const following = [...this.#following.values()];
    for (const { stop } of following) stop();
    await Promise.all(following.map(({ work }) => work));
    for (const { end } of following) end();
  }

  /** Undefined where it is followed already. */
  #followed(answer: RunningAnswer, { waits }: Pick<Following, "waits">): Following | undefined {
    const { task_id, chat_id } = answer;
    if (this.#isClosed || this.#following.has(task_id)) return undefined;
    const next = (work: () => Promise<unknown>): void => {
      following.work = following.work.then(work).then(
        () => undefined,
        (error: unknown) => this.#options.onFailure(`chat ${chat_id}`, error),
      );
    };
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const following: Following = {
      stop: () => undefined,
      waits,
      work: Promise.resolve(),
      ended,
      end,
      look: (status) => {
        const value = status === "input_required";
        if (hasEnded(status)) {
          following.stop();
          next(() => this.finish(answer));
        } else if (value !== following.waits) {
          following.waits = value;
          next(() => this.#noteWaits(answer, value));
        }
      },
    };
    this.#following.set(task_id, following);
    following.stop = this.#options.runtime.subscribe(task_id, (_entries, { tasks }) =>
      following.look(tasks[task_id]?.status),
    );
    return following;
  }

  /** What cannot be kept now is tried again: nobody waits for that longer than for the first try, which may have failed. */
  async #untilKept(
    answer: RunningAnswer,
    write: () => Promise<void>,
    waitMs: number = againAfterMs.first,
  ): Promise<Failure | undefined> {
    try {
      await write();
      return undefined;
    } catch (error) {
      if (this.#isClosed) return { error };
      this.#options.onFailure(`an answer of chat ${answer.chat_id} could not be kept`, error);
      const timer = setTimeout(() => {
        this.#again.delete(timer);
        void this.#untilKept(answer, write, Math.min(waitMs * 2, againAfterMs.longest));
      }, waitMs);
      this.#again.add(timer.unref());
      return { error };
    }
  }

  async #end(
    answer: RunningAnswer,
    items: readonly InputItem[],
    endOf: (version: AnswerVersion) => AnswerEnd,
  ): Promise<void> {
    const { chat_id, node_id, version_id, task_id } = answer;
    try {
      await this.#records.change(
        chat_id,
        undefined,
        ({ chat }) => {
          const version = versionIn(chat, node_id, version_id);
          if (version?.status !== "running") throw new EndedAlready();
          // What models and tools have said may have half characters in it, which no file can hold.
          const end = wellFormedJson(endOf(version));
          const { chat: ended } = this.#records.applied(chat, [
            { type: "finish_answer", node_id, version_id, end },
          ]);
          const replay = wellFormedJson(items) as unknown as readonly JsonValue[];
          return { chat: ended, more: { replays: { [version_id]: replay } } };
        },
        { deleted: true },
      );
      this.#options.onFinished(chat_id);
    } catch (error) {
      const isGone = error instanceof ChatError && error.code === "unknown_chat";
      if (!isGone && !(error instanceof EndedAlready)) throw error;
    }
    const following = this.#following.get(task_id);
    this.#following.delete(task_id);
    following?.stop();
    following?.end();
  }

  async #noteWaits(answer: RunningAnswer, value: boolean): Promise<void> {
    const { chat_id, node_id, version_id } = answer;
    const edit = { type: "answer_waits", node_id, version_id, value } as const;
    try {
      await this.#records.edit(chat_id, [edit], { deleted: true });
    } catch (error) {
      if (!(error instanceof ChatError))
        this.#options.onFailure(`chat ${chat_id}: ${messageOf(error)}`, error);
    }
  }

  /** A task that cannot be read is no reason not to show its chat. */
  async #stateOf(taskId: string): Promise<TaskTree | undefined> {
    try {
      return await this.#options.runtime.state(taskId);
    } catch (error) {
      this.#options.onFailure(`task ${taskId} cannot be read: ${messageOf(error)}`, error);
      return undefined;
    }
  }
}

interface Failure {
  readonly error: unknown;
}

/** Somebody was faster. */
class EndedAlready extends Error {}

function versionIn(chat: Chat, nodeId: string, versionId: string): AnswerVersion | undefined {
  const node = nodeOf(chat, nodeId);
  if (node?.kind !== "answer") return undefined;
  return node.versions.find(({ version_id }) => version_id === versionId);
}

/** What a task that has ended leaves in its chat. What it finished is kept, however it ended. */
function answerEnd(tree: TaskTree, { created_at }: Pick<AnswerVersion, "created_at">): AnswerEnd {
  const { status, ended_at } = tree.tasks[tree.root_task_id] ?? {};
  const ended = answerStatus(status ?? "failed");
  const error = answerError(tree);
  return {
    ...answerTask(tree),
    status: ended === "running" ? "error" : ended,
    ...(error === undefined ? {} : { error }),
    ...(ended_at === undefined
      ? {}
      : { time_ms: Math.max(0, Date.parse(ended_at) - Date.parse(created_at)) }),
  };
}
