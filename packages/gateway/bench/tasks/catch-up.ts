import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Goal, formatMiB, printTable, formatRatio } from "../../../../bench/report.ts";
import { median, relativeQuartileRange } from "../../../../bench/measure.ts";
import type { BenchEnvironment } from "../../../../bench/processes.ts";
import { checkComplete, follow, parseOnly } from "./follow.ts";
import { startBaseline, type GatewayProcess, type ScriptedModel } from "./gateway-process.ts";
import { measureReplay } from "./throughput.ts";

/** Measures a client that connects after a long log was written. */
export async function measureCatchUp(
  environment: BenchEnvironment,
  { url }: GatewayProcess,
  talk: ScriptedModel,
  rounds: number,
): Promise<Goal[]> {
  const { state, events } = await measureReplay(url, talk);
  const stream = `${url}/api/tasks/${state.root_task_id}/events`;
  const replay = `${stream}?after=-1&replay=all`;
  const reads: Buffer[] = [];
  const first = await follow({ url: replay }, (bytes) => reads.push(bytes));
  await checkComplete(first, url);
  if (first.events !== events || first.snapshots > 0)
    throw new Error("the replay of the log was not complete");
  const file = join(environment.folder, "log.sse");
  writeFileSync(file, Buffer.concat(reads));
  const bare = await startBaseline(environment, file);
  const ways = {
    "by replay, reduced": async () => (await follow({ url: replay })).elapsed,
    "by snapshot": async () => (await follow({ url: stream })).elapsed,
    "the same bytes from a bare server, parsed only": async () =>
      (await parseOnly({ url: `${bare.url}/log` })).elapsed,
  };
  const rows = new Map(Object.keys(ways).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round += 1) {
    const turns = Object.entries(ways);
    for (const [name, run] of round % 2 === 0 ? turns : turns.toReversed())
      rows.get(name)?.push(await run());
  }
  await environment.stop(bare.started);
  const took = [...rows].map(([name, all]) => ({
    name,
    ms: median(all),
    spread: relativeQuartileRange(all),
  }));
  const [byReplay, bySnapshot, floor] = took;
  const bytes = [first.bytes, (await follow({ url: stream })).bytes, first.bytes];
  printTable(
    `Catch-up over HTTP of a log of ${events.toLocaleString("en")} events, ${rounds} rounds`,
    ["", "ms", "events/s", "MiB", "x floor"],
    took.map(({ name, ms, spread }, nth) => [
      name,
      `${ms.toFixed(0)} ±${(spread * 50).toFixed(0)}%`,
      ((events / ms) * 1000).toFixed(0),
      formatMiB(bytes[nth] ?? NaN),
      formatRatio(ms / (floor?.ms ?? NaN)),
    ]),
  );
  const perHundredThousand = ((byReplay?.ms ?? NaN) / events) * 100_000;
  return [
    {
      description: "catch-up of 100,000 events within a second, by replay over HTTP and reduced",
      isMet: perHundredThousand <= 1000,
      measured: `${perHundredThousand.toFixed(0)} ms for each 100,000`,
    },
    {
      description: "catch-up of 100,000 events within a second, by snapshot",
      isMet: (bySnapshot?.ms ?? NaN) <= 1000,
      measured: `${bySnapshot?.ms.toFixed(0)} ms`,
    },
  ];
}
