import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FromProbe, Measurement, ToProbe } from "./probe.ts";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const probe = new URL("probe.ts", import.meta.url).href;
const startMs = 60_000;
/** A gateway that does not reply for this long is considered hung. */
const measureMs = 30_000;
/** Characters of the log in the report of a crash. */
const tailLength = 4000;

const runningChildren = new Set<ChildProcess>();
// No gateway may outlive this process. A busy one would not notice its end.
process.on("exit", () => {
  for (const child of runningChildren) child.kill("SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => process.exit(1));

export interface TargetOptions {
  toml: string;
  /** Called with every chunk of the process's output. */
  onOutput(text: string): void;
}

/** A gateway in a separate process and folder, which can be killed and restarted on the same folder. */
export class Target {
  readonly folder = mkdtempSync(join(tmpdir(), "deltawire-attack-"));
  readonly #options: TargetOptions;
  #child: ChildProcess | undefined;
  #tail = "";
  #url = "";
  #measurementCount = 0;
  #isStopping = false;
  /** Every crash, with the exit code or signal. */
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

  /** Kills the running process, if any, and starts a new one. */
  async restart(): Promise<void> {
    await this.#kill();
    const args = ["--conditions=@deltawire/source", "--expose-gc", "--import", probe];
    const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
    const child = spawn(process.execPath, [...args, main, "serve", "--json"], {
      cwd: this.folder,
      env: { HOME: this.folder, PATH, NODE_COMPILE_CACHE },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child = child;
    this.#isStopping = false;
    runningChildren.add(child);
    const onOutput = (bytes: Buffer): void => {
      const text = String(bytes);
      this.#tail = (this.#tail + text).slice(-tailLength);
      this.#options.onOutput(text);
    };
    child.stderr?.on("data", onOutput);
    child.once("exit", (code, signal) => {
      runningChildren.delete(child);
      if (this.#child === child) this.#child = undefined;
      if (!this.#isStopping)
        this.crashes.push({ at: Date.now(), how: `${code ?? signal}: ${this.#tail.trim()}` });
    });
    this.#url = await new Promise<string>((resolve, reject) => {
      let out = "";
      const timeout = setTimeout(() => reject(new Error("the gateway did not start")), startMs);
      child.once("exit", (code) => {
        clearTimeout(timeout);
        reject(new Error(`the gateway ended with ${code}: ${out}${this.#tail}`));
      });
      child.stdout?.on("data", (bytes: Buffer) => {
        onOutput(bytes);
        out += String(bytes);
        const url = /"url":"([^"]+)"/.exec(out)?.[1];
        if (url === undefined) return;
        clearTimeout(timeout);
        resolve(url);
      });
    });
  }

  /** Returns the measurements since the last call. Undefined if the process does not reply. */
  async measure({ collect = false } = {}): Promise<Measurement | undefined> {
    const child = this.#child;
    if (child?.connected !== true) return undefined;
    const number = (this.#measurementCount += 1);
    return new Promise((resolve) => {
      const settle = (measurement?: Measurement): void => {
        clearTimeout(timeout);
        child.off("message", onMessage);
        child.off("exit", onExit);
        resolve(measurement);
      };
      const onMessage = ({ measured: measuredNumber, measurement }: FromProbe): void => {
        if (measuredNumber === number) settle(measurement);
      };
      const onExit = (): void => settle();
      const timeout = setTimeout(onExit, measureMs);
      child.on("message", onMessage);
      child.on("exit", onExit);
      const request: ToProbe = { measure: number, collect };
      child.send(request, (error) => error !== null && settle());
    });
  }

  async close(): Promise<void> {
    await this.#kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isStopping = true;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    this.#child = undefined;
  }
}
