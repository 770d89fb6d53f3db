import { isRunning, type AnswerNode, type ChatNode, type UserNode } from "@deltawire/tasks/chats";
import { findComposer } from "../ui/focus.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { editShortcut, retryShortcut } from "./composer-keys.ts";
import { getSelectableVersionIds } from "./message-footer.tsx";
import { useThread, type Thread } from "./thread.ts";
import { chatViewMessages, type ChatViewMessages } from "./messages.ts";

interface NodeMenuOptions {
  node: UserNode | AnswerNode;
  nextNode: ChatNode | undefined;
  isBookmarked: boolean;
  /** Undefined if there is no text to copy. */
  copy: (() => void) | undefined;
  edit: () => void;
  /** Placed at the top of the menu. */
  leadingItems?: readonly MenuItem[];
}

/** Returns menu items for all actions on a node. Small screens offer them only in this menu. */
export function useNodeMenu(options: NodeMenuOptions): readonly MenuItem[] {
  const t = useMessages(chatViewMessages);
  const thread = useThread();
  return buildNodeMenu(options, thread, t);
}

function buildNodeMenu(
  { node, nextNode, isBookmarked, copy, edit, leadingItems = [] }: NodeMenuOptions,
  thread: Thread,
  t: ChatViewMessages,
): MenuItem[] {
  const { chat } = thread;
  const { node_id, pinned, hidden } = node;
  const isBusy = isRunning(node);
  const isAnswer = node.kind === "answer";
  const hasAnswer = nextNode?.kind === "answer";
  const setFlag = (type: "pin" | "hide" | "bookmark", value: boolean) =>
    void chat.change({ type, node_id, value });
  return [
    ...leadingItems,
    ...(copy === undefined ? [] : [{ label: t.copy, icon: "copy", keys: "c", run: copy } as const]),
    {
      label: isAnswer ? t.editAnswer : t.edit,
      icon: "edit",
      keys: editShortcut,
      disabled: isBusy,
      run: edit,
    },
    {
      label: t.retry,
      icon: "redo",
      keys: retryShortcut,
      disabled: isBusy,
      run: () => void chat.rerun(node_id),
    },
    {
      label: t.retryWith,
      icon: "redo",
      disabled: isBusy,
      run: () => thread.retryDialogNodeId.set(node_id),
    },
    "separator",
    { label: t.pin, checked: pinned, run: () => setFlag("pin", !pinned) },
    { label: t.hide, checked: hidden, run: () => setFlag("hide", !hidden) },
    { label: t.bookmark, checked: isBookmarked, run: () => setFlag("bookmark", !isBookmarked) },
    "separator",
    ...buildBranchItems(node, thread, t, isBusy),
    ...(hasAnswer
      ? []
      : [
          {
            label: t.separator,
            icon: "separator",
            disabled: isBusy,
            run: () => void chat.change({ type: "add_separator", after: node_id }),
          } as const,
        ]),
    "separator",
    ...(getSelectableVersionIds(node).length > 1
      ? [
          {
            label: t.deleteVersion,
            icon: "trash",
            danger: true,
            disabled: isBusy,
            run: () => void chat.deleteVersion(node_id, node.version),
          } as const,
        ]
      : []),
    ...(hasAnswer || nextNode === undefined
      ? []
      : [
          {
            label: t.deleteOnly,
            icon: "trash",
            danger: true,
            disabled: isBusy,
            run: () => void chat.deleteNode(node_id, "keep"),
          } as const,
        ]),
    {
      label: t.deleteAll,
      icon: "trash",
      danger: true,
      disabled: isBusy,
      run: () => void chat.deleteNode(node_id, "delete"),
    },
  ];
}

/** A branch starts below an answer, but above a user message, so that the next message becomes its sibling. */
function buildBranchItems(
  { kind, node_id, parent }: UserNode | AnswerNode,
  thread: Thread,
  t: ChatViewMessages,
  disabled: boolean,
): MenuItem[] {
  const startBranch = (parentId: string | null) => {
    thread.branching.set({ parentId });
    findComposer()?.focus();
  };
  if (kind === "answer")
    return [{ label: t.branchHere, icon: "branch", disabled, run: () => startBranch(node_id) }];
  return [
    { label: t.branchBefore, icon: "branch", run: () => startBranch(parent) },
    {
      label: t.extract,
      icon: "upload",
      run: () => void thread.chat.extract(node_id),
    },
  ];
}
