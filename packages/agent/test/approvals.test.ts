import { hashArguments } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  waitForApproval,
  filterResults,
  createRuntime,
  start,
  type Script,
  type StartedTask,
} from "./runtime-fixture.ts";
import { createAgentWithTool, sendCalls, createSendTool } from "./send-tool.ts";

describe("a call", () => {
  test("runs without an approval if the policy of its tool is auto", async () => {
    const { tool, ran } = createSendTool("auto");
    const { events } = await waitForEnd(
      await start(createAgentWithTool(tool, [sendCalls("a")]).agent),
    );
    expect(ran).toEqual([{ to: "a" }]);
    expect(events.some(({ type }) => type === "task.approval.requested")).toBe(false);
  });

  test("waits for a user and runs after approval", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const started = await start(createAgentWithTool(tool, [sendCalls("a")]).agent);
    const approval = await waitForApproval(started);
    expect(approval).toMatchObject({
      kind: "call",
      tool: "send",
      args_hash: hashArguments('{"to":"a"}'),
      choices: ["approve", "deny", "abort"],
      scopes: ["once"],
      any_arguments: false,
    });
    expect(ran).toEqual([]);
    expect((await decide(started, {})).type).toBe("resolved");
    const { view, events } = await waitForEnd(started);
    expect(ran).toEqual([{ to: "a" }]);
    expect(view.status).toBe("completed");
    expect(view.approvals).toMatchObject([
      { status: "resolved", resolution: { by: "test", scope: "once" } },
    ]);
    const statuses = events.flatMap((event) =>
      event.type === "task.output_item.updated" ? [event.patch.status] : [],
    );
    expect(statuses).toEqual(["awaiting_approval", "executing", "completed"]);
  });

  test("needs an approval each time with the policy ask_always", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const started = await start(createAgentWithTool(tool, [sendCalls("a"), sendCalls("a")]).agent);
    await decide(started, {});
    await decide(started, {});
    await waitForEnd(started);
    expect(ran).toHaveLength(2);
  });

  test("with the same arguments needs only one approval with the policy ask_once", async () => {
    const { tool, ran } = createSendTool("ask_once");
    const started = await start(
      createAgentWithTool(tool, [sendCalls("a"), sendCalls("a"), sendCalls("b")]).agent,
    );
    await decide(started, {});
    expect(await waitForApproval(started)).toMatchObject({
      args_hash: hashArguments('{"to":"b"}'),
    });
    await decide(started, { scope: "once" });
    const { view } = await waitForEnd(started);
    expect(view.approvals.map(({ resolution }) => resolution?.scope)).toEqual(["session", "once"]);
    expect(ran).toHaveLength(3);
  });

  test("that was approved once needs an approval when it is repeated", async () => {
    const { tool } = createSendTool("ask_once");
    const started = await start(createAgentWithTool(tool, [sendCalls("a"), sendCalls("a")]).agent);
    await decide(started, { scope: "once" });
    await decide(started, { scope: "once" });
    expect((await waitForEnd(started)).view.approvals).toHaveLength(2);
  });

  test("needs no approval if its tool allows it, unless that check throws", async () => {
    const { tool, ran } = createSendTool("ask_always", {
      allows: (input) => {
        const { to } = input as { to: string };
        if (to === "odd") throw new Error("broken");
        return to === "friend";
      },
    });
    const started = await start(
      createAgentWithTool(tool, [sendCalls("friend"), sendCalls("odd")]).agent,
    );
    await decide(started, { decision: "deny" });
    const { view } = await waitForEnd(started);
    expect(ran).toEqual([{ to: "friend" }]);
    expect(filterResults(view.output).map(({ status }) => status)).toEqual(["completed", "denied"]);
  });

  test("that was approved for a session runs in other tasks of that session without an approval, but not in other sessions", async () => {
    const { tool, ran } = createSendTool("ask_once");
    const { agent } = createAgentWithTool(tool, (request) =>
      JSON.stringify(request.input).includes("function_call_output")
        ? [{ text: "ok" }]
        : sendCalls("a"),
    );
    const { runtime, log, blobs } = createRuntime(agent);
    const startTask = async (session_id?: string) => ({
      runtime,
      log,
      blobs,
      agent,
      id: await runtime.start({
        input: "Go.",
        ...(session_id === undefined ? {} : { session_id }),
      }),
    });
    const first = await startTask("chat");
    await decide(first, { scope: "session" });
    await waitForEnd(first);
    expect((await waitForEnd(await startTask("chat"))).view.approvals).toEqual([]);
    const other = await startTask("another");
    await decide(other, {});
    await waitForEnd(other);
    const without = await startTask();
    await decide(without, {});
    await waitForEnd(without);
    expect(ran).toHaveLength(4);
  });

  test("that was approved for a session runs without an approval in a task that was already waiting for another one", async () => {
    const { tool, ran } = createSendTool("ask_once");
    const shared = createRuntime(createAgentWithTool(tool, []).agent);
    const startTask = async (script: Script): Promise<StartedTask> => {
      const fixture = createRuntime(createAgentWithTool(tool, script).agent, {
        log: shared.log,
        blobs: shared.blobs,
      });
      return { ...fixture, id: await fixture.runtime.start({ input: "Go.", session_id: "chat" }) };
    };
    const waitingTask = await startTask([sendCalls("b"), sendCalls("a")]);
    await waitForApproval(waitingTask);
    const other = await startTask([sendCalls("a")]);
    await decide(other, { scope: "session" });
    await waitForEnd(other);
    await decide(waitingTask, { scope: "once" });
    expect((await waitForEnd(waitingTask)).view.approvals).toHaveLength(1);
    expect(ran).toEqual([{ to: "a" }, { to: "b" }, { to: "a" }]);
  });

  test("can be approved with any arguments for a session only if its tool permits that", async () => {
    const open = createSendTool("ask_once");
    const started = await start(
      createAgentWithTool(open.tool, [sendCalls("a"), sendCalls("b")]).agent,
    );
    expect((await waitForApproval(started)).any_arguments).toBe(true);
    await decide(started, { scope: "session", any_arguments: true });
    expect((await waitForEnd(started)).view.approvals).toHaveLength(1);

    const shell = createSendTool("ask_once", { allowsAnyArguments: false });
    const guarded = await start(
      createAgentWithTool(shell.tool, [sendCalls("a"), sendCalls("b")]).agent,
    );
    expect((await waitForApproval(guarded)).any_arguments).toBe(false);
    expect(await decide(guarded, { scope: "session", any_arguments: true })).toMatchObject({
      type: "invalid",
    });
    await decide(guarded, { scope: "session" });
    await decide(guarded, {});
    expect((await waitForEnd(guarded)).view.approvals).toHaveLength(2);
  });
});
