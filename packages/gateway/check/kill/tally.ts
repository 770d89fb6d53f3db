import type { Case } from "./cases.ts";
import type { Kit } from "./kit.ts";
import { oneRun, type End, type Seen } from "./one-run.ts";
import type { Plot } from "./person.ts";
import type { Kill } from "./restarted-server.ts";
import { verdict } from "./verdict.ts";

/** What came of all cases. */
export class Tally {
  passed = 0;
  readonly failures: { name: string; faults: readonly string[] }[] = [];
  /** How many servers were killed, by where and how. */
  readonly killed = new Map<string, Map<string, number>>();

  readonly #ids = new Set<string>();

  /** Ids of this run that another one has too. The model's server gives its own to all of them. */
  repeated({ log }: End): string[] {
    const ids = new Set(JSON.stringify(log).match(/\b[a-z]+_[0-9a-f]{32}\b/g));
    const repeated = [...ids].filter((id) => this.#ids.has(id));
    for (const id of ids) this.#ids.add(id);
    return repeated.map((id) => `${id} is in another run too`);
  }

  add({ how, name }: Case, { killedAt }: Seen, faults: readonly string[]): void {
    if (faults.length === 0) this.passed += 1;
    else this.failures.push({ name, faults });
    // Of two kills the second is what the case is about, and of many at random none.
    const where = how === "at random" ? killedAt : killedAt.slice(-1);
    for (const each of where) this.#count(each, how);
  }

  #count(where: string, how: string): void {
    const row = this.killed.get(where) ?? new Map<string, number>();
    row.set(how, (row.get(how) ?? 0) + 1);
    this.killed.set(where, row);
  }
}

/** The run that all others of its plot are compared with. */
export async function undisturbedRun(
  kit: Kit,
  options: { store?: string; plot?: Plot } = {},
): Promise<{ end: End; ms: number }> {
  const seen = await oneRun(kit, { kills: [], ...options });
  if (seen.end === undefined) throw new Error(`without a kill: ${seen.faults.join("; ")}`);
  const faults = verdict(seen, seen.end);
  if (faults.length > 0) throw new Error(`without a kill: ${faults.join("; ")}`);
  return { end: seen.end, ms: seen.ms };
}

export interface Trying {
  undisturbed: End;
  tally: Tally;
  atOnce: number;
  store?: string;
  longestMs?: number;
}

/** So many runs have ended before their kill: there are no more writes. */
const enoughUntouched = 3;

/** Some at once, in their order. `isPast`: runs end before they can be killed. */
export async function tryCases(
  kit: Kit,
  casesUntil: (isPast: () => boolean) => Iterable<Case>,
  { undisturbed, tally, atOnce, ...options }: Trying,
): Promise<void> {
  let untouched = 0;
  const cases = casesUntil(() => untouched >= enoughUntouched)[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = cases.next(); next.done !== true; next = cases.next()) {
      const { kills, patience, plot = "all answered" } = next.value;
      const seen = await oneRun(kit, { kills, patience, plot, ...options });
      const faults = verdict(seen, undisturbed);
      if (seen.end !== undefined) faults.push(...tally.repeated(seen.end));
      if (seen.killedAt.length === 0) untouched += 1;
      if (seen.killedAt.length === 0 && isCertain(kills)) faults.push("the run never came to it");
      tally.add(next.value, seen, faults);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function isCertain([first]: readonly Kill[]): boolean {
  return (
    first !== undefined && ("tool" in first || ("at" in first && typeof first.at === "object"))
  );
}
