import assert from "node:assert/strict";
import type { AppendOptions } from "@deltawire/tasks";
import type { Store } from "@deltawire/store";
import {
  createEntry,
  durable,
  taskCompletedEntry,
  taskCreatedEntry,
  type StoreScenarios,
} from "./scenario.ts";

/** Tasks that a repeated request finds, because no client received their output. */
export const lostReplyScenarios: StoreScenarios = {
  "a repeated request finds the newest task whose reply was lost": async (store) => {
    await createTask(store, "first", { replyKey: "key" });
    await createTask(store, "second", { replyKey: "key" });
    await createTask(store, "third", { replyKey: "other" });
    assert.equal(await store.findTaskWithLostReply("key"), undefined);
    for (const id of ["first", "second", "third"]) await store.setReplyLost(id, true);
    assert.equal(await store.findTaskWithLostReply("key"), "second");
    await store.setReplyLost("second", false);
    assert.equal(await store.findTaskWithLostReply("key"), "first");
    assert.equal(await store.findTaskWithLostReply("unknown"), undefined);
  },

  "a task that has completed without a client is found, unless it was canceled": async (store) => {
    for (const id of ["completed", "canceled"]) {
      await createTask(store, id, { replyKey: id });
      await store.setReplyLost(id, true);
    }
    await store.append("completed", [taskCompletedEntry("completed", 1)], durable);
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const canceled = { type: "task.canceled", usage, state_hash: "", by: "user" } as const;
    await store.append("canceled", [createEntry("canceled", 1, canceled)], durable);
    assert.equal(await store.findTaskWithLostReply("completed"), "completed");
    assert.equal(await store.findTaskWithLostReply("canceled"), undefined);
  },

  "the replies of an earlier process are marked as lost together": async (store, reopen) => {
    await createTask(store, "t", { replyKey: "key" });
    await createTask(store, "without_key", {});
    const reopened = await reopen();
    await reopened.setUnfinishedRepliesLost();
    assert.equal(await reopened.findTaskWithLostReply("key"), "t");
  },

  "a reply is lost when the process that ran its task has ended, or another one has claimed it":
    async (store) => {
      const lease = { processId: "one", epoch: 1 };
      await store.renewLease("one", 60_000);
      await store.renewLease("two", 60_000);
      await createTask(store, "t", { replyKey: "key" }, lease);
      assert.equal(await store.findTaskWithLostReply("key"), undefined);
      await store.claimTasks("one", { limit: 1, taskIds: ["t"] });
      assert.equal(await store.findTaskWithLostReply("key"), undefined);
      await store.releaseLeases("one");
      assert.equal(await store.findTaskWithLostReply("key"), "t");
      assert.equal((await store.claimTasks("two", { limit: 1 })).length, 1);
      assert.equal(await store.findTaskWithLostReply("key"), "t");
    },
};

async function createTask(
  store: Store,
  id: string,
  creation: NonNullable<AppendOptions["creation"]>,
  lease?: AppendOptions["lease"],
): Promise<void> {
  await store.append(id, [taskCreatedEntry(id)], {
    ...durable,
    creation,
    ...(lease === undefined ? {} : { lease }),
  });
}
