import { defineTool, type Agent, type CallPolicy, type Tool } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  waitForEnd,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  getSentResults,
  waitUntil,
} from "./runtime-fixture.ts";

const never = new Promise<never>(() => undefined);
const isToolRunning = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);

describe("after a restart with a changed configuration", () => {
  test("a call that had started before its tool required approval is run again without one", async () => {
    const look = (call: CallPolicy, run: () => unknown): Tool =>
      defineTool({ name: "look", description: "Looks.", effect: "pure", approval: call, run });
    const first = scriptedAgent([[{ call: "look", args: {} }]], {
      tools: [look("auto", () => never)],
    });
    const started = await start(first.agent);
    await waitUntil(started, isToolRunning);
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "Done." }]], {
      tools: [look("ask_always", () => "seen")],
    });
    const { view } = await waitForEnd(await recoverTask(next.agent, started));
    expect(view).toMatchObject({ status: "completed", approvals: [] });
    expect(getSentResults(next.model, 0)).toEqual(["seen"]);
  });

  test.each([
    ["others remain", ["bert"]],
    ["none remains", []],
  ])("the task of a removed sub-agent ends with a reason if %s", async (_is, names) => {
    const helper = (name: string): Agent =>
      scriptedAgent([[{ text: "I look" }, { wait: never }]], { name }).agent;
    const first = scriptedAgent(
      [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }]],
      { agents: [helper("anna")] },
    );
    const started = await start(first.agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("I look"));
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "Done." }]], { agents: names.map(helper) });
    const { view, state } = await waitForEnd(await recoverTask(next.agent, started));
    expect(view.status).toBe("completed");
    expect(filterResults(view.output)).toMatchObject([{ outcome: "canceled" }]);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
      "completed",
      "canceled",
    ]);
    expect(getSentResults(next.model, 0)[0]).toContain('the agent "anna" no longer exists');
  });
});
