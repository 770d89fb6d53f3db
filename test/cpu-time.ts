/**
 * Measures the CPU time of synchronous work on this thread in milliseconds. Unlike elapsed time it does not depend on
 * other load, so limits are reliable. The kernel counts in ticks of up to 10 ms, so limits should be far above that.
 */
export function measureCpuTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  return measureCpuTimeSince(before);
}

/** Measures the CPU time of asynchronous work on this thread, without waiting times and other threads. */
export async function measureCpuTimeAsync(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  return measureCpuTimeSince(before);
}

/**
 * Measures the CPU time of the longest turn of the event loop during asynchronous work. Nothing else is served during a
 * turn.
 */
export async function measureLongestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isDone = false;
  let before = process.threadCpuUsage();
  const sample = (): void => {
    longest = Math.max(longest, measureCpuTimeSince(before));
    before = process.threadCpuUsage();
    if (!isDone) setImmediate(sample);
  };
  setImmediate(sample);
  try {
    await work();
  } finally {
    isDone = true;
  }
  return Math.max(longest, measureCpuTimeSince(before));
}

/**
 * Returns the time for a size, divided by eight times the time for an eighth of that size: 1 for linear time, 8 for
 * quadratic time.
 */
export function measureSlowdown(eighth: () => void, full: () => void): number {
  const eightRuns = measureFastest(() => {
    for (let run = 0; run < 8; run += 1) eighth();
  });
  return measureFastest(full) / Math.max(eightRuns, noiseMs);
}

/** Times below this cannot be measured reliably. */
const noiseMs = 20;

function measureFastest(work: () => void): number {
  return Math.min(measureCpuTime(work), measureCpuTime(work), measureCpuTime(work));
}

function measureCpuTimeSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
