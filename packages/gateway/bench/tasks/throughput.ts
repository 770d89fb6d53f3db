import { median, spread } from "../../../../bench/measure.ts";
import { type Goal, printTable } from "../../../../bench/report.ts";
import { checkWhole, follow, parseOnly, type Followed } from "./follow.ts";
import { deltasOf, type Scene, type Talk } from "./scene.ts";

/** Model, relay, writer, SQLite and a follower who reduces, over real HTTP: as many events a second as come through. */
export async function measureThroughput(
  { url }: Scene,
  talk: Talk,
  rounds: number,
): Promise<Goal[]> {
  const ways: Way[] = [
    { name: "a task, followed", run: async () => ran(await followed(url, talk)) },
    { name: "a task, every event asked for", run: async () => ran(await replayed(url, talk)) },
    { name: "the same words by /v1/responses, no task", run: () => responded(url, talk) },
  ];
  const rows = new Map(ways.map(({ name }) => [name, [] as Ran[]]));
  for (const { run } of ways) await run();
  for (let round = 0; round < rounds; round += 1)
    for (const { name, run } of round % 2 === 0 ? ways : ways.toReversed())
      rows.get(name)?.push(await run());
  const [task] = ways.map(({ name }) => rateOf(rows.get(name) ?? []));
  printTable(
    `A real gateway: model, relay, writer, SQLite, SSE, a client who reduces; ${rounds} rounds of ${talk}`,
    ["", "events/s", "events", "frames", "snapshots"],
    [...rows].map(([name, all]) => [
      name,
      `${rateOf(all).toFixed(0)} ±${(spread(all.map(rate)) * 50).toFixed(0)}%`,
      median(all.map(({ events }) => events)).toFixed(0),
      median(all.map(({ frames }) => frames)).toFixed(0),
      median(all.map(({ snapshots }) => snapshots)).toFixed(0),
    ]),
  );
  return [
    {
      goal: "≥ 20,000 events a second through model, writer, SQLite and one follower over HTTP",
      met: (task ?? NaN) >= 20_000,
      measured: (task ?? NaN).toFixed(0),
    },
  ];
}

interface Way {
  name: string;
  run: () => Promise<Ran>;
}

interface Ran {
  events: number;
  frames: number;
  snapshots: number;
  elapsed: number;
}

function rate({ events, elapsed }: Ran): number {
  return (events / elapsed) * 1000;
}

function rateOf(all: readonly Ran[]): number {
  return median(all.map(rate));
}

function ran({ events, frames, snapshots, elapsed }: Followed): Ran {
  return { events, frames, snapshots, elapsed };
}

async function followed(url: string, talk: Talk): Promise<Followed> {
  const body = { agent: talk, input: "Go on." };
  const result = await follow({ url: `${url}/api/tasks`, body, accept: "text/event-stream" });
  await checkWhole(result, url);
  return result;
}

/** Answers too with the id of the task, through its state. */
export async function replayed(url: string, talk: Talk): Promise<Followed> {
  const begun = performance.now();
  const reply = await fetch(`${url}/api/tasks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: talk, input: "Go on." }),
  });
  const { task_id } = (await reply.json()) as { task_id: string };
  const result = await follow({ url: `${url}/api/tasks/${task_id}/events?after=-1&replay=all` });
  const elapsed = performance.now() - begun;
  await checkWhole(result, url);
  return { ...result, elapsed };
}

async function responded(url: string, talk: Talk): Promise<Ran> {
  const body = { model: `up/talk-1-${deltasOf(talk)}`, input: "Go on.", stream: true };
  const { elapsed, frames } = await parseOnly({ url: `${url}/v1/responses`, body });
  return { events: frames, frames, snapshots: 0, elapsed };
}
