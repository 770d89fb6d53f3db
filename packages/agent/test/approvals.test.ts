import { argumentsHash } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  question,
  resultsIn,
  runtimeOf,
  start,
  type Script,
  type Started,
} from "./run-kit.ts";
import { agentWith, send, sender } from "./sender.ts";

describe("a call", () => {
  test("is run without a question by a tool that is auto", async () => {
    const { tool, ran } = sender("auto");
    const { events } = await ended(await start(agentWith(tool, [send("a")]).agent));
    expect(ran).toEqual([{ to: "a" }]);
    expect(events.some(({ type }) => type === "task.approval.requested")).toBe(false);
  });

  test("waits for a person, and runs when it is approved", async () => {
    const { tool, ran } = sender("ask always");
    const started = await start(agentWith(tool, [send("a")]).agent);
    const asked = await question(started);
    expect(asked).toMatchObject({
      kind: "call",
      tool: "send",
      args_hash: argumentsHash('{"to":"a"}'),
      choices: ["approve", "deny", "abort"],
      scopes: ["once"],
      any_arguments: false,
    });
    expect(ran).toEqual([]);
    expect((await decide(started, {})).is).toBe("resolved");
    const { view, events } = await ended(started);
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

  test("is asked about each time where the policy is ask always", async () => {
    const { tool, ran } = sender("ask always");
    const started = await start(agentWith(tool, [send("a"), send("a")]).agent);
    await decide(started, {});
    await decide(started, {});
    await ended(started);
    expect(ran).toHaveLength(2);
  });

  test("is asked about once for the same arguments where the policy is ask once", async () => {
    const { tool, ran } = sender("ask once");
    const started = await start(agentWith(tool, [send("a"), send("a"), send("b")]).agent);
    await decide(started, {});
    expect(await question(started)).toMatchObject({ args_hash: argumentsHash('{"to":"b"}') });
    await decide(started, { scope: "once" });
    const { view } = await ended(started);
    expect(view.approvals.map(({ resolution }) => resolution?.scope)).toEqual(["session", "once"]);
    expect(ran).toHaveLength(3);
  });

  test("that was approved once alone is asked about again", async () => {
    const { tool } = sender("ask once");
    const started = await start(agentWith(tool, [send("a"), send("a")]).agent);
    await decide(started, { scope: "once" });
    await decide(started, { scope: "once" });
    expect((await ended(started)).view.approvals).toHaveLength(2);
  });

  test("goes without a question if an allow-list has it, and one that throws allows nothing", async () => {
    const { tool, ran } = sender("ask always", {
      allows: (input) => {
        const { to } = input as { to: string };
        if (to === "odd") throw new Error("broken");
        return to === "friend";
      },
    });
    const started = await start(agentWith(tool, [send("friend"), send("odd")]).agent);
    await decide(started, { decision: "deny" });
    const { view } = await ended(started);
    expect(ran).toEqual([{ to: "friend" }]);
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual(["completed", "denied"]);
  });

  test("is allowed for the other tasks of the session, and for no others", async () => {
    const { tool, ran } = sender("ask once");
    const { agent } = agentWith(tool, (request) =>
      JSON.stringify(request.input).includes("function_call_output") ? [{ text: "ok" }] : send("a"),
    );
    const { runtime, log, blobs } = runtimeOf(agent);
    const begin = async (session_id?: string) => ({
      runtime,
      log,
      blobs,
      agent,
      id: await runtime.start({
        input: "Go.",
        ...(session_id === undefined ? {} : { session_id }),
      }),
    });
    const first = await begin("chat");
    await decide(first, { scope: "session" });
    await ended(first);
    expect((await ended(await begin("chat"))).view.approvals).toEqual([]);
    const other = await begin("another");
    await decide(other, {});
    await ended(other);
    const without = await begin();
    await decide(without, {});
    await ended(without);
    expect(ran).toHaveLength(4);
  });

  test("is allowed in a task of the session that has asked for something else before", async () => {
    const { tool, ran } = sender("ask once");
    const shared = runtimeOf(agentWith(tool, []).agent);
    const begin = async (script: Script): Promise<Started> => {
      const made = runtimeOf(agentWith(tool, script).agent, {
        log: shared.log,
        blobs: shared.blobs,
      });
      return { ...made, id: await made.runtime.start({ input: "Go.", session_id: "chat" }) };
    };
    const waits = await begin([send("b"), send("a")]);
    await question(waits);
    const other = await begin([send("a")]);
    await decide(other, { scope: "session" });
    await ended(other);
    await decide(waits, { scope: "once" });
    expect((await ended(waits)).view.approvals).toHaveLength(1);
    expect(ran).toEqual([{ to: "a" }, { to: "b" }, { to: "a" }]);
  });

  test("of any arguments is allowed for the session only where the tool allows it", async () => {
    const open = sender("ask once");
    const started = await start(agentWith(open.tool, [send("a"), send("b")]).agent);
    expect((await question(started)).any_arguments).toBe(true);
    await decide(started, { scope: "session", any_arguments: true });
    expect((await ended(started)).view.approvals).toHaveLength(1);

    const shell = sender("ask once", { anyArguments: false });
    const guarded = await start(agentWith(shell.tool, [send("a"), send("b")]).agent);
    expect((await question(guarded)).any_arguments).toBe(false);
    expect(await decide(guarded, { scope: "session", any_arguments: true })).toMatchObject({
      is: "invalid",
    });
    await decide(guarded, { scope: "session" });
    await decide(guarded, {});
    expect((await ended(guarded)).view.approvals).toHaveLength(2);
  });
});
