import type { HealthFigures } from "./health.ts";
import type { Measurement } from "./probe.ts";

/** Something that is wrong with the gateway. */
export interface Finding {
  part: string;
  name: string;
  what: string;
}

/** Everything that a run found and measured. */
export class Report {
  readonly #seed: number;
  readonly findings: Finding[] = [];
  passed = 0;
  requests = 0;
  longestBlockMs = 0;
  longestBlockIn = "";
  peakRssBytes = 0;
  readonly #health: HealthFigures[] = [];
  readonly #alike = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  fail(part: string, name: string, what: string): void {
    this.findings.push({ part, name, what });
    // Many attacks may find the same.
    const alike = `${part} ${what.slice(0, 40)}`;
    const times = (this.#alike.get(alike) ?? 0) + 1;
    this.#alike.set(alike, times);
    if (times > mostAlike) return;
    console.log(
      `FAILED ${part}: ${name}\n  ${what.slice(0, mostOfFinding).replaceAll("\n", "\n  ")}`,
    );
    console.log(`  npm run attack -- --only ${JSON.stringify(name)} --seed ${this.#seed}`);
  }

  /** What was seen once and could not be seen again: worth a look, no failure. */
  note(what: string): void {
    console.log(`note: ${what}`);
  }

  addBlock(ms: number, where: string): void {
    if (ms <= this.longestBlockMs) return;
    this.longestBlockMs = ms;
    this.longestBlockIn = where;
  }

  addMemory({ peakRssBytes }: Measurement): void {
    this.peakRssBytes = Math.max(this.peakRssBytes, peakRssBytes);
  }

  addHealth(figures: HealthFigures): void {
    this.#health.push(figures);
  }

  /** Prints the figures; true if nothing failed. */
  finish(seconds: number): boolean {
    for (const [alike, times] of this.#alike)
      if (times > mostAlike) console.log(`${times} findings like "${alike}"`);
    const most = (pick: (one: HealthFigures) => number): number =>
      Math.max(0, ...this.#health.map(pick));
    const polls = this.#health.reduce((sum, { asked }) => sum + asked, 0);
    console.log(`seed ${this.#seed}, ${seconds.toFixed(0)} s, ${this.requests} requests`);
    console.log(
      `longest block of the event loop: ${this.longestBlockMs.toFixed(0)} ms of processor time${this.longestBlockIn === "" ? "" : ` (${this.longestBlockIn})`}`,
    );
    console.log(`peak RSS: ${megabytes(this.peakRssBytes)}`);
    console.log(
      `/healthz: ${polls} polls; by part at most p50 ${most((one) => one.p50).toFixed(1)} ms, p99 ${most((one) => one.p99).toFixed(0)} ms, longest ${most((one) => one.longest).toFixed(0)} ms`,
    );
    console.log(`${this.passed} passed, ${this.findings.length} failed`);
    return this.findings.length === 0;
  }
}

const mostAlike = 5;
const mostOfFinding = 1500;

export function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MB`;
}
