import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/** Names a command in the environment of all that it starts. */
export const markVariable = "DELTAWIRE_COMMAND";

const graceMs = 500;
/** A killed process is gone at once, unless the machine is very busy. */
const killMs = 200;

/**
 * Ends a process group: asked first, killed half a second later. Then also what left the group (`setsid`, daemons) but
 * still has the command's mark in its environment; only Linux lets one look there.
 */
export async function endProcessTree(groupId: number, mark: string): Promise<void> {
  signalAll(groupId, mark, "SIGTERM");
  if (await hasEnded(groupId, mark, graceMs)) return;
  signalAll(groupId, mark, "SIGKILL");
  await hasEnded(groupId, mark, killMs);
}

async function hasEnded(groupId: number, mark: string, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (isAlive(groupId, mark)) {
    if (performance.now() >= until) return false;
    await wait(20);
  }
  return true;
}

/** The last means, for a process that is about to end itself. */
export function killProcessTree(groupId: number, mark: string): void {
  signalAll(groupId, mark, "SIGKILL");
}

export function isAlive(groupId: number, mark: string): boolean {
  return groupIsAlive(groupId) || marked(mark).length > 0;
}

function groupIsAlive(groupId: number): boolean {
  try {
    process.kill(-groupId, 0);
  } catch {
    return false;
  }
  return process.platform !== "linux" || !isOnlyZombies(groupId);
}

/** A process that ended and that its parent has not asked after keeps its group. */
function isOnlyZombies(groupId: number): boolean {
  return processIds().every((id) => {
    const stat = procFile(id, "stat");
    // "12 (any name) S 1 12": state, parent and group follow the last bracket.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(group) !== groupId || state === "Z" || state === "X";
  });
}

function signalAll(groupId: number, mark: string, signal: NodeJS.Signals): void {
  send(-groupId, signal);
  for (const id of marked(mark)) send(id, signal);
}

function send(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch {
    // it has ended already
  }
}

function marked(mark: string): number[] {
  if (process.platform !== "linux") return [];
  const entry = `${markVariable}=${mark}`;
  return processIds().filter((id) => procFile(id, "environ").split("\0").includes(entry));
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
