import {
  defineTool,
  MemoryLog,
  RuntimeError,
  type ResultPolicy,
  type Tool,
} from "@deltawire/agent";
import type { TaskEvent } from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import {
  decide,
  ended,
  logUpTo,
  question,
  questions,
  recovered,
  resultsIn,
  runtimeOf,
  scriptedAgent,
  start,
  textOf,
  textOfLog,
  toldResults,
  until,
} from "./run-kit.ts";

const secret = "the secret of the tool";

function reader(result: ResultPolicy, run: () => unknown = () => secret): Tool {
  return defineTool({ name: "read", description: "Reads.", approval: { result }, run });
}

const script = [[{ call: "read", args: {} }], [{ text: "Done." }]];

async function heldBy(tool: Tool, decision: Parameters<typeof decide>[1]) {
  const { agent, model } = scriptedAgent(script, { tools: [tool] });
  const started = await start(agent);
  const asked = await question(started);
  await decide(started, decision);
  const { view } = await ended(started);
  return { asked, view, result: resultsIn(view.output)[0], told: toldResults(model, 1), started };
}

describe("a result that is always held", () => {
  test("is shown to a person, and to the model once it is approved", async () => {
    const { asked, result, told } = await heldBy(reader("always"), {});
    expect(asked).toMatchObject({
      kind: "result",
      choices: ["approve", "deny", "redact", "abort"],
      block_list: [{ type: "text", text: secret }],
    });
    expect(told).toEqual([secret]);
    expect(textOf(result)).toBe(secret);
    expect(result?.status).toBe("completed");
  });

  test("is not told when it is denied: the model hears that, and why", async () => {
    const { view, result, told } = await heldBy(reader("always"), {
      decision: "deny",
      reason: "private",
    });
    expect(JSON.stringify(view)).not.toContain(secret);
    expect(told).toEqual(["The call was run, but the user does not show you its result: private"]);
    expect(result).toMatchObject({ status: "denied", outcome: "denied" });
  });

  test("is replaced when it is redacted", async () => {
    const redacted = await heldBy(reader("always"), {
      decision: "redact",
      replacement: "a number",
    });
    expect(redacted.told).toEqual(["a number"]);
    expect(JSON.stringify(redacted.view)).not.toContain(secret);
    const empty = await heldBy(reader("always"), { decision: "redact" });
    expect(empty.told[0]).toContain("taken this result out");
  });

  test("goes nowhere when the task is aborted", async () => {
    const { view, told } = await heldBy(reader("always"), { decision: "abort" });
    expect(view.status).toBe("canceled");
    expect(told).toEqual([]);
    expect(JSON.stringify(view)).not.toContain(secret);
  });

  test("cannot be read in pages after it was refused, however long it is", async () => {
    const long = secret.repeat(10_000);
    const { agent, model } = scriptedAgent(
      (request, round) => {
        if (round === 0) return [{ call: "read", args: {} }];
        const input = request.input as { type?: string; call_id?: string }[];
        const id = input.findLast(({ type }) => type === "function_call")?.call_id;
        return round === 1
          ? [{ call: "read_result", args: { result: id, offset: 0 } }]
          : [{ text: "No." }];
      },
      { tools: [reader("always", () => long)] },
    );
    const started = await start(agent);
    const [asked] = await questions(started);
    expect(JSON.stringify(asked?.block_list).length).toBeLessThan(40_000);
    await decide(started, { decision: "deny" });
    await ended(started);
    expect(toldResults(model, 2).join("\n")).not.toContain(secret);
  });

  test("is held with its pictures and its numbers, and told whole when it is approved", async () => {
    const tool = reader("always", () => ({
      message_content: [{ type: "text", text: "seen", id: "a" }],
      block_list: [
        { type: "image", bytes: new Uint8Array([1, 2, 3]), media_type: "image/png", id: "a" },
      ],
    }));
    const { asked, view, result } = await heldBy(tool, {});
    expect(asked.block_list).toMatchObject([
      { type: "image", image_url: { url: expect.stringMatching(/^\/api\/blobs\//) as string } },
    ]);
    expect(result?.block_list).toMatchObject([{ type: "image", id: 1 }]);
    expect(view.references).toHaveLength(1);
  });
});

describe("a result that is held on error", () => {
  test("is told at once when the tool has done its work", async () => {
    const { agent } = scriptedAgent(script, { tools: [reader("on error")] });
    expect((await ended(await start(agent))).view.approvals).toEqual([]);
  });

  test("is held when the tool failed", async () => {
    const failing = reader("on error", () => {
      throw new Error(secret);
    });
    const { view, told } = await heldBy(failing, { decision: "deny" });
    expect(told[0]).not.toContain(secret);
    expect(view.approvals).toMatchObject([{ kind: "result", status: "resolved" }]);
  });

  test("is held when the tool took too long", async () => {
    const slow = defineTool({
      name: "read",
      description: "Reads.",
      timeout: 10,
      approval: { result: "on error" },
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("late"))),
        ),
    });
    const { result, told } = await heldBy(slow, {});
    expect(told[0]).toContain("no result within");
    expect(result?.outcome).toBe("timeout");
  });
});

test("a call and then its result are asked about, each on its own", async () => {
  const tool = defineTool({
    name: "read",
    description: "Reads.",
    approval: { call: "ask always", result: "always" },
    run: () => secret,
  });
  const { agent } = scriptedAgent(script, { tools: [tool] });
  const started = await start(agent);
  expect((await question(started)).kind).toBe("call");
  await decide(started, {});
  expect((await question(started)).kind).toBe("result");
  await decide(started, {});
  expect((await ended(started)).view.approvals.map(({ kind }) => kind)).toEqual(["call", "result"]);
});

test.each<[ResultPolicy, object[]]>([
  ["never", [{ message: "half of the secret", fraction: 0.5 }, { message: "more" }]],
  ["on error", [{ fraction: 0.5 }]],
  ["always", [{ fraction: 0.5 }]],
])("what a tool tells on its way is told where its result is: held %s", async (result, told) => {
  const tool = defineTool({
    name: "read",
    description: "Reads.",
    approval: { result },
    run: (_input, context) => {
      context.progress("half of the secret", 0.5);
      context.progress("more");
      return "read";
    },
  });
  const started = await start(scriptedAgent(script, { tools: [tool] }).agent);
  if (result === "always") await decide(started, {});
  const { events } = await ended(started);
  const progress = events.filter(({ type }) => type === "task.tool_execution.progress");
  expect(progress).toHaveLength(told.length);
  expect(progress).toMatchObject(told);
  expect(JSON.stringify(progress).includes("secret")).toBe(result === "never");
});

test("a result that is held goes with its task, also where nobody can go on with that", async () => {
  const started = await start(scriptedAgent(script, { tools: [reader("always")] }).agent);
  await question(started);
  await started.runtime.close();
  expect(await textOfLog(started)).toContain(secret);
  const agentFor = (): never => {
    throw new RuntimeError("unknown_agent", "there is no such agent");
  };
  const made = { ...started, ...runtimeOf(started.agent, { ...started, agentFor }) };
  expect(await made.runtime.cancel(made.id, "me")).toBe("canceled");
  await ended(made);
  expect(await textOfLog(made)).not.toContain(secret);
});

test("a result that nobody has released in time is gone while the task goes on", async () => {
  const waits = [[{ call: "read", args: {} }], [{ wait: new Promise(() => undefined) }]];
  const { agent } = scriptedAgent(waits, { tools: [reader("always")], approvalSeconds: 0.02 });
  const started = await start(agent);
  await until(started, ({ approvals }) => approvals[0]?.status === "expired");
  expect(await textOfLog(started)).not.toContain(secret);
  await started.runtime.close();
});

test("nobody releases a result in time: it is not told", async () => {
  const { agent, model } = scriptedAgent(script, {
    tools: [reader("always")],
    approvalSeconds: 0.02,
  });
  const started = await start(agent);
  const { view } = await ended(started);
  expect(toldResults(model, 1)[0]).toContain("nobody released it");
  expect(JSON.stringify(view)).not.toContain(secret);
});

describe("a result that is refused", () => {
  test.each([{ decision: "deny" }, { decision: "redact" }, { decision: "abort" }] as const)(
    "is not in the log any more: $decision",
    async (decision) => {
      const { agent } = scriptedAgent(script, { tools: [reader("always")] });
      const started = await start(agent);
      await question(started);
      expect(await textOfLog(started)).toContain(secret);
      await decide(started, decision);
      expect(await textOfLog(started)).not.toContain(secret);
      await ended(started);
      expect(await textOfLog(started)).not.toContain(secret);
    },
  );

  test("that is a failure is not in the record of the run either", async () => {
    const failing = reader("on error", () => {
      throw new Error(secret);
    });
    const started = await start(scriptedAgent(script, { tools: [failing] }).agent);
    await question(started);
    await decide(started, { decision: "deny" });
    await ended(started);
    expect(await textOfLog(started)).not.toContain(secret);
  });

  test("because nobody released it in time, or the task was cancelled, is not either", async () => {
    const tools = [reader("always")];
    const expiring = await start(scriptedAgent(script, { tools, approvalSeconds: 0.02 }).agent);
    await ended(expiring);
    await expect.poll(() => textOfLog(expiring)).not.toContain(secret);
    const canceled = await start(scriptedAgent(script, { tools }).agent);
    await question(canceled);
    await canceled.runtime.cancel(canceled.id, "test");
    await expect.poll(() => textOfLog(canceled)).not.toContain(secret);
  });

  /** What a crash would leave behind each batch that was kept. */
  class RecordedLog extends MemoryLog {
    readonly kept: string[] = [];

    override async append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
      await super.append(...batch);
      this.kept.push(await textOfLog({ log: this, id: batch[0] }));
    }
  }

  test.each(["deny", "redact", "abort", "expire", "cancel"] as const)(
    "is gone in the very moment in which it is kept that it was: %s",
    async (how) => {
      const log = new RecordedLog();
      const { agent } = scriptedAgent(script, {
        tools: [reader("always")],
        ...(how === "expire" ? { approvalSeconds: 0.02 } : {}),
      });
      const started = await start(agent, {}, { log });
      await question(started);
      if (how === "cancel") await started.runtime.cancel(started.id, "test");
      else if (how !== "expire") await decide(started, { decision: how });
      await ended(started);
      const decided = /task\.approval\.(?:resolved|expired)/;
      const [held, refused] = [true, false].map((isHeld) =>
        log.kept.filter((text) => text.includes(secret) === isHeld),
      );
      expect(held?.length).toBeGreaterThan(0);
      expect(held?.filter((text) => decided.test(text))).toEqual([]);
      expect(refused?.filter((text) => decided.test(text)).length).toBeGreaterThan(0);
    },
  );

  test("is told as it was replaced by a process that goes on", async () => {
    const tools = [reader("always")];
    const never = new Promise(() => undefined);
    const silent = scriptedAgent([[{ call: "read", args: {} }], [{ wait: never }]], { tools });
    const started = await start(silent.agent);
    await question(started);
    const isResolved = ({ type }: TaskEvent): boolean => type === "task.approval.resolved";
    await decide(started, { decision: "redact", replacement: "a number" });
    await started.runtime.close();
    const log = await logUpTo(started, isResolved);
    const { agent } = scriptedAgent([[{ text: "Done." }]], { tools });
    const next = await recovered(agent, { log, id: started.id });
    const { view } = await ended(next);
    expect(textOf(resultsIn(view.output)[0])).toBe("a number");
    expect(await textOfLog(next)).not.toContain(secret);
  });
});
