import assert from "node:assert/strict";
import type { Scenarios } from "./scenario.ts";
import { assertRejects, completed, created, durable, entry } from "./scenario.ts";
import { notDurable, warning } from "./scenario.ts";

/** What the events say of tasks, approvals, sessions and keys. */
export const taskScenarios: Scenarios = {
  "the status of a task is what its last event said": async (store) => {
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const status = async () => (await store.head("t"))?.status;
    await store.append("t", [created("t")], durable);
    assert.equal(await status(), "created");
    await store.append("t", [entry("t", 1, { type: "task.queued" })], durable);
    assert.equal(await status(), "queued");
    await store.append("t", [entry("t", 2, { type: "task.working" })], durable);
    assert.equal(await status(), "working");
    const question = { approval_ids: ["a"], reason: "approval" as const };
    await store.append("t", [entry("t", 3, { type: "task.input_required", ...question })], durable);
    assert.equal(await status(), "input_required");
    await store.append("t", [entry("t", 4, { type: "task.paused" })], durable);
    assert.equal(await status(), "paused");
    const end = { usage, state_hash: "", by: "user" };
    await store.append("t", [entry("t", 5, { type: "task.canceled", ...end })], durable);
    assert.deepEqual(await store.head("t"), { head: 5, oldest: 0, status: "canceled" });
    assert.equal(await store.head("nobody"), undefined);
  },

  "unfinished are the root tasks that have not ended, oldest first": async (store, reopen) => {
    await store.append("b", [created("b")], durable);
    await store.append("a", [created("a"), sub("child", 1, "a")], durable);
    await store.append("done", [created("done"), completed("done", 1)], durable);
    await store.append("c", [created("c"), sub("ended", 1, "c"), completed("ended", 2)], durable);
    assert.deepEqual(await store.unfinished(), ["b", "a", "c"]);
    const again = await reopen();
    await again.append("b", [completed("b", 1)], durable);
    assert.deepEqual(await again.unfinished(), ["a", "c"]);
  },

  "the root of a task is found from any task below it": async (store) => {
    await store.append("t", [created("t"), sub("call_1", 1, "t"), sub("call_2", 2, "t")], durable);
    assert.equal(await store.rootOf("t"), "t");
    assert.equal(await store.rootOf("call_1"), "t");
    assert.equal(await store.rootOf("call_2"), "t");
    assert.equal(await store.rootOf("call_3"), undefined);
  },

  "a sub-task is no root: it has no head and no place in the list": async (store) => {
    await store.append("t", [created("t"), sub("child", 1, "t")], durable);
    assert.equal(await store.head("child"), undefined);
    assert.deepEqual(await store.read("child", -1, 10), []);
    assert.deepEqual(await ids(store.listTasks({ limit: 10 })), ["t"]);
  },

  "a task may not take the id of a task of another root": async (store) => {
    await store.append("t", [created("t"), sub("child", 1, "t")], durable);
    const theft = [created("u"), sub("child", 1, "u")];
    await assertRejects(store.append("u", theft, durable), "store_failed");
    await assertRejects(store.append("child", [created("child")], durable), "store_failed");
    assert.equal(await store.rootOf("child"), "t");
    assert.equal(await store.rootOf("u"), undefined);
  },

  "the task of an approval is found, also of one that a sub-task asks for": async (store) => {
    const approval = { kind: "call", choices: ["approve", "deny"] } as const;
    const ask = (task: string, n: number, approval_id: string) =>
      entry(task, n, {
        type: "task.approval.requested",
        approval: { ...approval, choices: [...approval.choices], approval_id },
      });
    const batch = [created("t"), ask("t", 1, "a1"), sub("child", 2, "t"), ask("child", 3, "a2")];
    await store.append("t", batch, durable);
    assert.equal(await store.rootOfApproval("a1"), "t");
    assert.equal(await store.rootOfApproval("a2"), "t");
    assert.equal(await store.rootOfApproval("a3"), undefined);
  },

  "grants belong to their session and are kept once": async (store, reopen) => {
    await store.addGrant("s", { tool: "shell", args_hash: "ab" });
    await store.addGrant("s", { tool: "shell", args_hash: "ab" });
    await store.addGrant("s", { tool: "fetch" });
    await store.addGrant("other", { tool: "write" });
    const again = await reopen();
    const grants = await again.grants("s");
    assert.deepEqual(
      grants.toSorted((a, b) => a.tool.localeCompare(b.tool)),
      [{ tool: "fetch" }, { tool: "shell", args_hash: "ab" }],
    );
    assert.deepEqual(await again.grants("nobody"), []);
  },

  "the newest snapshot is kept, in whatever order they come": async (store, reopen) => {
    await store.append("t", [created("t"), warning("t", 1), warning("t", 2)], notDurable);
    assert.equal(await store.snapshot("t"), undefined);
    await store.saveSnapshot("t", 0, '{"head":0}');
    await store.saveSnapshot("t", 2, '{"head":2}');
    await store.saveSnapshot("t", 1, '{"head":1}');
    const again = await reopen();
    assert.deepEqual(await again.snapshot("t"), { as_of: 2, json: '{"head":2}' });
  },

  "a snapshot of a task that nobody knows is not kept": async (store) => {
    await store.saveSnapshot("nobody", 3, "{}");
    assert.equal(await store.snapshot("nobody"), undefined);
  },

  "tasks are listed in pages, newest first, by session and status": async (store) => {
    for (const [at, id] of ["t0", "t1", "t2", "t3", "t4"].entries()) {
      const session = at % 2 === 0 ? { session_id: "even" } : {};
      await store.append(id, [created(id, 0, session)], notDurable);
      if (at > 2) await store.append(id, [completed(id, 1)], notDurable);
    }
    assert.deepEqual(await ids(store.listTasks({ limit: 2 })), ["t4", "t3"]);
    assert.deepEqual(await ids(store.listTasks({ limit: 9, before: "t3" })), ["t2", "t1", "t0"]);
    assert.deepEqual(await ids(store.listTasks({ limit: 9, before: "nobody" })), []);
    assert.deepEqual(await ids(store.listTasks({ limit: 9, session: "even" })), ["t4", "t2", "t0"]);
    assert.deepEqual(await ids(store.listTasks({ limit: 9, status: "completed" })), ["t4", "t3"]);
    const [task] = await store.listTasks({ limit: 1, session: "even", status: "completed" });
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

  "the first to come with a key keeps it": async (store, reopen) => {
    const first = { rootTaskId: "t1", bodyHash: "h1" };
    const [one, two] = await Promise.all([
      store.keyed("key", "h1", "t1"),
      store.keyed("key", "h2", "t2"),
    ]);
    assert.deepEqual([one, two], [first, first]);
    const again = await reopen();
    assert.deepEqual(await again.keyed("key", "h3", "t3"), first);
    assert.deepEqual(await again.keyed("another", "h3", "t3"), {
      rootTaskId: "t3",
      bodyHash: "h3",
    });
  },

  "retention never removes what has not ended": async (store) => {
    const hash = await store.put(new Uint8Array([1, 2, 3]), "image/png");
    const shown = warning("t", 1, `look at /api/blobs/${hash}`);
    await store.append("t", [created("t"), shown], durable);
    await store.prune(Date.now() + 100 * 365 * 86_400_000);
    assert.deepEqual(await store.unfinished(), ["t"]);
    assert.equal((await store.read("t", -1, 10)).length, 2);
    assert.ok((await store.get(hash)) !== undefined);
  },

  "what was asked for before the end is finished, and what is asked for after it is refused":
    async (store, reopen) => {
      const appended = store.append("t", [created("t")], durable);
      const [again] = await Promise.all([reopen(), appended]);
      assert.equal(await again.rootOf("t"), "t");
      await again.close();
      await assertRejects(again.append("t", [warning("t", 1)], durable), "store_failed");
      await assertRejects(again.read("t", -1, 1), "store_failed");
      await again.close();
    },
};

function sub(taskId: string, sequenceNumber: number, root: string) {
  const parent = { root_task_id: root, parent_task_id: root, parent_call_id: taskId, depth: 1 };
  return created(taskId, sequenceNumber, parent);
}

async function ids(tasks: Promise<{ task_id: string }[]>): Promise<string[]> {
  return (await tasks).map(({ task_id }) => task_id);
}
