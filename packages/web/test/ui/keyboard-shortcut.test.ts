import { expect, test } from "vitest";
import {
  isCharacterKey,
  matchesShortcut,
  isTextInputKey,
  type KeyPress,
} from "../../src/ui/keyboard-shortcut.tsx";

const press = (key: string, held: Partial<KeyPress> = {}): KeyPress => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...held,
});

test.each<[keys: string, press: KeyPress, isMac: boolean, is: boolean]>([
  ["mod+k", press("k", { ctrlKey: true }), false, true],
  ["mod+k", press("K", { ctrlKey: true }), false, true],
  ["mod+k", press("k", { metaKey: true }), true, true],
  ["mod+k", press("k", { ctrlKey: true }), true, false],
  ["mod+k", press("k"), false, false],
  ["k", press("k", { ctrlKey: true }), false, false],
  ["shift+j", press("J", { shiftKey: true }), false, true],
  ["j", press("J", { shiftKey: true }), false, false],
  // Whether the question mark needs Shift depends on the keyboard layout.
  ["?", press("?", { shiftKey: true }), false, true],
  ["?", press("?"), false, true],
  ["mod++", press("+", { ctrlKey: true }), false, true],
  ["alt+arrowup", press("ArrowUp", { altKey: true }), false, true],
])("the shortcut %s and the key press %o, with isMac %s, match: %s", (keys, pressed, isMac, is) => {
  expect(matchesShortcut(keys, pressed, isMac)).toBe(is);
});

test("a text field handles letters, but not with Control", () => {
  expect(isTextInputKey(press("a"))).toBe(true);
  expect(isTextInputKey(press("A", { shiftKey: true }))).toBe(true);
  expect(isTextInputKey(press("k", { ctrlKey: true }))).toBe(false);
});

test("a text field handles editing keys, even with Control", () => {
  expect(isTextInputKey(press("Enter", { ctrlKey: true }))).toBe(true);
  expect(isTextInputKey(press("Backspace", { ctrlKey: true }))).toBe(true);
});

test("only keys that type a character are character keys, and the space bar is not", () => {
  for (const key of ["r", "R", "?", "你", "😀"]) expect(isCharacterKey(press(key))).toBe(true);
  for (const key of [" ", "Enter", "ArrowUp", "Process"])
    expect(isCharacterKey(press(key))).toBe(false);
  expect(isCharacterKey(press("r", { ctrlKey: true }))).toBe(false);
  expect(isCharacterKey(press("r", { altKey: true }))).toBe(false);
});
