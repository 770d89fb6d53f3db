import { expect, test } from "vitest";
import { isCharacter, isPressed, writes, type KeyPress } from "../../src/parts/keys.tsx";

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
  // Where the question mark stands differs from keyboard to keyboard.
  ["?", press("?", { shiftKey: true }), false, true],
  ["?", press("?"), false, true],
  ["mod++", press("+", { ctrlKey: true }), false, true],
  ["alt+arrowup", press("ArrowUp", { altKey: true }), false, true],
])("%s is meant by a press or not", (keys, pressed, isMac, is) => {
  expect(isPressed(keys, pressed, isMac)).toBe(is);
});

test("a letter belongs to whoever writes, a key with Control does not", () => {
  expect(writes(press("a"))).toBe(true);
  expect(writes(press("A", { shiftKey: true }))).toBe(true);
  expect(writes(press("k", { ctrlKey: true }))).toBe(false);
});

test("keys that edit belong to a text field also with Control", () => {
  expect(writes(press("Enter", { ctrlKey: true }))).toBe(true);
  expect(writes(press("Backspace", { ctrlKey: true }))).toBe(true);
});

test("only what types a character counts as one, and not the space bar", () => {
  for (const key of ["r", "R", "?", "你", "😀"]) expect(isCharacter(press(key))).toBe(true);
  for (const key of [" ", "Enter", "ArrowUp", "Process"])
    expect(isCharacter(press(key))).toBe(false);
  expect(isCharacter(press("r", { ctrlKey: true }))).toBe(false);
  expect(isCharacter(press("r", { altKey: true }))).toBe(false);
});
