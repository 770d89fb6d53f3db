/*
 * Measures what storing responses costs: `npm run bench:storing -- --rounds 5`. Relays text of a Chat and of a Responses upstream
 * with `store: false` and `store: true` in turns, and prints the CPU time per chunk.
 */
import { parseArgs } from "node:util";
import { quantile } from "../../../bench/measure.ts";
import { BenchEnvironment } from "../../../bench/processes.ts";
import { startBenchProcesses } from "./bench-processes.ts";
import { startTarget, targets } from "./targets.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" } } });
const rounds = Number(values.rounds);
/** Tokens of a short answer: a longer one costs less per chunk to store. */
const chunks = 300;
const streams = 20;
const durationMs = 2500;
const maxRatio = 1.1;

const environment = new BenchEnvironment();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    environment.close();
    process.exit(1);
  });
try {
  const processes = await startBenchProcesses(environment);
  for (const target of targets) {
    if (target.name !== "translate" && target.name !== "responses") continue;
    const running = await startTarget(environment, target, processes.upstreamPort);
    const measure = async (stores: boolean, duration = durationMs): Promise<number> => {
      const shape = { kind: "text", chunks, pace: 0 } as const;
      const run = { mode: "flat", duration } as const;
      const result = await processes.runLoad(running, { shape, streams, run, stores });
      return (result.cpu / result.chunks) * 1000;
    };
    // The first requests compile the code.
    for (const stores of [false, true]) await measure(stores, 1000);
    const [off, on]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      off.push(await measure(false));
      on.push(await measure(true));
    }
    const ratios = on.map((cost, round) => cost / (off[round] ?? cost));
    const ratio = quantile(ratios, 0.5);
    console.log(
      `${target.title}: ${quantile(off, 0.5).toFixed(2)} µs of CPU per chunk without storing, ` +
        `${quantile(on, 0.5).toFixed(2)} µs with it: ${ratio.toFixed(2)} times as much ` +
        `(${ratios.map((value) => value.toFixed(2)).join(", ")}; goal ≤ ${maxRatio})`,
    );
    await environment.stop(running.started, 20_000);
  }
} finally {
  environment.close();
}
