import type { AttackCase, Part } from "./cases.ts";
import { send } from "./client.ts";
import { watchHealth } from "./health.ts";
import type { Block } from "./probe.ts";
import { megabytes, type Report } from "./report.ts";
import { Target } from "./target.ts";

/** The longest turn of the event loop, in milliseconds of processor time. */
const longestBlockMs = 200;
/** A block that no attack repeats alone counts if it is as long as this. */
const longestOnceMs = 1000;
const mostRssBytes = 1024 ** 3;
/** What a part may leave behind on the heap: caches that are bounded. */
const mostGrowthBytes = 300 * 1024 ** 2;
/** Beyond this an attack counts as hung. */
const caseTimeoutMs = 90_000;
const progressMs = 15_000;
const mostShown = 10;
const healthTimeoutMs = 20_000;

interface Run {
  attack: AttackCase;
  began: number;
  ended: number;
  faults: string[];
}

/** Starts the gateway of a part, runs its attacks, and judges it by what they and its own measurements say. */
export async function runPart(part: Part, token: string, report: Report): Promise<void> {
  const began = performance.now();
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
  const failed = report.findings.length - findingsBefore;
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  if (runner.count > 1) console.log(`  ${part.name}: longest ${runner.slowest}`);
  console.log(
    `${part.name}: ${runner.count} attacks in ${seconds} s, ${failed === 0 ? "all passed" : `${failed} FAILED`}`,
  );
}

class PartRunner {
  readonly #part: Part;
  readonly #target: Target;
  readonly #report: Report;
  readonly #runs: Run[] = [];
  readonly #blocks: Block[] = [];
  #crashesSeen = 0;
  #revival: Promise<void> | undefined;
  #sampling: Promise<void> | undefined;
  #restarts = 0;
  #shown = 0;

  constructor(part: Part, target: Target, report: Report) {
    this.#part = part;
    this.#target = target;
    this.#report = report;
  }

  async run(): Promise<void> {
    await this.#part.prepare?.(this.#target);
    const before = await this.#target.measure({ collect: true });
    const health = watchHealth(() => this.#target.url);
    const sampling = setInterval(() => void (this.#sampling ??= this.#sample()), 1000);
    const progress = setInterval(() => this.#showProgress(), progressMs);
    const waiting = this.#waiting();
    const work = async (): Promise<void> => {
      for (let next = waiting.next(); next.done !== true; next = waiting.next())
        this.#runs.push(await this.#runOne(next.value));
    };
    await Promise.all(Array.from({ length: this.#part.atOnce }, work));
    clearInterval(sampling);
    await this.#sampling;
    await this.#sample();
    const suspects = this.#suspects();
    await this.#confirmFaults();
    for (const attack of this.#part.cases.filter(({ alone }) => alone === true))
      await this.#runAlone(attack);
    await this.#measureSuspects(suspects);
    clearInterval(progress);
    this.#report.addHealth(await health.stop());
    this.#judgeRuns();
    await this.#judgeMemory(before?.heapBytes ?? 0);
  }

  *#waiting(): Generator<AttackCase, void> {
    yield* this.#part.cases.filter(({ alone }) => alone !== true);
    yield* this.#part.generate?.() ?? [];
  }

  /** How far it is, and which faults were seen since the last time: they count when they are confirmed. */
  #showProgress(): void {
    const { name } = this.#part;
    const faulty = this.#runs.filter(({ faults }) => faults.length > 0);
    console.log(`  ${name}: ${this.#runs.length} done, ${faulty.length} to be looked at`);
    for (const { attack, faults } of faulty.slice(this.#shown, this.#shown + mostShown))
      console.log(`    ${attack.name}: ${faults[0]?.slice(0, 160).replaceAll("\n", " ")}`);
    this.#shown = faulty.length;
  }

  get count(): number {
    return this.#runs.length;
  }

  /** The three that took longest, in wall time. */
  get slowest(): string {
    const slow = this.#runs.toSorted((a, b) => b.ended - b.began - (a.ended - a.began)).slice(0, 3);
    return slow
      .map(
        ({ attack, began, ended }) => `${attack.name} (${((ended - began) / 1000).toFixed(1)} s)`,
      )
      .join(", ");
  }

  async #runOne(attack: AttackCase): Promise<Run> {
    const began = Date.now();
    const faults = await within(caseTimeoutMs, attack.run(this.#target));
    this.#report.requests += attack.requests ?? 1;
    const run = { attack, began, ended: Date.now(), faults };
    await this.#revival;
    if (!this.#target.isRunning || (faults.length > 0 && !(await this.#answers()))) {
      this.#revival ??= this.#revive(run).finally(() => (this.#revival = undefined));
      await this.#revival;
    }
    return run;
  }

  /** A gateway that is gone or stuck is started again, so that the other attacks find one. */
  async #revive(run: Run): Promise<void> {
    const crash = this.#target.crashes[this.#crashesSeen];
    if (crash !== undefined) run.faults.push(`the gateway ended: ${crash.how}`);
    else run.faults.push(`/healthz gives no answer for ${healthTimeoutMs / 1000} s`);
    await this.#target.restart();
    this.#crashesSeen = this.#target.crashes.length;
    this.#restarts += 1;
  }

  /** A gateway that does not even answer its own measurement is killed and started again; attacks that wait for it fail. */
  async #endHang(): Promise<void> {
    if (!this.#target.isRunning || this.#revival !== undefined) return;
    this.#revival = this.#target.restart().finally(() => (this.#revival = undefined));
    await this.#revival;
    this.#restarts += 1;
  }

  /**
   * What went wrong beside other attacks may be their doing: a listed attack is run again alone, and fails if it fails then.
   * A leak counts in any case.
   */
  async #confirmFaults(): Promise<void> {
    const { name, cases } = this.#part;
    const listed = new Set(cases);
    let confirmed = 0;
    for (const run of this.#runs) {
      const isLeak = run.faults.some((fault) => fault.includes(" leaks: "));
      if (run.faults.length === 0 || isLeak || !listed.has(run.attack)) continue;
      if (run.attack.alone === true) continue;
      const before = run.faults;
      const again = await this.#runOne(run.attack);
      Object.assign(run, again);
      if (again.faults.length > 0) confirmed += 1;
      else
        this.#report.note(
          `${run.attack.name}: passes alone; beside others ${before[0]?.slice(0, 300)}`,
        );
    }
    if (this.#restarts > 0 && confirmed === 0)
      this.#report.fail(name, name, "the gateway ended or hung, and no attack does that alone");
  }

  async #answers(): Promise<boolean> {
    const path = "/healthz";
    const reply = await send(this.#target.url, {
      method: "GET",
      path,
      timeoutMs: healthTimeoutMs,
      headers: { connection: "close" },
    });
    return reply.status === 200;
  }

  async #sample(): Promise<void> {
    const measurement = await this.#target.measure();
    this.#sampling = undefined;
    if (measurement === undefined) return this.#endHang();
    this.#blocks.push(...measurement.blocks);
    if (measurement.longestMs < longestBlockMs)
      this.#report.addBlock(measurement.longestMs, this.#part.name);
    this.#report.addMemory(measurement);
  }

  /** For each block that is too long the attacks that ran at that time. */
  #suspects(): { block: Block; attacks: AttackCase[] }[] {
    const long = this.#blocks.splice(0).toSorted((a, b) => b.cpuMs - a.cpuMs);
    return long
      .filter(({ cpuMs }) => cpuMs >= longestBlockMs)
      .map((block) => ({
        block,
        attacks: this.#runs
          .filter(
            ({ began, ended }) => began <= block.endedAt && ended >= block.endedAt - block.wallMs,
          )
          .map(({ attack }) => attack),
      }));
  }

  /**
   * An attack during which the event loop was blocked is run again alone, up to twice: it blocks if it does so each time.
   */
  async #measureSuspects(suspects: { block: Block; attacks: AttackCase[] }[]): Promise<void> {
    const known = new Map<AttackCase, number>();
    for (const { block, attacks } of suspects) {
      let repeated = 0;
      for (const attack of attacks) {
        const ms = known.get(attack) ?? (await this.#blockOf(attack));
        if (!known.has(attack)) {
          known.set(attack, ms);
          this.#report.addBlock(ms, attack.name);
          if (ms >= longestBlockMs) this.#fail(attack, blocked(ms));
        }
        repeated = Math.max(repeated, ms);
      }
      if (repeated >= longestBlockMs) continue;
      const names = attacks.map(({ name }) => name).slice(0, 12);
      const what = `a block of ${block.cpuMs.toFixed(0)} ms that none of these repeats alone: ${names.join("; ")}`;
      if (block.cpuMs < longestOnceMs) this.#report.note(what);
      else {
        this.#report.addBlock(block.cpuMs, this.#part.name);
        this.#report.fail(this.#part.name, this.#part.name, what);
      }
    }
  }

  async #blockOf(attack: AttackCase): Promise<number> {
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 2; time += 1) {
      await this.#target.measure();
      await this.#runOne(attack);
      const measurement = await this.#target.measure();
      least = Math.min(least, measurement?.longestMs ?? 0);
      if (measurement !== undefined) this.#report.addMemory(measurement);
      if (least < longestBlockMs) break;
    }
    return least;
  }

  async #runAlone(attack: AttackCase): Promise<void> {
    await this.#target.measure();
    const run = await this.#runOne(attack);
    this.#runs.push(run);
    const measurement = await this.#target.measure();
    if (measurement === undefined) return;
    this.#report.addMemory(measurement);
    const { longestMs } = measurement;
    const least =
      longestMs < longestBlockMs ? longestMs : Math.min(longestMs, await this.#blockOf(attack));
    this.#report.addBlock(least, attack.name);
    if (least >= longestBlockMs) run.faults.push(blocked(least));
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
    if (after.peakRssBytes > mostRssBytes)
      this.#report.fail(name, name, `RSS came to ${megabytes(after.peakRssBytes)}`);
    const growth = after.heapBytes - heapBefore;
    if (growth > mostGrowthBytes)
      this.#report.fail(name, name, `the heap is ${megabytes(growth)} larger after the attacks`);
    console.log(
      `  ${name}: heap ${megabytes(heapBefore)} before and ${megabytes(after.heapBytes)} after, RSS at most ${megabytes(after.peakRssBytes)}`,
    );
  }

  #fail(attack: AttackCase, what: string): void {
    this.#report.fail(this.#part.name, attack.name, what);
  }
}

function blocked(ms: number): string {
  return `the event loop is blocked for ${ms.toFixed(0)} ms of processor time`;
}

async function within(ms: number, work: Promise<string[]>): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve([`not done after ${ms / 1000} s`]), ms);
  });
  const failed = (error: unknown): string[] => [`the attack itself failed: ${String(error)}`];
  const faults = await Promise.race([work.catch(failed), late]);
  clearTimeout(timer);
  return faults;
}

/** Looks for secrets and failures of the gateway in its log, and in what it says of itself. */
class LogWatch {
  readonly #part: Part;
  readonly #faults = new Set<string>();
  #rest = "";

  constructor(part: Part) {
    this.#part = part;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    // A line that does not end is judged in pieces that overlap.
    const last = lines.pop() ?? "";
    if (last.length > 1_000_000) lines.push(last);
    this.#rest = last.slice(-1_000_000);
    for (const line of lines) this.#judgeLine(line);
  }

  #judgeLine(line: string): void {
    if (this.#faults.size > 20) return;
    for (const leak of this.#part.secrets.leaks(line)) this.#faults.add(`in the log, ${leak}`);
    // The stack tells failures apart, and not the time or the request.
    if (line.includes("the gateway failed"))
      this.#faults.add(
        `in the log: ${/"stack":"[^"]{0,700}/.exec(line)?.[0] ?? line.slice(0, 700)}`,
      );
  }

  async judge(target: Target, token: string, report: Report): Promise<void> {
    this.#judgeLine(this.#rest);
    for (const path of ["/deltawire/upstreams", "/deltawire/lessons", "/deltawire/codex"]) {
      const headers = { authorization: `Bearer ${token}` };
      const { text, status } = await send(target.url, { method: "GET", path, headers });
      if (status !== 200) this.#faults.add(`GET ${path} answers ${status}`);
      for (const leak of this.#part.secrets.leaks(text)) this.#faults.add(`in ${path}, ${leak}`);
    }
    for (const fault of this.#faults) report.fail(this.#part.name, this.#part.name, fault);
  }
}
