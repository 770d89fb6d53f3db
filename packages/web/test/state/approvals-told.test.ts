import { emptyTree, type TaskApproval, type TaskTree } from "@deltawire/tasks";
import type { ChatClient, PendingApproval } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createApprovals } from "../../src/state/approvals.ts";
import { createTelling } from "../../src/state/telling.ts";
import { createToasts } from "../../src/state/toasts.ts";
import { stateWords } from "../../src/state/words.ts";

const open = {
  approval_id: "approval_1",
  task_id: "task_1",
  kind: "call",
  tool: "send_message",
  status: "pending",
} as unknown as TaskApproval;
const denied = {
  ...open,
  status: "resolved",
  resolution: { decision: "deny", by: "user" },
} as unknown as TaskApproval;
const listed: PendingApproval = {
  approval: open,
  root_task_id: "task_1",
  requested_at: "2026-01-01T00:00:00Z",
  agent: "a",
  depth: 0,
};

/** A page that looks at one task; what the list and the tree say is up to the test. */
async function lookingAtOne() {
  let list: readonly PendingApproval[] = [listed];
  let tree: TaskTree = { ...emptyTree, root_task_id: "task_1", approvals: [open] };
  const toasts = createToasts();
  const client = { approvals: async () => ({ data: list }) } as unknown as ChatClient;
  const approvals = createApprovals({
    client,
    telling: createTelling(toasts, () => stateWords.en),
    now: () => 0,
    trees: () => [tree],
    placeOf: () => undefined,
  });
  await approvals.read();
  expect(approvals.pending.get()).toHaveLength(1);
  return {
    approvals,
    told: () => toasts.all.get().map(({ text }) => text),
    async listIsEmpty() {
      list = [];
      await approvals.read();
    },
    treeSaysDenied() {
      tree = { ...tree, approvals: [denied] };
      approvals.look();
    },
  };
}

test.each([["listIsEmpty", "treeSaysDenied"] as const, ["treeSaysDenied", "listIsEmpty"] as const])(
  "whoever looked at a question is told once that somebody else has decided, where %s first",
  async (first, second) => {
    const page = await lookingAtOne();
    await page[first]();
    expect(page.approvals.pending.get()).toEqual([]);
    await page[second]();
    await page.listIsEmpty();
    page.treeSaysDenied();
    expect(page.approvals.pending.get()).toEqual([]);
    expect(page.told()).toEqual(["Somebody else has decided about send_message: deny"]);
  },
);
