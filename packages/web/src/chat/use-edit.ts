import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { MessageEdit } from "../state/page.ts";
import { useThread } from "./thread.ts";

interface KeptEdit {
  /** Undefined: nothing is changed yet. */
  readonly edit: MessageEdit | undefined;
  /** Undefined: it is over. */
  readonly keep: (edit: MessageEdit | undefined) => void;
}

/** What was typed into the editor of a node: it stays when the chat is left, or drawn again. */
export function useEdit(nodeId: string): KeptEdit {
  const draft = usePage().draft(useThread().chat.chatId);
  const edit = usePicked(draft, ({ edits }) => edits?.[nodeId]);
  return { edit, keep: (next) => draft.edit(nodeId, next) };
}
