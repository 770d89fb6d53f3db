import type { KillCase } from "./cases.ts";
import { judgeRun } from "./judge-run.ts";
import type { KillHarness } from "./kill-harness.ts";
import type { Kill } from "./restarted-server.ts";
import { runOnce, type FinalState } from "./run-once.ts";
import type { KillTally } from "./tally.ts";
import type { Scenario } from "./test-user.ts";

/** Runs a scenario without a kill, for comparison with its other runs. Throws if anything is wrong with it. */
export async function runBaseline(
  harness: KillHarness,
  options: { store?: string; scenario?: Scenario } = {},
): Promise<{ finalState: FinalState; ms: number }> {
  const result = await runOnce(harness, { kills: [], ...options });
  const { finalState, ms } = result;
  if (finalState === undefined) throw new Error(`without a kill: ${result.faults.join("; ")}`);
  const faults = judgeRun(result, finalState);
  if (faults.length > 0) throw new Error(`without a kill: ${faults.join("; ")}`);
  return { finalState, ms };
}

export interface RunCasesOptions {
  /** The final state of a run of the same scenario without a kill. */
  baseline: FinalState;
  /** Receives the results. */
  tally: KillTally;
  /** Number of cases that run at the same time. */
  concurrency: number;
  store?: string;
  timeoutMs?: number;
}

/** Once this many runs have ended before they could be killed, later writes are not tried. */
const unkilledRunLimit = 3;

/**
 * Runs cases, several at the same time. `createCases` receives a function that returns true once several runs have
 * ended before they could be killed, which means that no run makes so many writes.
 */
export async function runCases(
  harness: KillHarness,
  createCases: (isPastLastWrite: () => boolean) => Iterable<KillCase>,
  { baseline, tally, concurrency, ...options }: RunCasesOptions,
): Promise<void> {
  let unkilledRuns = 0;
  const cases = createCases(() => unkilledRuns >= unkilledRunLimit)[Symbol.iterator]();
  const runRemainingCases = async (): Promise<void> => {
    for (let next = cases.next(); next.done !== true; next = cases.next()) {
      const { kills, answerTiming, scenario = "all answered" } = next.value;
      const result = await runOnce(harness, { kills, answerTiming, scenario, ...options });
      const faults = judgeRun(result, baseline);
      if (result.finalState !== undefined) faults.push(...tally.findRepeatedIds(result.finalState));
      if (result.killedAt.length === 0) {
        unkilledRuns += 1;
        if (everyRunReaches(kills[0])) faults.push("the run never reached this point");
      }
      tally.add(next.value, result, faults);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runRemainingCases));
}

/** False for a write by its number and for a time: a run may end earlier. */
function everyRunReaches(kill: Kill | undefined): boolean {
  if (kill === undefined) return false;
  return "tool" in kill || ("at" in kill && typeof kill.at === "object");
}
