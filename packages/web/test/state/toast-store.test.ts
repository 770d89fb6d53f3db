import { expect, test } from "vitest";
import { createToastStore } from "../../src/state/toast-store.ts";

test("at most four toasts are shown, the newest last, and equal ones only once", () => {
  const toasts = createToastStore();
  for (const text of ["a", "b", "a", "c", "d", "e"]) toasts.show({ kind: "info", text });
  expect(toasts.all.get().map(({ text }) => text)).toEqual(["a", "c", "d", "e"]);
});

test("dismissing a toast removes only that one", () => {
  const toasts = createToastStore();
  const id = toasts.show({ kind: "error", text: "a" });
  toasts.show({ kind: "error", text: "b" });
  toasts.dismiss(id);
  expect(toasts.all.get().map(({ text }) => text)).toEqual(["b"]);
});

test("toasts with an undo action are shown separately, even if they have the same text", () => {
  const toasts = createToastStore();
  const undone: string[] = [];
  for (const which of ["first", "second"])
    toasts.show({
      kind: "info",
      text: "Deleted",
      action: { label: "Undo", run: () => undone.push(which) },
    });
  for (const { action } of toasts.all.get()) action?.run();
  expect(undone).toEqual(["first", "second"]);
});
