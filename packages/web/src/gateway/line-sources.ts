import {
  hasEnded,
  isStored,
  statusAfter,
  type Connect,
  type Cursor,
  type StreamEvent,
  type StreamHandlers,
  type TaskEvent,
} from "@deltawire/tasks";
import type { ChatChange, ChatFeedEvent, ConnectChats } from "@deltawire/tasks/chats";

type TaskWord = TaskEvent | StreamEvent;
type ChatWord = ChatFeedEvent | ChatChange;

/** What comes on the line. */
export type Word = TaskWord | ChatWord;

/** The gateway follows no more on one connection. */
const mostTasks = 100;
/** Whoever follows by the line need not listen for silence: the line does, for all. Two and a half times this fits into a timer. */
const quietForEver = 2 ** 29;

interface FollowedTask extends Cursor {
  readonly handlers: StreamHandlers;
  isOver: boolean;
}

interface FollowedChats {
  after: number | undefined;
  readonly handlers: Parameters<ConnectChats>[1];
}

/** What is followed on the line, and how far each of it is. Every word goes to whom it is for. */
export class LineSources {
  readonly #tasks = new Map<string, FollowedTask>();
  /** Of tasks of sub-agents, whose events name only themselves. */
  readonly #roots = new Map<string, string>();
  readonly #onChange: () => void;
  #chats: FollowedChats | undefined;

  /** `onChange`: the gateway has to be asked for something else. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Of the address that tells all of it from where it is now; undefined: nothing is followed. */
  get query(): string | undefined {
    const chats = this.#chats === undefined ? [] : [`chats=${this.#chats.after ?? ""}`];
    const tasks = this.#running()
      .slice(-mostTasks)
      .map(({ task_id, after }) => {
        const id = encodeURIComponent(task_id);
        return after === undefined ? `task=${id}` : `task=${id}:${after}`;
      });
    return chats.length + tasks.length === 0 ? undefined : [...chats, ...tasks].join("&");
  }

  /** Of more tasks than one connection takes, those that had to wait are on the next one. True: there are some. */
  takeTurns(): boolean {
    const waiting = this.#running().slice(0, -mostTasks);
    for (const task of waiting) {
      this.#tasks.delete(task.task_id);
      this.#tasks.set(task.task_id, task);
    }
    return waiting.length > 0;
  }

  readonly connectTask: Connect = (cursor, handlers) => {
    const task: FollowedTask = { ...cursor, handlers, isOver: false };
    this.#tasks.set(task.task_id, task);
    this.#onChange();
    return {
      close: () => {
        if (this.#tasks.get(task.task_id) !== task) return;
        this.#tasks.delete(task.task_id);
        this.#forgetTasksOf(task.task_id);
        // One that is over says nothing more.
        if (!task.isOver) this.#onChange();
      },
    };
  };

  readonly connectChats: ConnectChats = (after, handlers) => {
    const chats: FollowedChats = { after, handlers };
    this.#chats = chats;
    this.#onChange();
    return {
      close: () => {
        if (this.#chats === chats) this.#chats = undefined;
      },
    };
  };

  hear(word: Word): void {
    if (isOfChats(word)) this.#hearOfChats(word);
    else this.#hearOfTask(word);
  }

  clear(): void {
    this.#tasks.clear();
    this.#roots.clear();
    this.#chats = undefined;
  }

  #hearOfChats(word: ChatWord): void {
    const chats = this.#chats;
    if (chats === undefined) return;
    switch (word.type) {
      case "chats.opened":
        chats.after ??= word.head;
        return chats.handlers.event({ ...word, heartbeat_ms: quietForEver });
      case "chats.reset":
        chats.after = word.head;
        break;
      case "chat.changed":
      case "chat.removed":
        chats.after = word.stamp;
        break;
      default:
    }
    chats.handlers.event(word);
  }

  #hearOfTask(word: TaskWord): void {
    const task = this.#tasks.get(this.#roots.get(word.task_id) ?? this.#rootOf(word));
    if (task === undefined) return;
    switch (word.type) {
      case "task.stream.opened":
        return task.handlers.event({ ...word, heartbeat_ms: quietForEver });
      case "task.snapshot":
        for (const id of Object.keys(word.tasks)) this.#roots.set(id, task.task_id);
        task.after = word.as_of;
        task.isOver = hasEnded(word.tasks[task.task_id]?.status);
        break;
      case "task.resync_required":
        task.after = undefined;
        break;
      case "task.stream.refused":
        task.isOver = true;
        break;
      case "task.heartbeat":
        break;
      default:
        if (isStored(word)) task.after = word.sequence_number;
        if (word.task_id === task.task_id && hasEnded(statusAfter(word.type))) task.isOver = true;
    }
    task.handlers.event(word);
  }

  #running(): FollowedTask[] {
    return [...this.#tasks.values()].filter(({ isOver }) => !isOver);
  }

  /** The task that is followed, of a word about one below it that was not heard of before. */
  #rootOf(word: TaskWord): string {
    if (word.type !== "task.created") return word.task_id;
    const root = word.task.root_task_id;
    if (this.#tasks.has(root)) this.#roots.set(word.task_id, root);
    return root;
  }

  #forgetTasksOf(rootTaskId: string): void {
    for (const [id, root] of this.#roots) if (root === rootTaskId) this.#roots.delete(id);
  }
}

function isOfChats(word: Word): word is ChatWord {
  return word.type.startsWith("chat") || word.type === "approvals.changed";
}
