import { setImmediate, setTimeout } from "node:timers/promises";
import {
  defineAgent,
  MemoryBlobs,
  defineTool,
  MemoryLog,
  type Agent,
  type Tool,
} from "@deltawire/agent";
import { validateLog, type TaskTree } from "@deltawire/tasks";
import type { ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs, times } from "../../../test/runs.ts";
import { entryOf } from "../src/log/private-parts.ts";
import { eventsOf, runtimeOf, type Started } from "./run-kit.ts";
import { scriptedModel, type Saying } from "./scripted-model.ts";

/** What happens to a run from outside, one thing after the other. */
type Move =
  | {
      is: "decide";
      which: number;
      decision: "approve" | "deny" | "redact" | "abort";
      edits: boolean;
    }
  | { is: "cancel"; which: number }
  | { is: "say"; which: number; delivery: "steer" | "queue" }
  /** A process ends: as it is told to, with time for its tools, or in the midst of all. */
  | { is: "end"; how: "told" | "in time" | "killed" }
  | { is: "wait"; ms: number };

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      is: fc.constant("decide" as const),
      which: fc.nat(5),
      decision: fc.constantFrom("approve", "approve", "deny", "redact", "abort"),
      edits: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("cancel" as const), which: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant("say" as const),
      which: fc.nat(5),
      delivery: fc.constantFrom("steer", "queue"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant("end" as const),
      how: fc.constantFrom("told", "in time", "killed"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ is: fc.constant("wait" as const), ms: fc.nat(4) }) },
);

/** What a model says in its rounds, by kinds; it starts again when it is at the end of them. */
const saying: fc.Arbitrary<Saying> = fc.oneof(
  fc.record({ text: fc.constantFrom("Yes.[^1]", ["a [^", "2]", " b"], "[^9]") }),
  fc.record({ reasoning: fc.constantFrom("Hm.", ["I ", "think"]) }),
  fc.record({
    call: fc.constantFrom("auto", "ask", "held", "once", "fails", "slow", "none"),
    args: fc.constantFrom({}, { n: 1 }, { n: "x" }),
  }),
  fc.record({
    call: fc.constant("ask_for_help"),
    args: fc.constantFrom({ name: "helper", prompt: "Help." }, { name: "nobody", prompt: "" }),
  }),
);
const rounds = fc.array(fc.array(saying, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 3,
});

function tools(ran: Set<string>, twice: string[]): Tool[] {
  const tool = (name: string, more: object): Tool =>
    defineTool({
      name,
      description: name,
      input: { type: "object", properties: { n: { type: "integer" } } },
      run: () => ({
        message_content: [{ type: "text", text: name, id: 1 }],
        block_list: [{ type: "text", text: name, id: 1 }],
      }),
      ...more,
    });
  const once = (_input: unknown, { callId }: { callId: string }): string => {
    if (ran.has(callId)) twice.push(callId);
    ran.add(callId);
    return "once";
  };
  return [
    tool("auto", { effect: "pure" }),
    tool("ask", { effect: "idempotent", approval: "ask once", parallel: true }),
    tool("held", { effect: "pure", approval: { result: "always" } }),
    tool("once", { effect: "once", approval: "ask always", run: once }),
    tool("fails", { effect: "pure", run: () => Promise.reject(new Error("no")) }),
    tool("slow", {
      effect: "once",
      parallel: true,
      run: async (input: unknown, context: { callId: string }) => (
        await setTimeout(3),
        once(input, context)
      ),
    }),
  ];
}

const scripted = (script: Saying[][]) => (_request: ResponsesRequest, round: number) =>
  script[round % script.length] ?? [];

function agentOf(
  main: Saying[][],
  help: Saying[][],
  deep: Saying[][],
  ran: Set<string>,
  twice: string[],
  atLimit: "finish" | "ask",
): Agent {
  const part = (name: string, script: Saying[][], agents: Agent[]) =>
    defineAgent({
      name,
      instructions: name,
      model: scriptedModel(scripted(script)),
      tools: tools(ran, twice),
      agents,
      atLimit,
      limits: { rounds: 2, depth: 3 },
    });
  // Each asks for "helper": the same words go down to the deepest, who asks in vain.
  const deepest = part("helper", deep, []);
  return part("main", main, [part("helper", help, [part("helper", deep, [deepest])])]);
}

/** A log of a process: when another one has it, nothing is kept any more of what the first one does. */
class MortalLog extends MemoryLog {
  #dead = false;

  override append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    return this.#dead ? new Promise(() => undefined) : super.append(...batch);
  }

  async inherited(id: string): Promise<MortalLog> {
    this.#dead = true;
    const next = new MortalLog();
    await next.append(id, (await this.read(id, -1, 1e6)).map(entryOf));
    return next;
  }
}

const isOpen = ({ tasks }: TaskTree, id: string): boolean =>
  !["completed", "failed", "canceled", "expired"].includes(tasks[id]?.status ?? "");

async function apply(started: Started, one: Move): Promise<void> {
  const { runtime, id } = started;
  const state = await runtime.state(id);
  if (one.is === "wait") await setTimeout(one.ms);
  if (one.is === "decide") {
    const pending = state.approvals.filter(({ status }) => status === "pending");
    const asked = pending[one.which % Math.max(1, pending.length)];
    if (asked === undefined) return setImmediate();
    const edited =
      one.edits && one.decision === "approve" && asked.kind === "call"
        ? { arguments: '{"n":2}' }
        : {};
    // Whoever may go on at every limit goes on for ever.
    const decision = asked.kind === "limit" && one.decision === "approve" ? "deny" : one.decision;
    await runtime.decide(asked.approval_id, { decision, by: "test", ...edited });
  }
  const ids = Object.keys(state.tasks);
  if (one.is === "cancel") await runtime.cancel(ids[one.which % ids.length] ?? id, "test");
  if (one.is === "say")
    await runtime.input(ids[one.which % ids.length] ?? id, "Hello.", one.delivery);
}

test(
  "whatever agents do and people decide, and wherever processes end: the log is legal, the run ends, nothing runs twice",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        rounds,
        rounds,
        rounds,
        fc.array(move, { maxLength: 12 }),
        fc.constantFrom("finish", "ask"),
        async (main, help, deep, moves, atLimit) => {
          const ran = new Set<string>();
          const twice: string[] = [];
          const failures: unknown[] = [];
          const onFailure = (message: string, cause: unknown): void =>
            void failures.push(message, cause);
          const blobs = new MemoryBlobs();
          let log = new MortalLog();
          const make = () =>
            runtimeOf(agentOf(main, help, deep, ran, twice, atLimit), { log, blobs, onFailure });
          let made = make();
          const id = await made.runtime.start({ input: "Go." });
          for (const one of moves) {
            if (one.is !== "end") await apply({ ...made, id }, one);
            else {
              const ended = made.runtime.close(one.how === "in time" ? 50 : 0);
              if (one.how !== "killed") await ended;
              log = await log.inherited(id);
              made = make();
              await made.runtime.recover();
            }
          }
          for (let left = 400; isOpen(await made.runtime.state(id), id); left -= 1) {
            expect(left).toBeGreaterThan(0);
            await apply(
              { ...made, id },
              { is: "decide", which: 0, decision: "approve", edits: false },
            );
            await setTimeout(0);
          }
          expect(failures).toEqual([]);
          expect(validateLog(await eventsOf({ ...made, id }), { complete: true })).toBeUndefined();
          expect(twice).toEqual([]);
        },
      ),
      { ...runs(100), timeout: 10_000, endOnFailure: true },
    );
  },
  60_000 * times,
);
