import { expect, test } from "vitest";
import { blobPath, blobsIn } from "@deltawire/tasks";

const [one, other] = ["1".repeat(64), "a".repeat(64)];

test("the blobs that a text refers to are found, wherever it does", () => {
  const text = JSON.stringify({ url: blobPath + one, text: `see (${blobPath}${other}).` });
  expect(blobsIn(text)).toEqual([one, other]);
});

test.each([
  "nothing at all",
  blobPath,
  `${blobPath}${one.slice(1)}`,
  `${blobPath}${one}0`,
  `${blobPath}${other.toUpperCase()}`,
])("there is none in %j", (text) => {
  expect(blobsIn(text)).toEqual([]);
});
