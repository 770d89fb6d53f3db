import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import {
  deserializeMessage,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { maxMessageBytes, messageProblem, messageTooLong } from "./limits.ts";
import { LineReader, type LongLine } from "./line-reader.ts";

export interface Program {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | undefined;
}

/** A transport that can tell how its program ended. */
export interface StdioTransport extends Transport {
  /** The last that it wrote to its standard error. */
  readonly said: string;
  /** How it ended, in words; undefined while it runs. */
  readonly ended: string | undefined;
}

export function stdioTransport(program: Program): StdioTransport {
  return process.platform === "win32" ? new WindowsTransport(program) : new GroupTransport(program);
}

/** What a program may leave unread. */
const maxUnreadBytes = 64 * 1024 * 1024;
const saidLength = 4096;
/** How long a program has after its input was closed, and after it was asked to end. */
const patienceMs = 400;
const lastWordsMs = 200;

/** What a program needs to find its way; everything else of our environment may be secret. */
const usual = [
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

function environment(env: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name, value]) => (usual.includes(name) || name.startsWith("LC_")) && value !== undefined,
  ) as [string, string][];
  return { ...Object.fromEntries(own), ...env };
}

/** Those that still run, for the case that we end without closing them. */
const running = new Set<number>();
process.on("exit", () => {
  for (const pid of running) endGroup(pid, "SIGKILL");
});

/** A program in a process group of its own, so that what it starts ends with it. */
class GroupTransport implements StdioTransport {
  readonly #program: Program;
  readonly #lines = new LineReader(maxMessageBytes);
  /** Why we ended it. */
  #failure: string | undefined;
  #child: ChildProcessWithoutNullStreams | undefined;
  #exited: Promise<void> = Promise.resolve();
  #closed = false;
  said = "";
  ended: string | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];

  constructor(program: Program) {
    this.#program = program;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#program;
    const child = spawn(command, args, {
      env: environment(env),
      ...(cwd === undefined ? {} : { cwd }),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    this.#child = child;
    child.stdin.on("error", (error) => this.onerror?.(error));
    child.stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      this.said = (this.said + text).slice(-saidLength);
    });
    const { pid } = child;
    this.#exited = new Promise((resolve) => {
      child.on("exit", (code, signal) => {
        this.ended ??= this.#failure;
        this.ended ??= signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
        if (pid !== undefined) {
          endGroup(pid, "SIGKILL");
          running.delete(pid);
        }
        resolve();
        // What it wrote last may still be in the pipes; whoever has left the group may hold them open.
        setTimeout(() => this.#close(), lastWordsMs).unref();
      });
      child.on("close", () => this.#close());
      child.on("error", () => resolve());
    });
    return new Promise((resolve, reject) => {
      child.on("error", (error) => {
        this.ended ??= error.message;
        reject(error);
        this.onerror?.(error);
      });
      child.on("spawn", () => {
        if (pid !== undefined) running.add(pid);
        resolve();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || this.ended !== undefined || this.#closed)
      return Promise.reject(Object.assign(new Error("the program has ended"), { code: "EPIPE" }));
    if (stdin.writableLength > maxUnreadBytes) {
      this.#fail("it does not read what it is sent");
      return Promise.reject(new Error("it does not read what it is sent"));
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
    if (child !== undefined && pid !== undefined && this.ended === undefined) {
      child.stdin.end();
      for (const signal of ["SIGTERM", "SIGKILL"] as const) {
        if (await this.#hasEnded()) break;
        endGroup(pid, signal);
      }
      await this.#hasEnded();
    }
    this.#close();
  }

  async #hasEnded(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)));
    await Promise.race([this.#exited, late]);
    clearTimeout(timer);
    return this.ended !== undefined;
  }

  #read(bytes: Buffer): void {
    const lines = this.#lines.push(bytes);
    if (lines === "endless") return this.#fail(messageTooLong);
    for (const line of lines) {
      if (typeof line === "object") {
        this.#refuse(line, messageTooLong);
        continue;
      }
      if (line.trim() === "") continue;
      const problem = messageProblem(line);
      if (problem !== undefined) {
        this.#refuse({ head: line.slice(0, 256), tail: line.slice(-256) }, problem);
        continue;
      }
      let message: JSONRPCMessage;
      try {
        message = deserializeMessage(line);
      } catch (error) {
        this.onerror?.(error as Error); // a line that is no message: some servers log to standard output
        continue;
      }
      this.onmessage?.(message);
    }
    return undefined;
  }

  /** A result that cannot be read fails its own call. Where it is not known which, the program has to end. */
  #refuse(line: LongLine, problem: string): void {
    const id = responseId(line);
    if (id === undefined) return this.#fail(problem);
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: -32_603, message: problem } });
  }

  /** Ends a program that does what none may do. */
  #fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    const pid = this.#child?.pid;
    this.#child?.stdout.destroy();
    if (pid !== undefined) endGroup(pid, "SIGKILL");
    this.onerror?.(new Error(reason));
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#child?.stdout.destroy();
    this.#child?.stderr.destroy();
    this.onclose?.();
  }
}

/**
 * The id of a response of which only the beginning and the end are known: it stands before the result or behind it. Our
 * ids are numbers.
 */
function responseId({ head, tail }: LongLine): number | undefined {
  const found =
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(head) ??
    /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return found === null ? undefined : Number(found[1]);
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has ended.
  }
}

/** There are no process groups there, and only the library knows how to start a `.cmd`. */
class WindowsTransport extends StdioClientTransport implements StdioTransport {
  said = "";
  ended: string | undefined;

  constructor({ command, args, env, cwd }: Program) {
    super({
      command,
      args: [...args],
      env: { ...env },
      stderr: "pipe",
      maxBufferSize: maxMessageBytes,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.stderr?.on("data", (bytes: Buffer) => {
      this.said = (this.said + bytes.toString("utf8")).slice(-saidLength);
    });
  }
}
