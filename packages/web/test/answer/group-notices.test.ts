import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { groupNotices } from "../../src/answer/answer-notices.tsx";
import { repairMessages } from "../../src/answer/notice-messages.ts";

test("every repair code has its own message, and there are no other messages", () => {
  const source = readFileSync(new URL("../../../wire/src/repairs.ts", import.meta.url), "utf8");
  const [type = ""] = /export type RepairCode =[^;]+;/.exec(source) ?? [];
  const codes = [...type.matchAll(/\| "(\w+)"/g)].map(([, code]) => code ?? "");
  expect(codes).toContain("reasoning_dropped");
  for (const messages of Object.values(repairMessages))
    expect(Object.keys(messages)).toEqual(codes);
  for (const messages of Object.values(repairMessages))
    expect(new Set(Object.values(messages)).size).toBe(codes.length);
});

test("repairs of several rounds are counted by code", () => {
  const repaired = (message: string, count = 1) => ({ code: "reply_repaired", message, count });
  const { important, lossless } = groupNotices(
    [],
    [repaired("2 x reasoning_dropped, 1 x tool_dropped", 3), repaired("1 x reasoning_dropped")],
  );
  expect(important).toEqual([{ type: "repair", code: "tool_dropped", times: 3 }]);
  expect(lossless).toEqual([{ type: "repair", code: "reasoning_dropped", times: 7 }]);
});

test.each([
  ["an unknown repair", "reply_repaired", "2 x moon_painted", "moon_painted", 4],
  ["a property of every object", "reply_repaired", "1 x constructor", "constructor", 2],
  ["a truncated list", "reply_repaired", "1 x tool_dropped, 1 x to…", undefined, 2],
  ["a message that is not a list", "reply_repaired", "everything repaired", undefined, 2],
  ["another warning", "model_retried", "1 x tool_dropped", undefined, 2],
])("%s is shown unchanged", (_name, code, message, text = message, times) => {
  expect(groupNotices(["First."], [{ code, message, count: 2 }])).toEqual({
    important: [
      { type: "text", text: "First.", times: 1 },
      { type: "text", text, times },
    ],
    lossless: [],
  });
});

test.each([
  ["arguments_not_whole", "arguments_incomplete"],
  ["whole_reply_for_stream", "complete_reply_for_stream"],
  ["stream_for_whole_reply", "stream_for_complete_reply"],
  ["carry_lost", "opaque_reasoning_lost"],
  ["call_id_minted", "call_id_generated"],
])("the repair code %s of the first version is shown as %s", (formerCode, code) => {
  const warning = { code: "reply_repaired", message: `2 x ${formerCode}`, count: 1 };
  const { important, lossless } = groupNotices([], [warning]);
  expect([...important, ...lossless]).toEqual([{ type: "repair", code, times: 2 }]);
});
