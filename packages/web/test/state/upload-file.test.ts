import { expect, test } from "vitest";
import { isUtf8Text } from "../../src/state/upload-file.ts";

test("UTF-8 bytes are recognized as text, even if the last character is incomplete", () => {
  const bytes = new TextEncoder().encode("fn main() { // 你好");
  expect(isUtf8Text(bytes)).toBe(true);
  expect(isUtf8Text(bytes.subarray(0, -1))).toBe(true);
  expect(isUtf8Text(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0))).toBe(false);
  expect(isUtf8Text(Uint8Array.of(0xff, 0xd8, 0xff))).toBe(false);
});
