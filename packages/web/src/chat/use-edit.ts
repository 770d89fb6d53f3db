import { useCell, usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { Draft, EditWords, MessageEdit } from "../state/page.ts";
import { useThread } from "./thread.ts";

interface KeptEdit {
  /** Undefined: nothing is changed yet. */
  readonly edit: MessageEdit | undefined;
  /** Undefined: it is over. */
  readonly keep: (edit: EditWords | undefined) => void;
  /** It is on its way, perhaps since before the chat was left: nobody writes in it meanwhile. */
  readonly isBusy: boolean;
  readonly hasArrived: boolean;
  readonly draft: Draft;
}

/** What was typed into the editor of a node: it stays when the chat is left, or drawn again. */
export function useEdit(nodeId: string): KeptEdit {
  const draft = usePage().draft(useThread().chat.chatId);
  const edit = usePicked(draft, ({ edits }) => edits?.[nodeId]);
  const sent = useCell(draft.sentEdits).get(nodeId);
  return {
    edit,
    keep: (next) => draft.edit(nodeId, next),
    isBusy: sent === "on its way",
    hasArrived: sent === "arrived",
    draft,
  };
}
