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
  taskView,
  validateLog,
  type LogRow,
  type OutputItem,
  type TaskEvent,
  type TaskTree,
} from "@deltawire/tasks";
import type { ResponsesRequest } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entryOf } from "../src/log/private-parts.ts";
import { scriptedModel, type Saying } from "./scripted-model.ts";

/** A log of a process that ends after so many batches: what comes later is never kept, and nobody hears that it is not. */
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

interface World {
  /** How often each tool was run, by any process. */
  ran: Record<string, number>;
  keys: Set<string>;
}

function agentOf(world: World, pause: () => Promise<unknown>): Agent {
  const counted = (name: string, effect: "pure" | "idempotent" | "once", more: object = {}) =>
    defineTool({
      name,
      description: name,
      effect,
      parallel: true,
      ...more,
      run: async (_input, { idempotencyKey, stream }) => {
        world.ran[name] = (world.ran[name] ?? 0) + 1;
        world.keys.add(`${name} ${idempotencyKey}`);
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
    model: scriptedModel(says, pause),
    tools: [counted("look", "pure"), counted("send", "once", { approval: "ask always" })],
  });
  return defineAgent({
    name: "main",
    instructions: "You are the main agent.",
    model: scriptedModel(says, pause),
    tools: [
      counted("read", "pure"),
      counted("put", "idempotent"),
      counted("pay", "once", { approval: { call: "ask always", result: "always" } }),
    ],
    agents: [helper],
  });
}

/** What the model says follows from what it is told, so that it says the same again. */
function says({ instructions, input }: ResponsesRequest): Saying[] {
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
  const asked = new Set<string>();
  const look = (state: TaskTree | undefined): void => {
    for (const { approval_id, status } of state?.approvals ?? [])
      if (status === "pending" && !asked.has(approval_id)) {
        asked.add(approval_id);
        void setImmediate().then(() =>
          runtime.decide(approval_id, { decision: "approve", by: "test" }),
        );
      }
  };
  look(runtime.live(id));
  return runtime.subscribe(id, (_entries, state) => look(state));
}

const whole = (state: TaskTree): OutputItem[] => taskView(state).output;

/** Without ids and times, which are new each time, and without numbers, which go by what of a round is answered first. */
function shape(items: readonly object[]): unknown {
  return JSON.parse(
    JSON.stringify(items, (key, value: unknown) =>
      ["id", "call_id", "child_task_ids", "duration_ms"].includes(key) ? undefined : value,
    ),
  );
}

/** How fast the model speaks and the log writes: it moves the boundaries of batches. */
const timings = {
  "a slow model": { pause: () => setTimeout(1), delay: () => Promise.resolve() },
  "a fast model": { pause: () => Promise.resolve(), delay: () => Promise.resolve() },
  "a slow log": { pause: () => setImmediate(), delay: () => setTimeout(1) },
} as const;
type Timing = (typeof timings)[keyof typeof timings];

interface Lived {
  events: TaskEvent[];
  world: World;
  batches: number;
}

/** One process after the other, each of which lives for so many batches; the last one as long as it takes. */
async function lived(lives: readonly number[], { pause, delay }: Timing): Promise<Lived> {
  const world: World = { ran: {}, keys: new Set() };
  const blobs = new MemoryBlobs();
  const id = "task_1";
  let rows: LogRow[] = [];
  for (const life of [...lives, Number.POSITIVE_INFINITY]) {
    const log = new MortalLog(life, delay);
    if (rows.length > 0) await MemoryLog.prototype.append.call(log, id, rows.map(entryOf));
    const runtime = new Runtime({
      blobs,
      log,
      agentFor: () => agentOf(world, pause),
      model: noModel,
    });
    const begun =
      rows.length > 0 ? runtime.recover() : runtime.start({ agent: "main", input: "Go." }, id);
    const done = begun.then(async () => {
      approveAll(runtime, id);
      while ((await log.unfinished()).length > 0) await setTimeout(1);
      return "done" as const;
    });
    const how = await Promise.race([done, log.died]);
    rows = await log.read(id, -1, 1e6);
    if (how === "done")
      return {
        events: rows.map(({ json }) => JSON.parse(json) as TaskEvent),
        world,
        batches: log.batches,
      };
    // Whatever the process still does, it does it in a world of its own: only what was durable came before.
    await setTimeout(2);
  }
  throw new Error("the last process has ended too");
}

function noModel(): never {
  throw new Error("none");
}

/** What is wrong with a run of several processes, if anything is. */
async function wrongAfter(
  lives: readonly number[],
  timing: Timing,
  want: OutputItem[],
): Promise<string[]> {
  const { events, world } = await lived(lives, timing);
  const state = reduce(emptyTree, events);
  const { pay = 0, send = 0 } = world.ran;
  const broken = validateLog(events, { complete: true });
  // Where a person has to say what was done, the result is what was said.
  const same = events.some(isReconciliation) || equal(shape(whole(state)), shape(want));
  return Object.entries({
    [`the log is not legal: ${JSON.stringify(broken)}`]: broken !== undefined,
    [`the task is ${taskView(state).status}`]: taskView(state).status !== "completed",
    [`ran ${pay} and ${send} times`]: pay > 1 || send > 1,
    "a tool ran under two keys": world.keys.size !== Object.keys(world.ran).length,
    "the output is another": !same,
  })
    .filter(([, isSo]) => isSo)
    .map(([wrong]) => `${wrong}, after ${lives.join(", ")} batches`);
}

function equal(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isReconciliation(event: TaskEvent): boolean {
  return event.type === "task.approval.requested" && event.approval.kind === "reconcile";
}

describe.each(Object.entries(timings))("with %s", (_name, timing) => {
  test("a run that is cut after any batch is gone on with: nothing is lost, and a tool that may run once did", async () => {
    const undisturbed = await lived([], timing);
    const want = whole(reduce(emptyTree, undisturbed.events));
    expect(undisturbed.world.ran).toEqual({ read: 1, put: 1, pay: 1, look: 1, send: 1 });
    expect(undisturbed.batches).toBeGreaterThan(4);
    for (let life = 1; life < undisturbed.batches; life += 1)
      expect(await wrongAfter([life], timing, want)).toEqual([]);
  }, 60_000);

  test("so is one that is cut again and again", async () => {
    const want = whole(reduce(emptyTree, (await lived([], timing)).events));
    const lives = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(lives, async (cuts) => {
        expect(await wrongAfter(cuts, timing, want)).toEqual([]);
      }),
      { numRuns: 6 },
    );
  }, 60_000);
});
