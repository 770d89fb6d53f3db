import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import {
  deserializeMessage,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { maxMessageBytes, findMessageProblem, messageTooLong } from "./limits.ts";
import { LineReader, type LongLine } from "./line-reader.ts";

export interface StdioProgram {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

/** A transport that reports how its program ended. */
export interface StdioTransport extends Transport {
  /** The last output of the program to stderr. */
  readonly stderrTail: string;
  /** Describes how the program ended; undefined while it runs. */
  readonly exitReason: string | undefined;
}

export function createStdioTransport(program: StdioProgram): StdioTransport {
  return process.platform === "win32"
    ? new WindowsTransport(program)
    : new ProcessGroupTransport(program);
}

/** Maximum number of bytes that the program has not read yet. */
const maxUnreadBytes = 64 * 1024 * 1024;
const maxStderrLength = 4096;
/** Time for a program to exit after its input was closed, and again after SIGTERM. */
const exitTimeoutMs = 400;
/** Time to read the remaining output after the program has exited. */
const drainTimeoutMs = 200;

/** Environment variables that programs need. Others may contain secrets, and are not inherited. */
const inheritedVariables = [
  "PATH",
  "HOME",
  "SHELL",
  "TERM",
  "USER",
  "LOGNAME",
  "LANG",
  "LANGUAGE",
  "TMPDIR",
  "TZ",
];

function buildEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const inheritedEntries = Object.entries(process.env).filter(
    ([name, value]) =>
      (inheritedVariables.includes(name) || name.startsWith("LC_")) && value !== undefined,
  ) as [string, string][];
  return { ...Object.fromEntries(inheritedEntries), ...env };
}

/** Running programs, which are killed if this process exits without closing them. */
const runningPids = new Set<number>();
process.on("exit", () => {
  for (const pid of runningPids) killProcessGroup(pid, "SIGKILL");
});

/** Runs a program in its own process group, so that its child processes end with it. */
class ProcessGroupTransport implements StdioTransport {
  readonly #program: StdioProgram;
  readonly #lines = new LineReader(maxMessageBytes);
  /** Why the program was killed. */
  #failure: string | undefined;
  #child: ChildProcessWithoutNullStreams | undefined;
  #exitPromise: Promise<void> = Promise.resolve();
  #isClosed = false;
  stderrTail = "";
  exitReason: string | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];

  constructor(program: StdioProgram) {
    this.#program = program;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#program;
    const child = spawn(command, args, {
      env: buildEnvironment(env),
      ...(cwd === undefined ? {} : { cwd }),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.stderrTail = (this.stderrTail + text).slice(-maxStderrLength);
    });
    const { pid } = child;
    this.#exitPromise = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        this.exitReason ??= this.#failure;
        this.exitReason ??=
          signal === null
            ? `the program exited with code ${code}`
            : `the program was killed by ${signal}`;
        if (pid !== undefined) {
          killProcessGroup(pid, "SIGKILL");
          runningPids.delete(pid);
        }
        resolve();
        // The pipes may still contain the last output. A child that left the process group may keep them open.
        setTimeout(() => this.#close(), drainTimeoutMs).unref();
      });
      child.on("close", () => this.#close());
      child.on("error", () => resolve());
    });
    return new Promise((resolve, reject) => {
      child.on("error", (error) => {
        this.exitReason ??= error.message;
        reject(error);
        this.onerror?.(error);
      });
      child.on("spawn", () => {
        if (pid !== undefined) runningPids.add(pid);
        resolve();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || this.exitReason !== undefined || this.#isClosed)
      return Promise.reject(Object.assign(new Error("the program has ended"), { code: "EPIPE" }));
    if (stdin.writableLength > maxUnreadBytes) {
      this.#killForFailure("the program does not read its input");
      return Promise.reject(new Error("the program does not read its input"));
    }
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    const pid = child?.pid;
    if (child !== undefined && pid !== undefined && this.exitReason === undefined) {
      child.stdin.end();
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        if (await this.#waitForExit()) break;
        killProcessGroup(pid, signal);
      }
      await this.#waitForExit();
    }
    this.#close();
  }

  async #waitForExit(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, exitTimeoutMs)));
    await Promise.race([this.#exitPromise, timeout]);
    clearTimeout(timer);
    return this.exitReason !== undefined;
  }

  #read(bytes: Buffer): void {
    const lines = this.#lines.push(bytes);
    if (lines === "endless") return this.#killForFailure(messageTooLong);
    for (const line of lines) {
      if (typeof line === "object") {
        this.#rejectMessage(line, messageTooLong);
        continue;
      }
      if (line.trim() === "") continue;
      const problem = findMessageProblem(line);
      if (problem !== undefined) {
        this.#rejectMessage({ head: line.slice(0, 256), tail: line.slice(-256) }, problem);
        continue;
      }
      let message: JSONRPCMessage;
      try {
        message = deserializeMessage(line);
      } catch (error) {
        this.onerror?.(error as Error); // not a message: some servers log to stdout
        continue;
      }
      this.onmessage?.(message);
    }
    return undefined;
  }

  /** Fails the call whose result cannot be read. If that call is unknown, kills the program. */
  #rejectMessage(line: LongLine, problem: string): void {
    const id = parseResponseId(line);
    if (id === undefined) return this.#killForFailure(problem);
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32_603, message: problem } });
  }

  /** Kills a program that violates the protocol or a limit. */
  #killForFailure(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    const pid = this.#child?.pid;
    this.#child?.stdout.destroy();
    if (pid !== undefined) killProcessGroup(pid, "SIGKILL");
    this.onerror?.(new Error(reason));
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
    this.onclose?.();
  }
}

/**
 * Returns the id of a response from its beginning or end: servers write the id before or after the result. The ids of our
 * requests are numbers.
 */
function parseResponseId({ head, tail }: LongLine): number | undefined {
  const match =
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(head) ??
    /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return match === null ? undefined : Number(match[1]);
}

function killProcessGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has already exited.
  }
}

/**
 * Windows has no process groups, and the library can start `.cmd` files. `exitReason` stays undefined, because the library does
 * not report how the program ended.
 */
class WindowsTransport extends StdioClientTransport implements StdioTransport {
  stderrTail = "";
  exitReason: string | undefined;

  constructor({ command, args, env, cwd }: StdioProgram) {
    super({
      command,
      args: [...args],
      env: { ...env },
      stderr: "pipe",
      maxBufferSize: maxMessageBytes,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.stderr?.on("data", (bytes: Buffer) => {
      this.stderrTail = (this.stderrTail + bytes.toString("utf8")).slice(-maxStderrLength);
    });
  }
}
