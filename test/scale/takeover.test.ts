import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cluster, takeoverMs } from "../cluster/cluster.ts";
import { createClusterFollower, type ClusterFollower } from "../cluster/cluster-follower.ts";
import type { ClusterProcess } from "../cluster/cluster-process.ts";
import { printLogsAfterFailure } from "../cluster/print-logs.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { canRunPostgres } from "../postgres-server.ts";

describe.skipIf(!canRunPostgres)("when the process that runs a task", () => {
  let cluster: Cluster;
  printLogsAfterFailure(() => cluster);
  let [holder, other]: ClusterProcess[] = [];
  beforeAll(async () => {
    cluster = await Cluster.start({ processes: 2 });
    [holder, other] = cluster.processes;
  }, 600_000);
  // Some tests end or suspend the first process.
  afterEach(async () => {
    const { holder } = getProcesses();
    if (holder.isRunning) holder.resume();
    else await holder.start();
  });
  afterAll(() => cluster?.stop());

  function getProcesses() {
    if (!holder || !other) throw new Error("the cluster has two processes");
    return { holder, other };
  }

  /** Follows a task through a process that may end, then through the other one. */
  function follow(taskId: string): ClusterFollower {
    const { holder, other } = getProcesses();
    const follower = createClusterFollower(() => (holder.isRunning ? holder.url : other.url));
    onTestFinished(() => follower.close());
    follower.follow(taskId);
    return follower;
  }

  async function readEpoch(taskId: string): Promise<number> {
    return (await cluster.readLease(taskId))?.epoch ?? 0;
  }

  async function expectFollowed(taskId: string, follower: ClusterFollower): Promise<void> {
    await waitUntil("the follower receives the end", () => follower.hasEnded(taskId), 30_000);
    expect(follower.view(taskId)?.status).toBe("completed");
    expect(follower.stateHash(taskId)).toBe(await getProcesses().other.readStateHash(taskId));
    expect(follower.gaps).toEqual([]);
  }

  test("is killed, another takes over within ten seconds, and a tool that must not run twice does not", async () => {
    const { holder, other } = getProcesses();
    const recorded = cluster.ledger.hold("record");
    const [interrupted, waiting, writing, nested] = await Promise.all([
      holder.startTask('Please ledger__record "killed"'),
      holder.startTask('Please ledger__pay "killed-later"'),
      holder.startTask("long 1500"),
      holder.startTask('ask helper to ledger__pay "killed-nested"'),
    ]);
    const followers = new Map(
      [interrupted, waiting, writing, nested].map((id) => [id, follow(id)] as const),
    );
    await recorded.arrived;
    await Promise.all([waiting, nested].map((id) => other.waitForApproval(id)));
    const epoch = await readEpoch(writing);
    await holder.end("SIGKILL");
    recorded.release();
    expect(await cluster.waitForTakeover(writing, epoch)).toBeLessThan(takeoverMs);

    // The outcome of the tool is unknown, so the user is asked.
    const question = await other.waitForApproval(interrupted);
    expect((await other.decide(question, "approve")).status).toBe(200);
    for (const id of [waiting, nested])
      expect((await other.decide(await other.waitForApproval(id))).status).toBe(200);
    await Promise.all(Array.from(followers, ([id, follower]) => expectFollowed(id, follower)));
    for (const [tool, entry] of [
      ["record", "killed"],
      ["pay", "killed-later"],
      ["pay", "killed-nested"],
    ] as const)
      expect(cluster.ledger.count(tool, entry)).toBe(1);
  });

  test("is suspended before a tool runs, the tool runs on another, and not again when it continues", async () => {
    const { holder, other } = getProcesses();
    const reply = cluster.model.hold("suspended-before");
    const id = await holder.startTask('Please ledger__record "suspended-before"');
    await reply.arrived;
    const epoch = await readEpoch(id);
    holder.suspend();
    await cluster.waitForTakeover(id, epoch);
    await other.waitForStatus(id, "completed");
    const hash = await other.readStateHash(id);
    // The reply with the call reaches the suspended process, which continues with an old epoch.
    reply.release();
    holder.resume();
    await holder.waitUntilReady();
    await waitUntil("it has noticed", async () => (await holder.readStateHash(id)) === hash);
    expect(await other.readStateHash(id)).toBe(hash);
    expect(cluster.ledger.count("record", "suspended-before")).toBe(1);
  });

  test("is suspended while a tool runs, its result is not written, and the user is asked", async () => {
    const { holder, other } = getProcesses();
    const recorded = cluster.ledger.hold("record");
    const id = await holder.startTask('Please ledger__record "suspended-in"');
    await recorded.arrived;
    const epoch = await readEpoch(id);
    holder.suspend();
    await cluster.waitForTakeover(id, epoch);
    const question = await other.waitForApproval(id);
    recorded.release();
    holder.resume();
    await holder.waitUntilReady();
    // Both show the question: what the first one received from the tool came too late.
    expect((await holder.readTask(id)).status).toBe("input_required");
    expect((await holder.decide(question, "approve")).status).toBe(200);
    await other.waitForStatus(id, "completed");
    expect(cluster.ledger.count("record", "suspended-in")).toBe(1);
  });

  test("stops for an update, another continues at once, and followers notice no gap", async () => {
    const { holder, other } = getProcesses();
    const [waiting, writing] = await Promise.all([
      holder.startTask('Please ledger__pay "updated"'),
      holder.startTask("long 1500"),
    ]);
    const followers = { waiting: follow(waiting), writing: follow(writing) };
    await other.waitForApproval(waiting);
    const epoch = await readEpoch(waiting);
    await Promise.all([holder.end("SIGTERM"), cluster.waitForTakeover(waiting, epoch, 4000)]);
    expect((await other.decide(await other.waitForApproval(waiting))).status).toBe(200);
    await expectFollowed(waiting, followers.waiting);
    await expectFollowed(writing, followers.writing);
    expect(cluster.ledger.count("pay", "updated")).toBe(1);
  });
});
