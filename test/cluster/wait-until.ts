import { setTimeout as sleep } from "node:timers/promises";

/** Repeats the check until it returns something other than false or undefined, and returns that. A check that throws is repeated, too. */
export async function waitUntil<Result>(
  description: string,
  check: () => Result | Promise<Result>,
  timeoutMs = 20_000,
): Promise<Exclude<Result, false | undefined>> {
  const deadline = performance.now() + timeoutMs;
  let failure: unknown;
  for (;;) {
    try {
      const result = await check();
      failure = undefined;
      if (result !== undefined && result !== false)
        return result as Exclude<Result, false | undefined>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline)
      throw new Error(
        `not within ${timeoutMs / 1000} s: ${description}${failure instanceof Error ? `; ${failure.message}` : ""}`,
        { cause: failure },
      );
    await sleep(20);
  }
}
