import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/**
 * Limits V8's young generation, which by default grows to 32 MiB while the program starts, because everything that is loaded
 * survives, and to 128 MiB under load, and stays that large. It stays at 2 MiB for `startMs`, then may grow to `maxBytes`. With
 * 16 MiB the processor time was that of 128, within the noise of a busy machine. That is the effect of
 * `--max-semi-space-size=8`, but for a running process: V8 reads the growth factor at each growth, so it is changed after
 * collections.
 */
export function limitYoungGeneration({ startMs = 3000, maxBytes = 16 * 1024 * 1024 } = {}): void {
  let factor = 1;
  const setFactor = (next: number): void => {
    factor = next;
    setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  };
  const adjust = (): void => {
    const next = getYoungGenerationBytes() * 2 > maxBytes ? 1 : 2;
    if (next !== factor) setFactor(next);
  };
  setFactor(1);
  const allowGrowth = (): void => {
    adjust();
    new PerformanceObserver(adjust).observe({ entryTypes: ["gc"] });
  };
  setTimeout(allowGrowth, startMs).unref();
}

/** Returns the size of both halves of the young generation. */
export function getYoungGenerationBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  return space?.space_size ?? 0;
}
