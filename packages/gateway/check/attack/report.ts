import type { HealthFigures } from "./health.ts";
import type { Measurement } from "./probe.ts";

/** An error of the gateway. */
export interface Finding {
  part: string;
  name: string;
  what: string;
}

/** Everything that a run found and measured. */
export class Report {
  readonly #seed: number;
  readonly #options: string;
  readonly findings: Finding[] = [];
  passed = 0;
  requests = 0;
  longestBlockMs = 0;
  longestBlockIn = "";
  peakRssBytes = 0;
  readonly #health: HealthFigures[] = [];
  readonly #findingCounts = new Map<string, number>();

  /** `options` are needed to repeat a finding, beside its name and the seed. */
  constructor(seed: number, options = "") {
    this.#seed = seed;
    this.#options = options;
  }

  fail(part: string, name: string, what: string): void {
    this.findings.push({ part, name, what });
    // Many attacks may find the same error.
    const fingerprint = `${part} ${what.slice(0, 40)}`;
    const times = (this.#findingCounts.get(fingerprint) ?? 0) + 1;
    this.#findingCounts.set(fingerprint, times);
    if (times > maxShownAlike) return;
    console.log(
      `FAILED ${part}: ${name}\n  ${what.slice(0, maxFindingLength).replaceAll("\n", "\n  ")}`,
    );
    console.log(
      `  npm run attack -- --only ${JSON.stringify(name)} --seed ${this.#seed}${this.#options}`,
    );
  }

  /** Prints a finding that could not be reproduced: worth a look, but not a failure. */
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

  /** Prints the figures. Returns true if nothing failed. */
  finish(seconds: number): boolean {
    for (const [fingerprint, times] of this.#findingCounts)
      if (times > maxShownAlike) console.log(`${times} findings like "${fingerprint}"`);
    const computeMaxOfParts = (getValue: (figures: HealthFigures) => number): number =>
      Math.max(0, ...this.#health.map(getValue));
    const polls = this.#health.reduce((sum, { pollCount }) => sum + pollCount, 0);
    console.log(`seed ${this.#seed}, ${seconds.toFixed(0)} s, ${this.requests} requests`);
    console.log(
      `longest block of the event loop: ${this.longestBlockMs.toFixed(0)} ms of processor time${this.longestBlockIn === "" ? "" : ` (${this.longestBlockIn})`}`,
    );
    console.log(`peak RSS: ${formatMegabytes(this.peakRssBytes)}`);
    console.log(
      `/healthz: ${polls} polls; by part at most p50 ${computeMaxOfParts((figures) => figures.p50).toFixed(1)} ms, p99 ${computeMaxOfParts((figures) => figures.p99).toFixed(0)} ms, longest ${computeMaxOfParts((figures) => figures.longest).toFixed(0)} ms`,
    );
    console.log(`${this.passed} passed, ${this.findings.length} failed`);
    return this.findings.length === 0;
  }
}

const maxShownAlike = 5;
const maxFindingLength = 1500;

export function formatMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(0)} MB`;
}
