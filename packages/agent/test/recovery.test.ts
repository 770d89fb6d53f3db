import { defineTool, type Tool, type ToolDefinition } from "@deltawire/agent";
import type { TaskEvent } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  copyLogUntil,
  waitForApproval,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  getSentResults,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";

const never = new Promise<never>(() => undefined);
const hasType =
  (type: TaskEvent["type"]) =>
  (event: TaskEvent): boolean =>
    event.type === type;

const workTool = (definition: Partial<ToolDefinition<unknown>> = {}): Tool =>
  defineTool({ name: "work", description: "Works.", run: () => "worked", ...definition });

/** Runs a task up to the middle of a call, and returns what the next process needs to resume it. */
async function interruptCall(
  tool: Tool,
  last: TaskEvent["type"],
  options: object = {},
): Promise<{ log: StartedTask["log"]; id: string }> {
  const started = await start(
    scriptedAgent([[{ call: "work", args: { n: 1 } }]], { tools: [tool], ...options }).agent,
  );
  for (let isLogged = false; !isLogged;) {
    isLogged = (await started.log.read(started.id, -1, 1e6)).some(({ json }) =>
      json.includes(`"${last}"`),
    );
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const log = await copyLogUntil(started, hasType(last));
  // The runtime may still write to its own log, but not to the copy.
  void started.runtime.close();
  return { log, id: started.id };
}

const createResumedAgent = (tool: Tool, options: object = {}) =>
  scriptedAgent([[{ text: "Done." }]], { tools: [tool], ...options });

describe("after a crash", () => {
  test("a partial reply is retracted, and the same request is sent to the model again", async () => {
    const first = scriptedAgent([
      [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { wait: never }],
    ]);
    const started = await start(first.agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("It is su"));
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "It is sunny." }]]);
    const { view, events } = await waitForEnd(await recoverTask(next.agent, started));
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ text: "It is sunny." }] },
    ]);
    expect(events.filter(hasType("task.output_item.retracted"))).toHaveLength(2);
    expect(
      events.find((event) => event.type === "task.working" && event.recovered === true),
    ).toMatchObject({ epoch: 1 });
    expect(next.model.requests[0]).toEqual(first.model.requests[0]);
  });

  test.each(["pure", "idempotent"] as const)(
    "a %s tool is run again with the same idempotency key, as another attempt",
    async (effect) => {
      const runs: [string, number][] = [];
      const interrupted = await interruptCall(
        workTool({
          effect,
          run: (_i, { idempotencyKey, attempt }) => (runs.push([idempotencyKey, attempt]), never),
        }),
        "task.tool_execution.started",
      );
      const again = workTool({
        effect,
        run: (_i, { idempotencyKey, attempt }) => (runs.push([idempotencyKey, attempt]), "worked"),
      });
      const { view } = await waitForEnd(
        await recoverTask(createResumedAgent(again).agent, interrupted),
      );
      expect(runs.map(([, attempt]) => attempt)).toEqual([1, 2]);
      expect(new Set(runs.map(([key]) => key)).size).toBe(1);
      expect(filterResults(view.output)).toMatchObject([{ status: "completed" }]);
    },
  );

  test.each([
    [
      "approve",
      "carried out",
      "The user confirmed that the call was carried out. It was sent at noon.",
    ],
    [
      "deny",
      "not carried out",
      "The user confirmed that the call was not carried out. It was sent at noon.",
    ],
  ] as const)(
    'a tool with the effect "once" is not run again: with "%s" the user says that it was %s',
    async (decision, _what, expected) => {
      const interrupted = await interruptCall(
        workTool({ effect: "once", run: () => never }),
        "task.tool_execution.started",
      );
      let runCount = 0;
      const { agent, model } = createResumedAgent(
        workTool({ effect: "once", run: () => (runCount += 1) }),
      );
      const started = await recoverTask(agent, interrupted);
      expect(await waitForApproval(started)).toMatchObject({
        kind: "reconcile",
        tool: "work",
        choices: ["approve", "deny", "abort"],
      });
      const { tasks } = await waitUntil(
        started,
        (state) => state.tasks[interrupted.id]?.status === "input_required",
      );
      expect(tasks[interrupted.id]?.output.find(({ type }) => type === "tool_call")).toMatchObject({
        status: "awaiting_approval",
      });
      await decide(started, { decision, reason: "It was sent at noon." });
      const { view } = await waitForEnd(started);
      expect(runCount).toBe(0);
      expect(filterResults(view.output)).toMatchObject([{ status: "unknown", outcome: "unknown" }]);
      expect(getSentResults(model, 0)[0]).toContain(expected);
    },
  );

  test("without a decision, the model receives that the outcome is unknown", async () => {
    const interrupted = await interruptCall(
      workTool({ effect: "once", run: () => never }),
      "task.tool_execution.started",
    );
    const { agent, model } = createResumedAgent(workTool({ effect: "once" }), {
      approvalSeconds: 0.02,
    });
    await waitForEnd(await recoverTask(agent, interrupted));
    expect(getSentResults(model, 0)[0]).toContain("It is unknown whether the call was carried out");
  });

  test('a tool whose effect was changed to "once" is not run again', async () => {
    const interrupted = await interruptCall(
      workTool({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const started = await recoverTask(
      createResumedAgent(workTool({ effect: "once" })).agent,
      interrupted,
    );
    expect(await waitForApproval(started)).toMatchObject({ kind: "reconcile" });
    await decide(started, {});
    await waitForEnd(started);
  });

  test("a tool whose effect was changed from pure to idempotent is run again", async () => {
    const interrupted = await interruptCall(
      workTool({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const { view } = await waitForEnd(
      await recoverTask(createResumedAgent(workTool({ effect: "idempotent" })).agent, interrupted),
    );
    expect(filterResults(view.output)[0]?.status).toBe("completed");
  });

  test("a call of a removed tool fails as a call of an unknown tool", async () => {
    const interrupted = await interruptCall(
      workTool({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
    );
    const { agent, model } = scriptedAgent([[{ text: "Done." }]]);
    await waitForEnd(await recoverTask(agent, interrupted));
    expect(getSentResults(model, 0)[0]).toContain('Unknown tool "work"');
  });

  test("a pending approval is neither lost nor duplicated, and a stored decision stays valid", async () => {
    const askingTool = workTool({ approval: "ask_always" });
    const interrupted = await interruptCall(askingTool, "task.input_required");
    const started = await recoverTask(createResumedAgent(askingTool).agent, interrupted);
    await waitForApproval(started);
    await decide(started, {});
    expect((await waitForEnd(started)).view.approvals).toMatchObject([
      { kind: "call", status: "resolved" },
    ]);
    // Now the other order: the decision was stored before the process ended.
    const log = await copyLogUntil(started, hasType("task.approval.resolved"));
    const { view } = await waitForEnd(
      await recoverTask(createResumedAgent(askingTool).agent, { log, id: interrupted.id }),
    );
    expect(view.approvals).toHaveLength(1);
    expect(filterResults(view.output)[0]?.status).toBe("completed");
  });

  test("a held result is sent without running the tool again, with the note that its arguments were edited", async () => {
    let runCount = 0;
    const tool = workTool({
      approval: { call: "ask_always", result: "always" },
      run: () => `run ${(runCount += 1)}`,
    });
    const started = await start(
      scriptedAgent([[{ call: "work", args: {} }]], { tools: [tool] }).agent,
    );
    await decide(started, { arguments: '{"n":2}' });
    expect((await waitForApproval(started)).kind).toBe("result");
    const log = await copyLogUntil(started);
    await started.runtime.close();
    const { agent, model } = createResumedAgent(tool);
    const next = await recoverTask(agent, { log, id: started.id });
    await decide(next, {});
    await waitForEnd(next);
    expect(runCount).toBe(1);
    expect(getSentResults(model, 0)[0]).toBe(
      'The user changed the arguments of this call to {"n":2}\nrun 1',
    );
  });

  test("an abort decision ends the task for every kind of approval", async () => {
    for (const [kind, tool, options] of [
      ["call", workTool({ approval: "ask_always" }), {}],
      ["result", workTool({ approval: { result: "always" } }), {}],
      ["limit", workTool(), { limits: { rounds: 1 }, atLimit: "ask" }],
    ] as const) {
      const started = await start(
        scriptedAgent([[{ call: "work", args: {} }]], { tools: [tool], ...options }).agent,
      );
      expect((await waitForApproval(started)).kind).toBe(kind);
      await decide(started, { decision: "abort", by: "me" });
      await waitForEnd(started);
      const log = await copyLogUntil(started, hasType("task.approval.resolved"));
      const { view } = await waitForEnd(
        await recoverTask(createResumedAgent(tool, options).agent, { log, id: started.id }),
      );
      expect(view.status).toBe("canceled");
    }
  });

  test("the last round without tools is repeated without tools", async () => {
    const first = scriptedAgent([[{ call: "work", args: {} }], [{ text: "So" }, { wait: never }]], {
      tools: [workTool()],
      limits: { rounds: 1 },
    });
    const started = await start(first.agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes('"So"'));
    await started.runtime.close();
    const { agent, model } = createResumedAgent(workTool(), { limits: { rounds: 1 } });
    await waitForEnd(await recoverTask(agent, started));
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(["none"]);
  });

  test("an interrupted round does not count, so it has its tools again", async () => {
    const first = scriptedAgent([[{ text: "So" }, { wait: never }]], {
      tools: [workTool()],
      limits: { rounds: 1 },
    });
    const started = await start(first.agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes('"So"'));
    await started.runtime.close();
    const { agent, model } = createResumedAgent(workTool(), { limits: { rounds: 1 } });
    await waitForEnd(await recoverTask(agent, started));
    expect(model.requests[0]?.tool_choice).toBe("auto");
  });

  test("unfinished calls of the last round are run, and then the model answers", async () => {
    const limits = { rounds: 1 };
    const interrupted = await interruptCall(
      workTool({ effect: "pure", run: () => never }),
      "task.tool_execution.started",
      { limits },
    );
    const { agent, model } = createResumedAgent(workTool({ effect: "pure" }), { limits });
    const { view } = await waitForEnd(await recoverTask(agent, interrupted));
    expect(view.status).toBe("completed");
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(["none"]);
    expect(getSentResults(model, 0)).toEqual(["worked"]);
  });

  test("a task past its time limit expires without a model request", async () => {
    const first = scriptedAgent([[{ wait: never }]], { limits: { seconds: 60 } });
    const started = await start(first.agent);
    await started.runtime.close();
    const { agent, model } = scriptedAgent([], { limits: { seconds: 60 } });
    const now = () => Date.now() + 3_600_000;
    const { view } = await waitForEnd(await recoverTask(agent, started, { now }));
    expect(view.status).toBe("expired");
    expect(model.requests).toEqual([]);
  });

  test("an approval past its deadline has expired, even for a decision right after the restart", async () => {
    const askingTool = workTool({ approval: "ask_always" });
    const first = await start(
      scriptedAgent([[{ call: "work", args: {} }]], { tools: [askingTool], approvalSeconds: 60 })
        .agent,
    );
    const { approval_id } = await waitForApproval(first);
    await first.runtime.close();
    const now = () => Date.now() + 3_600_000;
    const started = await recoverTask(createResumedAgent(askingTool).agent, first, { now });
    const late = await started.runtime.decide(approval_id, { decision: "approve", by: "me" });
    expect(late).toMatchObject({ type: "superseded", approval: { status: "expired" } });
    const { view } = await waitForEnd(started);
    expect(filterResults(view.output)[0]?.status).toBe("denied");
  });
});
