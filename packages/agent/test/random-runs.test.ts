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
import { propertyRuns, runMultiplier } from "../../../test/property-runs.ts";
import { parseLogRow } from "../src/log/private-records.ts";
import { readEvents, createRuntime, type StartedTask } from "./runtime-fixture.ts";
import { scriptedModel, type ScriptStep } from "./scripted-model.ts";

/** What a user or an operator does during a run. */
type Action =
  | {
      type: "decide";
      which: number;
      decision: "approve" | "deny" | "redact" | "abort";
      edits: boolean;
    }
  | { type: "cancel"; which: number }
  | { type: "say"; which: number; delivery: "steer" | "queue" }
  /** The process ends: closed immediately, closed with time for its tools, or killed. */
  | { type: "end"; how: "closed" | "in time" | "killed" }
  | { type: "wait"; ms: number };

const actionArbitrary: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("decide" as const),
      which: fc.nat(5),
      decision: fc.constantFrom("approve", "approve", "deny", "redact", "abort"),
      edits: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("cancel" as const), which: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("say" as const),
      which: fc.nat(5),
      delivery: fc.constantFrom("steer", "queue"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("end" as const),
      how: fc.constantFrom("closed", "in time", "killed"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("wait" as const), ms: fc.nat(4) }) },
);

/** One step of a model's output. */
const stepArbitrary: fc.Arbitrary<ScriptStep> = fc.oneof(
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
const roundsArbitrary = fc.array(fc.array(stepArbitrary, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 3,
});

function tools(ran: Set<string>, twice: string[]): Tool[] {
  const tool = (name: string, overrides: object): Tool =>
    defineTool({
      name,
      description: name,
      input: { type: "object", properties: { n: { type: "integer" } } },
      run: () => ({
        message_content: [{ type: "text", text: name, id: 1 }],
        block_list: [{ type: "text", text: name, id: 1 }],
      }),
      ...overrides,
    });
  const once = (_input: unknown, { callId }: { callId: string }): string => {
    if (ran.has(callId)) twice.push(callId);
    ran.add(callId);
    return "once";
  };
  return [
    tool("auto", { effect: "pure" }),
    tool("ask", { effect: "idempotent", approval: "ask_once", parallel: true }),
    tool("held", { effect: "pure", approval: { result: "always" } }),
    tool("once", { effect: "once", approval: "ask_always", run: once }),
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

const toScript = (script: ScriptStep[][]) => (_request: ResponsesRequest, round: number) =>
  script[round % script.length] ?? [];

function createAgent(
  main: ScriptStep[][],
  help: ScriptStep[][],
  deep: ScriptStep[][],
  ran: Set<string>,
  twice: string[],
  atLimit: "finish" | "ask",
): Agent {
  const createPart = (name: string, script: ScriptStep[][], agents: Agent[]) =>
    defineAgent({
      name,
      instructions: name,
      model: scriptedModel(toScript(script)),
      tools: tools(ran, twice),
      agents,
      atLimit,
      limits: { rounds: 2, depth: 3 },
    });
  // Each agent calls "helper"; the deepest one has no such sub-agent.
  const deepest = createPart("helper", deep, []);
  return createPart("main", main, [
    createPart("helper", help, [createPart("helper", deep, [deepest])]),
  ]);
}

/** The log of one process, which stores nothing more after another process has inherited it. */
class MortalLog extends MemoryLog {
  #dead = false;

  override append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    return this.#dead ? new Promise(() => undefined) : super.append(...batch);
  }

  async inherited(id: string): Promise<MortalLog> {
    this.#dead = true;
    const next = new MortalLog();
    await next.append(id, (await this.read(id, -1, 1e6)).map(parseLogRow));
    return next;
  }
}

const isOpen = ({ tasks }: TaskTree, id: string): boolean =>
  !["completed", "failed", "canceled", "expired"].includes(tasks[id]?.status ?? "");

async function performAction(started: StartedTask, action: Action): Promise<void> {
  const { runtime, id } = started;
  const state = await runtime.state(id);
  if (action.type === "wait") await setTimeout(action.ms);
  if (action.type === "decide") {
    const pending = state.approvals.filter(({ status }) => status === "pending");
    const approval = pending[action.which % Math.max(1, pending.length)];
    if (approval === undefined) return setImmediate();
    const edited =
      action.edits && action.decision === "approve" && approval.kind === "call"
        ? { arguments: '{"n":2}' }
        : {};
    // Approving every limit would let the task run forever.
    const decision =
      approval.kind === "limit" && action.decision === "approve" ? "deny" : action.decision;
    await runtime.decide(approval.approval_id, { decision, by: "test", ...edited });
  }
  const ids = Object.keys(state.tasks);
  if (action.type === "cancel") await runtime.cancel(ids[action.which % ids.length] ?? id, "test");
  if (action.type === "say")
    await runtime.input(ids[action.which % ids.length] ?? id, "Hello.", action.delivery);
}

test(
  "with random agents, decisions and crashes the log stays valid, the run ends, and nothing runs twice",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        roundsArbitrary,
        roundsArbitrary,
        roundsArbitrary,
        fc.array(actionArbitrary, { maxLength: 12 }),
        fc.constantFrom("finish", "ask"),
        async (main, help, deep, actions, atLimit) => {
          const ran = new Set<string>();
          const twice: string[] = [];
          const failures: unknown[] = [];
          const onFailure = (message: string, cause: unknown): void =>
            void failures.push(message, cause);
          const blobs = new MemoryBlobs();
          let log = new MortalLog();
          const createProcess = () =>
            createRuntime(createAgent(main, help, deep, ran, twice, atLimit), {
              log,
              blobs,
              onFailure,
            });
          let fixture = createProcess();
          const id = await fixture.runtime.start({ input: "Go." });
          for (const action of actions) {
            if (action.type !== "end") await performAction({ ...fixture, id }, action);
            else {
              const ended = fixture.runtime.close(action.how === "in time" ? 50 : 0);
              if (action.how !== "killed") await ended;
              log = await log.inherited(id);
              fixture = createProcess();
              await fixture.runtime.recover();
            }
          }
          for (let left = 400; isOpen(await fixture.runtime.state(id), id); left -= 1) {
            expect(left).toBeGreaterThan(0);
            await performAction(
              { ...fixture, id },
              { type: "decide", which: 0, decision: "approve", edits: false },
            );
            await setTimeout(0);
          }
          expect(failures).toEqual([]);
          expect(
            validateLog(await readEvents({ ...fixture, id }), { complete: true }),
          ).toBeUndefined();
          expect(twice).toEqual([]);
        },
      ),
      { ...propertyRuns(100), timeout: 10_000, endOnFailure: true },
    );
  },
  60_000 * runMultiplier,
);
