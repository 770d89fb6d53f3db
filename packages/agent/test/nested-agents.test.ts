import { defineTool, type Agent } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  readEvents,
  waitForApproval,
  waitForApprovals,
  scriptedAgent,
  start,
  waitUntil,
} from "./runtime-fixture.ts";
import { askForHelpCalls, createHelperAgent } from "./helper-agents.ts";

describe("nested sub-agents", () => {
  /** Creates a chain of agents, each of which calls the next one. */
  function createChain(depth: number, last: Agent): Agent {
    if (depth === 0) return last;
    return createHelperAgent(
      `level${depth}`,
      [askForHelpCalls(depth === 1 ? last.name : `level${depth - 1}`), [{ text: "Asked." }]],
      {
        agents: [createChain(depth - 1, last)],
      },
    );
  }

  test("three levels of sub-agents work, and a fourth is rejected", async () => {
    const three = await start(createChain(3, createHelperAgent("last", [[{ text: "Deep." }]])));
    const deep = await waitForEnd(three);
    expect(Object.values(deep.state.tasks).map(({ info }) => info.depth)).toEqual([0, 1, 2, 3]);
    expect(JSON.stringify(deep.view)).toContain("Deep.");
    const four = await waitForEnd(
      await start(createChain(4, createHelperAgent("last", [[{ text: "Deeper." }]]))),
    );
    expect(Object.keys(four.state.tasks)).toHaveLength(4);
    expect(JSON.stringify(four.view)).not.toContain("Deeper.");
    expect(JSON.stringify(four.view)).toContain("at most 3 levels deep");
  });

  test("an approval in a sub-agent makes all of its parents wait", async () => {
    const sendTool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
      run: () => "sent",
    });
    const last = createHelperAgent("last", [[{ call: "send", args: {} }]], { tools: [sendTool] });
    const started = await start(createChain(3, last));
    const approval = await waitForApproval(started);
    const state = await waitUntil(started, ({ tasks }) =>
      Object.values(tasks).every(({ status }) => status === "input_required"),
    );
    expect(Object.keys(state.tasks)).toHaveLength(4);
    const root = (await readEvents(started)).findLast(
      (event) => event.type === "task.input_required" && event.task_id === started.id,
    );
    expect(root).toMatchObject({ approval_ids: [approval.approval_id] });
    await decide(started, {});
    expect((await waitForEnd(started)).view.status).toBe("completed");
  });

  test("each of two waiting sub-agents continues after its own decision, and the root agent after both", async () => {
    const sendTool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
      run: () => "sent",
    });
    const createAskingAgent = (name: string) =>
      createHelperAgent(name, [[{ call: "send", args: {} }]], { tools: [sendTool] });
    const { agent } = scriptedAgent([askForHelpCalls("anna", "bert")], {
      agents: [createAskingAgent("anna"), createAskingAgent("bert")],
    });
    const started = await start(agent);
    const [first, second] = await waitForApprovals(started, 2);
    await started.runtime.decide(second?.approval_id ?? "", { decision: "deny", by: "test" });
    await waitUntil(started, ({ tasks }) => tasks[second?.task_id ?? ""]?.status === "completed");
    expect(started.runtime.live(started.id)?.tasks[started.id]?.status).toBe("input_required");
    await started.runtime.decide(first?.approval_id ?? "", { decision: "approve", by: "test" });
    const { view } = await waitForEnd(started);
    expect(view.status).toBe("completed");
  });

  test("an abort decision for the deepest sub-agent cancels all tasks", async () => {
    const sendTool = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
      run: () => "sent",
    });
    const started = await start(
      createChain(
        2,
        createHelperAgent("last", [[{ call: "send", args: {} }]], { tools: [sendTool] }),
      ),
    );
    await decide(started, { decision: "abort", reason: "no more" });
    const { state } = await waitForEnd(started);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
      "canceled",
      "canceled",
      "canceled",
    ]);
  });

  test("parent tasks end after their children", async () => {
    const { events } = await waitForEnd(
      await start(createChain(3, createHelperAgent("last", [[{ text: "Deep." }]]))),
    );
    const ends = events
      .filter(({ type }) => type === "task.completed")
      .map(({ task_id }) => task_id);
    const created = events
      .filter(({ type }) => type === "task.created")
      .map(({ task_id }) => task_id);
    expect(ends).toEqual(created.toReversed());
  });
});
