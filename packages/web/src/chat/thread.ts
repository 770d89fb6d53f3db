import { createContext, useContext } from "react";
import { currentPath, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { createCell, type Cell, type WritableCell } from "../cell.ts";
import type { OpenChat } from "../state/app-store.ts";
import { getLoadedChat } from "../state/open-chat.ts";

/** UI state and actions that the components of an open chat share. */
export interface Thread {
  readonly chat: OpenChat;
  /** True while an answer is being requested in this view, and shortly after. */
  isRequestingAnswer(): boolean;
  /** The node whose editor is open. */
  readonly editingNodeId: Cell<string | undefined>;
  edit(nodeId: string): void;
  endEdit(): void;
  /** Returns true only for the first call after `edit`: the editor then takes the focus. */
  consumeJustOpened(nodeId: string): boolean;
  /** The node for which the retry dialog is open. */
  readonly retryDialogNodeId: WritableCell<string | undefined>;
  readonly branching: WritableCell<Branching | undefined>;
  /** The number of times that the search was requested since it was closed; 0 if it is closed. */
  readonly findRequests: WritableCell<number>;
  /** Ends branching when the user switches to another branch. Returns a function that unsubscribes from the chat. */
  endBranchingOnSwitch(): () => void;
  readonly scrollTarget: Cell<ScrollTarget | undefined>;
  /** Scrolls to a node, switching branches if necessary. Resolves to false if it does not exist. */
  readonly showNode: (nodeId: string, scroll?: ShowNodeOptions) => Promise<boolean>;
  /** Scrolls to the end and keeps it in view while an answer streams. */
  scrollToEnd(): void;
  /** Sets the implementation of `scrollToEnd`. Called by the list when it mounts. */
  setScrollToEnd(scrollToEnd: () => void): void;
}

interface ShowNodeOptions {
  /** `highlight` marks the node, `focus` focuses it. `find` does neither, as the match itself is highlighted. */
  readonly by: "highlight" | "focus" | "find";
}

interface ScrollTarget extends ShowNodeOptions {
  readonly nodeId: string;
}

/** The next message becomes a new branch below this node. */
export interface Branching {
  readonly parentId: string | null;
}

/** `initialEditingNodeId`: the node whose editor is open from the start, for an unsaved edit. */
export function createThread(openChat: OpenChat, initialEditingNodeId?: string): Thread {
  const editingNodeId = createCell(initialEditingNodeId);
  let justOpenedNodeId: string | undefined;
  const scrollTarget = createCell<ScrollTarget | undefined>(undefined);
  const branching = createCell<Branching | undefined>(undefined);
  let scrollToEnd = () => {};
  let pendingRequests = 0;
  const trackRequest = async (request: Promise<boolean>): Promise<boolean> => {
    pendingRequests += 1;
    // The answer may be rendered a little after the request has succeeded.
    const finish = () => setTimeout(() => (pendingRequests -= 1), 500);
    void request.then(finish, finish);
    return request;
  };
  const chat: OpenChat = {
    ...openChat,
    async send(draft, parentId) {
      const isSent = await trackRequest(openChat.send(draft, parentId));
      if (isSent && branching.get()?.parentId === parentId) branching.set(undefined);
      return isSent;
    },
    rerun: (...args) => trackRequest(openChat.rerun(...args)),
    continueAnswer: (nodeId) => trackRequest(openChat.continueAnswer(nodeId)),
    editMessage: (...args) => trackRequest(openChat.editMessage(...args)),
    async sendInput(...args) {
      const isSent = await openChat.sendInput(...args);
      // A pending input is shown at the end.
      if (isSent) scrollToEnd();
      return isSent;
    },
  };
  const showNode: Thread["showNode"] = async (nodeId, { by } = { by: "highlight" }) => {
    const current = getLoadedChat(chat);
    if (current === undefined) return false;
    const isOnPath = (path: readonly ChatNode[]) => path.some(({ node_id }) => node_id === nodeId);
    if (!isOnPath(getVisiblePath(current, branching.get()).path)) branching.set(undefined);
    if (
      !isOnPath(currentPath(current)) &&
      !(await chat.change({ type: "choose_branch", node_id: nodeId }))
    )
      return false;
    scrollTarget.set({ nodeId, by });
    return true;
  };
  return {
    chat,
    isRequestingAnswer: () => pendingRequests > 0,
    editingNodeId,
    edit(nodeId) {
      justOpenedNodeId = nodeId;
      editingNodeId.set(nodeId);
      // A distant node is not mounted. Without this, its editor would take the focus when it is scrolled into view.
      if (document.getElementById(getNodeElementId(nodeId)) === null) void showNode(nodeId);
    },
    endEdit: () => editingNodeId.set(undefined),
    consumeJustOpened(nodeId) {
      const isMatch = justOpenedNodeId === nodeId;
      if (isMatch) justOpenedNodeId = undefined;
      return isMatch;
    },
    retryDialogNodeId: createCell<string | undefined>(undefined),
    branching,
    findRequests: createCell(0),
    endBranchingOnSwitch: () =>
      chat.state.subscribe(() => {
        const current = getLoadedChat(chat);
        if (current !== undefined && !getVisiblePath(current, branching.get()).isBranching)
          branching.set(undefined);
      }),
    scrollTarget,
    showNode,
    scrollToEnd: () => scrollToEnd(),
    setScrollToEnd(scroll) {
      scrollToEnd = scroll;
    },
  };
}

/** The displayed messages. */
export interface VisiblePath {
  readonly path: readonly ChatNode[];
  /** The parent of the next message. Null at the root. */
  readonly parentId: string | null;
  readonly isBranching: boolean;
}

export function getVisiblePath(chat: Chat, branching: Branching | undefined): VisiblePath {
  const path = currentPath(chat);
  const fullPath = { path, parentId: path.at(-1)?.node_id ?? null, isBranching: false };
  if (branching === undefined) return fullPath;
  const { parentId } = branching;
  const end = parentId === null ? 0 : path.findIndex(({ node_id }) => node_id === parentId) + 1;
  if (parentId !== null && end === 0) return fullPath;
  return { path: path.slice(0, end), parentId, isBranching: true };
}

export const ThreadContext = createContext<Thread | undefined>(undefined);

export function useThread(): Thread {
  const thread = useContext(ThreadContext);
  if (thread === undefined) throw new Error("useThread must be used within a ThreadContext");
  return thread;
}

/** Returns the id of a node's element. */
export function getNodeElementId(nodeId: string): string {
  return `node-${nodeId}`;
}
