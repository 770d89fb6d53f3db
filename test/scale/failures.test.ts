import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildTaskView, computeStateHash } from "@deltawire/tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cluster, roleName } from "../cluster/cluster.ts";
import { createClusterFollower, type ClusterFollower } from "../cluster/cluster-follower.ts";
import { readEvents, reduceEvents } from "../cluster/read-events.ts";
import type { ClusterProcess } from "../cluster/cluster-process.ts";
import { startTcpProxy } from "../cluster/tcp-proxy.ts";
import { printLogsAfterFailure } from "../cluster/print-logs.ts";
import { waitUntil } from "../cluster/wait-until.ts";
import { canRunPostgres } from "../postgres-server.ts";
import { explainMissingRedis } from "../redis-server.ts";

const hourMs = 3_600_000;
const missingRedis = await explainMissingRedis();

describe.skipIf(!canRunPostgres)("two gateways continue", () => {
  let cluster: Cluster;
  printLogsAfterFailure(() => cluster);
  let [first, second]: ClusterProcess[] = [];
  beforeAll(async () => {
    cluster = await Cluster.start({ processes: 2, redis: missingRedis === undefined });
    [first, second] = cluster.processes;
  }, 600_000);
  afterAll(() => cluster?.stop());

  function getProcesses() {
    if (!first || !second) throw new Error("the cluster has two processes");
    return { first, second };
  }

  function follow(taskId: string, process: ClusterProcess): ClusterFollower {
    const follower = createClusterFollower(() => process.url);
    onTestFinished(() => follower.close());
    follower.follow(taskId);
    return follower;
  }

  async function expectCompleted(taskId: string, follower: ClusterFollower): Promise<void> {
    await waitUntil("the follower receives the end", () => follower.hasEnded(taskId), 30_000);
    expect(follower.view(taskId)?.status).toBe("completed");
    expect(follower.stateHash(taskId)).toBe(await getProcesses().first.readStateHash(taskId));
    expect(follower.gaps).toEqual([]);
  }

  /** Adds a process for one test. */
  async function addProcess(options: Parameters<Cluster["addProcess"]>[0]) {
    const added = await cluster.addProcess(options);
    await added.start();
    onTestFinished(async () => {
      await added.end("SIGKILL");
      cluster.processes.splice(cluster.processes.indexOf(added), 1);
    });
    return added;
  }

  test("after PostgreSQL was restarted in the middle of their tasks", async () => {
    const { first, second } = getProcesses();
    const [writing, waiting] = await Promise.all([
      first.startTask("long 1500"),
      second.startTask('Please ledger__pay "restarted"'),
    ]);
    const followers = { writing: follow(writing, second), waiting: follow(waiting, first) };
    const streams = cluster.processes.map((each) =>
      readEvents(each, `/api/tasks/${writing}/events?after=-1`),
    );
    const approval = await first.waitForApproval(waiting);
    await waitUntil("the answer has begun", () => followers.writing.eventCount > 50);
    await cluster.restartPostgres();
    await Promise.all(cluster.processes.map((process) => process.waitUntilReady()));
    expect((await first.decide(approval)).status).toBe(200);
    await expectCompleted(writing, followers.writing);
    await expectCompleted(waiting, followers.waiting);
    expect(cluster.ledger.count("pay", "restarted")).toBe(1);
    // PostgreSQL may have lost the last deltas that were sent on these connections, which stayed open.
    for (const events of await Promise.all(streams))
      expect(computeStateHash(buildTaskView(reduceEvents(events), writing))).toBe(
        followers.writing.stateHash(writing),
      );
  });

  test("after PostgreSQL had no connection for them, and say so meanwhile", async () => {
    const { first } = getProcesses();
    onTestFinished(() => setConnectionLimit(-1));
    await setConnectionLimit(0);
    const { status, body } = await waitUntil("requests are rejected", async () => {
      const reply = await first.requestJson("/api/tasks", { agent: "worker", input: "long 5" });
      return reply.status === 503 ? reply : undefined;
    });
    expect({ status, body }).toMatchObject({
      body: {
        error: { code: "store_unavailable", message: expect.stringContaining("connection") },
      },
    });
    await waitUntil(
      "it is not ready",
      async () => (await first.request("/readyz")).status === 503,
      5000,
    );
    expect((await first.request("/healthz")).status).toBe(200);
    await setConnectionLimit(-1);
    await Promise.all(cluster.processes.map((process) => process.waitUntilReady()));
    const id = await first.startTask('Please ledger__record "connected"');
    await expectCompleted(id, follow(id, getProcesses().second));
  });

  test.skipIf(missingRedis !== undefined)(
    `after Redis was killed or suspended, and work without it meanwhile (${missingRedis ?? "real server"})`,
    async () => {
      const { first, second } = getProcesses();
      const { redis } = cluster;
      for (const [end, restore] of [
        [() => redis?.kill(), () => redis?.start()],
        [() => redis?.suspend(), () => redis?.resume()],
      ] as const) {
        const entry = `without-redis-${cluster.ledger.callCount}`;
        const writing = await first.startTask("long 1500");
        const follower = follow(writing, second);
        await waitUntil("the answer has begun", () => follower.eventCount > 50);
        await end();
        const waiting = await second.startTask(`Please ledger__pay "${entry}"`);
        const waitingFollower = follow(waiting, first);
        expect((await first.decide(await first.waitForApproval(waiting))).status).toBe(200);
        await expectCompleted(waiting, waitingFollower);
        await restore();
        await expectCompleted(writing, follower);
        expect(cluster.ledger.count("pay", entry)).toBe(1);
      }
      for (const each of cluster.processes)
        expect((await each.request("/readyz")).status).toBe(200);
    },
  );

  test("on a slow network to PostgreSQL", async () => {
    const target = Number(new URL(cluster.postgres.url).port);
    const proxy = await startTcpProxy({ getTargetPort: () => target, delayMs: 30 });
    onTestFinished(() => proxy.close());
    const slow = await addProcess({ name: "slow", postgresPort: proxy.port });
    const id = await slow.startTask('ask helper to ledger__pay "slowly"');
    const follower = follow(id, getProcesses().first);
    const { status } = await getProcesses().first.decide(
      await getProcesses().first.waitForApproval(id),
    );
    expect(status).toBe(200);
    await expectCompleted(id, follower);
    expect(await slow.readStateHash(id)).toBe(follower.stateHash(id));
    const lease = await cluster.readLease(id);
    expect(lease?.epoch).toBe(1); // It was fast enough to keep the task.
  });

  test("with clocks that are an hour apart, and take over from each other only when one ends", async () => {
    const [ahead, behind] = [
      await addProcess({ name: "ahead", clockShiftMs: hourMs }),
      await addProcess({ name: "behind", clockShiftMs: -hourMs }),
    ];
    const ids = [
      await ahead.startTask('Please ledger__pay "ahead"'),
      await behind.startTask('Please ledger__pay "behind"'),
    ];
    const approvals = await Promise.all(ids.map((id) => getProcesses().first.waitForApproval(id)));
    const first = await listLeaseEnds(ids);
    await waitUntil("the leases are renewed until they would have expired", async () => {
      const [{ now } = { now: 0 }] = await cluster.query<{ now: Date }>("SELECT now() AS now");
      return first.every((end) => end < now);
    });
    for (const id of ids) expect((await cluster.readLease(id))?.epoch).toBe(1);
    await ahead.end("SIGKILL");
    await cluster.waitForTakeover(ids[0] ?? "", 1);
    for (const approval of approvals) expect((await behind.decide(approval)).status).toBe(200);
    for (const id of ids) await getProcesses().second.waitForStatus(id, "completed");
    expect(cluster.ledger.listRepeated()).toEqual([]);
  });

  test("after the disk of PostgreSQL was full", async ({ skip }) => {
    const disk = mountSmallDisk() ?? skip("only root can create a small disk here");
    const { first, second } = getProcesses();
    await cluster.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
    await cluster.query("ALTER TABLE deltawire.events SET TABLESPACE small");
    onTestFinished(async () => {
      await cluster.query("DROP TABLE IF EXISTS filler");
      await cluster.query("ALTER TABLE deltawire.events SET TABLESPACE pg_default");
      await cluster.query("DROP TABLESPACE small");
      disk.unmount();
    });
    const stored = await first.startTask('Please ledger__record "stored"');
    await first.waitForStatus(stored, "completed");
    await cluster.query("CREATE TABLE filler (bytes text) TABLESPACE small");
    await cluster
      .query("INSERT INTO filler SELECT repeat('x', 1900) FROM generate_series(1, 100000)")
      .catch(() => undefined);
    // The rows of the failed statement still fill the disk.
    const reply = await waitUntil("a task is rejected", async () => {
      const { status, body } = await first.requestJson("/api/tasks", {
        agent: "worker",
        input: "long 1000",
      });
      return status === 503 ? body : undefined;
    });
    expect(reply).toMatchObject({ error: { code: "store_unavailable" } });
    expect((await second.readTask(stored)).status).toBe("completed");
    await cluster.query("DROP TABLE filler");
    const id = await waitUntil("tasks start again", () => second.startTask("long 100"), 90_000);
    await expectCompleted(id, follow(id, first));
  });

  /** 0 closes the connections of the gateways, and PostgreSQL accepts no new ones. */
  async function setConnectionLimit(limit: number): Promise<void> {
    await cluster.query(`ALTER ROLE ${roleName} CONNECTION LIMIT ${limit}`);
    if (limit === 0)
      await cluster.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
        [roleName],
      );
  }

  /** Returns until when the processes that run the tasks hold them, unless they renew their leases. */
  async function listLeaseEnds(taskIds: readonly string[]): Promise<Date[]> {
    const rows = await cluster.query<{ alive_until: Date }>(
      "SELECT alive_until FROM deltawire.processes JOIN deltawire.tasks ON holder = process_id WHERE task_id = ANY ($1)",
      [taskIds],
    );
    return rows.map(({ alive_until: end }) => end);
  }
});

/** Mounts a disk of 24 MB that PostgreSQL can write to. Undefined if that is not possible. */
function mountSmallDisk(): { folder: string; unmount: () => void } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "deltawire-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", folder], {
      stdio: "ignore",
    });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  chownSync(folder, postgresUser, postgresUser);
  return {
    folder,
    unmount() {
      execFileSync("umount", [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** The user as which `startPostgres` runs the server if this process is root. */
const postgresUser = 65_534;
