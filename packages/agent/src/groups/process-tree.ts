import { randomBytes, randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { identityOf } from "./protected-files.ts";

/** Names a command in the environment of all that it starts. */
const markVariable = "DELTAWIRE_COMMAND";
/** The mark in the open files of all that it starts. Shells and scripts use the numbers below it. */
const markFd = 9;

const onLinux = process.platform === "linux";
const graceMs = 500;
/** A killed process is gone at once, unless the machine is very busy. */
const killMs = 200;

/**
 * Marks all processes of a command, so that they are known wherever they have gone: by a variable of their environment, and
 * by an open file that is no other's. A process that clears the one still has the other. Only Linux lets one look there.
 */
export class CommandMark {
  readonly #id = randomUUID();
  /** An open file without a name; undefined if there can be none. */
  readonly #fd: number | undefined = onLinux ? openNameless() : undefined;
  readonly #file: string | undefined;
  /** Processes that were there before the command. Looking at all 130 of a machine took 6 ms, each time. */
  readonly #older = new Set(processIds());

  constructor() {
    this.#file =
      this.#fd === undefined ? undefined : identityOf(fstatSync(this.#fd, { bigint: true }));
  }

  get environment(): Record<string, string> {
    return { [markVariable]: this.#id };
  }

  /** Of the command, beside its input and output. */
  get stdio(): ("ignore" | number)[] {
    if (this.#fd === undefined) return [];
    return [...Array.from({ length: markFd - 3 }, () => "ignore" as const), this.#fd];
  }

  /** The processes that may be of the command. */
  candidates(): ProcessInfo[] {
    return processIds().flatMap((id) => (this.#older.has(id) ? [] : processInfo(id)));
  }

  isOn(id: number): boolean {
    return (
      procFile(id, "environ").split("\0").includes(`${markVariable}=${this.#id}`) ||
      (this.#file !== undefined && openFile(id, markFd) === this.#file)
    );
  }

  /** When nothing of the command is left, or will be looked for. */
  release(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/** A command that was started as the leader of a process group. */
export interface CommandProcess {
  readonly groupId: number;
  readonly mark: CommandMark;
  /** Whether the leader itself has not ended: then its id is nobody else's. */
  readonly isRunning: () => boolean;
}

/**
 * Ends a process group: asked first, killed half a second later. On Linux also what has left the group (`setsid`, daemons)
 * but has the command's mark, and the children of all of these. What closes all of its files, clears its environment and
 * lets its parent end before it is not found.
 */
export async function endProcessTree(command: CommandProcess): Promise<void> {
  signalAll(command, "SIGTERM");
  if (await hasEnded(command, graceMs)) return;
  signalAll(command, "SIGKILL");
  await hasEnded(command, killMs);
}

async function hasEnded(command: CommandProcess, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (isAlive(command)) {
    if (performance.now() >= until) return false;
    await wait(20);
  }
  return true;
}

/** The last means, for a process that is about to end itself. */
export function killProcessTree(command: CommandProcess): void {
  signalAll(command, "SIGKILL");
}

export function isAlive(command: CommandProcess): boolean {
  const { groupId } = command;
  if (!onLinux) return groupExists(groupId);
  return (groupExists(groupId) && !isOnlyZombies(command)) || descendants(command).length > 0;
}

function groupExists(groupId: number): boolean {
  try {
    process.kill(-groupId, 0);
    return true;
  } catch {
    return false;
  }
}

/** A process that ended and that its parent has not asked after keeps its group. */
function isOnlyZombies({ groupId, mark }: CommandProcess): boolean {
  return mark.candidates().every(({ group, isZombie }) => group !== groupId || isZombie);
}

function signalAll(command: CommandProcess, signal: NodeJS.Signals): void {
  // Looked for before their parents end.
  const found = descendants(command);
  send(-command.groupId, signal);
  for (const id of found) send(id, signal);
}

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch {
    // it has ended already
  }
}

/** Those that have the mark, and the children of these and of the command's own process. */
function descendants({ groupId, mark, isRunning }: CommandProcess): number[] {
  if (!onLinux) return [];
  const all = mark.candidates().filter(({ isZombie }) => !isZombie);
  const found = new Set(all.filter(({ id }) => mark.isOn(id)).map(({ id }) => id));
  if (isRunning()) found.add(groupId);
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  for (const id of found) for (const child of byParent.get(id) ?? []) found.add(child.id);
  found.delete(groupId);
  return [...found];
}

interface ProcessInfo {
  readonly id: number;
  readonly parent: number;
  readonly group: number;
  readonly isZombie: boolean;
}

function processInfo(id: number): ProcessInfo[] {
  const stat = procFile(id, "stat");
  if (stat === "") return [];
  // "12 (any name) S 1 12": state, parent and group follow the last bracket.
  const [state, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isZombie = state === "Z" || state === "X";
  return [{ id, parent: Number(parent), group: Number(group), isZombie }];
}

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function procFile(id: number, name: string): string {
  try {
    return readFileSync(`/proc/${id}/${name}`, "latin1");
  } catch {
    return ""; // gone, or another user's
  }
}

function openFile(id: number, fd: number): string | undefined {
  try {
    return identityOf(statSync(`/proc/${id}/fd/${fd}`, { bigint: true }));
  } catch {
    return undefined;
  }
}

/** A file of our own, for reading: nobody else can open it, and nothing can be written to it. */
function openNameless(): number | undefined {
  const path = join(tmpdir(), `deltawire-${randomBytes(12).toString("hex")}`);
  try {
    closeSync(openSync(path, "wx", 0o400));
    try {
      return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    } finally {
      unlinkSync(path);
    }
  } catch {
    return undefined;
  }
}
