import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FromProbe, Measurement, ToProbe } from "./probe.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const probe = new URL("probe.ts", import.meta.url).href;
const startMs = 60_000;
/** A gateway that does not answer for this long hangs. */
const measureMs = 30_000;
/** Of the log, for the report of a crash. */
const tailLength = 4000;

const running = new Set<ChildProcess>();
// However this process ends, no gateway outlives it: one that is busy would not notice.
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => process.exit(1));

export interface TargetOptions {
  toml: string;
  /** Sees every piece of what the process writes. */
  onOutput(text: string): void;
}

/** A gateway in a process and a folder of its own, which can be killed and started again on the same folder. */
export class Target {
  readonly folder = mkdtempSync(join(tmpdir(), "deltawire-attack-"));
  readonly #options: TargetOptions;
  #child: ChildProcess | undefined;
  #tail = "";
  #url = "";
  #measurements = 0;
  #stopping = false;
  /** How often it ended by itself, with how it ended. */
  readonly crashes: { at: number; how: string }[] = [];

  private constructor(options: TargetOptions) {
    this.#options = options;
    writeFileSync(join(this.folder, "deltawire.toml"), options.toml);
    mkdirSync(join(this.folder, "work"));
  }

  static async start(options: TargetOptions): Promise<Target> {
    const target = new Target(options);
    try {
      await target.restart();
      return target;
    } catch (error) {
      await target.close();
      throw error;
    }
  }

  get url(): string {
    return this.#url;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Starts it, after ending the process that runs. */
  async restart(): Promise<void> {
    await this.#end();
    const args = ["--conditions=@deltawire/source", "--expose-gc", "--import", probe];
    const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
    const child = spawn(process.execPath, [...args, main, "serve", "--json"], {
      cwd: this.folder,
      env: { HOME: this.folder, PATH, NODE_COMPILE_CACHE },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    this.#stopping = false;
    running.add(child);
    const hear = (bytes: Buffer): void => {
      const text = String(bytes);
      this.#tail = (this.#tail + text).slice(-tailLength);
      this.#options.onOutput(text);
    };
    child.stderr?.on("data", hear);
    child.once("exit", (code, signal) => {
      running.delete(child);
      if (this.#child === child) this.#child = undefined;
      if (!this.#stopping)
        this.crashes.push({ at: Date.now(), how: `${code ?? signal}: ${this.#tail.trim()}` });
    });
    this.#url = await new Promise<string>((resolve, reject) => {
      let out = "";
      const late = setTimeout(() => reject(new Error("the gateway did not start")), startMs);
      child.once("exit", (code) => {
        clearTimeout(late);
        reject(new Error(`the gateway ended with ${code}: ${out}${this.#tail}`));
      });
      child.stdout?.on("data", (bytes: Buffer) => {
        hear(bytes);
        out += String(bytes);
        const url = /"url":"([^"]+)"/.exec(out)?.[1];
        if (url === undefined) return;
        clearTimeout(late);
        resolve(url);
      });
    });
  }

  /** What the process measured since the last time; undefined if it does not answer. */
  async measure({ collect = false } = {}): Promise<Measurement | undefined> {
    const child = this.#child;
    if (child?.connected !== true) return undefined;
    const number = (this.#measurements += 1);
    return new Promise((resolve) => {
      const done = (measurement?: Measurement): void => {
        clearTimeout(late);
        child.off("message", hear);
        child.off("exit", gone);
        resolve(measurement);
      };
      const hear = ({ measured, measurement }: FromProbe): void => {
        if (measured === number) done(measurement);
      };
      const gone = (): void => done();
      const late = setTimeout(gone, measureMs);
      child.on("message", hear);
      child.on("exit", gone);
      const question: ToProbe = { measure: number, collect };
      child.send(question, (error) => error !== null && done());
    });
  }

  async close(): Promise<void> {
    await this.#end();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#stopping = true;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    this.#child = undefined;
  }
}
