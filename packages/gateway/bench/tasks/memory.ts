import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryUsage } from "../../check/measured-gateway.ts";
import type { BenchEnvironment } from "../../../../bench/processes.ts";
import { formatMiB, printTable } from "../../../../bench/report.ts";
import { openIdle } from "./follow.ts";
import { measureMemoryOf, startBaseline, type GatewayProcess } from "./gateway-process.ts";

/** Measures the memory of tasks that are waiting for an approval, and of their followers. Has no goal. */
export async function measureMemory(
  environment: BenchEnvironment,
  gatewayProcess: GatewayProcess,
  count: number,
): Promise<void> {
  await startWaitingTasks(gatewayProcess.url, 50);
  const none = await measureSettled(gatewayProcess);
  const ids = await startWaitingTasks(gatewayProcess.url, count);
  const tasks = await measureSettled(gatewayProcess);
  const streams = await openFollowers(
    ids.map((id) => `${gatewayProcess.url}/api/tasks/${id}/events`),
  );
  const followed = await measureSettled(gatewayProcess);
  closeFollowers(streams);

  const bare = await startBaseline(environment);
  await openFollowers(ids.slice(0, 50).map(() => `${bare.url}/idle`)).then(closeFollowers);
  const bareNone = await measureSettled(bare);
  const idle = await openFollowers(ids.map(() => `${bare.url}/idle`));
  const bareHeld = await measureSettled(bare);
  closeFollowers(idle);
  await environment.stop(bare.started);

  const row = (name: string, before: MemoryUsage, now: MemoryUsage): string[] => [
    name,
    formatMiB(sumLiveBytes(before)),
    formatMiB(sumLiveBytes(now)),
    ((sumLiveBytes(now) - sumLiveBytes(before)) / 1024 / count).toFixed(1),
    formatMiB(before.residentBytes),
    formatMiB(now.residentBytes),
    ((now.residentBytes - before.residentBytes) / 1024 / count).toFixed(1),
  ];
  printTable(
    `Memory with ${count.toLocaleString("en")} of them, after garbage collection (MiB; KiB for each)`,
    ["", "heap before", "after", "KiB each", "resident before", "after", "KiB each"],
    [
      row("tasks that are waiting for an approval", none, tasks),
      row("a follower for each, over SSE", tasks, followed),
      row("floor: idle streams of a bare server", bareNone, bareHeld),
    ],
  );
}

function sumLiveBytes({ heapBytes, bufferBytes }: MemoryUsage): number {
  return heapBytes + bufferBytes;
}

async function measureSettled(gatewayProcess: GatewayProcess): Promise<MemoryUsage> {
  await sleep(300);
  return measureMemoryOf(gatewayProcess);
}

/** Starts tasks and resolves when all of them wait. */
async function startWaitingTasks(url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let started = 0;
  const startNextTasks = async (): Promise<void> => {
    while (started < count) {
      started += 1;
      const reply = await fetch(`${url}/api/tasks`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ agent: "ask", input: "Build it." }),
      });
      ids.push(((await reply.json()) as { task_id: string }).task_id);
    }
  };
  await Promise.all(Array.from({ length: 16 }, startNextTasks));
  const deadline = performance.now() + 30_000;
  for (const status of ["created", "working"])
    while (await hasTaskWithStatus(url, status, deadline)) await sleep(20);
  return ids;
}

async function hasTaskWithStatus(url: string, status: string, deadline: number): Promise<boolean> {
  const reply = await fetch(`${url}/api/tasks?status=${status}&limit=1`);
  const { data } = (await reply.json()) as { data: unknown[] };
  if (performance.now() > deadline) throw new Error(`tasks are still ${status}`);
  return data.length > 0;
}

async function openFollowers(urls: readonly string[]): Promise<IncomingMessage[]> {
  const streams: IncomingMessage[] = [];
  for (let index = 0; index < urls.length; index += 50)
    streams.push(
      ...(await Promise.all(urls.slice(index, index + 50).map((url) => openIdle({ url })))),
    );
  return streams;
}

function closeFollowers(streams: readonly IncomingMessage[]): void {
  for (const stream of streams) stream.destroy();
}
