import { createContext, useContext } from "react";
import { currentPath, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { cell, type Cell, type WritableCell } from "../cell.ts";
import type { OpenChat } from "../state/page.ts";

/** What the parts of one conversation have in common. */
export interface Thread {
  readonly chat: OpenChat;
  /** Whether somebody asks for an answer here, or has just done so. */
  isAsking(): boolean;
  /** The node that is edited in place. */
  readonly editing: Cell<string | undefined>;
  edit(nodeId: string): void;
  endEdit(): void;
  /** True once after `edit`, for the editor that comes up: keys go there. */
  hasJustOpened(nodeId: string): boolean;
  /** The node that is answered again with another model. */
  readonly retrying: WritableCell<string | undefined>;
  readonly branching: WritableCell<Branching | undefined>;
  /** How often somebody has asked to look for words in it since nobody did; 0: nobody does. */
  readonly finding: WritableCell<number>;
  /** While it is shown: whoever goes to another branch no longer branches. */
  watch(): () => void;
  readonly shown: Cell<Shown | undefined>;
  /** Goes to a node, on another branch too. Answers with whether it is there. */
  readonly show: (nodeId: string, how?: ShowHow) => Promise<boolean>;
  /** Goes to the end, and follows what is written there. */
  toEnd(): void;
  /** Whoever draws the list says how. */
  setToEnd(toEnd: () => void): void;
}

interface ShowHow {
  /** `mark`: it is to be seen which one was meant. `focus`: keys go on from there. `find`: what is found in it is marked. */
  readonly by: "mark" | "focus" | "find";
}

interface Shown extends ShowHow {
  readonly nodeId: string;
}

/** The next message goes under a node that has something below it already, whatever others put there meanwhile. */
export interface Branching {
  readonly under: string | null;
}

/** `edited`: what somebody was editing when the chat was left. */
export function createThread(opened: OpenChat, edited?: string): Thread {
  const editing = cell(edited);
  let justOpened: string | undefined;
  const shown = cell<Shown | undefined>(undefined);
  const branching = cell<Branching | undefined>(undefined);
  let toEnd = () => {};
  let asking = 0;
  const asks = async (answer: Promise<boolean>): Promise<boolean> => {
    asking += 1;
    // The answer may be drawn a little later than it is known that it is on its way.
    const end = () => setTimeout(() => (asking -= 1), 500);
    void answer.then(end, end);
    return answer;
  };
  const chat: OpenChat = {
    ...opened,
    async send(draft, parent) {
      const isSent = await asks(opened.send(draft, parent));
      if (isSent && branching.get()?.under === parent) branching.set(undefined);
      return isSent;
    },
    rerun: (...choice) => asks(opened.rerun(...choice)),
    continueAnswer: (nodeId) => asks(opened.continueAnswer(nodeId)),
    editMessage: (...edit) => asks(opened.editMessage(...edit)),
    async tell(...words) {
      const isTold = await opened.tell(...words);
      // It stands there until the model hears it.
      if (isTold) toEnd();
      return isTold;
    },
  };
  const show: Thread["show"] = async (nodeId, { by } = { by: "mark" }) => {
    const now = readyChat(chat);
    if (now === undefined) return false;
    const isIn = (path: readonly ChatNode[]) => path.some(({ node_id }) => node_id === nodeId);
    if (!isIn(shownPath(now, branching.get()).path)) branching.set(undefined);
    if (!isIn(currentPath(now)) && !(await chat.change({ type: "choose_branch", node_id: nodeId })))
      return false;
    shown.set({ nodeId, by });
    return true;
  };
  return {
    chat,
    isAsking: () => asking > 0,
    editing,
    edit(nodeId) {
      justOpened = nodeId;
      editing.set(nodeId);
      // One that is far away is not drawn: its editor would take the focus when somebody comes by.
      if (document.getElementById(elementId(nodeId)) === null) void show(nodeId);
    },
    endEdit: () => editing.set(undefined),
    hasJustOpened(nodeId) {
      const isIt = justOpened === nodeId;
      if (isIt) justOpened = undefined;
      return isIt;
    },
    retrying: cell<string | undefined>(undefined),
    branching,
    finding: cell(0),
    watch: () =>
      chat.state.subscribe(() => {
        const now = readyChat(chat);
        if (now !== undefined && !shownPath(now, branching.get()).isBranching)
          branching.set(undefined);
      }),
    shown,
    show,
    toEnd: () => toEnd(),
    setToEnd(how) {
      toEnd = how;
    },
  };
}

export function readyChat(chat: OpenChat): Chat | undefined {
  const state = chat.state.get();
  return state.is === "ready" ? state.chat : undefined;
}

/** What is drawn, and what the next message goes under. */
export interface ShownPath {
  readonly path: readonly ChatNode[];
  readonly parent: string | null;
  readonly isBranching: boolean;
}

export function shownPath(chat: Chat, branching: Branching | undefined): ShownPath {
  const path = currentPath(chat);
  const whole = { path, parent: path.at(-1)?.node_id ?? null, isBranching: false };
  if (branching === undefined) return whole;
  const { under } = branching;
  const end = under === null ? 0 : path.findIndex(({ node_id }) => node_id === under) + 1;
  if (under !== null && end === 0) return whole;
  return { path: path.slice(0, end), parent: under, isBranching: true };
}

export const ThreadContext = createContext<Thread | undefined>(undefined);

export function useThread(): Thread {
  const thread = useContext(ThreadContext);
  if (thread === undefined) throw new Error("there is no conversation around this component");
  return thread;
}

/** The id of a node's element. */
export function elementId(nodeId: string): string {
  return `node-${nodeId}`;
}
