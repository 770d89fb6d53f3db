import type { AttackCase, AttackPart } from "./cases.ts";
import { send } from "./client.ts";
import { watchHealth } from "./health.ts";
import type { Block } from "./probe.ts";
import { formatMegabytes, type Report } from "./report.ts";
import { Target } from "./target.ts";

/** The longest allowed turn of the event loop, in milliseconds of processor time. */
const maxBlockMs = 200;
/** A block that no attack reproduces alone is a failure from this length on. */
const maxUnconfirmedBlockMs = 1000;
const maxRssBytes = 1024 ** 3;
/** How much the heap may grow during a part: bounded caches are filled. */
const maxHeapGrowthBytes = 300 * 1024 ** 2;
/** A longer attack counts as hung. */
const caseTimeoutMs = 90_000;
const progressMs = 15_000;
const maxShownFaults = 10;
const healthTimeoutMs = 20_000;

interface Run {
  attack: AttackCase;
  startedAt: number;
  endedAt: number;
  faults: string[];
}

/** Starts the gateway of a part, runs its attacks, and evaluates their findings and its own measurements. */
export async function runPart(part: AttackPart, token: string, report: Report): Promise<void> {
  const startedAt = performance.now();
  const findingsBefore = report.findings.length;
  const log = new LogWatch(part);
  const target = await Target.start({
    toml: `[server]\nport = 0\ntokens = [${JSON.stringify(token)}]\n${part.toml}`,
    onOutput: (text) => log.push(text),
  });
  const runner = new PartRunner(part, target, report);
  try {
    await runner.run();
    await log.judge(target, token, report);
  } finally {
    await target.close();
  }
  const failedCount = report.findings.length - findingsBefore;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (runner.count > 1) console.log(`  ${part.name}: longest ${runner.slowest}`);
  console.log(
    `${part.name}: ${runner.count} attacks in ${seconds} s, ${failedCount === 0 ? "all passed" : `${failedCount} FAILED`}`,
  );
}

class PartRunner {
  readonly #part: AttackPart;
  readonly #target: Target;
  readonly #report: Report;
  readonly #runs: Run[] = [];
  readonly #blocks: Block[] = [];
  #crashesSeen = 0;
  #revival: Promise<void> | undefined;
  #pendingMeasurement: Promise<void> | undefined;
  #restarts = 0;
  #shownFaults = 0;

  constructor(part: AttackPart, target: Target, report: Report) {
    this.#part = part;
    this.#target = target;
    this.#report = report;
  }

  async run(): Promise<void> {
    await this.#part.prepare?.(this.#target);
    const before = await this.#target.measure({ collect: true });
    const health = watchHealth(() => this.#target.url);
    const sampling = setInterval(
      () => void (this.#pendingMeasurement ??= this.#recordMeasurement()),
      1000,
    );
    const progress = setInterval(() => this.#showProgress(), progressMs);
    const attacks = this.#listAttacks();
    const runNextAttacks = async (): Promise<void> => {
      for (let next = attacks.next(); next.done !== true; next = attacks.next())
        this.#runs.push(await this.#runOne(next.value));
    };
    await Promise.all(Array.from({ length: this.#part.concurrency }, runNextAttacks));
    clearInterval(sampling);
    await this.#pendingMeasurement;
    await this.#recordMeasurement();
    const suspects = this.#findSuspects();
    await this.#confirmFaults();
    for (const attack of this.#part.cases.filter(({ alone }) => alone === true))
      await this.#runAlone(attack);
    await this.#measureSuspects(suspects);
    clearInterval(progress);
    this.#report.addHealth(await health.stop());
    this.#judgeRuns();
    await this.#judgeMemory(before?.heapBytes ?? 0);
  }

  *#listAttacks(): Generator<AttackCase, void> {
    yield* this.#part.cases.filter(({ alone }) => alone !== true);
    yield* this.#part.generate?.() ?? [];
  }

  /** Prints the progress and the unconfirmed faults since the last call. */
  #showProgress(): void {
    const { name } = this.#part;
    const faultyRuns = this.#runs.filter(({ faults }) => faults.length > 0);
    console.log(
      `  ${name}: ${this.#runs.length} done, ${faultyRuns.length} with unconfirmed faults`,
    );
    for (const { attack, faults } of faultyRuns.slice(
      this.#shownFaults,
      this.#shownFaults + maxShownFaults,
    ))
      console.log(`    ${attack.name}: ${faults[0]?.slice(0, 160).replaceAll("\n", " ")}`);
    this.#shownFaults = faultyRuns.length;
  }

  get count(): number {
    return this.#runs.length;
  }

  /** The three slowest attacks, by wall time. */
  get slowest(): string {
    const slowestRuns = this.#runs
      .toSorted((a, b) => b.endedAt - b.startedAt - (a.endedAt - a.startedAt))
      .slice(0, 3);
    return slowestRuns
      .map(
        ({ attack, startedAt, endedAt }) =>
          `${attack.name} (${((endedAt - startedAt) / 1000).toFixed(1)} s)`,
      )
      .join(", ");
  }

  async #runOne(attack: AttackCase): Promise<Run> {
    const startedAt = Date.now();
    const faults = await withTimeout(caseTimeoutMs, attack.run(this.#target));
    this.#report.requests += attack.requests ?? 1;
    const run = { attack, startedAt, endedAt: Date.now(), faults };
    await this.#revival;
    if (!this.#target.isRunning || (faults.length > 0 && !(await this.#isHealthy()))) {
      this.#revival ??= this.#revive(run).finally(() => (this.#revival = undefined));
      await this.#revival;
    }
    return run;
  }

  /** Restarts a gateway that has crashed or hangs, for the other attacks. */
  async #revive(run: Run): Promise<void> {
    const crash = this.#target.crashes[this.#crashesSeen];
    if (crash !== undefined) run.faults.push(`the gateway ended: ${crash.how}`);
    else run.faults.push(`/healthz did not reply for ${healthTimeoutMs / 1000} s`);
    await this.#target.restart();
    this.#crashesSeen = this.#target.crashes.length;
    this.#restarts += 1;
  }

  /** Kills and restarts a gateway that does not even answer a measurement; running attacks fail. */
  async #restartIfHung(): Promise<void> {
    if (!this.#target.isRunning || this.#revival !== undefined) return;
    this.#revival = this.#target.restart().finally(() => (this.#revival = undefined));
    await this.#revival;
    this.#restarts += 1;
  }

  /**
   * Runs failed listed attacks again, alone, because other attacks may have caused the failure. Only an attack that
   * fails again counts as failed. A leak always counts.
   */
  async #confirmFaults(): Promise<void> {
    const { name, cases } = this.#part;
    const listedCases = new Set(cases);
    let confirmedCount = 0;
    for (const run of this.#runs) {
      const isLeak = run.faults.some((fault) => fault.includes(" leaks: "));
      if (run.faults.length === 0 || isLeak || !listedCases.has(run.attack)) continue;
      if (run.attack.alone === true) continue;
      const before = run.faults;
      const rerun = await this.#runOne(run.attack);
      Object.assign(run, rerun);
      if (rerun.faults.length > 0) confirmedCount += 1;
      else
        this.#report.note(
          `${run.attack.name}: passes when it runs alone; failed next to other attacks: ${before[0]?.slice(0, 300)}`,
        );
    }
    if (this.#restarts > 0 && confirmedCount === 0)
      this.#report.fail(name, name, "the gateway ended or hung, but no attack causes that alone");
  }

  async #isHealthy(): Promise<boolean> {
    const path = "/healthz";
    const reply = await send(this.#target.url, {
      method: "GET",
      path,
      timeoutMs: healthTimeoutMs,
      headers: { connection: "close" },
    });
    return reply.status === 200;
  }

  async #recordMeasurement(): Promise<void> {
    const measurement = await this.#target.measure();
    this.#pendingMeasurement = undefined;
    if (measurement === undefined) return this.#restartIfHung();
    this.#blocks.push(...measurement.blocks);
    if (measurement.longestMs < maxBlockMs)
      this.#report.addBlock(measurement.longestMs, this.#part.name);
    this.#report.addMemory(measurement);
  }

  /** Returns the attacks that ran during each block that is too long. */
  #findSuspects(): { block: Block; attacks: AttackCase[] }[] {
    const longBlocks = this.#blocks.splice(0).toSorted((a, b) => b.cpuMs - a.cpuMs);
    return longBlocks
      .filter(({ cpuMs }) => cpuMs >= maxBlockMs)
      .map((block) => ({
        block,
        attacks: this.#runs
          .filter(
            ({ startedAt, endedAt }) =>
              startedAt <= block.endedAt && endedAt >= block.endedAt - block.wallMs,
          )
          .map(({ attack }) => attack),
      }));
  }

  /** Runs attacks that ran during a block of the event loop again, alone and up to twice. Those that block each time fail. */
  async #measureSuspects(suspects: { block: Block; attacks: AttackCase[] }[]): Promise<void> {
    const msByAttack = new Map<AttackCase, number>();
    for (const { block, attacks } of suspects) {
      let longestMs = 0;
      for (const attack of attacks) {
        const ms = msByAttack.get(attack) ?? (await this.#measureBlock(attack));
        if (!msByAttack.has(attack)) {
          msByAttack.set(attack, ms);
          this.#report.addBlock(ms, attack.name);
          if (ms >= maxBlockMs) this.#fail(attack, formatBlock(ms));
        }
        longestMs = Math.max(longestMs, ms);
      }
      if (longestMs >= maxBlockMs) continue;
      const names = attacks.map(({ name }) => name).slice(0, 12);
      const what = `a block of ${block.cpuMs.toFixed(0)} ms that none of these attacks causes alone: ${names.join("; ")}`;
      if (block.cpuMs < maxUnconfirmedBlockMs) this.#report.note(what);
      else {
        this.#report.addBlock(block.cpuMs, this.#part.name);
        this.#report.fail(this.#part.name, this.#part.name, what);
      }
    }
  }

  async #measureBlock(attack: AttackCase): Promise<number> {
    let shortestMs = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 2; time += 1) {
      await this.#target.measure();
      await this.#runOne(attack);
      const measurement = await this.#target.measure();
      shortestMs = Math.min(shortestMs, measurement?.longestMs ?? 0);
      if (measurement !== undefined) this.#report.addMemory(measurement);
      if (shortestMs < maxBlockMs) break;
    }
    return shortestMs;
  }

  async #runAlone(attack: AttackCase): Promise<void> {
    await this.#target.measure();
    const run = await this.#runOne(attack);
    this.#runs.push(run);
    const measurement = await this.#target.measure();
    if (measurement === undefined) return;
    this.#report.addMemory(measurement);
    const { longestMs } = measurement;
    const shortestMs =
      longestMs < maxBlockMs ? longestMs : Math.min(longestMs, await this.#measureBlock(attack));
    this.#report.addBlock(shortestMs, attack.name);
    if (shortestMs >= maxBlockMs) run.faults.push(formatBlock(shortestMs));
  }

  #judgeRuns(): void {
    for (const { attack, faults } of this.#runs)
      if (faults.length === 0) this.#report.passed += 1;
      else this.#fail(attack, faults.slice(0, 5).join("\n"));
  }

  async #judgeMemory(heapBefore: number): Promise<void> {
    const after = await this.#target.measure({ collect: true });
    if (after === undefined) return;
    this.#report.addMemory(after);
    const { name } = this.#part;
    if (after.peakRssBytes > maxRssBytes)
      this.#report.fail(name, name, `RSS reached ${formatMegabytes(after.peakRssBytes)}`);
    const growth = after.heapBytes - heapBefore;
    if (growth > maxHeapGrowthBytes)
      this.#report.fail(
        name,
        name,
        `the heap is ${formatMegabytes(growth)} larger after the attacks`,
      );
    console.log(
      `  ${name}: heap ${formatMegabytes(heapBefore)} before and ${formatMegabytes(after.heapBytes)} after, RSS at most ${formatMegabytes(after.peakRssBytes)}`,
    );
  }

  #fail(attack: AttackCase, what: string): void {
    this.#report.fail(this.#part.name, attack.name, what);
  }
}

function formatBlock(ms: number): string {
  return `the event loop was blocked for ${ms.toFixed(0)} ms of processor time`;
}

async function withTimeout(ms: number, attack: Promise<string[]>): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve([`not done after ${ms / 1000} s`]), ms);
  });
  const describeError = (error: unknown): string[] => [
    `the attack itself failed: ${String(error)}`,
  ];
  const faults = await Promise.race([attack.catch(describeError), timeout]);
  clearTimeout(timer);
  return faults;
}

/** Looks for secrets and internal errors in the gateway's log and status. */
class LogWatch {
  readonly #part: AttackPart;
  readonly #faults = new Set<string>();
  #rest = "";

  constructor(part: AttackPart) {
    this.#part = part;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    // An endless line is checked in overlapping chunks.
    const last = lines.pop() ?? "";
    if (last.length > 1_000_000) lines.push(last);
    this.#rest = last.slice(-1_000_000);
    for (const line of lines) this.#judgeLine(line);
  }

  #judgeLine(line: string): void {
    if (this.#faults.size > 20) return;
    for (const leak of this.#part.secrets.findLeaks(line)) this.#faults.add(`in the log, ${leak}`);
    // Errors are distinguished by their stack, not by time or request.
    if (line.includes("internal error"))
      this.#faults.add(
        `in the log: ${/"stack":"[^"]{0,700}/.exec(line)?.[0] ?? line.slice(0, 700)}`,
      );
  }

  async judge(target: Target, token: string, report: Report): Promise<void> {
    this.#judgeLine(this.#rest);
    for (const path of ["/deltawire/upstreams", "/deltawire/lessons", "/deltawire/connect"]) {
      const headers = { authorization: `Bearer ${token}` };
      const { text, status } = await send(target.url, { method: "GET", path, headers });
      if (status !== 200) this.#faults.add(`GET ${path} returned ${status}`);
      for (const leak of this.#part.secrets.findLeaks(text))
        this.#faults.add(`in ${path}, ${leak}`);
    }
    for (const fault of this.#faults) report.fail(this.#part.name, this.#part.name, fault);
  }
}
