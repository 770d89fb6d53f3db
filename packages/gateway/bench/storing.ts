/*
 * Measures what storing responses costs: `npm run bench:storing -- --rounds 40 --only chat`. Relays text of a Chat and of a Responses upstream
 * with `store: false` and `store: true`, and compares the processor time of the gateway's process per chunk.
 *
 * A round measures off, on, on, off, so that a drift of the machine affects both equally, and gives one ratio. The two halves of a
 * round without storing give a control ratio, whose spread is the noise. The result is the median of the ratios with the interval
 * that contains the true median with a probability of 95 %.
 */
import { parseArgs } from "node:util";
import { median, quantile } from "../../../bench/measure.ts";
import { BenchEnvironment } from "../../../bench/processes.ts";
import { startBenchProcesses } from "./bench-processes.ts";
import { startTarget, targets } from "./targets.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "40" },
    /** The API of the upstream. */
    only: { type: "string" },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 6) throw new Error("--rounds: expected at least 6");
/** Tokens of a short answer: a longer one costs less per chunk to store. */
const chunks = 300;
const streams = 20;
/** Short, so that a burst of other load on the machine affects few rounds. */
const durationMs = 400;
const warmUpMs = 4000;
const maxRatio = 1.1;
/** The API of the upstream of each target. */
const upstreamApis = new Map([
  ["translate", "chat"],
  ["responses", "responses"],
]);

const environment = new BenchEnvironment();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    environment.close();
    process.exit(1);
  });
try {
  const processes = await startBenchProcesses(environment);
  for (const target of targets) {
    const api = upstreamApis.get(target.name);
    if (api === undefined || (values.only ?? api) !== api) continue;
    const running = await startTarget(environment, target, processes.upstreamPort);
    /** Returns microseconds of processor time per chunk. */
    const measure = async (stores: boolean, duration = durationMs): Promise<number> => {
      const shape = { kind: "text", chunks, pace: 0 } as const;
      const run = { mode: "flat", duration } as const;
      const result = await processes.runLoad(running, { shape, streams, run, stores });
      return (result.cpu / result.chunks) * 1000;
    };
    // Until the code is compiled.
    for (const stores of [false, true]) await measure(stores, warmUpMs);
    const [off, on, ratios, controls]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let round = 0; round < rounds; round += 1) {
      const offBefore = await measure(false);
      const [onFirst, onSecond] = [await measure(true), await measure(true)];
      const offAfter = await measure(false);
      off.push((offBefore + offAfter) / 2);
      on.push((onFirst + onSecond) / 2);
      ratios.push((onFirst + onSecond) / (offBefore + offAfter));
      controls.push(offAfter / offBefore);
    }
    const [low, high] = computeMedianInterval(ratios);
    const ratio = median(ratios);
    console.log(
      `${target.title}: ${median(off).toFixed(2)} µs of processor time per chunk without storing, ` +
        `${median(on).toFixed(2)} µs with it\n` +
        `  ratio ${ratio.toFixed(3)} (95 %: ${low.toFixed(3)} to ${high.toFixed(3)}; quartiles ${formatQuartiles(ratios)}; ` +
        `${rounds} rounds); control without storing ${median(controls).toFixed(3)} (quartiles ${formatQuartiles(controls)})\n` +
        `  goal ≤ ${maxRatio}: ${describeGoal(low, high)}`,
    );
    if (low > maxRatio) process.exitCode = 1;
    await environment.stop(running.started, 20_000);
  }
} finally {
  environment.close();
}

function describeGoal(low: number, high: number): string {
  if (high <= maxRatio) return "reached";
  return low > maxRatio ? "missed" : "undecided, run more rounds";
}

function formatQuartiles(ratios: readonly number[]): string {
  return [0.25, 0.75].map((fraction) => quantile(ratios, fraction).toFixed(3)).join(" to ");
}

/** Returns the order statistics between which the median lies with a probability of at least 95 %, whatever the distribution. */
function computeMedianInterval(ratios: readonly number[]): [low: number, high: number] {
  const sorted = ratios.toSorted((a, b) => a - b);
  const count = sorted.length;
  // Probability that at most `rank` of the values are below the median.
  let probability = 0;
  let term = 0.5 ** count;
  let rank = 0;
  while (probability + term <= 0.025) {
    probability += term;
    term = (term * (count - rank)) / (rank + 1);
    rank += 1;
  }
  const outside = Math.max(0, rank - 1);
  return [sorted[outside] ?? NaN, sorted[count - 1 - outside] ?? NaN];
}
