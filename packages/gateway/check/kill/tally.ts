import type { KillCase } from "./cases.ts";
import type { FinalState, RunResult } from "./run-once.ts";

/** Counts the passed cases and the kills, and collects the failed cases. */
export class KillTally {
  passed = 0;
  readonly failures: { name: string; faults: readonly string[] }[] = [];
  /** Number of kills, by where the server was killed and by kill method. */
  readonly killCounts = new Map<string, Map<string, number>>();

  readonly #knownIds = new Set<string>();

  /** Returns a fault for each id of this run that an earlier run also has, although the gateway generates unique ids. */
  findRepeatedIds({ log }: FinalState): string[] {
    return listGeneratedIds(log)
      .filter((id) => this.#knownIds.has(id))
      .map((id) => `${id} is in another run too`);
  }

  add(
    { killMethod, name }: KillCase,
    { killedAt, finalState }: RunResult,
    faults: readonly string[],
  ): void {
    if (faults.length === 0) this.passed += 1;
    else this.failures.push({ name, faults });
    // If a case kills twice, only the second kill is what it tests. Random kills all count.
    const countedLocations = killMethod === "at random" ? killedAt : killedAt.slice(-1);
    for (const location of countedLocations) this.#countKill(location, killMethod);
    for (const id of listGeneratedIds(finalState?.log ?? [])) this.#knownIds.add(id);
  }

  #countKill(location: string, killMethod: string): void {
    const counts = this.killCounts.get(location) ?? new Map<string, number>();
    counts.set(killMethod, (counts.get(killMethod) ?? 0) + 1);
    this.killCounts.set(location, counts);
  }
}

/** Returns the ids that the gateway has generated. Those of the model's upstream have another format. */
function listGeneratedIds(log: FinalState["log"]): string[] {
  return [...new Set(JSON.stringify(log).match(/\b[a-z]+_[0-9a-f]{32}\b/g))];
}
