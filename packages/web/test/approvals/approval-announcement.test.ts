import type { PendingApproval } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import {
  updateApprovalAnnouncement,
  noApprovalAnnouncement,
} from "../../src/approvals/approval-tray.tsx";
import { formatQuestion } from "../../src/approvals/approval-card.tsx";
import { approvalMessages } from "../../src/approvals/messages.ts";

function createPendingApproval(id: string, limitName?: string): PendingApproval {
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

/** Updates the announcement with one list of pending approvals after another. Returns the announced ids after each. */
function listAnnounced(...lists: string[][]): string[][] {
  let announcement = noApprovalAnnouncement;
  return lists.map((ids) => {
    announcement = updateApprovalAnnouncement(
      announcement,
      ids.map((id) => createPendingApproval(id)),
    );
    return announcement.added.map(({ approval }) => approval.approval_id);
  });
}

test("each new approval is announced, even if its text equals that of another one", () => {
  expect(listAnnounced(["a"], ["a", "b"], ["a", "b", "c"])).toEqual([["a"], ["b"], ["c"]]);
  expect(listAnnounced(["a", "b"])).toEqual([["a", "b"]]);
});

test("after the newest approval is decided, no older one is announced again", () => {
  expect(listAnnounced(["a"], ["a", "b"], ["a"], [])).toEqual([["a"], ["b"], [], []]);
});

test("an update with the same approvals keeps the announcement", () => {
  expect(listAnnounced(["a"], ["a"])).toEqual([["a"], ["a"]]);
});

test.each([
  ["rounds", "rounds", "轮数"],
  ["tokens", "tokens", "词元数"],
  ["cost", "cost", "费用"],
  ["seconds", "time", "时间"],
  ["depth", "nested sub-agents", "子智能体层数"],
  ["constructor", "constructor", " constructor "],
])("the limit %s is called %s in English and %s in Chinese", (name, en, zh) => {
  const { en: english, zh: chinese } = approvalMessages;
  expect(formatQuestion(createPendingApproval("a", name), english)).toBe(
    `Limit reached: ${en}. Continue?`,
  );
  expect(formatQuestion(createPendingApproval("a", name), chinese)).toBe(
    `已达到${zh}上限。继续吗？`,
  );
});
