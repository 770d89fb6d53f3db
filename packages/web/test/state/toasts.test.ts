import { expect, test } from "vitest";
import { createToasts } from "../../src/state/toasts.ts";

test("the same words are shown once, the newest last, and no more than a few", () => {
  const toasts = createToasts();
  for (const text of ["a", "b", "a", "c", "d", "e"]) toasts.show({ kind: "info", text });
  expect(toasts.all.get().map(({ text }) => text)).toEqual(["a", "c", "d", "e"]);
});

test("one that is dismissed is gone, and no other", () => {
  const toasts = createToasts();
  const id = toasts.show({ kind: "error", text: "a" });
  toasts.show({ kind: "error", text: "b" });
  toasts.dismiss(id);
  expect(toasts.all.get().map(({ text }) => text)).toEqual(["b"]);
});

test("two that can be undone both stay, also with the same words", () => {
  const toasts = createToasts();
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
