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
import { formatFileIdentity } from "./protected-files.ts";

/** Environment variable that identifies the command in all its processes. */
const markerVariable = "DELTAWIRE_COMMAND";
/** File descriptor that identifies the command in all its processes. Shells and scripts use lower numbers. */
const markerFd = 9;

const isLinux = process.platform === "linux";
const graceMs = 500;
/** A killed process ends immediately, unless the machine is very busy. */
const killTimeoutMs = 200;

/**
 * Marks all processes of a command, so that they can be found even outside of its process group: by an environment variable
 * and by a unique open file. A process that clears one of them still has the other. Only Linux exposes these.
 */
export class CommandMarker {
  readonly #id = randomUUID();
  /** An open unlinked file; undefined if it could not be created. */
  readonly #fd: number | undefined = isLinux ? openUnlinkedFile() : undefined;
  readonly #fileIdentity: string | undefined;
  /** Processes started before the command, which are skipped: checking all 130 of a machine took 6 ms each time. */
  readonly #existingPids = new Set(listProcessIds());

  constructor() {
    this.#fileIdentity =
      this.#fd === undefined
        ? undefined
        : formatFileIdentity(fstatSync(this.#fd, { bigint: true }));
  }

  get environment(): Record<string, string> {
    return { [markerVariable]: this.#id };
  }

  /** The `stdio` entries of the command after stderr. */
  get stdio(): ("ignore" | number)[] {
    if (this.#fd === undefined) return [];
    return [...Array.from({ length: markerFd - 3 }, () => "ignore" as const), this.#fd];
  }

  /** Returns the processes that may belong to the command. */
  listCandidates(): ProcessInfo[] {
    return listProcessIds().flatMap((id) =>
      this.#existingPids.has(id) ? [] : readProcessInfo(id),
    );
  }

  isMarked(id: number): boolean {
    return (
      readProcFile(id, "environ").split("\0").includes(`${markerVariable}=${this.#id}`) ||
      (this.#fileIdentity !== undefined && getOpenFileIdentity(id, markerFd) === this.#fileIdentity)
    );
  }

  /** Closes the marker file. Must be called once the command has ended. */
  release(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}

/** A command that was started as the leader of a process group. */
export interface CommandProcess {
  readonly groupId: number;
  readonly marker: CommandMarker;
  /** Returns true while the leader runs, so that its process id cannot have been reused. */
  readonly isRunning: () => boolean;
}

/**
 * Terminates a process group with SIGTERM, and 500 ms later with SIGKILL if necessary. On Linux also terminates processes that
 * have left the group (`setsid`, daemons) but carry the command's marker, and the children of all of these. Processes that close all files,
 * clear their environment and outlive their parent are not found.
 */
export async function terminateProcessTree(command: CommandProcess): Promise<void> {
  signalTree(command, "SIGTERM");
  if (await waitForExit(command, graceMs)) return;
  signalTree(command, "SIGKILL");
  await waitForExit(command, killTimeoutMs);
}

async function waitForExit(command: CommandProcess, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isCommandAlive(command)) {
    if (performance.now() >= deadline) return false;
    await wait(20);
  }
  return true;
}

/** Kills the processes of a command synchronously. For use when this process exits. */
export function killProcessTree(command: CommandProcess): void {
  signalTree(command, "SIGKILL");
}

export function isCommandAlive(command: CommandProcess): boolean {
  const { groupId } = command;
  if (!isLinux) return groupExists(groupId);
  return (groupExists(groupId) && !hasOnlyZombies(command)) || findDescendants(command).length > 0;
}

function groupExists(groupId: number): boolean {
  try {
    process.kill(-groupId, 0);
    return true;
  } catch {
    return false;
  }
}

/** Zombies, which their parent has not reaped, keep the group alive. */
function hasOnlyZombies({ groupId, marker }: CommandProcess): boolean {
  return marker.listCandidates().every(({ group, isZombie }) => group !== groupId || isZombie);
}

function signalTree(command: CommandProcess, signal: NodeJS.Signals): void {
  // Before the signal, because processes are found through their parents.
  const pids = findDescendants(command);
  sendSignal(-command.groupId, signal);
  for (const id of pids) sendSignal(id, signal);
}

function sendSignal(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch {
    // it has already exited
  }
}

/** Returns marked processes, their children, and the children of the command's leader. */
function findDescendants({ groupId, marker, isRunning }: CommandProcess): number[] {
  if (!isLinux) return [];
  const candidates = marker.listCandidates().filter(({ isZombie }) => !isZombie);
  const pids = new Set(candidates.filter(({ id }) => marker.isMarked(id)).map(({ id }) => id));
  if (isRunning()) pids.add(groupId);
  const byParent = Map.groupBy(candidates, ({ parent }) => parent);
  for (const id of pids) for (const child of byParent.get(id) ?? []) pids.add(child.id);
  pids.delete(groupId);
  return [...pids];
}

interface ProcessInfo {
  readonly id: number;
  readonly parent: number;
  readonly group: number;
  readonly isZombie: boolean;
}

function readProcessInfo(id: number): ProcessInfo[] {
  const stat = readProcFile(id, "stat");
  if (stat === "") return [];
  // "12 (any name) S 1 12": state, parent and group follow the last parenthesis.
  const [state, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const isZombie = state === "Z" || state === "X";
  return [{ id, parent: Number(parent), group: Number(group), isZombie }];
}

function listProcessIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function readProcFile(id: number, name: string): string {
  try {
    return readFileSync(`/proc/${id}/${name}`, "latin1");
  } catch {
    return ""; // ended, or owned by another user
  }
}

function getOpenFileIdentity(id: number, fd: number): string | undefined {
  try {
    return formatFileIdentity(statSync(`/proc/${id}/fd/${fd}`, { bigint: true }));
  } catch {
    return undefined;
  }
}

/** Opens an unlinked, read-only file, which no other program can open. */
function openUnlinkedFile(): number | undefined {
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
