import fc from "fast-check";
import { expect, test } from "vitest";
import { meaningOf, type ComposerPress } from "../../src/chat/composer-keys.ts";

const enter: ComposerPress = {
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
  expect(meaningOf(enter, idle)).toBe("send");
  expect(meaningOf({ ...enter, shiftKey: true }, idle)).toBe("type");
});

test("whoever sends by Ctrl+Enter or Command+Enter makes new lines by Enter", () => {
  const situation = { ...idle, sendKey: "mod+enter" } as const;
  expect(meaningOf(enter, situation)).toBe("type");
  expect(meaningOf({ ...enter, ctrlKey: true }, situation)).toBe("send");
  expect(meaningOf({ ...enter, metaKey: true }, situation)).toBe("send");
});

test("Escape leaves the box, and with another key it is somebody else's", () => {
  const escape = { ...enter, key: "Escape", keyCode: 27 };
  expect(meaningOf(escape, idle)).toBe("leave");
  expect(meaningOf(escape, running)).toBe("leave");
  expect(meaningOf({ ...escape, shiftKey: true }, idle)).toBe("type");
});

test("no key that an input method has taken ever means anything, by either sign of it", () => {
  const taken = fc.constantFrom({ isComposing: true }, { keyCode: 229 });
  const anyPress = fc.record({
    key: fc.constantFrom("Enter", "ArrowUp", "a"),
    keyCode: fc.constantFrom(13, 38, 65),
    isComposing: fc.boolean(),
    shiftKey: fc.boolean(),
    altKey: fc.boolean(),
    ctrlKey: fc.boolean(),
    metaKey: fc.boolean(),
  });
  const anySituation = fc.record({
    sendKey: fc.constantFrom("enter" as const, "mod+enter" as const),
    isRunning: fc.boolean(),
    isEmpty: fc.boolean(),
  });
  fc.assert(
    fc.property(anyPress, taken, anySituation, (press, sign, situation) => {
      expect(meaningOf({ ...press, ...sign }, situation)).toBe("type");
    }),
  );
});

test("while an answer runs nothing is sent: it is told now, or queued", () => {
  expect(meaningOf(enter, running)).toBe("steer");
  expect(meaningOf({ ...enter, ctrlKey: true }, running)).toBe("queue");
  const byMod = { ...running, sendKey: "mod+enter" } as const;
  expect(meaningOf(enter, byMod)).toBe("type");
  expect(meaningOf({ ...enter, metaKey: true }, byMod)).toBe("steer");
  expect(meaningOf({ ...enter, metaKey: true, shiftKey: true }, byMod)).toBe("queue");
});

test("the arrow up edits the last message only where there is no text to move in", () => {
  const up = { ...enter, key: "ArrowUp", keyCode: 38 };
  expect(meaningOf(up, { ...idle, isEmpty: true })).toBe("edit last");
  expect(meaningOf(up, idle)).toBe("type");
  expect(meaningOf({ ...up, altKey: true }, { ...idle, isEmpty: true })).toBe("type");
});
