import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { notesOf } from "../../src/answer/notes.tsx";
import { repairWords } from "../../src/answer/note-words.ts";

test("every repair that is counted has words, and no other has", () => {
  const source = readFileSync(new URL("../../../wire/src/repairs.ts", import.meta.url), "utf8");
  const [type = ""] = /export type RepairCode =[^;]+;/.exec(source) ?? [];
  const codes = [...type.matchAll(/\| "(\w+)"/g)].map(([, code]) => code ?? "");
  expect(codes).toContain("reasoning_dropped");
  for (const words of Object.values(repairWords)) expect(Object.keys(words)).toEqual(codes);
  for (const words of Object.values(repairWords))
    expect(new Set(Object.values(words)).size).toBe(codes.length);
});

test("repairs of several rounds are counted together, by their codes", () => {
  const repaired = (message: string, count = 1) => ({ code: "reply_repaired", message, count });
  const { told, usual } = notesOf(
    [],
    [repaired("2 x reasoning_dropped, 1 x tool_dropped", 3), repaired("1 x reasoning_dropped")],
  );
  expect(told).toEqual([{ is: "repair", code: "tool_dropped", times: 3 }]);
  expect(usual).toEqual([{ is: "repair", code: "reasoning_dropped", times: 7 }]);
});

test.each([
  ["a repair that nobody knows", "reply_repaired", "2 x moon_painted", "moon_painted", 4],
  ["the name of something else", "reply_repaired", "1 x constructor", "constructor", 2],
  ["a list that was cut", "reply_repaired", "1 x tool_dropped, 1 x to…", undefined, 2],
  ["no list at all", "reply_repaired", "all was put right", undefined, 2],
  ["another warning", "model_retried", "1 x tool_dropped", undefined, 2],
])("%s is told as it came", (_what, code, message, words = message, times) => {
  expect(notesOf(["First."], [{ code, message, count: 2 }])).toEqual({
    told: [
      { is: "words", words: "First.", times: 1 },
      { is: "words", words, times },
    ],
    usual: [],
  });
});
