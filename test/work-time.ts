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

/**
 * The processor time of the longest turn of this thread's event loop while work is awaited: for so long nothing else
 * could be served.
 */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let over = false;
  let before = process.threadCpuUsage();
  const look = (): void => {
    longest = Math.max(longest, since(before));
    before = process.threadCpuUsage();
    if (!over) setImmediate(look);
  };
  setImmediate(look);
  try {
    await work();
  } finally {
    over = true;
  }
  return Math.max(longest, since(before));
}

/**
 * How many times as long something takes as eight of an eighth of its size: once if work grows with size, eight times if it
 * grows with its square.
 */
export function slowdown(eighth: () => void, whole: () => void): number {
  const eights = fastest(() => {
    for (let nth = 0; nth < 8; nth += 1) eighth();
  });
  return fastest(whole) / Math.max(eights, noiseMs);
}

/** What takes less cannot be told apart. */
const noiseMs = 20;

function fastest(work: () => void): number {
  return Math.min(workTime(work), workTime(work), workTime(work));
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
