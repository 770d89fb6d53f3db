import { cell, type Cell } from "../cell.ts";

export interface Toast {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

export interface Toasts {
  readonly all: Cell<readonly Toast[]>;
  show(toast: Omit<Toast, "id">): number;
  dismiss(id: number): void;
}

/** What is old makes room: nobody reads ten. */
const most = 4;

/** They are dismissed by whoever draws them, after a while or by hand. */
export function createToasts(): Toasts {
  let ids = 0;
  const all = cell<readonly Toast[]>([]);
  const dismiss = (id: number) => all.update((toasts) => toasts.filter((each) => each.id !== id));
  return {
    all,
    dismiss,
    show(toast) {
      ids += 1;
      const shown = { ...toast, id: ids };
      all.update((toasts) =>
        [...toasts.filter((each) => !saysTheSame(each, toast)), shown].slice(-most),
      );
      return ids;
    },
  };
}

/** What can be undone is a thing of its own, however alike the words are. */
function saysTheSame(one: Toast, other: Omit<Toast, "id">): boolean {
  return one.text === other.text && one.action === undefined && other.action === undefined;
}
