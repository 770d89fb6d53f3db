import { answerChain, type AnswerNode } from "@deltawire/tasks/chats";
import { writeToClipboard } from "../parts/copying.ts";
import type { Page } from "../state/page.ts";
import type { Toasts } from "../state/toasts.ts";
import { wordsToCopy } from "./answer-facts.ts";
import type { ChatWords } from "./words.ts";

/** To the clipboard, with a word whether it is there. */
export async function copyText(
  text: string,
  toasts: Toasts,
  words: Pick<ChatWords, "copied" | "cannotCopy" | "nothingToCopy">,
): Promise<void> {
  if (text === "") return void toasts.show({ kind: "info", text: words.nothingToCopy });
  const isCopied = await writeToClipboard(text);
  toasts.show(
    isCopied ? { kind: "info", text: words.copied } : { kind: "error", text: words.cannotCopy },
  );
}

/** The words of the answer that is shown. While it runs its task knows more than the chat. */
export function answerToCopy(page: Page, node: AnswerNode): string {
  return wordsToCopy(
    answerChain(node, node.version).map(({ status, task_id, output }) => {
      if (status !== "running" || task_id === undefined) return output;
      return page.taskTree(task_id).get()?.tasks[task_id]?.output ?? output;
    }),
  );
}
