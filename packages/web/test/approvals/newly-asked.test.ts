import type { PendingApproval } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { newlyAsked, nothingTold } from "../../src/approvals/tray.tsx";
import { questionOf } from "../../src/approvals/approval-card.tsx";
import { approvalWords } from "../../src/approvals/words.ts";

function asked(id: string, limitName?: string): PendingApproval {
  const kind = limitName === undefined ? "call" : "limit";
  return {
    approval: {
      approval_id: id,
      task_id: "task_1",
      kind,
      status: "pending",
      choices: ["approve", "deny"],
      ...(limitName === undefined ? { tool: "send_message" } : { limit_name: limitName }),
    },
    root_task_id: "task_1",
    requested_at: "2026-01-01T00:00:00.000Z",
    agent: "demo-agent",
    depth: 0,
  };
}

/** What is told after each of these lists came. */
function toldBy(...lists: string[][]): string[][] {
  let told = nothingTold;
  return lists.map((ids) => {
    told = newlyAsked(
      told,
      ids.map((id) => asked(id)),
    );
    return told.asked.map(({ approval }) => approval.approval_id);
  });
}

test("each question is told when it comes, also one with the words of another", () => {
  expect(toldBy(["a"], ["a", "b"], ["a", "b", "c"])).toEqual([["a"], ["b"], ["c"]]);
  expect(toldBy(["a", "b"])).toEqual([["a", "b"]]);
});

test("when the newest is decided, no older one is told again", () => {
  expect(toldBy(["a"], ["a", "b"], ["a"], [])).toEqual([["a"], ["b"], [], []]);
});

test("more that is known of the same questions keeps what is being read out", () => {
  expect(toldBy(["a"], ["a"])).toEqual([["a"], ["a"]]);
});

test.each([
  ["rounds", "rounds", "轮数"],
  ["tokens", "tokens", "词元数"],
  ["cost", "cost", "费用"],
  ["seconds", "time", "时间"],
  ["depth", "nested sub-agents", "子智能体层数"],
  ["constructor", "constructor", " constructor "],
])("the limit %s is called by its name in both languages", (name, en, zh) => {
  const { en: english, zh: chinese } = approvalWords;
  expect(questionOf(asked("a", name), english)).toBe(`The limit of ${en} is reached. Go on?`);
  expect(questionOf(asked("a", name), chinese)).toBe(`已达到${zh}上限。继续吗？`);
});
