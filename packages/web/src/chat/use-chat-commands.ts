import { chosenVersion, isRunning, type ChatNode } from "@deltawire/tasks/chats";
import { useCommands, usePage } from "../hooks/use-page.ts";
import { focusComposer } from "../parts/focus.ts";
import { useWords } from "../words/use-words.ts";
import { editKeys, retryKeys, stopKeys } from "./composer-keys.ts";
import { answerToCopy, copyText } from "./copy-text.ts";
import { offeredVersions, switchOf, versionEdits } from "./message-footer.tsx";
import { readyChat, type Thread } from "./thread.ts";
import { chatWords } from "./words.ts";

/** What keys do with the message that has the focus, else with the last one that they fit. */
export function useChatCommands(thread: Thread, path: readonly ChatNode[]): void {
  const page = usePage();
  const words = useWords(chatWords);
  const { chat } = thread;
  const { group } = words;

  const meant = (fits: (node: ChatNode) => boolean) => meantNode(path, focusedNode(), fits);
  const move = (step: 1 | -1) => {
    const next = neighbour(path, focusedNode(), step);
    if (next !== undefined) void thread.show(next.node_id, { by: "focus" });
  };
  const copy = () => {
    const node = meant((one) => one.kind !== "separator");
    if (node === undefined || node.kind === "separator") return;
    const text = node.kind === "user" ? chosenVersion(node).text : answerToCopy(page, node);
    void copyText(text, page.toasts, words);
  };
  const edit = () => {
    const node = meant((one) => one.kind === "user");
    if (node !== undefined && node.kind !== "separator" && !isRunning(node))
      thread.edit(node.node_id);
  };
  const retry = () => {
    const node = meant((one) => one.kind === "answer");
    if (node !== undefined && node.kind !== "separator" && !isRunning(node))
      void chat.rerun(node.node_id);
  };
  const stop = () => {
    const node = meant(isRunning);
    if (node !== undefined && isRunning(node)) void chat.stop(node.node_id).then(focusComposer);
  };
  const switchVersion = (to: "previous" | "next") => {
    const node = meant((one) => one.kind !== "separator" && one.versions.length > 1);
    const now = readyChat(chat);
    if (node === undefined || node.kind === "separator" || now === undefined) return;
    const id = switchOf(offeredVersions(node), node.version)?.[to];
    if (id !== undefined) void chat.change(...versionEdits(now, node, id));
  };
  const switchBranch = async (to: "previous" | "next") => {
    const now = readyChat(chat);
    if (now === undefined) return;
    const around = ({ parent }: ChatNode) =>
      parent === null ? now.roots : (now.nodes[parent]?.children ?? []);
    const node = meant((one) => around(one).length > 1);
    const id = node && switchOf(around(node), node.node_id)?.[to];
    // The focus goes along, so that the key can be pressed again.
    if (id !== undefined) await thread.show(id, { by: "focus" });
  };
  const toTree = () => page.router.go({ is: "tree", chatId: chat.chatId });

  useCommands([
    { id: "chat.next", title: words.nextMessage, group, keys: "j", run: () => move(1) },
    { id: "chat.previous", title: words.previousMessage, group, keys: "k", run: () => move(-1) },
    // The same while somebody writes.
    {
      id: "chat.next.typing",
      title: words.nextMessage,
      group,
      keys: "alt+arrowdown",
      hidden: true,
      run: () => move(1),
    },
    {
      id: "chat.previous.typing",
      title: words.previousMessage,
      group,
      keys: "alt+arrowup",
      hidden: true,
      run: () => move(-1),
    },
    { id: "chat.end", title: words.jumpToEnd, group, keys: "end", run: () => thread.toEnd() },
    { id: "chat.edit", title: words.editIt, group, keys: editKeys, run: edit },
    { id: "chat.copy", title: words.copyIt, group, keys: "c", run: copy },
    { id: "chat.retry", title: words.retryIt, group, keys: retryKeys, run: retry },
    { id: "chat.stop", title: words.stopIt, group, keys: stopKeys, run: stop },
    {
      id: "chat.version.previous",
      title: words.previousVersion,
      group,
      keys: "[",
      run: () => switchVersion("previous"),
    },
    {
      id: "chat.version.next",
      title: words.nextVersion,
      group,
      keys: "]",
      run: () => switchVersion("next"),
    },
    {
      id: "chat.branch.previous",
      title: words.previousBranch,
      group,
      keys: "{",
      run: () => void switchBranch("previous"),
    },
    {
      id: "chat.branch.next",
      title: words.nextBranch,
      group,
      keys: "}",
      run: () => void switchBranch("next"),
    },
    {
      id: "chat.find",
      title: words.find,
      group,
      keys: "mod+f",
      run: () => thread.finding.update((asked) => asked + 1),
    },
    { id: "chat.tree", title: words.tree, group, keys: "t", run: toTree },
  ]);
}

function focusedNode(): string | undefined {
  const place = document.activeElement?.closest("[data-node]");
  return place?.getAttribute("data-node") ?? undefined;
}

/** The node that has the focus; where none has it, the last one that the command fits. */
export function meantNode(
  path: readonly ChatNode[],
  focused: string | undefined,
  fits: (node: ChatNode) => boolean,
): ChatNode | undefined {
  return path.find(({ node_id }) => node_id === focused) ?? path.findLast(fits);
}

/** The next one in a direction; from nowhere the last, as that is what is in view. */
export function neighbour(
  path: readonly ChatNode[],
  focused: string | undefined,
  step: 1 | -1,
): ChatNode | undefined {
  const at = path.findIndex(({ node_id }) => node_id === focused);
  if (at === -1) return path.at(-1);
  return path[at + step];
}
