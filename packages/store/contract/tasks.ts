import assert from "node:assert/strict";
import type { Store } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";
import {
  assertRejects,
  taskCompletedEntry,
  taskCreatedEntry,
  durable,
  createEntry,
} from "./scenario.ts";
import { notDurable, warningEntry } from "./scenario.ts";

/** Tasks, approvals, grants, snapshots and idempotency keys. */
export const taskScenarios: StoreScenarios = {
  "the status of a task is that of its last event": async (store) => {
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const status = async () => (await store.head("t"))?.status;
    await store.append("t", [taskCreatedEntry("t")], durable);
    assert.equal(await status(), "created");
    await store.append("t", [createEntry("t", 1, { type: "task.queued" })], durable);
    assert.equal(await status(), "queued");
    await store.append("t", [createEntry("t", 2, { type: "task.working" })], durable);
    assert.equal(await status(), "working");
    const inputRequest = { approval_ids: ["a"], reason: "approval" as const };
    await store.append(
      "t",
      [createEntry("t", 3, { type: "task.input_required", ...inputRequest })],
      durable,
    );
    assert.equal(await status(), "input_required");
    await store.append("t", [createEntry("t", 4, { type: "task.paused" })], durable);
    assert.equal(await status(), "paused");
    const ending = { usage, state_hash: "", by: "user" };
    await store.append("t", [createEntry("t", 5, { type: "task.canceled", ...ending })], durable);
    assert.deepEqual(await store.head("t"), { head: 5, oldest: 0, status: "canceled" });
    assert.equal(await store.head("nobody"), undefined);
  },

  "unfinished root tasks are listed, oldest first": async (store, reopen) => {
    await store.append("b", [taskCreatedEntry("b")], durable);
    await store.append("a", [taskCreatedEntry("a"), subTaskEntry("child", 1, "a")], durable);
    await store.append("done", [taskCreatedEntry("done"), taskCompletedEntry("done", 1)], durable);
    await store.append(
      "c",
      [taskCreatedEntry("c"), subTaskEntry("ended", 1, "c"), taskCompletedEntry("ended", 2)],
      durable,
    );
    assert.deepEqual(await store.listUnfinished(), ["b", "a", "c"]);
    const reopened = await reopen();
    await reopened.append("b", [taskCompletedEntry("b", 1)], durable);
    assert.deepEqual(await reopened.listUnfinished(), ["a", "c"]);
  },

  "the root task of any sub-task is found": async (store) => {
    await store.append(
      "t",
      [taskCreatedEntry("t"), subTaskEntry("call_1", 1, "t"), subTaskEntry("call_2", 2, "t")],
      durable,
    );
    assert.equal(await store.findRootTask("t"), "t");
    assert.equal(await store.findRootTask("call_1"), "t");
    assert.equal(await store.findRootTask("call_2"), "t");
    assert.equal(await store.findRootTask("call_3"), undefined);
  },

  "a sub-task has no head and is not listed": async (store) => {
    await store.append("t", [taskCreatedEntry("t"), subTaskEntry("child", 1, "t")], durable);
    assert.equal(await store.head("child"), undefined);
    assert.deepEqual(await store.read("child", -1, 10), []);
    assert.deepEqual(await listTaskIds(store.listTasks({ owner: "", limit: 10 })), ["t"]);
  },

  "a task cannot use the id of a task of another root": async (store) => {
    await store.append("t", [taskCreatedEntry("t"), subTaskEntry("child", 1, "t")], durable);
    const batchWithTakenId = [taskCreatedEntry("u"), subTaskEntry("child", 1, "u")];
    await assertRejects(store.append("u", batchWithTakenId, durable), "store_failed");
    await assertRejects(store.append("child", [taskCreatedEntry("child")], durable), "id_taken");
    assert.equal(await store.findRootTask("child"), "t");
    assert.equal(await store.findRootTask("u"), undefined);
  },

  "the root task of an approval is found, even if a sub-task requested it": async (store) => {
    const approval = { kind: "call", choices: ["approve", "deny"] } as const;
    const approvalRequest = (task: string, n: number, approval_id: string) =>
      createEntry(task, n, {
        type: "task.approval.requested",
        approval: { ...approval, choices: [...approval.choices], approval_id },
      });
    const batch = [
      taskCreatedEntry("t"),
      approvalRequest("t", 1, "a1"),
      subTaskEntry("child", 2, "t"),
      approvalRequest("child", 3, "a2"),
    ];
    await store.append("t", batch, durable);
    assert.equal(await store.findRootTaskByApproval("a1"), "t");
    assert.equal(await store.findRootTaskByApproval("a2"), "t");
    assert.equal(await store.findRootTaskByApproval("a3"), undefined);
  },

  "pending approvals of unfinished tasks are listed, oldest task first": async (store, reopen) => {
    const request = (task: string, n: number, approval_id: string) =>
      createEntry(task, n, {
        type: "task.approval.requested",
        approval: { approval_id, kind: "call", choices: ["approve", "deny"] },
      });
    const expired = (task: string, n: number, approval_id: string) =>
      createEntry(task, n, { type: "task.approval.expired", approval_id });
    await store.append("b", [taskCreatedEntry("b"), request("b", 1, "b1")], {
      ...durable,
      creation: { owner: "ann" },
    });
    await store.append(
      "a",
      [
        taskCreatedEntry("a"),
        request("a", 1, "a1"),
        subTaskEntry("child", 2, "a"),
        request("child", 3, "a2"),
        request("a", 4, "a3"),
        expired("a", 5, "a3"),
      ],
      durable,
    );
    await store.append("c", [taskCreatedEntry("c"), request("c", 1, "c1")], durable);
    await store.append("c", [taskCompletedEntry("c", 2)], durable);
    const list = async (from: Store) =>
      (await from.listPendingApprovals()).map((ref) => Object.values(ref).join(" "));
    assert.deepEqual(await list(store), ["b1 b ann", "a1 a ", "a2 a "]);
    await store.append("a", [expired("a", 6, "a1")], durable);
    const reopened = await reopen();
    assert.deepEqual(await list(reopened), ["b1 b ann", "a2 a "]);
    assert.equal(await reopened.findRootTaskByApproval("a1"), "a", "a settled one is still found");
  },

  "the digest of the pending approvals changes with them, and only then": async (store, reopen) => {
    const request = (task: string, n: number) =>
      createEntry(task, n, {
        type: "task.approval.requested",
        approval: { approval_id: `${task}${n}`, kind: "call", choices: ["approve", "deny"] },
      });
    const expired = (task: string, n: number, approval_id: string) =>
      createEntry(task, n, { type: "task.approval.expired", approval_id });
    const digests = [await store.getPendingApprovalsDigest()];
    const read = async () => digests.push(await store.getPendingApprovalsDigest());
    await store.append("a", [taskCreatedEntry("a"), subTaskEntry("child", 1, "a")], durable);
    await store.append("b", [taskCreatedEntry("b")], durable);
    assert.equal(await store.getPendingApprovalsDigest(), digests[0]);
    for (const entries of [
      [request("a", 2)],
      [request("child", 3)],
      // As many as before, of the same tasks.
      [expired("child", 4, "child3"), request("a", 5)],
    ]) {
      await store.append("a", entries, durable);
      await read();
    }
    await store.append("b", [request("b", 1)], durable);
    await read();
    await store.append("b", [warningEntry("b", 2)], durable);
    assert.equal(await store.getPendingApprovalsDigest(), digests.at(-1));
    await store.append("a", [expired("a", 6, "a2")], durable);
    await read();
    assert.equal(new Set(digests).size, digests.length);
    assert.equal(await (await reopen()).getPendingApprovalsDigest(), digests.at(-1));
  },

  "the heads of several tasks are listed, without unknown ones and sub-tasks": async (store) => {
    await store.append("a", [taskCreatedEntry("a"), warningEntry("a", 1)], durable);
    await store.append("b", [taskCreatedEntry("b"), subTaskEntry("child", 1, "b")], durable);
    await store.append("b", [taskCompletedEntry("b", 2)], durable);
    const heads = await store.listHeads(["b", "unknown", "a", "child", "b"]);
    assert.deepEqual(
      heads.toSorted((x, y) => x.task_id.localeCompare(y.task_id)),
      [
        { task_id: "a", head: 1, oldest: 0, status: "created" },
        { task_id: "b", head: 2, oldest: 0, status: "completed" },
      ],
    );
    assert.deepEqual(await store.listHeads([]), []);
  },

  "grants belong to their session and are stored once": async (store, reopen) => {
    await store.addGrant("s", { tool: "shell", args_hash: "ab" });
    await store.addGrant("s", { tool: "shell", args_hash: "ab" });
    await store.addGrant("s", { tool: "fetch" });
    await store.addGrant("other", { tool: "write" });
    const reopened = await reopen();
    const grants = await reopened.listGrants("s");
    assert.deepEqual(
      grants.toSorted((a, b) => a.tool.localeCompare(b.tool)),
      [{ tool: "fetch" }, { tool: "shell", args_hash: "ab" }],
    );
    assert.deepEqual(await reopened.listGrants("nobody"), []);
  },

  "the newest snapshot is kept, regardless of the order in which snapshots are saved": async (
    store,
    reopen,
  ) => {
    await store.append(
      "t",
      [taskCreatedEntry("t"), warningEntry("t", 1), warningEntry("t", 2)],
      notDurable,
    );
    assert.equal(await store.snapshot("t"), undefined);
    await store.saveSnapshot("t", 0, '{"head":0}');
    await store.saveSnapshot("t", 2, '{"head":2}');
    await store.saveSnapshot("t", 1, '{"head":1}');
    const reopened = await reopen();
    assert.deepEqual(await reopened.snapshot("t"), { as_of: 2, json: '{"head":2}' });
  },

  "a snapshot of an unknown task is ignored": async (store) => {
    await store.saveSnapshot("nobody", 3, "{}");
    assert.equal(await store.snapshot("nobody"), undefined);
  },

  "tasks are listed in pages, newest first, by session and status": async (store) => {
    for (const [index, id] of ["t0", "t1", "t2", "t3", "t4"].entries()) {
      const session = index % 2 === 0 ? { session_id: "even" } : {};
      await store.append(id, [taskCreatedEntry(id, 0, session)], notDurable);
      if (index > 2) await store.append(id, [taskCompletedEntry(id, 1)], notDurable);
    }
    assert.deepEqual(await listTaskIds(store.listTasks({ owner: "", limit: 2 })), ["t4", "t3"]);
    assert.deepEqual(await listTaskIds(store.listTasks({ owner: "", limit: 9, before: "t3" })), [
      "t2",
      "t1",
      "t0",
    ]);
    assert.deepEqual(
      await listTaskIds(store.listTasks({ owner: "", limit: 9, before: "nobody" })),
      [],
    );
    assert.deepEqual(await listTaskIds(store.listTasks({ owner: "", limit: 9, session: "even" })), [
      "t4",
      "t2",
      "t0",
    ]);
    assert.deepEqual(
      await listTaskIds(store.listTasks({ owner: "", limit: 9, status: "completed" })),
      ["t4", "t3"],
    );
    const [task] = await store.listTasks({
      owner: "",
      limit: 1,
      session: "even",
      status: "completed",
    });
    assert.ok(task !== undefined && !Number.isNaN(Date.parse(task.updated_at)));
    assert.deepEqual(
      { ...task, updated_at: "" },
      {
        task_id: "t4",
        status: "completed",
        agent: "helper",
        model: "demo",
        session_id: "even",
        created_at: "2026-01-02T03:04:05.000Z",
        updated_at: "",
        head: 1,
      },
    );
  },

  "the first request with an idempotency key owns it": async (store, reopen) => {
    const owner = { rootTaskId: "t1", bodyHash: "h1" };
    assert.deepEqual(await store.claimIdempotencyKey("key", "h1", "t1"), owner);
    assert.deepEqual(await store.claimIdempotencyKey("key", "h2", "t2"), owner);
    // Of two concurrent requests, either may be the first.
    const [firstClaim, secondClaim] = await Promise.all([
      store.claimIdempotencyKey("busy", "h1", "t1"),
      store.claimIdempotencyKey("busy", "h2", "t2"),
    ]);
    assert.deepEqual(firstClaim, secondClaim);
    const reopened = await reopen();
    assert.deepEqual(await reopened.claimIdempotencyKey("key", "h3", "t3"), owner);
    assert.deepEqual(await reopened.claimIdempotencyKey("another", "h3", "t3"), {
      rootTaskId: "t3",
      bodyHash: "h3",
    });
  },

  "a request with an idempotency key runs in one process at a time": async (store) => {
    const minute = 60_000;
    const hold = (holder: string, ttlMs = minute, key = "key") =>
      store.holdIdempotencyKey(key, { holder, ttlMs });
    assert.equal(await hold("p1"), false, "the key is not reserved");
    await store.claimIdempotencyKey("key", "h1", "r1");
    const results = await Promise.all([hold("p1"), hold("p2")]);
    assert.deepEqual(results.toSorted(), [false, true]);
    const [holder, other] = results[0] ? ["p1", "p2"] : ["p2", "p1"];
    assert.equal(await hold(holder), true, "extended");
    await store.releaseIdempotencyKey("key", other);
    assert.equal(await hold(other), false, "only the holder can release it");
    await store.releaseIdempotencyKey("key", holder);
    assert.equal(await hold(other), true, "released");
    assert.equal(await hold(other, -1), true);
    assert.equal(await hold(holder), true, "expired");
    // The record of the request stays.
    const record = { rootTaskId: "r1", bodyHash: "h1" };
    assert.deepEqual(await store.claimIdempotencyKey("key", "h2", "r2"), record);
  },

  "pruning never removes unfinished tasks": async (store) => {
    const hash = await store.put(new Uint8Array([1, 2, 3]), "image/png");
    const entryWithBlob = warningEntry("t", 1, `look at /api/blobs/${hash}`);
    await store.append("t", [taskCreatedEntry("t"), entryWithBlob], durable);
    await store.prune(Date.now() + 100 * 365 * 86_400_000);
    assert.deepEqual(await store.listUnfinished(), ["t"]);
    assert.equal((await store.read("t", -1, 10)).length, 2);
    assert.ok((await store.get(hash)) !== undefined);
  },

  "closing finishes the writes that were requested before and rejects later ones": async (
    store,
    reopen,
  ) => {
    const appended = store.append("t", [taskCreatedEntry("t")], durable);
    const [reopened] = await Promise.all([reopen(), appended]);
    assert.equal(await reopened.findRootTask("t"), "t");
    await reopened.close();
    await assertRejects(reopened.append("t", [warningEntry("t", 1)], durable), "store_failed");
    await assertRejects(reopened.read("t", -1, 1), "store_failed");
    await reopened.close();
  },
};

function subTaskEntry(taskId: string, sequenceNumber: number, root: string) {
  const parent = { root_task_id: root, parent_task_id: root, parent_call_id: taskId, depth: 1 };
  return taskCreatedEntry(taskId, sequenceNumber, parent);
}

async function listTaskIds(tasks: Promise<{ task_id: string }[]>): Promise<string[]> {
  return (await tasks).map(({ task_id }) => task_id);
}
