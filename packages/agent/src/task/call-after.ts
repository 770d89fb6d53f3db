/** `setTimeout` counts to 24 days; what is to wait for longer it would call at once. */
const longestMs = 2 ** 31 - 1;

/** Calls back after a time of any length. The answer ends it. */
export function callAfter(ms: number, callback: () => void): () => void {
  const until = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = until - performance.now();
    timer =
      left > longestMs ? setTimeout(wait, longestMs) : setTimeout(callback, Math.max(0, left));
  };
  wait();
  return () => clearTimeout(timer);
}
