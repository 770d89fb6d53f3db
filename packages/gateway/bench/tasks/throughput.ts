import { median, relativeQuartileRange } from "../../../../bench/measure.ts";
import { type Goal, printTable } from "../../../../bench/report.ts";
import { checkComplete, follow, parseOnly, type FollowResult } from "./follow.ts";
import { countDeltas, type GatewayProcess, type ScriptedModel } from "./gateway-process.ts";

/** Measures events per second through model, relay, writer, SQLite and a follower that reduces, over HTTP. */
export async function measureThroughput(
  { url }: GatewayProcess,
  talk: ScriptedModel,
  rounds: number,
): Promise<Goal[]> {
  const ways: ThroughputVariant[] = [
    { name: "a task, followed", run: async () => toRun(await measureFollow(url, talk)) },
    {
      name: "a task, all events replayed",
      run: async () => toRun(await measureReplay(url, talk)),
    },
    { name: "the same text over /v1/responses, no task", run: () => measureResponses(url, talk) },
  ];
  const rows = new Map(ways.map(({ name }) => [name, [] as ThroughputRun[]]));
  for (const { run } of ways) await run();
  for (let round = 0; round < rounds; round += 1)
    for (const { name, run } of round % 2 === 0 ? ways : ways.toReversed())
      rows.get(name)?.push(await run());
  const [task] = ways.map(({ name }) => computeAverageRate(rows.get(name) ?? []));
  printTable(
    `A real gateway: model, relay, writer, SQLite, SSE, a client that reduces; ${rounds} rounds of ${talk}`,
    ["", "events/s", "events", "frames", "snapshots"],
    [...rows].map(([name, all]) => [
      name,
      `${computeAverageRate(all).toFixed(0)} ±${(relativeQuartileRange(all.map(computeRate)) * 50).toFixed(0)}%`,
      median(all.map(({ events }) => events)).toFixed(0),
      median(all.map(({ frames }) => frames)).toFixed(0),
      median(all.map(({ snapshots }) => snapshots)).toFixed(0),
    ]),
  );
  return [
    {
      description:
        "≥ 20,000 events per second through model, writer, SQLite and one follower over HTTP",
      isMet: (task ?? NaN) >= 20_000,
      measured: (task ?? NaN).toFixed(0),
    },
  ];
}

interface ThroughputVariant {
  name: string;
  run: () => Promise<ThroughputRun>;
}

interface ThroughputRun {
  events: number;
  frames: number;
  snapshots: number;
  elapsed: number;
}

function computeRate({ events, elapsed }: ThroughputRun): number {
  return (events / elapsed) * 1000;
}

function computeAverageRate(all: readonly ThroughputRun[]): number {
  return median(all.map(computeRate));
}

function toRun({ events, frames, snapshots, elapsed }: FollowResult): ThroughputRun {
  return { events, frames, snapshots, elapsed };
}

async function measureFollow(url: string, talk: ScriptedModel): Promise<FollowResult> {
  const body = { agent: talk, input: "Go on." };
  const result = await follow({ url: `${url}/api/tasks`, body, accept: "text/event-stream" });
  await checkComplete(result, url);
  return result;
}

/** The result includes the id of the task, in its state. */
export async function measureReplay(url: string, talk: ScriptedModel): Promise<FollowResult> {
  const startedAt = performance.now();
  const reply = await fetch(`${url}/api/tasks`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ agent: talk, input: "Go on." }),
  });
  const { task_id } = (await reply.json()) as { task_id: string };
  const result = await follow({ url: `${url}/api/tasks/${task_id}/events?after=-1&replay=all` });
  const elapsed = performance.now() - startedAt;
  await checkComplete(result, url);
  return { ...result, elapsed };
}

async function measureResponses(url: string, talk: ScriptedModel): Promise<ThroughputRun> {
  const body = { model: `up/talk-1-${countDeltas(talk)}`, input: "Go on.", stream: true };
  const { elapsed, frames } = await parseOnly({ url: `${url}/v1/responses`, body });
  return { events: frames, frames, snapshots: 0, elapsed };
}
