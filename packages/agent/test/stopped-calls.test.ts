import { getEventListeners } from "node:events";
import {
  defineTool,
  MemoryLog,
  type Model,
  type Tool,
  type ToolDefinition,
} from "@deltawire/agent";
import { buildTaskView, type TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { runTool } from "../src/calls/run-tool.ts";
import {
  decide,
  waitForEnd,
  waitForApproval,
  readEvents,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  getItemText,
  getSentResults,
  waitUntil,
  type StartedTask,
} from "./runtime-fixture.ts";
import { toolContext } from "./tool-context.ts";

const never = new Promise<never>(() => undefined);
const isToolRunning = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);
const createWorkTool = (definition: Partial<ToolDefinition<unknown>>): Tool =>
  defineTool({ name: "work", description: "Works.", run: () => "worked", ...definition });
const callWork = [{ call: "work", args: {} }];
const askAnna = [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }];

/** A log that is slow to store the start of a tool. */
class SlowLog extends MemoryLog {
  readonly isStarting = Promise.withResolvers<void>();
  readonly mayStore = Promise.withResolvers<void>();

  override async append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    if (batch[1].some(({ event }) => event.type === "task.tool_execution.started")) {
      this.isStarting.resolve();
      await this.mayStore.promise;
    }
    return super.append(...batch);
  }
}

/** Starts a task whose call waits until the test lets the log store its start. */
async function startSlowCall(tool: Tool): Promise<{ started: StartedTask; log: SlowLog }> {
  const log = new SlowLog();
  const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent, {}, { log });
  await log.isStarting.promise;
  return { started, log };
}

test("a tool that is aborted before its start is abandoned, even if it never returns", async () => {
  const tool = createWorkTool({ run: () => never });
  const began = performance.now();
  const ran = await runTool(tool, {}, toolContext(), AbortSignal.abort());
  expect(ran).toEqual({ status: "stopped", hasEnded: false });
  expect(performance.now() - began).toBeLessThan(5000);
});

describe("while the start of a call is being stored", () => {
  test("a canceled task does not run it", async () => {
    let ran = 0;
    const { started, log } = await startSlowCall(createWorkTool({ run: () => (ran += 1) }));
    const cancelled = started.runtime.cancel(started.id, "me");
    log.mayStore.resolve();
    expect(await cancelled).toBe("canceled");
    expect(ran).toBe(0);
    const { state, view } = await waitForEnd(started);
    expect(state.tasks[started.id]?.executions).toMatchObject([{ outcome: "canceled" }]);
    expect(filterResults(view.output)).toMatchObject([{ outcome: "canceled" }]);
  });

  test.each(["once", "idempotent"] as const)(
    "a closed runtime neither runs it nor asks the user about it if its effect is %s",
    async (effect) => {
      let ran = 0;
      const tool = createWorkTool({ effect, run: () => (ran += 1) });
      const { started, log } = await startSlowCall(tool);
      const closed = started.runtime.close();
      await new Promise((resolve) => setTimeout(resolve, 30));
      log.mayStore.resolve();
      await closed;
      expect(ran).toBe(0);
      const next = scriptedAgent([[{ text: "Done." }]], { tools: [tool] });
      const { view } = await waitForEnd(await recoverTask(next.agent, started));
      expect(view.approvals).toEqual([]);
      expect(ran).toBe(effect === "once" ? 0 : 1);
      expect(getSentResults(next.model, 0)).toEqual([
        effect === "once" ? "The call was not run: the process ended before it started." : "1",
      ]);
    },
  );

  test("a runtime that is closed with a waiting time runs it and waits for its result", async () => {
    const { started, log } = await startSlowCall(createWorkTool({}));
    const closed = started.runtime.close(5000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    log.mayStore.resolve();
    await closed;
    const { output } = buildTaskView(await started.runtime.state(started.id));
    expect(getItemText(filterResults(output)[0])).toBe("worked");
  });
});

describe("a runtime that closes", () => {
  test("with a waiting time leaves a task with a running sub-agent to the next one", async () => {
    const slow = createWorkTool({
      effect: "pure",
      run: () => new Promise((resolve) => setTimeout(resolve, 50, "worked")),
    });
    const agents = (helper: object[][], main: object[][]) => {
      const { agent: anna } = scriptedAgent(helper as never, { name: "anna", tools: [slow] });
      return scriptedAgent(main as never, { agents: [anna] });
    };
    const failures: string[] = [];
    const started = await start(
      agents([callWork], [askAnna]).agent,
      {},
      {
        onFailure: (message) => failures.push(message),
      },
    );
    await waitUntil(
      started,
      ({ tasks }) =>
        Object.values(tasks).filter(({ executions }) => executions.length > 0).length === 2,
    );
    await started.runtime.close(5000);
    expect(failures).toEqual([]);
    expect(await started.log.listUnfinished()).toEqual([started.id]);
    const next = agents([[{ text: "Here." }]], [[{ text: "Done." }]]);
    const { view } = await waitForEnd(await recoverTask(next.agent, started));
    expect(view.status).toBe("completed");
    expect(getSentResults(next.model, 0)).toEqual(["Here."]);
  });

  test("stores the outcome of a tool that reacts to its signal, without asking the user", async () => {
    const tool = createWorkTool({
      effect: "once",
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("killed")));
        }),
    });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await waitUntil(started, isToolRunning);
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [tool] });
    const { view, state } = await waitForEnd(await recoverTask(next.agent, started));
    expect(view.approvals).toEqual([]);
    expect(state.tasks[started.id]?.executions).toMatchObject([{ outcome: "canceled" }]);
    expect(getItemText(filterResults(view.output)[0])).toContain(
      "it may have been partially carried out",
    );
  });

  test("leaves the question about a tool that ignores its signal to the next one", async () => {
    const tool = createWorkTool({ effect: "once", run: () => never });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await waitUntil(started, isToolRunning);
    await started.runtime.close();
    const types = (await readEvents(started)).map(({ type }) => type);
    expect(types.at(-1)).toBe("task.tool_execution.started");
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [tool] });
    const resumed = await recoverTask(next.agent, started);
    expect(await waitForApproval(resumed)).toMatchObject({ kind: "reconcile" });
    await decide(resumed, {});
    await waitForEnd(resumed);
  });

  test("while a task is being canceled completes the cancellation", async () => {
    const tool = createWorkTool({ effect: "once", run: () => never });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await waitUntil(started, isToolRunning);
    const cancelled = started.runtime.cancel(started.id, "me");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await started.runtime.close();
    expect(await cancelled).toBe("canceled");
    expect((await waitForEnd(started)).view.status).toBe("canceled");
  });
});

test("finished sub-agents leave no listeners on the signal of their parent", async () => {
  const { agent: anna } = scriptedAgent(() => [{ text: "Here." }], { name: "anna" });
  let signal: AbortSignal | undefined;
  const { agent, model } = scriptedAgent(
    (_request, round) => (round < 4 ? askAnna : [{ text: "Done." }]),
    { agents: [anna] },
  );
  const listeningModel: Model = {
    stream: (request, given, report) => {
      signal = given;
      return model.stream(request, new AbortController().signal, report);
    },
  };
  await waitForEnd(await start({ ...agent, model: listeningModel }));
  expect(signal && getEventListeners(signal, "abort")).toEqual([]);
});
