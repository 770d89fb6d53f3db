import { createContext, useContext } from "react";
import { currentPath, nodeOf, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { cell, type Cell, type WritableCell } from "../state/cell.ts";
import type { OpenChat } from "../state/page.ts";

/** What the parts of one conversation have in common. */
export interface Thread {
  readonly chat: OpenChat;
  /** Whether somebody asks for an answer here, or has just done so. */
  isAsking(): boolean;
  /** The node that is edited in place. */
  readonly editing: WritableCell<string | undefined>;
  /** What was typed into editors: a message that scrolls far away is not drawn for a while. */
  readonly typed: Map<string, string>;
  /** The node that is answered again with another model. */
  readonly retrying: WritableCell<string | undefined>;
  readonly branching: WritableCell<Branching | undefined>;
  readonly shown: Cell<Shown | undefined>;
  /** Goes to a node, on another branch too. */
  show(nodeId: string, how?: ShowHow): Promise<void>;
  /** Goes to the end, and follows what is written there. */
  toEnd(): void;
  /** Whoever draws the list says how. */
  setToEnd(toEnd: () => void): void;
}

interface ShowHow {
  /** `mark`: it is to be seen which one was meant. `focus`: keys go on from there. */
  readonly by: "mark" | "focus";
}

interface Shown extends ShowHow {
  readonly nodeId: string;
}

/** The next message goes under a node that has something below it already. */
export interface Branching {
  readonly under: string | null;
  /** How many branches there were: one more, and it has begun. */
  readonly branches: number;
}

export function createThread(opened: OpenChat): Thread {
  const shown = cell<Shown | undefined>(undefined);
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
    send: (...message) => asks(opened.send(...message)),
    rerun: (...choice) => asks(opened.rerun(...choice)),
    continueAnswer: (nodeId) => asks(opened.continueAnswer(nodeId)),
    editMessage: (...edit) => asks(opened.editMessage(...edit)),
  };
  return {
    chat,
    isAsking: () => asking > 0,
    editing: cell<string | undefined>(undefined),
    typed: new Map(),
    retrying: cell<string | undefined>(undefined),
    branching: cell<Branching | undefined>(undefined),
    shown,
    async show(nodeId, { by } = { by: "mark" }) {
      const now = readyChat(chat);
      if (now === undefined) return;
      const isOnPath = currentPath(now).some(({ node_id }) => node_id === nodeId);
      if (!isOnPath && !(await chat.change({ type: "choose_branch", node_id: nodeId }))) return;
      shown.set({ nodeId, by });
    },
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
  const { under, branches } = branching;
  if (branchesUnder(chat, under) !== branches) return whole;
  const end = under === null ? 0 : path.findIndex(({ node_id }) => node_id === under) + 1;
  if (under !== null && end === 0) return whole;
  return { path: path.slice(0, end), parent: under, isBranching: true };
}

export function branchesUnder(chat: Chat, parent: string | null): number {
  return (parent === null ? chat.roots : (nodeOf(chat, parent)?.children ?? [])).length;
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
