import { cell } from "../cell.ts";

/** The modal dialogs that are open, the topmost last. All that is not in that one cannot be pressed. */
export const openDialogs = cell<readonly HTMLDialogElement[]>([]);

/** Answers with how it is closed. */
export function openModal(dialog: HTMLDialogElement): () => void {
  dialog.showModal();
  openDialogs.update((open) => [...open, dialog]);
  return () => {
    dialog.close();
    openDialogs.update((open) => open.filter((each) => each !== dialog));
  };
}
