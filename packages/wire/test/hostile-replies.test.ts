import { ReplyBudget, ToolCallAssembler, Repairs, replyLimits, WireError } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../test/work-time.ts";
import { hostileReplies, play } from "./hostile-replies.ts";

/** Milliseconds of the processor that one read of the network may take; a busy machine is slower than an idle one. */
const longestRead = 400;
/** And all reads of a reply together, none of which has more than 20 MB. */
const longestReply = 4_000;
/** How many times its own length a reply may be for the client. Calls without arguments are repeated most: ten times. */
const mostTimes = 20;

describe.each(hostileReplies.map((reply) => [reply.name, reply] as const))(
  "%s",
  (_name, { routes, make, size }) => {
    test.each(routes)(
      "%s: no read of the network takes long, and little is repeated",
      { timeout: 60_000 },
      (route) => {
        let longest = 0;
        let total = 0;
        const chunks = make(size);
        const { written } = play(route, chunks, (work) => {
          const ms = workTime(work);
          longest = Math.max(longest, ms);
          total += ms;
          // Without a limit the rest could take minutes.
          if (total > longestReply) throw new Error(`took more than ${longestReply} ms`);
        });
        expect(longest).toBeLessThan(longestRead);
        const received = chunks.reduce((sum, { length }) => sum + length, 0);
        expect(written / received).toBeLessThan(mostTimes);
      },
    );
  },
);

test("a budget throws once, so that the reply can be ended", () => {
  const budget = new ReplyBudget({ calls: 2 });
  budget.addCall();
  budget.addCall();
  expect(() => budget.addCall()).toThrow("more than 2 tool calls");
  expect(() => budget.addCall()).not.toThrow();
});

test("what was said in vain is no progress, and everything else is", () => {
  const budget = new ReplyBudget();
  const before = budget.progress;
  budget.addText(1);
  budget.addStored(1);
  budget.addValue({ a: [1, "b", null] });
  budget.addCall();
  budget.addItem();
  expect(budget.progress).toBe(before + 5);
});

test("calls and their arguments have limits without a translator too", () => {
  const assembler = new ToolCallAssembler({
    choice: 0,
    repairs: new Repairs(),
    newCallId: () => "call_minted",
    toolNames: new Set(["look"]),
    usedCallIds: new Set(),
  });
  const push = (index: number): void =>
    assembler.push({ index, id: `call_number_${index}`, function: { name: "look" } }, []);
  for (let index = 0; index < replyLimits.calls; index += 1) push(index);
  expect(() => push(replyLimits.calls)).toThrow(WireError);
});
