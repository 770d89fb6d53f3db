import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { delimiter, isAbsolute } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { wholeCharacters } from "@deltawire/tasks";
import { defineTool } from "../define-tool.ts";
import type { ToolContext, ToolGroup } from "../tool.ts";
import { allowEntryProblem, isAllowedCommand, isReadOnlyGit } from "./allowed-command.ts";
import { isSafeRepository, readOnlyGitEnvironment } from "./git-configuration.ts";
import { HeadAndTail } from "./head-and-tail.ts";
import { isFreePath, ProtectedFiles, type ProtectedPath } from "./protected-files.ts";
import {
  CommandMark,
  endProcessTree,
  isAlive,
  killProcessTree,
  type CommandProcess,
} from "./process-tree.ts";

export interface ShellOptions {
  /** Where commands are run. It is no wall: a command can reach whatever its user can. */
  folder: string;
  /**
   * Simple commands that nobody is asked about: `git status`, `git status*` with plain words after it, or `@read-only`. A
   * `*` stands for no option and no path out of the folder. An entry that would allow anything is a TypeError.
   */
  allow?: readonly string[];
  /** Files that an allowed command may not name: one that does is asked about. */
  exclude?: readonly ProtectedPath[];
  /** The most that a command may take; two minutes unless it says otherwise. */
  timeoutMs?: number;
  /** Variables that commands get beside PATH, HOME, LANG, TERM and TMPDIR. */
  environment?: readonly string[];
}

export const shellDefaults = { timeoutMs: 120_000 } as const;

const shellDescription = "Run shell commands in one folder.";

const shellRules = `Shell: commands run without a terminal and without input, each in a shell of its own that starts in the same folder.
What a command leaves running in the background ends with it. A person may be asked before a command runs: keep commands short and say what they are for.`;

const headLength = 8_000;
const tailLength = 24_000;
const progressMs = 250;
const backgroundGraceMs = 200;

export function shellGroup(options: ShellOptions): ToolGroup {
  const { allow = [], exclude = [], timeoutMs = shellDefaults.timeoutMs } = options;
  const { folder, environment: names = [] } = options;
  for (const entry of allow) {
    const problem = allowEntryProblem(entry);
    if (problem !== undefined) throw new TypeError(`allow: ${JSON.stringify(entry)} ${problem}`);
  }
  const protectedFiles = new ProtectedFiles(exclude);
  // `--since=PATH`, `HEAD:PATH`
  const isInFolder = (word: string): boolean =>
    [word, ...word.split(/[=:,]/)].every((path) => isFreePath(folder, path, protectedFiles));
  const isListed = (command: string): boolean => isAllowedCommand(command, allow, isInFolder);
  const running = new Running();
  const tool = defineTool<{ command: string; timeout_seconds?: number }>({
    name: "run_command",
    description: "Runs a shell command and returns its exit code and what it wrote.",
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, maxLength: 100_000 },
        timeout_seconds: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: timeoutMs / 1000,
          description: `${timeoutMs / 1000} if absent`,
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    effect: "once",
    approval: "ask always",
    anyArguments: false,
    // A result that nobody has read must not become a command.
    expandsVariables: false,
    parallel: false,
    // It ends by itself at its own limit, and so can tell what it had written until then.
    timeout: timeoutMs + 5_000,
    allows: async ({ command }) => {
      if (!isListed(command)) return false;
      return !isReadOnlyGit(command) || isSafeRepository(folder, inherited(process.env, names));
    },
    run: ({ command, timeout_seconds: seconds = timeoutMs / 1000 }, context) => {
      const more = isReadOnlyGit(command) && isListed(command) ? readOnlyGitEnvironment : {};
      const environment = { ...inherited(process.env, names), ...more };
      return runCommand({ command, seconds, folder, environment }, context, running);
    },
  });
  return {
    name: "shell",
    description: shellDescription,
    rules: shellRules,
    tools: [tool],
    close: () => running.end(),
  };
}

interface ShellCommand {
  readonly command: string;
  readonly seconds: number;
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
}

async function runCommand(
  { command, seconds, folder, environment }: ShellCommand,
  context: ToolContext,
  running: Running,
): Promise<string> {
  context.signal.throwIfAborted();
  const cwd = await realpath(folder);
  const mark = new CommandMark();
  try {
    const child = spawn(shell, ["-c", command], {
      cwd,
      env: { ...environment, ...mark.environment },
      // A process group of its own, which can be ended as one.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", ...mark.stdio],
    });
    return await outcomeOf(child, mark, seconds, context, running);
  } finally {
    mark.release();
  }
}

async function outcomeOf(
  child: ChildProcess,
  mark: CommandMark,
  seconds: number,
  context: ToolContext,
  running: Running,
): Promise<string> {
  const started = processOf(child, mark);
  running.add(started);
  const output = collect(child, context);
  const limit = AbortSignal.timeout(Math.ceil(seconds * 1000));
  try {
    const ended = await endOf(child, AbortSignal.any([context.signal, limit]));
    const leftOver = await endRest(child, started, ended === "stopped");
    output.stop();
    if (ended === "stopped") {
      context.signal.throwIfAborted();
      throw new Error(`stopped after ${seconds} s\n${output.text()}`);
    }
    const note = leftOver ? "\n(what it left in the background was ended)" : "";
    return `${ended}${note}\n${output.text()}`;
  } finally {
    output.stop();
    running.delete(started);
  }
}

/** Undefined if it could not be started. */
function processOf(child: ChildProcess, mark: CommandMark): CommandProcess | undefined {
  const { pid } = child;
  if (pid === undefined) return undefined;
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return { groupId: pid, mark, isRunning };
}

/** The commands of a group, of which none outlives the process. */
class Running {
  readonly #commands = new Set<CommandProcess>();
  readonly #kill = (): void => {
    for (const command of this.#commands) killProcessTree(command);
  };

  add(command: CommandProcess | undefined): void {
    if (command === undefined) return;
    if (this.#commands.size === 0) process.on("exit", this.#kill);
    this.#commands.add(command);
  }

  delete(command: CommandProcess | undefined): void {
    if (command !== undefined) this.#commands.delete(command);
    if (this.#commands.size === 0) process.off("exit", this.#kill);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#commands].map((command) => endProcessTree(command)));
  }
}

const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";

/** The variables that a command may see: others may hold keys of services. */
function inherited(from: NodeJS.ProcessEnv, more: readonly string[]): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", ...more];
  const kept = names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]));
  const environment = Object.fromEntries(kept) as NodeJS.ProcessEnv;
  // A relative entry would find programs in the folder that the agent writes to.
  const path = environment["PATH"]?.split(delimiter).filter((entry) => isAbsolute(entry));
  if (path !== undefined) environment["PATH"] = path.join(delimiter);
  return environment;
}

/** What is written, in the order in which it came, and told as progress while it does. */
function collect(
  child: ChildProcess,
  context: ToolContext,
): { text: () => string; stop: () => void } {
  const kept = new HeadAndTail(headLength, tailLength);
  let latest = "";
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    timer = undefined;
    context.progress(wholeCharacters(latest.slice(-1000)));
    latest = "";
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      kept.add(text);
      latest = (latest + text).slice(-2000);
      timer ??= setTimeout(tell, progressMs);
    });
    stream?.on("error", () => {}); // it was destroyed
  }
  return {
    text: () => kept.toString(),
    stop: () => {
      clearTimeout(timer);
      timer = undefined;
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

/** How the shell itself ended, or that it has to be ended. */
function endOf(child: ChildProcess, stop: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const stopped = (): void => resolve("stopped");
    stop.addEventListener("abort", stopped, { once: true });
    if (stop.aborted) stopped();
    child.once("error", (cause) => {
      stop.removeEventListener("abort", stopped);
      reject(new Error(`the command could not be started: ${cause.message}`, { cause }));
    });
    child.once("exit", (code, signal) => {
      stop.removeEventListener("abort", stopped);
      resolve(code === null ? `ended by ${signal}` : `exit code ${code}`);
    });
  });
}

/** Ends what is still there of a command, and waits until its output is read. */
async function endRest(
  child: ChildProcess,
  started: CommandProcess | undefined,
  atOnce: boolean,
): Promise<boolean> {
  if (started === undefined) return false;
  const closed = new Promise<void>((resolve) => {
    if (child.stdout?.closed === true && child.stderr?.closed === true) resolve();
    else child.once("close", () => resolve());
  });
  if (!atOnce) await Promise.race([closed, wait(backgroundGraceMs)]);
  const leftOver = isAlive(started);
  if (leftOver) await endProcessTree(started);
  await Promise.race([closed, wait(backgroundGraceMs)]);
  return leftOver;
}
