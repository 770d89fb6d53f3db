import { hashArguments } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  waitForApproval,
  waitForApprovals,
  filterResults,
  start,
  getItemText,
  getSentResults,
} from "./runtime-fixture.ts";
import { createAgentWithTool, sendCalls, createSendTool } from "./send-tool.ts";

describe("a user", () => {
  test("can edit the arguments: they are validated, run, allowed from then on, and reported to the model", async () => {
    const { tool, ran } = createSendTool("ask_once");
    const { agent, model } = createAgentWithTool(tool, [sendCalls("boss"), sendCalls("me")]);
    const started = await start(agent);
    expect(await decide(started, { arguments: '{"to":7}' })).toMatchObject({ type: "invalid" });
    expect(await decide(started, { arguments: '{"to"' })).toMatchObject({ type: "invalid" });
    expect((await decide(started, { arguments: '{"to":"me"}' })).type).toBe("resolved");
    const { events, view } = await waitForEnd(started);
    expect(ran).toEqual([{ to: "me" }, { to: "me" }]);
    expect(view.approvals).toHaveLength(1);
    const run = events.find(({ type }) => type === "task.tool_execution.started");
    expect(run).toMatchObject({ args_hash: hashArguments('{"to":"me"}') });
    expect(getSentResults(model, 1)[0]).toContain(
      'changed the arguments of this call to {"to":"me"}',
    );
  });

  test("can deny a call with a reason, which the model receives", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const { agent, model } = createAgentWithTool(tool, [sendCalls("a"), [{ text: "Then not." }]]);
    const started = await start(agent);
    await decide(started, { decision: "deny", reason: "not today" });
    const { view } = await waitForEnd(started);
    expect(ran).toEqual([]);
    expect(view.status).toBe("completed");
    expect(filterResults(view.output)).toMatchObject([{ status: "denied", outcome: "denied" }]);
    expect(getSentResults(model, 1)).toEqual(["The user denied this call: not today"]);
  });

  test("can abort the task while other calls are pending", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const started = await start(createAgentWithTool(tool, [sendCalls("a", "b", "c")]).agent);
    const [, second] = await waitForApprovals(started, 3);
    await started.runtime.decide(second?.approval_id ?? "", {
      decision: "abort",
      by: "me",
      reason: "stop it",
    });
    const { view, state } = await waitForEnd(started);
    expect(view.status).toBe("canceled");
    expect(state.tasks[started.id]?.ended).toEqual({ by: "me", reason: "stop it" });
    expect(ran).toEqual([]);
    expect(filterResults(view.output)).toHaveLength(3);
    expect(view.approvals.map(({ status }) => status)).toEqual(["expired", "resolved", "expired"]);
  });

  test("can decide on several calls in any order, and the results keep the order of the calls", async () => {
    const { tool, ran } = createSendTool("ask_always", { parallel: true });
    const { agent, model } = createAgentWithTool(tool, [sendCalls("a", "b", "c")]);
    const started = await start(agent);
    const [a, b, c] = (await waitForApprovals(started, 3)).map(({ approval_id }) => approval_id);
    await started.runtime.decide(c ?? "", { decision: "approve", by: "test" });
    await started.runtime.decide(a ?? "", { decision: "deny", by: "test", reason: "no" });
    await started.runtime.decide(b ?? "", { decision: "approve", by: "test" });
    await waitForEnd(started);
    expect(ran).toEqual([{ to: "c" }, { to: "b" }]);
    expect(getSentResults(model, 1)).toEqual(["The user denied this call: no", "sent", "sent"]);
  });

  test("receives the decision of another user who was faster", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const started = await start(createAgentWithTool(tool, [sendCalls("a")]).agent);
    const { approval_id } = await waitForApproval(started);
    const both = await Promise.all([
      started.runtime.decide(approval_id, {
        decision: "approve",
        by: "one",
        arguments: '{"to":"b"}',
      }),
      started.runtime.decide(approval_id, { decision: "approve", by: "two" }),
    ]);
    expect(both.map(({ type }) => type).toSorted()).toEqual(["resolved", "superseded"]);
    const late = both.find(({ type }) => type === "superseded");
    const first = both.find(({ type }) => type === "resolved");
    expect(late).toMatchObject({
      approval: { resolution: (first as { approval: { resolution: object } }).approval.resolution },
    });
    await waitForEnd(started);
    expect(ran).toHaveLength(1);
    expect(
      (await started.runtime.decide(approval_id, { decision: "deny", by: "three" })).type,
    ).toBe("superseded");
    expect((await started.runtime.decide("apr_none", { decision: "deny", by: "three" })).type).toBe(
      "not_found",
    );
  });

  test("can only make decisions that the approval offers", async () => {
    const { tool } = createSendTool("ask_always");
    const started = await start(createAgentWithTool(tool, [sendCalls("a")]).agent);
    expect(await decide(started, { decision: "redact" })).toMatchObject({ type: "invalid" });
    expect(await decide(started, { scope: "session" })).toMatchObject({ type: "invalid" });
    expect(await decide(started, { decision: "deny", arguments: "{}" })).toMatchObject({
      type: "invalid",
    });
    expect(await decide(started, { replacement: "x" })).toMatchObject({ type: "invalid" });
    expect(await decide(started, { any_arguments: true })).toEqual({
      type: "invalid",
      message: "any_arguments: not allowed for this approval",
    });
    await decide(started, {});
    await waitForEnd(started);
  });

  test("who does not decide in time loses the approval: the call does not run, and a late decision has no effect", async () => {
    const { tool, ran } = createSendTool("ask_always");
    const { agent, model } = createAgentWithTool(tool, [sendCalls("a")], { approvalSeconds: 0.05 });
    const started = await start(agent);
    const { approval_id, expires_at } = await waitForApproval(started);
    expect(Date.parse(expires_at ?? "")).toBeGreaterThan(0);
    const { view } = await waitForEnd(started);
    expect(ran).toEqual([]);
    expect(view.approvals[0]?.status).toBe("expired");
    expect(getSentResults(model, 1)[0]).toContain("the approval request expired");
    expect((await started.runtime.decide(approval_id, { decision: "approve", by: "x" })).type).toBe(
      "superseded",
    );
  });

  test("can have a month to decide: the timeout does not fire early", async () => {
    const { tool } = createSendTool("ask_always");
    const started = await start(
      createAgentWithTool(tool, [sendCalls("a")], {
        approvalSeconds: 31 * 86_400,
        limits: { seconds: 60 * 86_400 },
      }).agent,
    );
    await waitForApproval(started);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await decide(started, {});
    expect((await waitForEnd(started)).view.status).toBe("completed");
  });
});

test("the text in a result for the model equals the text that users see", async () => {
  const { tool } = createSendTool("ask_always");
  const { agent, model } = createAgentWithTool(tool, [sendCalls("a")]);
  const started = await start(agent);
  await decide(started, { decision: "deny" });
  const { view } = await waitForEnd(started);
  expect(getSentResults(model, 1)).toEqual([getItemText(filterResults(view.output)[0])]);
});
