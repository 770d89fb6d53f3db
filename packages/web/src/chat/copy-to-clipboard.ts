import { getAnswerChain, type AnswerNode } from "@deltawire/tasks/chats";
import { writeToClipboard } from "../ui/use-copy-button.ts";
import type { AppStore } from "../state/app-store.ts";
import type { ToastStore } from "../state/toast-store.ts";
import { toClipboardText } from "./answer-summary.ts";
import type { ChatViewMessages } from "./messages.ts";

/** Copies text and shows a toast with the result. */
export async function copyToClipboard(
  text: string,
  toasts: ToastStore,
  t: Pick<ChatViewMessages, "copied" | "cannotCopy" | "nothingToCopy">,
): Promise<void> {
  if (text === "") return void toasts.show({ kind: "info", text: t.nothingToCopy });
  const isCopied = await writeToClipboard(text);
  toasts.show(isCopied ? { kind: "info", text: t.copied } : { kind: "error", text: t.cannotCopy });
}

/** Returns the text of the displayed answer. While the answer is running, its text is taken from the live task. */
export function getAnswerClipboardText(app: AppStore, node: AnswerNode): string {
  return toClipboardText(
    getAnswerChain(node, node.version).map(({ status, task_id, output }) => {
      if (status !== "running" || task_id === undefined) return output;
      return app.taskTree(task_id).get()?.tasks[task_id]?.output ?? output;
    }),
  );
}
