/**
 * Milliseconds of the processor that work takes on this thread. A machine that is busy with something else holds work
 * up without adding to them, so a limit on them holds on any day. The kernel counts them in ticks of up to ten, so a
 * limit should be far above that.
 */
export function workTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  return since(before);
}

/** The same for work that is awaited. What it waits for, and what other threads do for it, is not in it. */
export async function awaitedWorkTime(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  return since(before);
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
