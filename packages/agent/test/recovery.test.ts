import { defineTool, type Tool, type ToolDefinition } from "@deltawire/agent";
import type { TaskEvent } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  logUpTo,
  question,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  toldResults,
  until,
  type Started,
} from "./run-kit.ts";

const never = new Promise<never>(() => undefined);
const is =
  (type: TaskEvent["type"]) =>
  (event: TaskEvent): boolean =>
    event.type === type;

const work = (definition: Partial<ToolDefinition<unknown>> = {}): Tool =>
  defineTool({ name: "work", description: "Works.", run: () => "worked", ...definition });

/** A run of one call that ended in the midst of it, and what the next process has to go on with. */
async function cutOff(
  tool: Tool,
  last: TaskEvent["type"],
  more: object = {},
): Promise<{ log: Started["log"]; id: string }> {
  const started = await start(
    scriptedAgent([[{ call: "work", args: { n: 1 } }]], { tools: [tool], ...more }).agent,
  );
  for (let seen = false; !seen;) {
    seen = (await started.log.read(started.id, -1, 1e6)).some(({ json }) =>
      json.includes(`"${last}"`),
    );
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const log = await logUpTo(started, is(last));
  // It has a log of its own from here on.
  void started.runtime.close();
  return { log, id: started.id };
}

const goesOn = (tool: Tool, more: object = {}) =>
  scriptedAgent([[{ text: "Done." }]], { tools: [tool], ...more });

describe("after a crash", () => {
  test("a half answer of the model is taken back, and the model is asked again what it was asked", async () => {
    const first = scriptedAgent([
      [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { wait: never }],
    ]);
    const started = await start(first.agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("It is su"));
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "It is sunny." }]]);
    const { view, events } = await ended(await recovered(next.agent, started));
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ text: "It is sunny." }] },
    ]);
    expect(events.filter(is("task.output_item.retracted"))).toHaveLength(2);
    expect(
      events.find((event) => event.type === "task.working" && event.recovered === true),
    ).toMatchObject({ epoch: 1 });
    expect(next.model.asked[0]).toEqual(first.model.asked[0]);
  });

  test.each(["pure", "idempotent"] as const)(
    "a %s tool is run again under the same key, as another attempt",
    async (effect) => {
      const known: [string, number][] = [];
      const cut = await cutOff(
        work({
          effect,
          run: (_i, { idempotencyKey, attempt }) => (known.push([idempotencyKey, attempt]), never),
        }),
        "task.tool_execution.started",
      );
      const again = work({
        effect,
        run: (_i, { idempotencyKey, attempt }) => (known.push([idempotencyKey, attempt]), "worked"),
      });
      const { view } = await ended(await recovered(goesOn(again).agent, cut));
      expect(known.map(([, attempt]) => attempt)).toEqual([1, 2]);
      expect(new Set(known.map(([key]) => key)).size).toBe(1);
      expect(resultsIn(view.output)).toMatchObject([{ status: "completed" }]);
    },
  );

  test.each([
    ["approve", "carried out", "seen that the call was carried out. It was sent at noon."],
    ["deny", "not carried out", "seen that it was not carried out. It was sent at noon."],
  ] as const)(
    "a tool that may run once is not: a person says that it was (%s) %s",
    async (decision, _what, told) => {
      const cut = await cutOff(
        work({ effect: "once", run: () => never }),
        "task.tool_execution.started",
      );
      let ran = 0;
      const { agent, model } = goesOn(work({ effect: "once", run: () => (ran += 1) }));
      const started = await recovered(agent, cut);
      expect(await question(started)).toMatchObject({
        kind: "reconcile",
        tool: "work",
        choices: ["approve", "deny", "abort"],
      });
      const { tasks } = await until(
        started,
        (state) => state.tasks[cut.id]?.status === "input_required",
      );
      expect(tasks[cut.id]?.output.find(({ type }) => type === "tool_call")).toMatchObject({
        status: "awaiting_approval",
      });
      await decide(started, { decision, reason: "It was sent at noon." });
      const { view } = await ended(started);
      expect(ran).toBe(0);
      expect(resultsIn(view.output)).toMatchObject([{ status: "unknown", outcome: "unknown" }]);
      expect(toldResults(model, 0)[0]).toContain(told);
    },
  );

  test("and nobody who says: the model hears that nobody knows", async () => {
    const cut = await cutOff(
      work({ effect: "once", run: () => never }),
      "task.tool_execution.started",
    );
    const { agent, model } = goesOn(work({ effect: "once" }), { approvalSeconds: 0.02 });
    await ended(await recovered(agent, cut));
    expect(toldResults(model, 0)[0]).toContain("nobody knows whether it was carried out");
  });

  test("a tool that has become one that may run once is not run again", async () => {
    const cut = await cutOff(
      work({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const started = await recovered(goesOn(work({ effect: "once" })).agent, cut);
    expect(await question(started)).toMatchObject({ kind: "reconcile" });
    await decide(started, {});
    await ended(started);
  });

  test("a tool that is idempotent now and was pure is run again, as what it was", async () => {
    const cut = await cutOff(
      work({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const { view } = await ended(
      await recovered(goesOn(work({ effect: "idempotent" })).agent, cut),
    );
    expect(resultsIn(view.output)[0]?.status).toBe("completed");
  });

  test("a tool that is gone is an unknown tool", async () => {
    const cut = await cutOff(
      work({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const { agent, model } = scriptedAgent([[{ text: "Done." }]]);
    await ended(await recovered(agent, cut));
    expect(toldResults(model, 0)[0]).toContain('no tool "work"');
  });

  test("a question that was asked is still asked, once, and what was decided holds", async () => {
    const asks = work({ approval: "ask always" });
    const cut = await cutOff(asks, "task.input_required");
    const started = await recovered(goesOn(asks).agent, cut);
    await question(started);
    await decide(started, {});
    expect((await ended(started)).view.approvals).toMatchObject([
      { kind: "call", status: "resolved" },
    ]);
    // And the other way round: decided, and then the process ended.
    const log = await logUpTo(started, is("task.approval.resolved"));
    const { view } = await ended(await recovered(goesOn(asks).agent, { log, id: cut.id }));
    expect(view.approvals).toHaveLength(1);
    expect(resultsIn(view.output)[0]?.status).toBe("completed");
  });

  test("a held result is told without running the tool again, and that a person changed its arguments", async () => {
    let ran = 0;
    const tool = work({
      approval: { call: "ask always", result: "always" },
      run: () => `run ${(ran += 1)}`,
    });
    const started = await start(
      scriptedAgent([[{ call: "work", args: {} }]], { tools: [tool] }).agent,
    );
    await decide(started, { arguments: '{"n":2}' });
    expect((await question(started)).kind).toBe("result");
    const log = await logUpTo(started);
    await started.runtime.close();
    const { agent, model } = goesOn(tool);
    const next = await recovered(agent, { log, id: started.id });
    await decide(next, {});
    await ended(next);
    expect(ran).toBe(1);
    expect(toldResults(model, 0)[0]).toBe(
      'The user changed the arguments of this call to {"n":2}\nrun 1',
    );
  });

  test("an abort that was decided ends the task, whatever was asked", async () => {
    for (const [kind, tool, more] of [
      ["call", work({ approval: "ask always" }), {}],
      ["result", work({ approval: { result: "always" } }), {}],
      ["limit", work(), { limits: { rounds: 1 }, atLimit: "ask" }],
    ] as const) {
      const started = await start(
        scriptedAgent([[{ call: "work", args: {} }]], { tools: [tool], ...more }).agent,
      );
      expect((await question(started)).kind).toBe(kind);
      await decide(started, { decision: "abort", by: "me" });
      await ended(started);
      const log = await logUpTo(started, is("task.approval.resolved"));
      const { view } = await ended(
        await recovered(goesOn(tool, more).agent, { log, id: started.id }),
      );
      expect(view.status).toBe("canceled");
    }
  });

  test("the last round, without tools, is asked again without tools", async () => {
    const first = scriptedAgent([[{ call: "work", args: {} }], [{ text: "So" }, { wait: never }]], {
      tools: [work()],
      limits: { rounds: 1 },
    });
    const started = await start(first.agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes('"So"'));
    await started.runtime.close();
    const { agent, model } = goesOn(work(), { limits: { rounds: 1 } });
    await ended(await recovered(agent, started));
    expect(model.asked.map(({ tool_choice }) => tool_choice)).toEqual(["none"]);
  });

  test("a round that was cut off does not count: it has its tools again", async () => {
    const first = scriptedAgent([[{ text: "So" }, { wait: never }]], {
      tools: [work()],
      limits: { rounds: 1 },
    });
    const started = await start(first.agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes('"So"'));
    await started.runtime.close();
    const { agent, model } = goesOn(work(), { limits: { rounds: 1 } });
    await ended(await recovered(agent, started));
    expect(model.asked[0]?.tool_choice).toBe("auto");
  });

  test("calls of the last round that were not finished are run, and the model then answers", async () => {
    const limits = { rounds: 1 };
    const cut = await cutOff(
      work({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
      { limits },
    );
    const { agent, model } = goesOn(work({ effect: "pure" }), { limits });
    const { view } = await ended(await recovered(agent, cut));
    expect(view.status).toBe("completed");
    expect(model.asked.map(({ tool_choice }) => tool_choice)).toEqual(["none"]);
    expect(toldResults(model, 0)).toEqual(["worked"]);
  });

  test("a task whose time is over has expired, and the model is not asked", async () => {
    const first = scriptedAgent([[{ wait: never }]], { limits: { seconds: 60 } });
    const started = await start(first.agent);
    await started.runtime.close();
    const { agent, model } = scriptedAgent([], { limits: { seconds: 60 } });
    const now = () => Date.now() + 3_600_000;
    const { view } = await ended(await recovered(agent, started, { now }));
    expect(view.status).toBe("expired");
    expect(model.asked).toEqual([]);
  });

  test("a question whose time is over has expired, and a decision that comes before anything else is late", async () => {
    const asks = work({ approval: "ask always" });
    const first = await start(
      scriptedAgent([[{ call: "work", args: {} }]], { tools: [asks], approvalSeconds: 60 }).agent,
    );
    const { approval_id } = await question(first);
    await first.runtime.close();
    const now = () => Date.now() + 3_600_000;
    const started = await recovered(goesOn(asks).agent, first, { now });
    const late = await started.runtime.decide(approval_id, { decision: "approve", by: "me" });
    expect(late).toMatchObject({ is: "late", approval: { status: "expired" } });
    const { view } = await ended(started);
    expect(resultsIn(view.output)[0]?.status).toBe("denied");
  });
});
