import { calculateUsage } from "@deltawire/agent";
import { addUsage, emptyTree, type TaskState, type Usage } from "@deltawire/tasks";
import type { ResponseUsage } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sumTreeUsage } from "../src/task/usage.ts";

const reportedUsage = (input_tokens: number, output_tokens: number): ResponseUsage => ({
  input_tokens,
  output_tokens,
  total_tokens: input_tokens + output_tokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
});
const price = { input: 0.15, output: 0.6 };
const usageArbitrary = fc
  .tuple(fc.nat(5000), fc.nat(800))
  .map(([input_tokens, output_tokens]) =>
    calculateUsage(reportedUsage(input_tokens, output_tokens), price),
  );

test("the cost of a tree never decreases, in whatever order its tasks add to it", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(3), usageArbitrary), { maxLength: 30 }), (rounds) => {
      const nothing: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
      const used = [nothing, nothing, nothing, nothing];
      let before = 0;
      for (const [which, usage] of rounds) {
        const tasks = Object.fromEntries(
          used.map((usage, index) => [
            `${index}`,
            {
              task_id: `${index}`,
              info: index === 0 ? {} : { parent_task_id: "0" },
              usage,
            } as unknown as TaskState,
          ]),
        );
        const own = addUsage(used[which] ?? nothing, usage);
        used[which] = own;
        const tree = { ...emptyTree, tasks };
        const { cost = 0 } =
          which === 0
            ? sumTreeUsage(tree, "0", own)
            : sumTreeUsage(
                {
                  ...tree,
                  tasks: { ...tasks, [which]: { ...tasks[which], usage: own } as TaskState },
                },
                "0",
              );
        expect(cost).toBeGreaterThanOrEqual(before);
        before = cost;
      }
    }),
  );
});

test("costs are rounded to remove floating-point errors", () => {
  const one = { input_tokens: 1, output_tokens: 0, total_tokens: 1 };
  expect(addUsage({ ...one, cost: 0.1 }, { ...one, cost: 0.2 }).cost).toBe(0.3);
  expect(calculateUsage(reportedUsage(3, 0), { input: 0.1, output: 0 }).cost).toBe(3e-7);
});

test("an image costs its price in addition to its tokens", () => {
  const { cost } = calculateUsage(
    { ...reportedUsage(1_000_000, 0), images: 2 },
    { ...price, image: 0.04 },
  );
  expect(cost).toBe(0.23);
  expect(calculateUsage({ ...reportedUsage(0, 0), images: 2 }, price).cost).toBe(0);
});
