import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cluster } from "../cluster/cluster.ts";
import { createClusterFollower, type ClusterFollower } from "../cluster/cluster-follower.ts";
import type { ClusterProcess } from "../cluster/cluster-process.ts";
import { listSequenceNumbers, readEvents } from "../cluster/read-events.ts";
import { printLogsAfterFailure } from "../cluster/print-logs.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { canRunPostgres } from "../postgres-server.ts";
import { explainMissingRedis } from "../redis-server.ts";

const missingRedis = await explainMissingRedis();

describe.skipIf(!canRunPostgres)("with four gateways on one database,", () => {
  testTasks({ redis: false });
});

describe.skipIf(!canRunPostgres || missingRedis !== undefined)(
  `with four gateways on one database and Redis (${missingRedis ?? "real server"}),`,
  () => {
    testTasks({ redis: true });
  },
);

function testTasks({ redis }: { redis: boolean }): void {
  let cluster: Cluster;
  printLogsAfterFailure(() => cluster);
  let [first, second, third, fourth]: ClusterProcess[] = [];
  beforeAll(async () => {
    cluster = await Cluster.start({ processes: 4, redis });
    [first, second, third, fourth] = cluster.processes;
  }, 600_000);
  afterAll(() => cluster?.stop());

  function getProcesses() {
    if (!first || !second || !third || !fourth) throw new Error("the cluster has four processes");
    return { first, second, third, fourth };
  }

  function follow(taskId: string, process: ClusterProcess): ClusterFollower {
    const follower = createClusterFollower(() => process.url);
    onTestFinished(() => follower.close());
    follower.follow(taskId);
    return follower;
  }

  async function expectSameState(taskId: string, follower: ClusterFollower): Promise<void> {
    await waitUntil("the follower receives the end", () => follower.hasEnded(taskId));
    const hashes = await Promise.all(
      cluster.processes.map((process) => process.readStateHash(taskId)),
    );
    expect(new Set([...hashes, follower.stateHash(taskId)]).size).toBe(1);
    expect(follower.gaps).toEqual([]);
  }

  test("a task is created on one, followed on a second, approved on a third, and read on all", async () => {
    const { first, second, third } = getProcesses();
    const id = await first.startTask('Please ledger__pay "rent"');
    const follower = follow(id, second);
    const { status } = await third.decide(await third.waitForApproval(id));
    expect(status).toBe(200);
    await expectSameState(id, follower);
    expect(follower.view(id)?.status).toBe("completed");
    expect(cluster.ledger.count("pay", "rent")).toBe(1);
  });

  test("a sub-agent's approval is decided on any process", async () => {
    const { first, second, fourth } = getProcesses();
    const id = await first.startTask('ask helper to ledger__pay "heating"');
    const follower = follow(id, fourth);
    expect((await second.decide(await second.waitForApproval(id))).status).toBe(200);
    await expectSameState(id, follower);
    expect(cluster.ledger.count("pay", "heating")).toBe(1);
  });

  test("input that is sent to one process reaches the model of a task on another", async () => {
    const { first, second, fourth } = getProcesses();
    const hold = cluster.ledger.hold("look");
    const id = await first.startTask('Please ledger__look "taxes"');
    await hold.arrived;
    const follower = follow(id, second);
    const modelRequest = cluster.model.hold("Be brief about the taxes");
    expect((await fourth.sendInput(id, "Be brief about the taxes")).status).toBe(200);
    hold.release();
    await modelRequest.arrived;
    modelRequest.release();
    await expectSameState(id, follower);
    expect(follower.tree(id)?.tasks[id]?.inputs).toHaveLength(1);
  });

  test("a task is canceled through another process, and its model request ends", async () => {
    const { first, second, fourth } = getProcesses();
    const hold = cluster.model.hold("long 2001");
    onTestFinished(() => hold.release());
    const id = await first.startTask("long 2001");
    await hold.arrived;
    const follower = follow(id, second);
    const { status, body } = await fourth.cancel(id);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: "canceled" } });
    await expectSameState(id, follower);
  });

  test("of decisions that reach all processes at the same time, one counts", async () => {
    const { first } = getProcesses();
    const id = await first.startTask('Please ledger__pay "insurance"');
    const approval = await first.waitForApproval(id);
    const decisions = ["approve", "deny", "approve", "deny"] as const;
    const replies = await Promise.all(
      decisions.map((decision, index) => cluster.process(index).decide(approval, decision)),
    );
    const { approvals } = await first.waitForStatus(id, "completed");
    const decided = approvals[0]?.resolution?.decision;
    expect(replies.map(({ status }) => status)).toEqual(
      decisions.map((decision) => (decision === decided ? 200 : 409)),
    );
    expect(cluster.ledger.count("pay", "insurance")).toBe(decided === "approve" ? 1 : 0);
  });

  test("requests with one idempotency key start one task, whichever processes they reach", async () => {
    const body = { agent: "worker", input: 'Please ledger__record "stamps"' };
    const headers = { "idempotency-key": "stamps" };
    const replies = await Promise.all(
      cluster.processes.map((process) => process.requestJson("/api/tasks", body, headers)),
    );
    const ids = new Set(replies.map((reply) => (reply.body as { task_id: string }).task_id));
    expect([...ids]).toHaveLength(1);
    await getProcesses().fourth.waitForStatus([...ids][0] ?? "", "completed");
    expect(cluster.ledger.count("record", "stamps")).toBe(1);
  });

  test("a client that reconnects to another process each time receives every event once", async () => {
    const id = await getProcesses().first.startTask("long 1000");
    const received: number[] = [];
    let turn = 0;
    for (let hasEnded = false; !hasEnded; turn += 1) {
      const events = await readEvents(
        cluster.process(turn % 4),
        `/api/tasks/${id}/events?after=${received.at(-1) ?? -1}&replay=all`,
        (eventsSoFar) => listSequenceNumbers(eventsSoFar).length >= 20,
      );
      received.push(...listSequenceNumbers(events));
      hasEnded = events.at(-1)?.type === "task.completed";
    }
    expect(turn).toBeGreaterThan(4);
    expect(received).toEqual(received.map((_, index) => index));
  });

  test("a reload in the middle of a task reads its state and its events so far from another process", async () => {
    const { first, third } = getProcesses();
    const hold = cluster.ledger.hold("look");
    const id = await first.startTask('Please ledger__look "mail"');
    await hold.arrived;
    const before = follow(id, first);
    await waitUntil("the call is followed", () => before.view(id)?.output.length === 4);
    const afterReload = follow(id, third);
    await waitUntil("the reloaded page has the call", () => afterReload.view(id) !== undefined);
    expect(afterReload.stateHash(id)).toBe(await third.readStateHash(id));
    hold.release();
    await expectSameState(id, afterReload);
  });
}
