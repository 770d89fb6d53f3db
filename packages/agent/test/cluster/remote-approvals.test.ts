import type { Store } from "@deltawire/store";
import type { MessageBus } from "@deltawire/tasks";
import { expect, onTestFinished, test, vi } from "vitest";
import { RemoteApprovals } from "../../src/cluster/remote-approvals.ts";
import { createLocalBus } from "./local-bus.ts";
import { createAgentWithTool, createSendTool, sendCalls } from "../send-tool.ts";
import {
  createProcess,
  hasStatus,
  openTestStore,
  waitForPending,
  waitForState,
} from "./two-runtimes.ts";

const decision = { decision: "approve", by: "me" } as const;

function createAskingAgent() {
  const { tool } = createSendTool("ask_always");
  return createAgentWithTool(tool, [sendCalls("anna"), [{ text: "Sent." }]]).agent;
}

function watch(store: Store, isLocal: (rootTaskId: string) => boolean) {
  const lists = vi.spyOn(store, "listPendingApprovals");
  const digests = vi.spyOn(store, "getPendingApprovalsDigest");
  const state = { changes: 0, failures: [] as string[] };
  const watcher = new RemoteApprovals({
    store,
    isLocal,
    onChanged: () => (state.changes += 1),
    onFailure: (message) => state.failures.push(message),
  });
  onTestFinished(() => watcher.stop());
  watcher.start();
  const waitForPolls = async (count: number): Promise<void> => {
    const before = digests.mock.calls.length;
    await vi.waitFor(() => expect(digests.mock.calls.length).toBeGreaterThan(before + count), {
      timeout: 5000,
    });
  };
  return { state, lists, waitForPolls };
}

test("the pending approvals of other processes are only read when they have changed", async () => {
  const store = await openTestStore();
  const process = createProcess(store, createAskingAgent());
  const id = await process.runtime.start({ agent: "main", input: "Go." });
  const { approval_id } = await waitForPending(process, id);
  const { state, lists, waitForPolls } = watch(store, () => false);
  await waitForPolls(3);
  expect(lists).toHaveBeenCalledTimes(1);
  expect(state.changes).toBe(1);
  await process.runtime.decide(approval_id, decision);
  await waitForState(process, id, hasStatus(id, "completed"));
  await waitForPolls(3);
  expect(lists).toHaveBeenCalledTimes(2);
  expect(state).toEqual({ changes: 2, failures: [] });
});

test("a decision on a task that another process has taken over is noticed", async () => {
  const store = await openTestStore();
  const process = createProcess(store, createAskingAgent());
  const id = await process.runtime.start({ agent: "main", input: "Go." });
  const { approval_id } = await waitForPending(process, id);
  const local = new Set([id]);
  const { state, waitForPolls } = watch(store, (taskId) => local.has(taskId));
  await waitForPolls(2);
  expect(state.changes).toBe(1);
  local.clear();
  await process.runtime.decide(approval_id, decision);
  await waitForPolls(2);
  expect(state).toEqual({ changes: 2, failures: [] });
});

test("changes of approvals of this process are not reported", async () => {
  const store = await openTestStore();
  const process = createProcess(store, createAskingAgent());
  const { state, waitForPolls } = watch(store, () => true);
  await waitForPolls(1);
  const id = await process.runtime.start({ agent: "main", input: "Go." });
  const { approval_id } = await waitForPending(process, id);
  await waitForPolls(2);
  await process.runtime.decide(approval_id, decision);
  await waitForPolls(2);
  expect(state).toEqual({ changes: 1, failures: [] });
});

test.each<[string, MessageBus | undefined]>([
  ["with a message bus", createLocalBus()],
  ["without a message bus", undefined],
])(
  "%s, every process reports changes of approvals only for their owner, and for listeners of all owners",
  async (_how, bus) => {
    const store = await openTestStore();
    const createMember = () =>
      createProcess(store, createAskingAgent(), {
        cluster: { store, leaseMs: 6000, renewMs: 1000, ...(bus && { bus }) },
      });
    const first = createMember();
    const processes = [first, createMember()];
    const countCalls = (owner?: string): (() => number)[] =>
      processes.map(({ runtime }) => {
        const listener = vi.fn<() => void>();
        onTestFinished(runtime.subscribePending(listener, owner));
        return () => listener.mock.calls.length;
      });
    const [ann, bob, all] = [countCalls("ann"), countCalls("bob"), countCalls()];
    const read = (counts: readonly (() => number)[]): number[] => counts.map((count) => count());
    const waitForMore = (counts: readonly (() => number)[], before: readonly number[]) =>
      vi.waitFor(
        () => counts.forEach((count, index) => expect(count()).toBeGreaterThan(before[index] ?? 0)),
        { timeout: 5000 },
      );
    // Changes before the first reading are unknown, so it is reported to all.
    await vi.waitFor(() => expect(read(bob)).toEqual([1, 1]), { timeout: 5000 });
    const before = [read(ann), read(all)] as const;
    const id = await first.runtime.start({ agent: "main", input: "Go." }, undefined, {
      owner: "ann",
    });
    const { approval_id } = await waitForPending(first, id);
    await waitForMore(ann, before[0]);
    await waitForMore(all, before[1]);
    const requested = [read(ann), read(all)] as const;
    await first.runtime.decide(approval_id, decision);
    await waitForMore(ann, requested[0]);
    await waitForMore(all, requested[1]);
    expect(read(bob)).toEqual([1, 1]);
  },
);
