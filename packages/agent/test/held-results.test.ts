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
  waitForEnd,
  copyLogUntil,
  waitForApproval,
  waitForApprovals,
  recoverTask,
  filterResults,
  createRuntime,
  scriptedAgent,
  start,
  getItemText,
  readLogText,
  getSentResults,
  waitUntil,
} from "./runtime-fixture.ts";

const secret = "the secret of the tool";

function createReader(result: ResultPolicy, run: () => unknown = () => secret): Tool {
  return defineTool({ name: "read", description: "Reads.", approval: { result }, run });
}

const script = [[{ call: "read", args: {} }], [{ text: "Done." }]];

async function decideHeldResult(tool: Tool, decision: Parameters<typeof decide>[1]) {
  const { agent, model } = scriptedAgent(script, { tools: [tool] });
  const started = await start(agent);
  const approval = await waitForApproval(started);
  await decide(started, decision);
  const { view } = await waitForEnd(started);
  return {
    approval,
    view,
    result: filterResults(view.output)[0],
    sent: getSentResults(model, 1),
    started,
  };
}

describe("a result with the policy always", () => {
  test("is shown to a user, and to the model after approval", async () => {
    const { approval, result, sent } = await decideHeldResult(createReader("always"), {});
    expect(approval).toMatchObject({
      kind: "result",
      choices: ["approve", "deny", "redact", "abort"],
      block_list: [{ type: "text", text: secret }],
    });
    expect(sent).toEqual([secret]);
    expect(getItemText(result)).toBe(secret);
    expect(result?.status).toBe("completed");
  });

  test("is not sent to the model if it is denied; the model receives the reason", async () => {
    const { view, result, sent } = await decideHeldResult(createReader("always"), {
      decision: "deny",
      reason: "private",
    });
    expect(JSON.stringify(view)).not.toContain(secret);
    expect(sent).toEqual(["The call was run, but the user withheld its result: private"]);
    expect(result).toMatchObject({ status: "denied", outcome: "denied" });
  });

  test("is replaced by the user's text if it is redacted", async () => {
    const redacted = await decideHeldResult(createReader("always"), {
      decision: "redact",
      replacement: "a number",
    });
    expect(redacted.sent).toEqual(["a number"]);
    expect(JSON.stringify(redacted.view)).not.toContain(secret);
    const empty = await decideHeldResult(createReader("always"), { decision: "redact" });
    expect(empty.sent[0]).toContain("The user removed this result");
  });

  test("is discarded if the task is aborted", async () => {
    const { view, sent } = await decideHeldResult(createReader("always"), { decision: "abort" });
    expect(view.status).toBe("canceled");
    expect(sent).toEqual([]);
    expect(JSON.stringify(view)).not.toContain(secret);
  });

  test("cannot be read in pages after it was denied, even if it is long", async () => {
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
      { tools: [createReader("always", () => long)] },
    );
    const started = await start(agent);
    const [approval] = await waitForApprovals(started);
    expect(JSON.stringify(approval?.block_list).length).toBeLessThan(40_000);
    await decide(started, { decision: "deny" });
    await waitForEnd(started);
    expect(getSentResults(model, 2).join("\n")).not.toContain(secret);
  });

  test("is held with its images and references, and complete after approval", async () => {
    const tool = createReader("always", () => ({
      message_content: [{ type: "text", text: "seen", id: "a" }],
      block_list: [
        { type: "image", bytes: new Uint8Array([1, 2, 3]), media_type: "image/png", id: "a" },
      ],
    }));
    const { approval, view, result } = await decideHeldResult(tool, {});
    expect(approval.block_list).toMatchObject([
      { type: "image", image_url: { url: expect.stringMatching(/^\/api\/blobs\//) as string } },
    ]);
    expect(result?.block_list).toMatchObject([{ type: "image", id: 1 }]);
    expect(view.references).toHaveLength(1);
  });
});

describe("a result with the policy on_error", () => {
  test("is sent immediately if the tool succeeded", async () => {
    const { agent } = scriptedAgent(script, { tools: [createReader("on_error")] });
    expect((await waitForEnd(await start(agent))).view.approvals).toEqual([]);
  });

  test("is held if the tool failed", async () => {
    const failing = createReader("on_error", () => {
      throw new Error(secret);
    });
    const { view, sent } = await decideHeldResult(failing, { decision: "deny" });
    expect(sent[0]).not.toContain(secret);
    expect(view.approvals).toMatchObject([{ kind: "result", status: "resolved" }]);
  });

  test("is held if the tool timed out", async () => {
    const slow = defineTool({
      name: "read",
      description: "Reads.",
      timeoutMs: 10,
      approval: { result: "on_error" },
      run: (_input, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("late"))),
        ),
    });
    const { result, sent } = await decideHeldResult(slow, {});
    expect(sent[0]).toContain("no result within");
    expect(result?.outcome).toBe("timeout");
  });
});

test("a call and then its result each request an approval", async () => {
  const tool = defineTool({
    name: "read",
    description: "Reads.",
    approval: { call: "ask_always", result: "always" },
    run: () => secret,
  });
  const { agent } = scriptedAgent(script, { tools: [tool] });
  const started = await start(agent);
  expect((await waitForApproval(started)).kind).toBe("call");
  await decide(started, {});
  expect((await waitForApproval(started)).kind).toBe("result");
  await decide(started, {});
  expect((await waitForEnd(started)).view.approvals.map(({ kind }) => kind)).toEqual([
    "call",
    "result",
  ]);
});

test.each<[ResultPolicy, object[]]>([
  ["never", [{ message: "half of the secret", fraction: 0.5 }, { message: "more" }]],
  ["on_error", [{ fraction: 0.5 }]],
  ["always", [{ fraction: 0.5 }]],
])(
  "with the policy %s, the text of progress is shown only if results are never held",
  async (result, sent) => {
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
    const { events } = await waitForEnd(started);
    const progress = events.filter(({ type }) => type === "task.tool_execution.progress");
    expect(progress).toHaveLength(sent.length);
    expect(progress).toMatchObject(sent);
    expect(JSON.stringify(progress).includes("secret")).toBe(result === "never");
  },
);

test("a held result is removed from the log when its task is canceled, even if the task cannot be resumed", async () => {
  const started = await start(scriptedAgent(script, { tools: [createReader("always")] }).agent);
  await waitForApproval(started);
  await started.runtime.close();
  expect(await readLogText(started)).toContain(secret);
  const agentFor = (): never => {
    throw new RuntimeError("agent_not_found", "there is no such agent");
  };
  const fixture = { ...started, ...createRuntime(started.agent, { ...started, agentFor }) };
  expect(await fixture.runtime.cancel(fixture.id, "me")).toBe("canceled");
  await waitForEnd(fixture);
  expect(await readLogText(fixture)).not.toContain(secret);
});

test("a held result is removed from the log as soon as its approval expires", async () => {
  const hangingScript = [[{ call: "read", args: {} }], [{ wait: new Promise(() => undefined) }]];
  const { agent } = scriptedAgent(hangingScript, {
    tools: [createReader("always")],
    approvalSeconds: 0.02,
  });
  const started = await start(agent);
  await waitUntil(started, ({ approvals }) => approvals[0]?.status === "expired");
  expect(await readLogText(started)).not.toContain(secret);
  await started.runtime.close();
});

test("the model does not receive a held result whose approval expires", async () => {
  const { agent, model } = scriptedAgent(script, {
    tools: [createReader("always")],
    approvalSeconds: 0.02,
  });
  const started = await start(agent);
  const { view } = await waitForEnd(started);
  expect(getSentResults(model, 1)[0]).toBe(
    "The call was run, but its result was withheld: the approval request expired.",
  );
  expect(JSON.stringify(view)).not.toContain(secret);
});

describe("a withheld result", () => {
  test.each([{ decision: "deny" }, { decision: "redact" }, { decision: "abort" }] as const)(
    "is removed from the log: $decision",
    async (decision) => {
      const { agent } = scriptedAgent(script, { tools: [createReader("always")] });
      const started = await start(agent);
      await waitForApproval(started);
      expect(await readLogText(started)).toContain(secret);
      await decide(started, decision);
      expect(await readLogText(started)).not.toContain(secret);
      await waitForEnd(started);
      expect(await readLogText(started)).not.toContain(secret);
    },
  );

  test("that is an error is also removed from the execution record", async () => {
    const failing = createReader("on_error", () => {
      throw new Error(secret);
    });
    const started = await start(scriptedAgent(script, { tools: [failing] }).agent);
    await waitForApproval(started);
    await decide(started, { decision: "deny" });
    await waitForEnd(started);
    expect(await readLogText(started)).not.toContain(secret);
  });

  test("is removed from the log if the approval expires or the task is canceled", async () => {
    const tools = [createReader("always")];
    const expiring = await start(scriptedAgent(script, { tools, approvalSeconds: 0.02 }).agent);
    await waitForEnd(expiring);
    await expect.poll(() => readLogText(expiring)).not.toContain(secret);
    const canceled = await start(scriptedAgent(script, { tools }).agent);
    await waitForApproval(canceled);
    await canceled.runtime.cancel(canceled.id, "test");
    await expect.poll(() => readLogText(canceled)).not.toContain(secret);
  });

  /** Takes a snapshot of the log after each stored batch, as a crash at that point would leave it. */
  class RecordedLog extends MemoryLog {
    readonly snapshots: string[] = [];

    override async append(...batch: Parameters<MemoryLog["append"]>): Promise<void> {
      await super.append(...batch);
      this.snapshots.push(await readLogText({ log: this, id: batch[0] }));
    }
  }

  test.each(["deny", "redact", "abort", "expire", "cancel"] as const)(
    "is removed in the same transaction that stores the decision: %s",
    async (ending) => {
      const log = new RecordedLog();
      const { agent } = scriptedAgent(script, {
        tools: [createReader("always")],
        ...(ending === "expire" ? { approvalSeconds: 0.02 } : {}),
      });
      const started = await start(agent, {}, { log });
      await waitForApproval(started);
      if (ending === "cancel") await started.runtime.cancel(started.id, "test");
      else if (ending !== "expire") await decide(started, { decision: ending });
      await waitForEnd(started);
      const decisionPattern = /task\.approval\.(?:resolved|expired)/;
      const [snapshotsWith, snapshotsWithout] = [true, false].map((isHeld) =>
        log.snapshots.filter((text) => text.includes(secret) === isHeld),
      );
      expect(snapshotsWith?.length).toBeGreaterThan(0);
      expect(snapshotsWith?.filter((text) => decisionPattern.test(text))).toEqual([]);
      expect(snapshotsWithout?.filter((text) => decisionPattern.test(text)).length).toBeGreaterThan(
        0,
      );
    },
  );

  test("stays replaced by the user's text after another process resumes the task", async () => {
    const tools = [createReader("always")];
    const never = new Promise(() => undefined);
    const silent = scriptedAgent([[{ call: "read", args: {} }], [{ wait: never }]], { tools });
    const started = await start(silent.agent);
    await waitForApproval(started);
    const isResolved = ({ type }: TaskEvent): boolean => type === "task.approval.resolved";
    await decide(started, { decision: "redact", replacement: "a number" });
    await started.runtime.close();
    const log = await copyLogUntil(started, isResolved);
    const { agent } = scriptedAgent([[{ text: "Done." }]], { tools });
    const next = await recoverTask(agent, { log, id: started.id });
    const { view } = await waitForEnd(next);
    expect(getItemText(filterResults(view.output)[0])).toBe("a number");
    expect(await readLogText(next)).not.toContain(secret);
  });
});
