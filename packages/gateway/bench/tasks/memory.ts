import type { IncomingMessage } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import type { Held } from "../../check/measured-gateway.ts";
import type { Workshop } from "../../../../bench/processes.ts";
import { mebibytes, printTable } from "../../../../bench/report.ts";
import { hold } from "./follow.ts";
import { heldBy, startBare, type Scene } from "./scene.ts";

/** What tasks that wait for a person cost a server, and those who follow them. There is no goal: it is told. */
export async function measureMemory(
  workshop: Workshop,
  scene: Scene,
  count: number,
): Promise<void> {
  await waiting(scene.url, 50);
  const none = await settled(scene);
  const ids = await waiting(scene.url, count);
  const tasks = await settled(scene);
  const streams = await held(ids.map((id) => `${scene.url}/api/tasks/${id}/events`));
  const followed = await settled(scene);
  leave(streams);

  const bare = await startBare(workshop);
  await held(ids.slice(0, 50).map(() => `${bare.url}/idle`)).then(leave);
  const bareNone = await settled(bare);
  const idle = await held(ids.map(() => `${bare.url}/idle`));
  const bareHeld = await settled(bare);
  leave(idle);
  await workshop.stop(bare.started);

  const row = (name: string, before: Held, now: Held): string[] => [
    name,
    mebibytes(live(before)),
    mebibytes(live(now)),
    ((live(now) - live(before)) / 1024 / count).toFixed(1),
    mebibytes(before.residentBytes),
    mebibytes(now.residentBytes),
    ((now.residentBytes - before.residentBytes) / 1024 / count).toFixed(1),
  ];
  printTable(
    `Memory with ${count.toLocaleString("en")} of them, after a collection (MiB; KiB for each)`,
    ["", "heap before", "after", "KiB each", "resident before", "after", "KiB each"],
    [
      row("tasks that wait for an approval", none, tasks),
      row("a follower for each, over SSE", tasks, followed),
      row("floor: idle streams of a bare server", bareNone, bareHeld),
    ],
  );
}

function live({ heapBytes, bufferBytes }: Held): number {
  return heapBytes + bufferBytes;
}

async function settled(scene: Scene): Promise<Held> {
  await after(300);
  return heldBy(scene);
}

/** Starts tasks and answers when all of them wait. */
async function waiting(url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  let started = 0;
  const work = async (): Promise<void> => {
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
  await Promise.all(Array.from({ length: 16 }, work));
  const until = performance.now() + 30_000;
  for (const status of ["created", "working"])
    while (await any(url, status, until)) await after(20);
  return ids;
}

async function any(url: string, status: string, until: number): Promise<boolean> {
  const reply = await fetch(`${url}/api/tasks?status=${status}&limit=1`);
  const { data } = (await reply.json()) as { data: unknown[] };
  if (performance.now() > until) throw new Error(`tasks are still ${status}`);
  return data.length > 0;
}

async function held(urls: readonly string[]): Promise<IncomingMessage[]> {
  const streams: IncomingMessage[] = [];
  for (let at = 0; at < urls.length; at += 50)
    streams.push(...(await Promise.all(urls.slice(at, at + 50).map((url) => hold({ url })))));
  return streams;
}

function leave(streams: readonly IncomingMessage[]): void {
  for (const stream of streams) stream.destroy();
}
