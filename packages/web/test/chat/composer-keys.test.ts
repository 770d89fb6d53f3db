import fc from "fast-check";
import { expect, test } from "vitest";
import { toComposerAction, type ComposerKeyEvent } from "../../src/chat/composer-keys.ts";

const enter: ComposerKeyEvent = {
  key: "Enter",
  keyCode: 13,
  isComposing: false,
  shiftKey: false,
  altKey: false,
  ctrlKey: false,
  metaKey: false,
};
const idle = { sendKey: "enter", isRunning: false, isEmpty: false } as const;
const running = { ...idle, isRunning: true };

test("Enter sends, and Shift+Enter makes a new line", () => {
  expect(toComposerAction(enter, idle)).toBe("send");
  expect(toComposerAction({ ...enter, shiftKey: true }, idle)).toBe("type");
});

test("if Ctrl+Enter or Command+Enter sends, Enter makes a new line", () => {
  const context = { ...idle, sendKey: "mod+enter" } as const;
  expect(toComposerAction(enter, context)).toBe("type");
  expect(toComposerAction({ ...enter, ctrlKey: true }, context)).toBe("send");
  expect(toComposerAction({ ...enter, metaKey: true }, context)).toBe("send");
});

test("Escape without a modifier key leaves the composer", () => {
  const escape = { ...enter, key: "Escape", keyCode: 27 };
  expect(toComposerAction(escape, idle)).toBe("blur");
  expect(toComposerAction(escape, running)).toBe("blur");
  expect(toComposerAction({ ...escape, shiftKey: true }, idle)).toBe("type");
});

test("keys that an input method handles trigger no action", () => {
  const composing = fc.constantFrom({ isComposing: true }, { keyCode: 229 });
  const anyKeyEvent = fc.record({
    key: fc.constantFrom("Enter", "ArrowUp", "a"),
    keyCode: fc.constantFrom(13, 38, 65),
    isComposing: fc.boolean(),
    shiftKey: fc.boolean(),
    altKey: fc.boolean(),
    ctrlKey: fc.boolean(),
    metaKey: fc.boolean(),
  });
  const anyContext = fc.record({
    sendKey: fc.constantFrom("enter" as const, "mod+enter" as const),
    isRunning: fc.boolean(),
    isEmpty: fc.boolean(),
  });
  fc.assert(
    fc.property(anyKeyEvent, composing, anyContext, (keyEvent, flags, context) => {
      expect(toComposerAction({ ...keyEvent, ...flags }, context)).toBe("type");
    }),
  );
});

test("while an answer runs, the send key steers it, and with an additional modifier key queues the message", () => {
  expect(toComposerAction(enter, running)).toBe("steer");
  expect(toComposerAction({ ...enter, ctrlKey: true }, running)).toBe("queue");
  const modEnterContext = { ...running, sendKey: "mod+enter" } as const;
  expect(toComposerAction(enter, modEnterContext)).toBe("type");
  expect(toComposerAction({ ...enter, metaKey: true }, modEnterContext)).toBe("steer");
  expect(toComposerAction({ ...enter, metaKey: true, shiftKey: true }, modEnterContext)).toBe(
    "queue",
  );
});

test("Arrow up edits the last message only if the composer is empty", () => {
  const up = { ...enter, key: "ArrowUp", keyCode: 38 };
  expect(toComposerAction(up, { ...idle, isEmpty: true })).toBe("edit last");
  expect(toComposerAction(up, idle)).toBe("type");
  expect(toComposerAction({ ...up, altKey: true }, { ...idle, isEmpty: true })).toBe("type");
});
