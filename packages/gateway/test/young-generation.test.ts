import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const file = new URL("../src/young-generation.ts", import.meta.url).href;

/** Runs a program that keeps every object for a while, and returns the size of its young generation in MiB. */
function measureYoungGeneration(setUp: string): number {
  const program = `
    import { getYoungGenerationBytes, limitYoungGeneration } from ${JSON.stringify(file)};
    import { setTimeout as sleep } from "node:timers/promises";
    ${setUp}
    const objects = [];
    for (let round = 0; round < 300; round += 1) {
      for (let nth = 0; nth < 10_000; nth += 1)
        objects[(round * 10_000 + nth) % 300_000] = { round, list: [nth] };
      if (round % 10 === 0) await sleep(1);
    }
    console.log(getYoungGenerationBytes() / 2 ** 20);`;
  const options = { encoding: "utf8" } as const;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", program], options));
}

test("the young generation grows to 16 MiB, and not before the start is over", () => {
  expect(measureYoungGeneration("")).toBeGreaterThan(32);
  expect(measureYoungGeneration("limitYoungGeneration({ startMs: 60_000 });")).toBe(2);
  const afterStart = measureYoungGeneration("limitYoungGeneration({ startMs: 0 });");
  expect(afterStart).toBeGreaterThanOrEqual(8);
  expect(afterStart).toBeLessThanOrEqual(32);
});
