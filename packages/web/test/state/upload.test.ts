import { expect, test } from "vitest";
import { isText } from "../../src/state/upload.ts";

test("bytes are a text if they read as UTF-8, also where the last character is cut", () => {
  const bytes = new TextEncoder().encode("fn main() { // 你好");
  expect(isText(bytes)).toBe(true);
  expect(isText(bytes.subarray(0, -1))).toBe(true);
  expect(isText(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0))).toBe(false);
  expect(isText(Uint8Array.of(0xff, 0xd8, 0xff))).toBe(false);
});
