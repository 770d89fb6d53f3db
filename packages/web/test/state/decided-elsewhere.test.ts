import { emptyTree, type TaskApproval, type TaskTree } from "@deltawire/tasks";
import type { ChatClient, PendingApproval } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createMemoryStorage } from "../../src/browser/storage.ts";
import { createApprovalStore } from "../../src/state/approval-store.ts";
import { createNotifier } from "../../src/state/notifier.ts";
import { createToastStore } from "../../src/state/toast-store.ts";
import { stateMessages } from "../../src/state/messages.ts";

const pendingApproval = {
  approval_id: "approval_1",
  task_id: "task_1",
  kind: "call",
  tool: "send_message",
  status: "pending",
} as unknown as TaskApproval;
const deniedApproval = {
  ...pendingApproval,
  status: "resolved",
  resolution: { decision: "deny", by: "user" },
} as unknown as TaskApproval;
const listedApproval: PendingApproval = {
  approval: pendingApproval,
  root_task_id: "task_1",
  requested_at: "2026-01-01T00:00:00Z",
  agent: "a",
  depth: 0,
};

/** Creates an approval store with one pending approval. The test controls the gateway's list and the task tree. */
async function openOneApproval(storage = createMemoryStorage()) {
  let list: readonly PendingApproval[] = [listedApproval];
  let tree: TaskTree = { ...emptyTree, root_task_id: "task_1", approvals: [pendingApproval] };
  const toasts = createToastStore();
  const client = { approvals: async () => ({ data: list }) } as unknown as ChatClient;
  const approvals = createApprovalStore({
    client,
    storage,
    notifier: createNotifier(toasts, () => stateMessages.en),
    now: () => 0,
    newId: () => "key",
    getTrees: () => [tree],
    findAnswerLocation: () => undefined,
  });
  await approvals.reload();
  expect(approvals.pending.get()).toHaveLength(1);
  return {
    approvals,
    toastTexts: () => toasts.all.get().map(({ text }) => text),
    async clearList() {
      list = [];
      await approvals.reload();
    },
    denyInTree() {
      tree = { ...tree, approvals: [deniedApproval] };
      approvals.updateFromTrees();
    },
  };
}

test.each([["clearList", "denyInTree"] as const, ["denyInTree", "clearList"] as const])(
  "an approval that was decided elsewhere is reported once, if %s comes first",
  async (first, second) => {
    const page = await openOneApproval();
    await page[first]();
    expect(page.approvals.pending.get()).toEqual([]);
    await page[second]();
    await page.clearList();
    page.denyInTree();
    expect(page.approvals.pending.get()).toEqual([]);
    expect(page.toastTexts()).toEqual(["Already denied (send_message)"]);
  },
);

const reason = { writing: "reason", text: "Bob is asle" } as const;

test("a draft of a reason survives a reload and is deleted with its approval", async () => {
  const storage = createMemoryStorage();
  const page = await openOneApproval(storage);
  page.approvals.setDecisionDraft("approval_1", reason);
  const reloaded = await openOneApproval(storage);
  expect(reloaded.approvals.decisionDrafts.get()).toEqual(new Map([["approval_1", reason]]));
  await reloaded.clearList();
  reloaded.denyInTree();
  expect(reloaded.approvals.decisionDrafts.get()).toEqual(new Map());
  expect(storage.length).toBe(0);
});

test("a draft is deleted when its tab discards it, not when another tab no longer shows the approval", async () => {
  const storage = createMemoryStorage();
  const page = await openOneApproval(storage);
  const other = await openOneApproval(storage);
  page.approvals.setDecisionDraft("approval_1", reason);
  await other.clearList();
  other.denyInTree();
  expect(storage.length).toBe(1);
  page.approvals.setDecisionDraft("approval_1", undefined);
  expect(storage.length).toBe(0);
});

test.each(["", "null", "{}", '{"writing":"poem","text":"x"}', '{"writing":"reason","text":1}'])(
  "stored %j is not read as a draft",
  async (stored) => {
    const storage = createMemoryStorage();
    storage.setItem("deltawire.decision.approval_1", stored);
    const page = await openOneApproval(storage);
    expect(page.approvals.decisionDrafts.get()).toEqual(new Map());
  },
);
