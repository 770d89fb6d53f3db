import { getEventListeners } from "node:events";
import {
  defineTool,
  MemoryLog,
  type Model,
  type Tool,
  type ToolDefinition,
} from "@deltawire/agent";
import { taskView, type TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { runTool } from "../src/calls/run-tool.ts";
import {
  ended,
  eventsOf,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  textOf,
  toldResults,
  until,
  type Started,
} from "./run-kit.ts";
import { toolContext } from "./tool-context.ts";

const never = new Promise<never>(() => undefined);
const isAtWork = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);
const work = (definition: Partial<ToolDefinition<unknown>>): Tool =>
  defineTool({ name: "work", description: "Works.", run: () => "worked", ...definition });
const callWork = [{ call: "work", args: {} }];
const askAnna = [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }];

/** A log that takes its time to keep that a tool begins. */
class SlowLog extends MemoryLog {
  readonly begins = Promise.withResolvers<void>();
  readonly continueAnswer = Promise.withResolvers<void>();

  override async append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
    if (batch[1].some(({ event }) => event.type === "task.tool_execution.started")) {
      this.begins.resolve();
      await this.continueAnswer.promise;
    }
    return super.append(...batch);
  }
}

/** A call of which is being written that it begins. */
async function aboutToBegin(tool: Tool): Promise<{ started: Started; log: SlowLog }> {
  const log = new SlowLog();
  const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent, {}, { log });
  await log.begins.promise;
  return { started, log };
}

test("a tool that is told to stop before it begins is given up like any other", async () => {
  const tool = work({ run: () => never });
  const began = performance.now();
  const ran = await runTool(tool, {}, toolContext(), AbortSignal.abort());
  expect(ran).toEqual({ is: "stopped", ended: false });
  expect(performance.now() - began).toBeLessThan(5000);
});

describe("while it is written that a call begins", () => {
  test("a task that is cancelled does not run it", async () => {
    let ran = 0;
    const { started, log } = await aboutToBegin(work({ run: () => (ran += 1) }));
    const cancelled = started.runtime.cancel(started.id, "me");
    log.continueAnswer.resolve();
    expect(await cancelled).toBe("canceled");
    expect(ran).toBe(0);
    const { state, view } = await ended(started);
    expect(state.tasks[started.id]?.executions).toMatchObject([{ outcome: "canceled" }]);
    expect(resultsIn(view.output)).toMatchObject([{ outcome: "canceled" }]);
  });

  test.each(["once", "idempotent"] as const)(
    "a runtime that is closed does not run it, and nobody is asked whether it was: %s",
    async (effect) => {
      let ran = 0;
      const tool = work({ effect, run: () => (ran += 1) });
      const { started, log } = await aboutToBegin(tool);
      const closed = started.runtime.close();
      await new Promise((resolve) => setTimeout(resolve, 30));
      log.continueAnswer.resolve();
      await closed;
      expect(ran).toBe(0);
      const next = scriptedAgent([[{ text: "Done." }]], { tools: [tool] });
      const { view } = await ended(await recovered(next.agent, started));
      expect(view.approvals).toEqual([]);
      expect(ran).toBe(effect === "once" ? 0 : 1);
      expect(toldResults(next.model, 0)).toEqual([
        effect === "once" ? "The call was not run: the process ended before it." : "1",
      ]);
    },
  );

  test("a runtime that closes in time waits for it", async () => {
    const { started, log } = await aboutToBegin(work({}));
    const closed = started.runtime.close(5000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    log.continueAnswer.resolve();
    await closed;
    const { output } = taskView(await started.runtime.state(started.id));
    expect(textOf(resultsIn(output)[0])).toBe("worked");
  });
});

describe("a runtime that closes", () => {
  test("in time leaves a task whose sub-agent is at work to the next one", async () => {
    const slow = work({
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
    await until(
      started,
      ({ tasks }) =>
        Object.values(tasks).filter(({ executions }) => executions.length > 0).length === 2,
    );
    await started.runtime.close(5000);
    expect(failures).toEqual([]);
    expect(await started.log.unfinished()).toEqual([started.id]);
    const next = agents([[{ text: "Here." }]], [[{ text: "Done." }]]);
    const { view } = await ended(await recovered(next.agent, started));
    expect(view.status).toBe("completed");
    expect(toldResults(next.model, 0)).toEqual(["Here."]);
  });

  test("and a tool that ends when it is told to: what is known is kept, and nobody is asked", async () => {
    const tool = work({
      effect: "once",
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("killed")));
        }),
    });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await until(started, isAtWork);
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [tool] });
    const { view, state } = await ended(await recovered(next.agent, started));
    expect(view.approvals).toEqual([]);
    expect(state.tasks[started.id]?.executions).toMatchObject([{ outcome: "canceled" }]);
    expect(textOf(resultsIn(view.output)[0])).toContain("it may have been carried out in part");
  });

  test("and a tool that does not end: a person is asked", async () => {
    const tool = work({ effect: "once", run: () => never });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await until(started, isAtWork);
    await started.runtime.close();
    const types = (await eventsOf(started)).map(({ type }) => type);
    expect(types.at(-1)).toBe("task.tool_execution.started");
  });

  test("while a task is being cancelled lets it come to its end", async () => {
    const tool = work({ effect: "once", run: () => never });
    const started = await start(scriptedAgent([callWork], { tools: [tool] }).agent);
    await until(started, isAtWork);
    const cancelled = started.runtime.cancel(started.id, "me");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await started.runtime.close();
    expect(await cancelled).toBe("canceled");
    expect((await ended(started)).view.status).toBe("canceled");
  });
});

test("helpers that have ended leave nothing with their parent", async () => {
  const { agent: anna } = scriptedAgent(() => [{ text: "Here." }], { name: "anna" });
  let signal: AbortSignal | undefined;
  const { agent, model } = scriptedAgent(
    (_request, round) => (round < 4 ? askAnna : [{ text: "Done." }]),
    { agents: [anna] },
  );
  const listens: Model = {
    stream: (request, given, report) => {
      signal = given;
      return model.stream(request, new AbortController().signal, report);
    },
  };
  await ended(await start({ ...agent, model: listens }));
  expect(signal && getEventListeners(signal, "abort")).toEqual([]);
});
