import { defineTool, type Agent } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  eventsOf,
  question,
  questions,
  scriptedAgent,
  start,
  until,
} from "./run-kit.ts";
import { help, helper } from "./helpers.ts";

describe("deeper down", () => {
  /** A chain of agents of which each asks the next one. */
  function chain(depth: number, last: Agent): Agent {
    if (depth === 0) return last;
    return helper(
      `level${depth}`,
      [help(depth === 1 ? last.name : `level${depth - 1}`), [{ text: "Asked." }]],
      {
        agents: [chain(depth - 1, last)],
      },
    );
  }

  test("three levels of helpers work, and a fourth is refused", async () => {
    const three = await start(chain(3, helper("last", [[{ text: "Deep." }]])));
    const deep = await ended(three);
    expect(Object.values(deep.state.tasks).map(({ info }) => info.depth)).toEqual([0, 1, 2, 3]);
    expect(JSON.stringify(deep.view)).toContain("Deep.");
    const four = await ended(await start(chain(4, helper("last", [[{ text: "Deeper." }]]))));
    expect(Object.keys(four.state.tasks)).toHaveLength(4);
    expect(JSON.stringify(four.view)).not.toContain("Deeper.");
    expect(JSON.stringify(four.view)).toContain("to a depth of 3 only");
  });

  test("an approval surfaces at the root, and everything above waits", async () => {
    const sends = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const last = helper("last", [[{ call: "send", args: {} }]], { tools: [sends] });
    const started = await start(chain(3, last));
    const asked = await question(started);
    const state = await until(started, ({ tasks }) =>
      Object.values(tasks).every(({ status }) => status === "input_required"),
    );
    expect(Object.keys(state.tasks)).toHaveLength(4);
    const root = (await eventsOf(started)).findLast(
      (event) => event.type === "task.input_required" && event.task_id === started.id,
    );
    expect(root).toMatchObject({ approval_ids: [asked.approval_id] });
    await decide(started, {});
    expect((await ended(started)).view.status).toBe("completed");
  });

  test("two helpers wait at once: each goes on by its own decision, the root when none waits", async () => {
    const sends = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const asks = (name: string) => helper(name, [[{ call: "send", args: {} }]], { tools: [sends] });
    const { agent } = scriptedAgent([help("anna", "bert")], {
      agents: [asks("anna"), asks("bert")],
    });
    const started = await start(agent);
    const [first, second] = await questions(started, 2);
    await started.runtime.decide(second?.approval_id ?? "", { decision: "deny", by: "test" });
    await until(started, ({ tasks }) => tasks[second?.task_id ?? ""]?.status === "completed");
    expect(started.runtime.live(started.id)?.tasks[started.id]?.status).toBe("input_required");
    await started.runtime.decide(first?.approval_id ?? "", { decision: "approve", by: "test" });
    const { view } = await ended(started);
    expect(view.status).toBe("completed");
  });

  test("an abort at the bottom ends the root", async () => {
    const sends = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const started = await start(
      chain(2, helper("last", [[{ call: "send", args: {} }]], { tools: [sends] })),
    );
    await decide(started, { decision: "abort", reason: "no more" });
    const { state } = await ended(started);
    expect(Object.values(state.tasks).map(({ status }) => status)).toEqual([
      "canceled",
      "canceled",
      "canceled",
    ]);
  });

  test("parents end after their children", async () => {
    const { events } = await ended(await start(chain(3, helper("last", [[{ text: "Deep." }]]))));
    const ends = events
      .filter(({ type }) => type === "task.completed")
      .map(({ task_id }) => task_id);
    const created = events
      .filter(({ type }) => type === "task.created")
      .map(({ task_id }) => task_id);
    expect(ends).toEqual(created.toReversed());
  });
});
