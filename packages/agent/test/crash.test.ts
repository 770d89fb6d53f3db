import { setImmediate, setTimeout } from "node:timers/promises";
import {
  defineAgent,
  MemoryBlobs,
  defineTool,
  MemoryLog,
  Runtime,
  type Agent,
} from "@deltawire/agent";
import {
  reduce,
  emptyTree,
  buildTaskView,
  validateLog,
  type LogRow,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import type { ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseLogRow } from "../src/log/private-records.ts";
import { scriptedModel, type ScriptStep } from "./scripted-model.ts";

/** A log that stops storing after some batches without an error, as if the process had crashed. */
class MortalLog extends MemoryLog {
  batches = 0;
  readonly #life: number;
  readonly #delay: () => Promise<unknown>;
  readonly died: Promise<"died">;
  #die: () => void = () => undefined;

  constructor(life: number, delay: () => Promise<unknown>) {
    super();
    this.#life = life;
    this.#delay = delay;
    this.died = new Promise((resolve) => (this.#die = () => resolve("died")));
  }

  override async append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    await this.#delay();
    if (this.batches >= this.#life) {
      this.#die();
      return new Promise(() => undefined);
    }
    this.batches += 1;
    return super.append(...batch);
  }
}

interface ToolRuns {
  /** The number of runs of each tool, by any process. */
  counts: Record<string, number>;
  keys: Set<string>;
}

function createAgent(toolRuns: ToolRuns, pause: () => Promise<unknown>): Agent {
  const createCountingTool = (
    name: string,
    effect: "pure" | "idempotent" | "once",
    overrides: object = {},
  ) =>
    defineTool({
      name,
      description: name,
      effect,
      parallel: true,
      ...overrides,
      run: async (_input, { idempotencyKey, stream }) => {
        toolRuns.counts[name] = (toolRuns.counts[name] ?? 0) + 1;
        toolRuns.keys.add(`${name} ${idempotencyKey}`);
        stream.text(`${name} begins`, { id: name });
        await pause();
        const image = stream.image();
        image.partial({ bytes: new Uint8Array([1]), media_type: "image/png" });
        await pause();
        image.done({ bytes: new Uint8Array([2]), media_type: "image/png" });
        return {
          message_content: [{ type: "text", text: `${name} done`, id: name }],
          block_list: [{ type: "text", text: `${name} done`, id: name }],
        };
      },
    });
  const helper = defineAgent({
    name: "helper",
    description: "helps",
    instructions: "You are the helper.",
    model: scriptedModel(script, pause),
    tools: [
      createCountingTool("look", "pure"),
      createCountingTool("send", "once", { approval: "ask_always" }),
    ],
  });
  return defineAgent({
    name: "main",
    instructions: "You are the main agent.",
    model: scriptedModel(script, pause),
    tools: [
      createCountingTool("read", "pure"),
      createCountingTool("put", "idempotent"),
      createCountingTool("pay", "once", { approval: { call: "ask_always", result: "always" } }),
    ],
    agents: [helper],
  });
}

/** The output of the model depends only on its input, so that it is the same after a crash. */
function script({ instructions, input }: ResponsesRequest): ScriptStep[] {
  const results = (input as { type?: string }[]).filter(
    ({ type }) => type === "function_call_output",
  ).length;
  if (instructions?.startsWith("You are the helper.") === true) {
    if (results === 0)
      return [{ reasoning: "I look." }, { call: "look", args: {} }, { call: "send", args: {} }];
    return [{ text: ["Looked.[^1] ", "Sent.[^2]"] }];
  }
  if (results === 0)
    return [{ text: "First." }, { call: "read", args: {} }, { call: "put", args: {} }];
  if (results === 2)
    return [
      { call: "pay", args: { amount: 5 } },
      { call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help." } },
    ];
  return [{ text: ["All done", ".[^3] [^4]"] }];
}

function approveAll(runtime: Runtime, id: string): () => void {
  const requestedIds = new Set<string>();
  const decidePending = (state: TaskTree | undefined): void => {
    for (const { approval_id, status } of state?.approvals ?? [])
      if (status === "pending" && !requestedIds.has(approval_id)) {
        requestedIds.add(approval_id);
        void setImmediate().then(() =>
          runtime.decide(approval_id, { decision: "approve", by: "test" }),
        );
      }
  };
  decidePending(runtime.live(id));
  return runtime.subscribe(id, () => decidePending(runtime.live(id)));
}

const getOutput = (state: TaskTree): OutputItem[] => buildTaskView(state).output;

/** Removes ids and times, which differ in each run, and reference numbers, which depend on the order of results in a round. */
function omitVaryingFields(items: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(items, (key, value: unknown) =>
      ["id", "call_id", "child_task_ids", "duration_ms"].includes(key) ? undefined : value,
    ),
  );
}

/** Speeds of the model and the log, which determine the boundaries of batches. */
const timings = {
  "a slow model": { pause: () => setTimeout(1), delay: () => Promise.resolve() },
  "a fast model": { pause: () => Promise.resolve(), delay: () => Promise.resolve() },
  "a slow log": { pause: () => setImmediate(), delay: () => setTimeout(1) },
} as const;
type Timing = (typeof timings)[keyof typeof timings];

interface Outcome {
  events: TaskEvent[];
  toolRuns: ToolRuns;
  batches: number;
}

/** Runs one process after another, each of which crashes after the given number of batches. The last one runs to the end. */
async function runProcesses(
  crashPoints: readonly number[],
  { pause, delay }: Timing,
): Promise<Outcome> {
  const toolRuns: ToolRuns = { counts: {}, keys: new Set() };
  const blobs = new MemoryBlobs();
  const id = "task_1";
  let rows: LogRow[] = [];
  for (const life of [...crashPoints, Number.POSITIVE_INFINITY]) {
    const log = new MortalLog(life, delay);
    if (rows.length > 0) await MemoryLog.prototype.append.call(log, id, rows.map(parseLogRow));
    const runtime = new Runtime({
      blobs,
      log,
      agentFor: () => createAgent(toolRuns, pause),
      getModel: noModel,
    });
    const starting =
      rows.length > 0 ? runtime.recover() : runtime.start({ agent: "main", input: "Go." }, id);
    const running = starting.then(async () => {
      approveAll(runtime, id);
      while ((await log.listUnfinished()).length > 0) await setTimeout(1);
      return "done" as const;
    });
    const outcome = await Promise.race([running, log.died]);
    rows = await log.read(id, -1, 1e6);
    if (outcome === "done")
      return {
        events: rows.map(({ json }) => JSON.parse(json) as TaskEvent),
        toolRuns,
        batches: log.batches,
      };
    // The crashed process may still run, but has no effect: its log stores nothing more.
    await setTimeout(2);
  }
  throw new Error("the last process must not crash");
}

function noModel(): never {
  throw new Error("no model is looked up in this test");
}

/** Returns the violated expectations of a run with several processes. */
async function findProblems(
  crashPoints: readonly number[],
  timing: Timing,
  expectedOutput: OutputItem[],
): Promise<string[]> {
  const { events, toolRuns } = await runProcesses(crashPoints, timing);
  const state = reduce(emptyTree, events);
  const { pay = 0, send = 0 } = toolRuns.counts;
  const logProblem = validateLog(events, { complete: true });
  // After a reconciliation the result is the user's answer.
  const isSameOutput =
    events.some(isReconciliation) ||
    equal(omitVaryingFields(getOutput(state)), omitVaryingFields(expectedOutput));
  return Object.entries({
    [`the log is invalid: ${JSON.stringify(logProblem)}`]: logProblem !== undefined,
    [`the task is ${buildTaskView(state).status}`]: buildTaskView(state).status !== "completed",
    [`pay ran ${pay} times, send ran ${send} times`]: pay > 1 || send > 1,
    "a tool ran under two keys": toolRuns.keys.size !== Object.keys(toolRuns.counts).length,
    "the output differs": !isSameOutput,
  })
    .filter(([, applies]) => applies)
    .map(([problem]) => `${problem}, after ${crashPoints.join(", ")} batches`);
}

function equal(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isReconciliation(event: TaskEvent): boolean {
  return event.type === "task.approval.requested" && event.approval.kind === "reconcile";
}

describe.each(Object.entries(timings))("with %s,", (_name, timing) => {
  test("a run interrupted after any batch is resumed without loss, and a tool with the effect once runs once", async () => {
    const undisturbed = await runProcesses([], timing);
    const expectedOutput = getOutput(reduce(emptyTree, undisturbed.events));
    expect(undisturbed.toolRuns.counts).toEqual({
      read: 1,
      put: 1,
      pay: 1,
      look: 1,
      send: 1,
    });
    expect(undisturbed.batches).toBeGreaterThan(4);
    for (let life = 1; life < undisturbed.batches; life += 1)
      expect(await findProblems([life], timing, expectedOutput)).toEqual([]);
  }, 60_000);

  test("a run that is interrupted repeatedly is resumed each time", async () => {
    const expectedOutput = getOutput(reduce(emptyTree, (await runProcesses([], timing)).events));
    const crashPoints = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(crashPoints, async (cuts) => {
        expect(await findProblems(cuts, timing, expectedOutput)).toEqual([]);
      }),
      { numRuns: 6 },
    );
  }, 60_000);
});
