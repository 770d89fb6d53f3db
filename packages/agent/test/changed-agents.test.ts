import { defineTool, type Agent, type CallPolicy, type Tool } from "@deltawire/agent";
import type { TaskTree } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  ended,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  toldResults,
  until,
} from "./run-kit.ts";

const never = new Promise<never>(() => undefined);
const isAtWork = ({ tasks }: TaskTree): boolean =>
  Object.values(tasks).some(({ executions }) => executions.length > 0);

describe("between two processes", () => {
  test("a tool that was not asked about is now: a call that had begun is run again without a question", async () => {
    const look = (call: CallPolicy, run: () => unknown): Tool =>
      defineTool({ name: "look", description: "Looks.", effect: "pure", approval: call, run });
    const first = scriptedAgent([[{ call: "look", args: {} }]], {
      tools: [look("auto", () => never)],
    });
    const started = await start(first.agent);
    await until(started, isAtWork);
    await started.runtime.close();
    const next = scriptedAgent([[{ text: "Done." }]], {
      tools: [look("ask always", () => "seen")],
    });
    const { view } = await ended(await recovered(next.agent, started));
    expect(view).toMatchObject({ status: "completed", approvals: [] });
    expect(toldResults(next.model, 0)).toEqual(["seen"]);
  });

  test.each([
    ["there is another one", ["bert"]],
    ["there is none", []],
  ])(
    "a helper is taken away while it works, and %s: its task ends, and that is told",
    async (_is, names) => {
      const helper = (name: string): Agent =>
        scriptedAgent([[{ text: "I look" }, { wait: never }]], { name }).agent;
      const first = scriptedAgent(
        [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }]],
        { agents: [helper("anna")] },
      );
      const started = await start(first.agent);
      await until(started, ({ tasks }) => JSON.stringify(tasks).includes("I look"));
      await started.runtime.close();
      const next = scriptedAgent([[{ text: "Done." }]], { agents: names.map(helper) });
      const { view, state } = await ended(await recovered(next.agent, started));
      expect(view.status).toBe("completed");
      expect(resultsIn(view.output)).toMatchObject([{ outcome: "canceled" }]);
      expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
        "completed",
        "canceled",
      ]);
      expect(toldResults(next.model, 0)[0]).toContain('there is no agent "anna" any more');
    },
  );
});
