import { expect, test } from "vitest";
import { blobPath, findBlobHashes } from "@deltawire/tasks";

const [digits, letters] = ["1".repeat(64), "a".repeat(64)];

test("findBlobHashes finds the hashes of blob URLs anywhere in the text", () => {
  const text = JSON.stringify({ url: blobPath + digits, text: `see (${blobPath}${letters}).` });
  expect(findBlobHashes(text)).toEqual([digits, letters]);
});

test.each([
  "no URL",
  blobPath,
  `${blobPath}${digits.slice(1)}`,
  `${blobPath}${digits}0`,
  `${blobPath}${letters.toUpperCase()}`,
])("findBlobHashes finds no hash in %j", (text) => {
  expect(findBlobHashes(text)).toEqual([]);
});
