import {
  ReplyBudget,
  ToolCallAssembler,
  Repairs,
  defaultReplyLimits,
  WireError,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { hostileReplies, playReply } from "./hostile-replies.ts";

/** Maximum CPU time per read in milliseconds, with a margin for busy machines. */
const maxReadMs = 400;
/** Maximum CPU time for all reads of a reply, which has at most 20 MB, in milliseconds. */
const maxReplyMs = 4_000;
/** Maximum size of the output relative to the reply. Calls without arguments expand most, to ten times their size. */
const maxExpansion = 20;

describe.each(hostileReplies.map((reply) => [reply.name, reply] as const))(
  "a reply with %s",
  (_name, { routes, make, size }) => {
    test.each(routes)(
      "is translated quickly from %s, with at most 20 times the output",
      { timeout: 60_000 },
      (route) => {
        let longestMs = 0;
        let totalMs = 0;
        const chunks = make(size);
        const { written } = playReply(route, chunks, (action) => {
          const ms = measureCpuTime(action);
          longestMs = Math.max(longestMs, ms);
          totalMs += ms;
          // Without this limit the remaining chunks could take minutes.
          if (totalMs > maxReplyMs) throw new Error(`took more than ${maxReplyMs} ms`);
        });
        expect(longestMs).toBeLessThan(maxReadMs);
        const received = chunks.reduce((sum, { length }) => sum + length, 0);
        expect(written / received).toBeLessThan(maxExpansion);
      },
    );
  },
);

test("a budget throws only once, so that the reply can be ended", () => {
  const budget = new ReplyBudget({ calls: 2 });
  budget.addCall();
  budget.addCall();
  expect(() => budget.addCall()).toThrow("exceeds the limit of 2 tool calls");
  expect(() => budget.addCall()).not.toThrow();
});

test("everything that is sent or stored counts towards the progress", () => {
  const budget = new ReplyBudget();
  const before = budget.progress;
  budget.addText(1);
  budget.addStored(1);
  budget.addValue({ a: [1, "b", null] });
  budget.addCall();
  budget.addItem();
  expect(budget.progress).toBe(before + 5);
});

test("the number of calls is also limited without a translator", () => {
  const assembler = new ToolCallAssembler({
    choiceIndex: 0,
    repairs: new Repairs(),
    newCallId: () => "call_minted",
    toolNames: new Set(["look"]),
    usedCallIds: new Set(),
  });
  const push = (index: number): void =>
    assembler.push({ index, id: `call_number_${index}`, function: { name: "look" } }, []);
  for (let index = 0; index < defaultReplyLimits.calls; index += 1) push(index);
  expect(() => push(defaultReplyLimits.calls)).toThrow(WireError);
});
