import { describe, expect, test } from "vitest";
import { defineTool } from "../src/define-tool.ts";
import type { ResultPolicy, Tool } from "../src/tool.ts";
import {
  decide,
  ended,
  question,
  questions,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  textOf,
  textOfLog,
  toldResults,
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

  test("in a process that ended right then is taken out by the next", async () => {
    const tools = [reader("always")];
    const never = new Promise(() => undefined);
    const silent = scriptedAgent([[{ call: "read", args: {} }], [{ wait: never }]], { tools });
    const started = await start(silent.agent);
    const replace = started.log.replace.bind(started.log);
    started.log.replace = () => new Promise(() => undefined);
    void decide(started, { decision: "redact", replacement: "a number" });
    await expect.poll(() => textOfLog(started)).toContain("approval.resolved");
    await started.runtime.close();
    expect(await textOfLog(started)).toContain(secret);
    started.log.replace = replace;
    const { agent } = scriptedAgent([[{ text: "Done." }]], { tools });
    const next = await recovered(agent, started);
    const { view } = await ended(next);
    expect(await textOfLog(next)).not.toContain(secret);
    expect(textOf(resultsIn(view.output)[0])).toBe("a number");
  });
});
