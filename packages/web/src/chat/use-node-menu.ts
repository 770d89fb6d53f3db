import { isRunning, type AnswerNode, type ChatNode, type UserNode } from "@deltawire/tasks/chats";
import { findComposer } from "../parts/focus.ts";
import type { MenuItem } from "../parts/menu.tsx";
import { useWords } from "../words/use-words.ts";
import { editKeys, retryKeys } from "./composer-keys.ts";
import { offeredVersions } from "./message-footer.tsx";
import { useThread, type Thread } from "./thread.ts";
import { chatWords, type ChatWords } from "./words.ts";

interface NodeMenuOptions {
  node: UserNode | AnswerNode;
  below: ChatNode | undefined;
  isBookmarked: boolean;
  /** Undefined: it has no words. */
  copy: (() => void) | undefined;
  edit: () => void;
  /** Those of an answer that stand first. */
  first?: readonly MenuItem[];
}

/** All that can be done with a node; on a small screen this is the only place where it is. */
export function useNodeMenu(options: NodeMenuOptions): readonly MenuItem[] {
  const words = useWords(chatWords);
  const thread = useThread();
  return nodeMenu(options, thread, words);
}

function nodeMenu(
  { node, below, isBookmarked, copy, edit, first = [] }: NodeMenuOptions,
  thread: Thread,
  words: ChatWords,
): MenuItem[] {
  const { chat } = thread;
  const { node_id, pinned, hidden } = node;
  const isBusy = isRunning(node);
  const isAnswer = node.kind === "answer";
  const hasAnswer = below?.kind === "answer";
  const mark = (type: "pin" | "hide" | "bookmark", value: boolean) =>
    void chat.change({ type, node_id, value });
  return [
    ...first,
    ...(copy === undefined
      ? []
      : [{ label: words.copy, icon: "copy", keys: "c", run: copy } as const]),
    {
      label: isAnswer ? words.editAnswer : words.edit,
      icon: "edit",
      keys: editKeys,
      disabled: isBusy,
      run: edit,
    },
    {
      label: words.retry,
      icon: "redo",
      keys: retryKeys,
      disabled: isBusy,
      run: () => void chat.rerun(node_id),
    },
    {
      label: words.retryWith,
      icon: "redo",
      disabled: isBusy,
      run: () => thread.retrying.set(node_id),
    },
    "line",
    { label: words.pin, checked: pinned, run: () => mark("pin", !pinned) },
    { label: words.hide, checked: hidden, run: () => mark("hide", !hidden) },
    { label: words.bookmark, checked: isBookmarked, run: () => mark("bookmark", !isBookmarked) },
    "line",
    ...branching(node, thread, words, isBusy),
    ...(hasAnswer
      ? []
      : [
          {
            label: words.separator,
            icon: "separator",
            disabled: isBusy,
            run: () => void chat.change({ type: "add_separator", after: node_id }),
          } as const,
        ]),
    "line",
    ...(offeredVersions(node).length > 1
      ? [
          {
            label: words.deleteVersion,
            icon: "trash",
            danger: true,
            disabled: isBusy,
            run: () => void chat.deleteVersion(node_id, node.version),
          } as const,
        ]
      : []),
    ...(hasAnswer || below === undefined
      ? []
      : [
          {
            label: words.deleteOnly,
            icon: "trash",
            danger: true,
            disabled: isBusy,
            run: () => void chat.deleteNode(node_id, "keep"),
          } as const,
        ]),
    {
      label: words.deleteAll,
      icon: "trash",
      danger: true,
      disabled: isBusy,
      run: () => void chat.deleteNode(node_id, "delete"),
    },
  ];
}

/** An answer is gone on from otherwise; beside a message stands another one. */
function branching(
  { kind, node_id, parent }: UserNode | AnswerNode,
  thread: Thread,
  words: ChatWords,
  disabled: boolean,
): MenuItem[] {
  const begin = (under: string | null) => {
    thread.branching.set({ under });
    findComposer()?.focus();
  };
  if (kind === "answer")
    return [{ label: words.branchHere, icon: "branch", disabled, run: () => begin(node_id) }];
  return [
    { label: words.branchInstead, icon: "branch", run: () => begin(parent) },
    {
      label: words.extract,
      icon: "upload",
      run: () => void thread.chat.extract(node_id),
    },
  ];
}
