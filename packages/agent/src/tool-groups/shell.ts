import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { delimiter, isAbsolute } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { trimSplitSurrogates } from "@deltawire/tasks";
import { defineTool } from "../define-tool.ts";
import type { ToolContext, ToolGroup } from "../tool.ts";
import {
  findAllowlistEntryProblem,
  isAllowedCommand,
  isReadOnlyGitCommand,
} from "./command-allowlist.ts";
import { shellDefaults } from "./defaults.ts";
import { isSafeRepository, readOnlyGitEnvironment } from "./git-safety.ts";
import { HeadTailBuffer } from "./head-tail-buffer.ts";
import { isAccessiblePath, ProtectedFiles, type ProtectedPath } from "./protected-files.ts";
import {
  CommandMarker,
  terminateProcessTree,
  isCommandAlive,
  killProcessTree,
  type CommandProcess,
} from "./process-tree.ts";

export interface ShellOptions {
  /** Working directory of commands. Not a sandbox: a command can access everything that its user can. */
  folder: string;
  /**
   * Simple commands that run without approval: `git status`, `git status*` (also with further arguments), or `@read-only`. A `*`
   * matches neither options nor paths outside the folder. Entries that would allow every command throw a TypeError.
   */
  allow?: readonly string[];
  /** Allowed commands that name one of these files need approval. */
  exclude?: readonly ProtectedPath[];
  /** Maximum timeout of a command, in milliseconds; default 120,000. */
  timeoutMs?: number;
  /** Names of variables passed to commands, in addition to PATH, HOME, LANG, TERM and TMPDIR. */
  environment?: readonly string[];
}

const shellDescription = "Run shell commands in one folder.";

const shellRules = `Shell: commands run without a terminal and without input, each in its own shell that starts in the same folder.
Background processes end with their command. The user may be asked before a command runs: keep commands short and say what they are for.`;

const headLength = 8_000;
const tailLength = 24_000;
const progressIntervalMs = 250;
const backgroundTimeoutMs = 200;

export function shellGroup(options: ShellOptions): ToolGroup {
  const { allow = [], exclude = [], timeoutMs = shellDefaults.timeoutMs } = options;
  const { folder, environment: names = [] } = options;
  for (const entry of allow) {
    const problem = findAllowlistEntryProblem(entry);
    if (problem !== undefined) throw new TypeError(`allow: ${JSON.stringify(entry)} ${problem}`);
  }
  const protectedFiles = new ProtectedFiles(exclude);
  // `--since=PATH`, `HEAD:PATH`
  const isInFolder = (word: string): boolean =>
    [word, ...word.split(/[=:,]/)].every((path) => isAccessiblePath(folder, path, protectedFiles));
  const isListed = (command: string): boolean => isAllowedCommand(command, allow, isInFolder);
  const runningCommands = new RunningCommands();
  const tool = defineTool<{ command: string; timeout_seconds?: number }>({
    name: "run_command",
    description: "Runs a shell command and returns its exit code and output.",
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, maxLength: 100_000 },
        timeout_seconds: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: timeoutMs / 1000,
          description: `Default ${timeoutMs / 1000}`,
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    effect: "once",
    approval: "ask_always",
    allowsAnyArguments: false,
    // A result that no user has read must not become a command.
    expandsVariables: false,
    parallel: false,
    // Longer than the command's own timeout, after which the output so far is returned.
    timeoutMs: timeoutMs + 5_000,
    allows: async ({ command }) => {
      if (!isListed(command)) return false;
      return (
        !isReadOnlyGitCommand(command) ||
        isSafeRepository(folder, buildEnvironment(process.env, names))
      );
    },
    run: ({ command, timeout_seconds: seconds = timeoutMs / 1000 }, context) => {
      const gitEnvironment =
        isReadOnlyGitCommand(command) && isListed(command) ? readOnlyGitEnvironment : {};
      const environment = { ...buildEnvironment(process.env, names), ...gitEnvironment };
      return runCommand({ command, seconds, folder, environment }, context, runningCommands);
    },
  });
  return {
    name: "shell",
    description: shellDescription,
    rules: shellRules,
    tools: [tool],
    close: () => runningCommands.terminateAll(),
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
  runningCommands: RunningCommands,
): Promise<string> {
  context.signal.throwIfAborted();
  const cwd = await realpath(folder);
  const marker = new CommandMarker();
  try {
    const child = spawn(shellPath, ["-c", command], {
      cwd,
      env: { ...environment, ...marker.environment },
      // In its own process group, so that all of its processes can be terminated together.
      detached: true,
      stdio: ["ignore", "pipe", "pipe", ...marker.stdio],
    });
    return await waitForOutcome(child, marker, seconds, context, runningCommands);
  } finally {
    marker.release();
  }
}

async function waitForOutcome(
  child: ChildProcess,
  marker: CommandMarker,
  seconds: number,
  context: ToolContext,
  runningCommands: RunningCommands,
): Promise<string> {
  const commandProcess = toCommandProcess(child, marker);
  runningCommands.add(commandProcess);
  const output = collectOutput(child, context);
  const timeoutSignal = AbortSignal.timeout(Math.ceil(seconds * 1000));
  try {
    const exitStatus = await waitForExit(child, AbortSignal.any([context.signal, timeoutSignal]));
    const hadBackgroundProcesses = await terminateBackgroundProcesses(
      child,
      commandProcess,
      exitStatus === "stopped",
    );
    output.stop();
    if (exitStatus === "stopped") {
      context.signal.throwIfAborted();
      throw new Error(`timed out after ${seconds} s\n${output.text()}`);
    }
    const note = hadBackgroundProcesses
      ? "\n(background processes of the command were terminated)"
      : "";
    return `${exitStatus}${note}\n${output.text()}`;
  } finally {
    output.stop();
    runningCommands.delete(commandProcess);
  }
}

/** Returns undefined if the command could not be started. */
function toCommandProcess(child: ChildProcess, marker: CommandMarker): CommandProcess | undefined {
  const { pid } = child;
  if (pid === undefined) return undefined;
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return { groupId: pid, marker, isRunning };
}

/** The running commands of one tool group. They are killed when this process exits. */
class RunningCommands {
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

  async terminateAll(): Promise<void> {
    await Promise.all([...this.#commands].map((command) => terminateProcessTree(command)));
  }
}

const shellPath = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";

/** Returns the environment of a command. Other variables are dropped, since they may contain API keys. */
function buildEnvironment(
  base: NodeJS.ProcessEnv,
  extraNames: readonly string[],
): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", ...extraNames];
  const entries = names.flatMap((name) => (base[name] === undefined ? [] : [[name, base[name]]]));
  const environment = Object.fromEntries(entries) as NodeJS.ProcessEnv;
  // A relative entry would run programs from the folder that the agent writes to.
  const path = environment["PATH"]?.split(delimiter).filter((entry) => isAbsolute(entry));
  if (path !== undefined) environment["PATH"] = path.join(delimiter);
  return environment;
}

/** Collects stdout and stderr in order of arrival, and reports them as progress. */
function collectOutput(
  child: ChildProcess,
  context: ToolContext,
): { text: () => string; stop: () => void } {
  const buffer = new HeadTailBuffer(headLength, tailLength);
  let latestOutput = "";
  let timer: NodeJS.Timeout | undefined;
  const reportProgress = (): void => {
    timer = undefined;
    context.progress(trimSplitSurrogates(latestOutput.slice(-1000)));
    latestOutput = "";
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => {
      buffer.append(text);
      latestOutput = (latestOutput + text).slice(-2000);
      timer ??= setTimeout(reportProgress, progressIntervalMs);
    });
    stream?.on("error", () => {}); // the stream was destroyed
  }
  return {
    text: () => buffer.toString(),
    stop: () => {
      clearTimeout(timer);
      timer = undefined;
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
}

/** Resolves with the exit code or signal of the shell as text, or with "stopped" if `stopSignal` is aborted first. */
function waitForExit(child: ChildProcess, stopSignal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => resolve("stopped");
    stopSignal.addEventListener("abort", onStop, { once: true });
    if (stopSignal.aborted) onStop();
    child.once("error", (cause) => {
      stopSignal.removeEventListener("abort", onStop);
      reject(new Error(`the command could not be started: ${cause.message}`, { cause }));
    });
    child.once("exit", (code, signal) => {
      stopSignal.removeEventListener("abort", onStop);
      resolve(code === null ? `killed by ${signal}` : `exit code ${code}`);
    });
  });
}

/** Ends the remaining processes of a command and waits for the end of its output. Returns true if there were any. */
async function terminateBackgroundProcesses(
  child: ChildProcess,
  commandProcess: CommandProcess | undefined,
  isStopped: boolean,
): Promise<boolean> {
  if (commandProcess === undefined) return false;
  const closed = new Promise<void>((resolve) => {
    if (child.stdout?.closed === true && child.stderr?.closed === true) resolve();
    else child.once("close", () => resolve());
  });
  if (!isStopped) await Promise.race([closed, wait(backgroundTimeoutMs)]);
  const hadBackgroundProcesses = isCommandAlive(commandProcess);
  if (hadBackgroundProcesses) await terminateProcessTree(commandProcess);
  await Promise.race([closed, wait(backgroundTimeoutMs)]);
  return hadBackgroundProcesses;
}
