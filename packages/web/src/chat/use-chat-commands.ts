import { getChosenVersion, isRunning, type ChatNode } from "@deltawire/tasks/chats";
import { useCommands, useAppStore } from "../hooks/use-app-store.ts";
import { focusComposer } from "../ui/focus.ts";
import { useMessages } from "../messages/use-messages.ts";
import { editShortcut, retryShortcut, stopShortcut } from "./composer-keys.ts";
import { getAnswerClipboardText, copyToClipboard } from "./copy-to-clipboard.ts";
import {
  getSelectableVersionIds,
  toSwitcherPosition,
  createVersionEdits,
} from "./message-footer.tsx";
import { getLoadedChat } from "../state/open-chat.ts";
import type { Thread } from "./thread.ts";
import { chatViewMessages } from "./messages.ts";

/** Registers the commands for messages. They apply to the focused message, or to the last suitable one if none is focused. */
export function useChatCommands(thread: Thread, path: readonly ChatNode[]): void {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const { chat } = thread;
  const { group } = t;

  const findTarget = (isSuitable: (node: ChatNode) => boolean) =>
    findTargetNode(path, getFocusedNodeId(), isSuitable);
  const move = (step: 1 | -1) => {
    const next = findAdjacentNode(path, getFocusedNodeId(), step);
    if (next !== undefined) void thread.showNode(next.node_id, { by: "focus" });
  };
  const copy = () => {
    const node = findTarget(({ kind }) => kind !== "separator");
    if (node === undefined || node.kind === "separator") return;
    const text =
      node.kind === "user" ? getChosenVersion(node).text : getAnswerClipboardText(app, node);
    void copyToClipboard(text, app.toasts, t);
  };
  const edit = () => {
    const node = findTarget(({ kind }) => kind === "user");
    if (node !== undefined && node.kind !== "separator" && !isRunning(node))
      thread.edit(node.node_id);
  };
  const retry = () => {
    const node = findTarget(({ kind }) => kind === "answer");
    if (node !== undefined && node.kind !== "separator" && !isRunning(node))
      void chat.rerun(node.node_id);
  };
  const stop = () => {
    const node = findTarget(isRunning);
    if (node !== undefined && isRunning(node)) void chat.stop(node.node_id).then(focusComposer);
  };
  const switchVersion = (direction: "previous" | "next") => {
    const node = findTarget(
      (candidate) => candidate.kind !== "separator" && candidate.versions.length > 1,
    );
    const current = getLoadedChat(chat);
    if (node === undefined || node.kind === "separator" || current === undefined) return;
    const id = toSwitcherPosition(getSelectableVersionIds(node), node.version)?.[direction];
    if (id !== undefined) void chat.change(...createVersionEdits(current, node, id));
  };
  const switchBranch = async (direction: "previous" | "next") => {
    const current = getLoadedChat(chat);
    if (current === undefined) return;
    const getSiblingIds = ({ parent }: ChatNode) =>
      parent === null ? current.roots : (current.nodes[parent]?.children ?? []);
    const node = findTarget((candidate) => getSiblingIds(candidate).length > 1);
    const id = node && toSwitcherPosition(getSiblingIds(node), node.node_id)?.[direction];
    // The focus moves too, so that the shortcut can be repeated.
    if (id !== undefined) await thread.showNode(id, { by: "focus" });
  };
  const openTree = () => app.router.navigate({ type: "tree", chatId: chat.chatId });

  useCommands([
    { id: "chat.next", title: t.nextMessage, group, keys: "j", run: () => move(1) },
    { id: "chat.previous", title: t.previousMessage, group, keys: "k", run: () => move(-1) },
    // The same commands with keys that work in a text field.
    {
      id: "chat.next.typing",
      title: t.nextMessage,
      group,
      keys: "alt+arrowdown",
      hidden: true,
      run: () => move(1),
    },
    {
      id: "chat.previous.typing",
      title: t.previousMessage,
      group,
      keys: "alt+arrowup",
      hidden: true,
      run: () => move(-1),
    },
    { id: "chat.end", title: t.jumpToEnd, group, keys: "end", run: () => thread.scrollToEnd() },
    { id: "chat.edit", title: t.editMessage, group, keys: editShortcut, run: edit },
    { id: "chat.copy", title: t.copyMessage, group, keys: "c", run: copy },
    { id: "chat.retry", title: t.retryAnswer, group, keys: retryShortcut, run: retry },
    { id: "chat.stop", title: t.stopAnswer, group, keys: stopShortcut, run: stop },
    {
      id: "chat.version.previous",
      title: t.previousVersion,
      group,
      keys: "[",
      run: () => switchVersion("previous"),
    },
    {
      id: "chat.version.next",
      title: t.nextVersion,
      group,
      keys: "]",
      run: () => switchVersion("next"),
    },
    {
      id: "chat.branch.previous",
      title: t.previousBranch,
      group,
      keys: "{",
      run: () => void switchBranch("previous"),
    },
    {
      id: "chat.branch.next",
      title: t.nextBranch,
      group,
      keys: "}",
      run: () => void switchBranch("next"),
    },
    {
      id: "chat.find",
      title: t.find,
      group,
      keys: "mod+f",
      run: () => thread.findRequests.update((count) => count + 1),
    },
    { id: "chat.tree", title: t.tree, group, keys: "t", run: openTree },
  ]);
}

function getFocusedNodeId(): string | undefined {
  const element = document.activeElement?.closest("[data-node]");
  return element?.getAttribute("data-node") ?? undefined;
}

/** Returns the focused node. If none is focused, returns the last suitable one. */
export function findTargetNode(
  path: readonly ChatNode[],
  focusedId: string | undefined,
  isSuitable: (node: ChatNode) => boolean,
): ChatNode | undefined {
  return path.find(({ node_id }) => node_id === focusedId) ?? path.findLast(isSuitable);
}

/** Returns the next node in a direction. If none is focused, returns the last one, which is usually visible. */
export function findAdjacentNode(
  path: readonly ChatNode[],
  focusedId: string | undefined,
  step: 1 | -1,
): ChatNode | undefined {
  const index = path.findIndex(({ node_id }) => node_id === focusedId);
  if (index === -1) return path.at(-1);
  return path[index + step];
}
