import { argumentsHash } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  question,
  questions,
  resultsIn,
  start,
  textOf,
  toldResults,
} from "./run-kit.ts";
import { agentWith, send, sender } from "./sender.ts";

describe("a person", () => {
  test("changes arguments: they are checked, run and granted, and the model hears it", async () => {
    const { tool, ran } = sender("ask once");
    const { agent, model } = agentWith(tool, [send("boss"), send("me")]);
    const started = await start(agent);
    expect(await decide(started, { arguments: '{"to":7}' })).toMatchObject({ is: "invalid" });
    expect(await decide(started, { arguments: '{"to"' })).toMatchObject({ is: "invalid" });
    expect((await decide(started, { arguments: '{"to":"me"}' })).is).toBe("resolved");
    const { events, view } = await ended(started);
    expect(ran).toEqual([{ to: "me" }, { to: "me" }]);
    expect(view.approvals).toHaveLength(1);
    const run = events.find(({ type }) => type === "task.tool_execution.started");
    expect(run).toMatchObject({ args_hash: argumentsHash('{"to":"me"}') });
    expect(toldResults(model, 1)[0]).toContain('changed the arguments of this call to {"to":"me"}');
  });

  test("refuses with a reason, and the model goes on with it", async () => {
    const { tool, ran } = sender("ask always");
    const { agent, model } = agentWith(tool, [send("a"), [{ text: "Then not." }]]);
    const started = await start(agent);
    await decide(started, { decision: "deny", reason: "not today" });
    const { view } = await ended(started);
    expect(ran).toEqual([]);
    expect(view.status).toBe("completed");
    expect(resultsIn(view.output)).toMatchObject([{ status: "denied", outcome: "denied" }]);
    expect(toldResults(model, 1)).toEqual(["The user refused this call: not today"]);
  });

  test("ends the task with an abort, also while other calls wait", async () => {
    const { tool, ran } = sender("ask always");
    const started = await start(agentWith(tool, [send("a", "b", "c")]).agent);
    const [, second] = await questions(started, 3);
    await started.runtime.decide(second?.approval_id ?? "", {
      decision: "abort",
      by: "me",
      reason: "stop it",
    });
    const { view, state } = await ended(started);
    expect(view.status).toBe("canceled");
    expect(state.tasks[started.id]?.ended).toEqual({ by: "me", reason: "stop it" });
    expect(ran).toEqual([]);
    expect(resultsIn(view.output)).toHaveLength(3);
    expect(view.approvals.map(({ status }) => status)).toEqual(["expired", "resolved", "expired"]);
  });

  test("decides of several calls each on its own, in any order, and the results are in the order of the calls", async () => {
    const { tool, ran } = sender("ask always", { parallel: true });
    const { agent, model } = agentWith(tool, [send("a", "b", "c")]);
    const started = await start(agent);
    const [a, b, c] = (await questions(started, 3)).map(({ approval_id }) => approval_id);
    await started.runtime.decide(c ?? "", { decision: "approve", by: "test" });
    await started.runtime.decide(a ?? "", { decision: "deny", by: "test", reason: "no" });
    await started.runtime.decide(b ?? "", { decision: "approve", by: "test" });
    await ended(started);
    expect(ran).toEqual([{ to: "c" }, { to: "b" }]);
    expect(toldResults(model, 1)).toEqual(["The user refused this call: no", "sent", "sent"]);
  });

  test("is late when another was faster, and is told who won", async () => {
    const { tool, ran } = sender("ask always");
    const started = await start(agentWith(tool, [send("a")]).agent);
    const { approval_id } = await question(started);
    const both = await Promise.all([
      started.runtime.decide(approval_id, {
        decision: "approve",
        by: "one",
        arguments: '{"to":"b"}',
      }),
      started.runtime.decide(approval_id, { decision: "approve", by: "two" }),
    ]);
    expect(both.map(({ is }) => is).toSorted()).toEqual(["late", "resolved"]);
    const late = both.find(({ is }) => is === "late");
    const won = both.find(({ is }) => is === "resolved");
    expect(late).toMatchObject({
      approval: { resolution: (won as { approval: { resolution: object } }).approval.resolution },
    });
    await ended(started);
    expect(ran).toHaveLength(1);
    expect((await started.runtime.decide(approval_id, { decision: "deny", by: "three" })).is).toBe(
      "late",
    );
    expect((await started.runtime.decide("apr_none", { decision: "deny", by: "three" })).is).toBe(
      "unknown",
    );
  });

  test("may decide only what is among the choices", async () => {
    const { tool } = sender("ask always");
    const started = await start(agentWith(tool, [send("a")]).agent);
    expect(await decide(started, { decision: "redact" })).toMatchObject({ is: "invalid" });
    expect(await decide(started, { scope: "session" })).toMatchObject({ is: "invalid" });
    expect(await decide(started, { decision: "deny", arguments: "{}" })).toMatchObject({
      is: "invalid",
    });
    expect(await decide(started, { replacement: "x" })).toMatchObject({ is: "invalid" });
    await decide(started, {});
    await ended(started);
  });

  test("who does not answer in time has refused, and a later word is late", async () => {
    const { tool, ran } = sender("ask always");
    const { agent, model } = agentWith(tool, [send("a")], { approvalSeconds: 0.05 });
    const started = await start(agent);
    const { approval_id, expires_at } = await question(started);
    expect(Date.parse(expires_at ?? "")).toBeGreaterThan(0);
    const { view } = await ended(started);
    expect(ran).toEqual([]);
    expect(view.approvals[0]?.status).toBe("expired");
    expect(toldResults(model, 1)[0]).toContain("Nobody answered");
    expect((await started.runtime.decide(approval_id, { decision: "approve", by: "x" })).is).toBe(
      "late",
    );
  });

  test("may have a month: no timer runs out before", async () => {
    const { tool } = sender("ask always");
    const started = await start(
      agentWith(tool, [send("a")], {
        approvalSeconds: 31 * 86_400,
        limits: { seconds: 60 * 86_400 },
      }).agent,
    );
    await question(started);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await decide(started, {});
    expect((await ended(started)).view.status).toBe("completed");
  });
});

test("the result that a model is told says what a person sees", async () => {
  const { tool } = sender("ask always");
  const { agent, model } = agentWith(tool, [send("a")]);
  const started = await start(agent);
  await decide(started, { decision: "deny" });
  const { view } = await ended(started);
  expect(toldResults(model, 1)).toEqual([textOf(resultsIn(view.output)[0])]);
});
