import { emptyTree, type TaskApproval, type TaskTree } from "@deltawire/tasks";
import type { ChatClient, PendingApproval } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { memoryStorage } from "../../src/browser/storage.ts";
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
async function lookingAtOne(storage = memoryStorage()) {
  let list: readonly PendingApproval[] = [listed];
  let tree: TaskTree = { ...emptyTree, root_task_id: "task_1", approvals: [open] };
  const toasts = createToasts();
  const client = { approvals: async () => ({ data: list }) } as unknown as ChatClient;
  const approvals = createApprovals({
    client,
    storage,
    telling: createTelling(toasts, () => stateWords.en),
    now: () => 0,
    newId: () => "key",
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
  "whoever looked at a question is told once that it was decided elsewhere, where %s first",
  async (first, second) => {
    const page = await lookingAtOne();
    await page[first]();
    expect(page.approvals.pending.get()).toEqual([]);
    await page[second]();
    await page.listIsEmpty();
    page.treeSaysDenied();
    expect(page.approvals.pending.get()).toEqual([]);
    expect(page.told()).toEqual(["Already decided elsewhere: denied (send_message)"]);
  },
);

const reason = { writing: "reason", text: "Bob is asle" } as const;

test("a reason that was begun is there after a reload, and gone with its question", async () => {
  const storage = memoryStorage();
  const page = await lookingAtOne(storage);
  page.approvals.write("approval_1", reason);
  const reloaded = await lookingAtOne(storage);
  expect(reloaded.approvals.written.get()).toEqual(new Map([["approval_1", reason]]));
  await reloaded.listIsEmpty();
  reloaded.treeSaysDenied();
  expect(reloaded.approvals.written.get()).toEqual(new Map());
  expect(storage.length).toBe(0);
});

test("one that is left is forgotten, and one that another tab has begun meanwhile is not", async () => {
  const storage = memoryStorage();
  const page = await lookingAtOne(storage);
  const other = await lookingAtOne(storage);
  page.approvals.write("approval_1", reason);
  await other.listIsEmpty();
  other.treeSaysDenied();
  expect(storage.length).toBe(1);
  page.approvals.write("approval_1", undefined);
  expect(storage.length).toBe(0);
});

test.each(["", "null", "{}", '{"writing":"poem","text":"x"}', '{"writing":"reason","text":1}'])(
  "%j in the place of something written counts as nothing",
  async (kept) => {
    const storage = memoryStorage();
    storage.setItem("deltawire.decision.approval_1", kept);
    const page = await lookingAtOne(storage);
    expect(page.approvals.written.get()).toEqual(new Map());
  },
);
