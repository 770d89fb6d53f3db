import { createCell, type Cell } from "../cell.ts";

export interface Toast {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

export interface ToastStore {
  readonly all: Cell<readonly Toast[]>;
  show(toast: Omit<Toast, "id">): number;
  dismiss(id: number): void;
}

/** Beyond this number the oldest toasts are dropped. */
const maxToasts = 4;

/** The component that renders a toast dismisses it after a while, or when the user closes it. */
export function createToastStore(): ToastStore {
  let lastId = 0;
  const toasts = createCell<readonly Toast[]>([]);
  const dismiss = (id: number) =>
    toasts.update((current) => current.filter((toast) => toast.id !== id));
  return {
    all: toasts,
    dismiss,
    show(toast) {
      lastId += 1;
      const newToast = { ...toast, id: lastId };
      toasts.update((current) =>
        [...current.filter((existing) => !isDuplicateToast(existing, toast)), newToast].slice(
          -maxToasts,
        ),
      );
      return lastId;
    },
  };
}

/** Toasts with an action are never duplicates: each undoes a different change. */
function isDuplicateToast(a: Toast, b: Omit<Toast, "id">): boolean {
  return a.text === b.text && a.action === undefined && b.action === undefined;
}
