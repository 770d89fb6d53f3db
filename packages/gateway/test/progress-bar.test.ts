import { expect, test } from "vitest";
import { ProgressBar } from "../src/cli/progress-bar.ts";

function createBar(isTTY: boolean) {
  let output = "";
  let time = 0;
  const target = { isTTY, write: (text: string) => Boolean((output += text)) };
  return {
    bar: new ProgressBar(target, () => time),
    wait: (ms: number) => (time += ms),
    takeOutput: () => {
      const taken = output;
      output = "";
      return taken;
    },
  };
}

const copying = (bytes: number) =>
  ({ step: "copy", table: "blobs", bytes, totalBytes: 200 }) as const;

test("the progress of a copy is drawn over the same line of a terminal, and removed at the end", () => {
  const { bar, wait, takeOutput } = createBar(true);
  bar.show(copying(0));
  expect(takeOutput()).toBe(`\r\u001B[Kcopying   [${"-".repeat(30)}] 0 % blobs`);
  wait(10);
  bar.show(copying(50));
  expect(takeOutput()).toBe("");
  wait(100);
  bar.show(copying(100));
  expect(takeOutput()).toBe(`\r\u001B[Kcopying   [${"#".repeat(15)}${"-".repeat(15)}] 50 % blobs`);
  bar.clear();
  expect(takeOutput()).toBe("\r\u001B[K");
});

test("without a terminal, the progress of a copy is a line every five seconds", () => {
  const { bar, wait, takeOutput } = createBar(false);
  for (let second = 0; second < 12; second += 1) {
    bar.show(copying(second * 10));
    wait(1000);
  }
  bar.clear();
  const lines = takeOutput().trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/\[.*\]/, ""))).toEqual([
    "copying    25 % blobs",
    "copying    50 % blobs",
  ]);
});
