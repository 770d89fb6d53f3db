import { defineTool, ModelError } from "@deltawire/agent";
import { emptyTree, reduce, type TaskEvent } from "@deltawire/tasks";
import { buildCallRecords, computeChainStats, mergeWarnings } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { askForHelpCalls, createHelperAgent } from "../helper-agents.ts";
import {
  decide,
  waitForEnd,
  waitForApprovals,
  scriptedAgent,
  start,
  filterWarnings,
  type StartedTask,
} from "../runtime-fixture.ts";

/** A clock that advances by ten milliseconds each time it is read. */
const createTickingClock = () => {
  let ms = Date.parse("2026-01-01T00:00:00.000Z");
  return () => (ms += 10);
};

async function recordTask(started: StartedTask) {
  const { events, state } = await waitForEnd(started);
  return { record: buildRecord(events), events, state };
}

function buildRecord(events: readonly TaskEvent[]) {
  const tree = reduce(emptyTree, events);
  return {
    calls: buildCallRecords(tree),
    stats: computeChainStats(tree),
    warnings: mergeWarnings(tree),
  };
}

const tools = [
  defineTool({ name: "get", description: "", effect: "pure", run: () => ({ degrees: 15 }) }),
  defineTool({ name: "long", description: "", effect: "pure", run: () => "x".repeat(9000) }),
  defineTool({
    name: "fail",
    description: "",
    effect: "pure",
    run: () => {
      throw new Error("no such place");
    },
  }),
];

test("calls are recorded with their round, arguments, result, times and outcome", async () => {
  const { agent } = scriptedAgent(
    [
      [
        { call: "get", args: { city: "Oslo" } },
        { call: "fail", args: {} },
        { call: "none", args: {} },
      ],
      [{ call: "long", args: {} }],
      [{ text: "Done." }],
    ],
    { tools },
  );
  const { record, events } = await recordTask(
    await start(agent, {}, { now: createTickingClock() }),
  );
  const [get, fail, none, long] = record.calls;
  expect(get).toMatchObject({
    round: 1,
    name: "get",
    arguments: '{"city":"Oslo"}',
    outcome: "completed",
    result: '{"degrees":15}',
  });
  expect(get).not.toHaveProperty("task_id");
  const startEvent = events.find(({ type }) => type === "task.tool_execution.started");
  expect(get?.started_at).toBe(startEvent?.ts);
  expect(get?.duration_ms).toBeGreaterThan(0);
  expect(fail).toMatchObject({ outcome: "failed", result: "The tool failed: no such place" });
  expect(none).toMatchObject({ round: 1, outcome: "failed" });
  expect(none).not.toHaveProperty("started_at");
  expect(long).toMatchObject({ round: 2, result: `${"x".repeat(3999)}…` });
  const { model_ms, tool_ms, ...stats } = record.stats;
  expect(stats).toEqual({
    rounds: 3,
    calls: 4,
    outcomes: { completed: 2, failed: 2 },
    waited_ms: 0,
  });
  expect(tool_ms).toBe(record.calls.reduce((sum, { duration_ms }) => sum + (duration_ms ?? 0), 0));
  expect(model_ms).toBeGreaterThan(0);
});

test("decisions are recorded, but denied results are not", async () => {
  const held = defineTool({
    name: "held",
    description: "",
    effect: "pure",
    approval: { call: "ask_always", result: "always" },
    run: () => "the secret",
  });
  const { agent } = scriptedAgent(
    [[{ call: "held", args: {} }], [{ call: "held", args: {} }], [{ call: "held", args: {} }]],
    { tools: [held] },
  );
  const started = await start(agent, {}, { now: createTickingClock() });
  await decide(started, { arguments: '{"room":2}' });
  await decide(started, { decision: "redact", replacement: "nothing" });
  await decide(started, {});
  await decide(started, { decision: "approve" });
  await decide(started, { decision: "deny", reason: "no" });
  const { record, events } = await recordTask(started);
  expect(record.calls).toMatchObject([
    {
      arguments: "{}",
      changed_arguments: '{"room":2}',
      decisions: ["approve", "redact"],
      outcome: "completed",
    },
    { decisions: ["approve", "approve"], outcome: "completed", result: "the secret" },
    { decisions: ["deny"], outcome: "denied" },
  ]);
  expect(record.calls.map((call) => "result" in call)).toEqual([false, true, false]);
  expect(record.calls[1]).not.toHaveProperty("changed_arguments");
  const waits = events.filter(({ type }) => type === "task.input_required");
  expect(record.stats.waited_ms).toBeGreaterThanOrEqual(waits.length * 10);
});

test("calls of a sub-agent are recorded under its name, and its usage with the call that started it", async () => {
  const slow = defineTool({
    name: "slow",
    description: "",
    effect: "pure",
    approval: "ask_always",
    run: () => "found",
  });
  const anna = createHelperAgent(
    "anna",
    [[{ call: "slow", args: {} }], [{ text: "It is there." }]],
    {
      tools: [slow],
    },
  );
  const { agent } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Done." }]], {
    agents: [anna],
  });
  const started = await start(agent, {}, { now: createTickingClock() });
  await waitForApprovals(started);
  await decide(started, {});
  const { record, state } = await recordTask(started);
  const [helpCall, own] = record.calls;
  expect(helpCall).toMatchObject({ name: "ask_for_help", round: 1, result: "It is there." });
  expect(helpCall?.usage).toEqual(state.tasks[helpCall?.call_id ?? ""]?.tree_usage);
  expect(helpCall?.usage?.total_tokens).toBe(30);
  expect(own).toMatchObject({ name: "slow", task_id: helpCall?.call_id, decisions: ["approve"] });
  expect(record.stats).toMatchObject({ rounds: 4, calls: 2, outcomes: { completed: 2 } });
  // The duration of the call is that of the sub-agent, and is not counted twice.
  expect(record.stats.tool_ms).toBe(own?.duration_ms);
  expect(record.stats.waited_ms).toBeGreaterThan(0);
});

test("the error of a call is recorded: the tool's message, or the end of the sub-agent's task", async () => {
  const broken = createHelperAgent("broken", [
    [{ error: new ModelError("upstream_rejected", "it is closed", { retryable: false }) }],
  ]);
  const slow = createHelperAgent("slow", [[{ wait: new Promise(() => undefined) }]], {
    limits: { seconds: 0.05 },
  });
  const delegating = createHelperAgent("asks", [askForHelpCalls("broken"), [{ text: "Nobody." }]], {
    agents: [broken],
  });
  const { agent } = scriptedAgent(
    [
      [
        { call: "fail", args: {} },
        { call: "get", args: {} },
      ],
      askForHelpCalls("asks", "slow"),
      [{ text: "Done." }],
    ],
    { tools, agents: [delegating, slow] },
  );
  const { record, state } = await recordTask(await start(agent));
  const errors = record.calls.map(({ name, arguments: json, error }) => [
    (JSON.parse(json) as { name?: string }).name ?? name,
    error,
  ]);
  const [reason] = Object.values(state.tasks).flatMap(({ ended }) => ended?.reason ?? []);
  expect(Object.fromEntries(errors)).toEqual({
    fail: { code: "failed", message: "no such place" },
    get: undefined,
    asks: undefined,
    broken: { code: "upstream_rejected", message: "it is closed" },
    slow: { code: "timeout", message: reason },
  });
});

test("the error of a tool is not recorded if a user denied its result", async () => {
  const held = defineTool({
    name: "held",
    description: "",
    effect: "pure",
    approval: { result: "on_error" },
    run: () => {
      throw new Error("the secret");
    },
  });
  const { agent } = scriptedAgent([[{ call: "held", args: {} }], [{ text: "Done." }]], {
    tools: [held],
  });
  const started = await start(agent);
  await decide(started, { decision: "redact", replacement: "nothing" });
  const { record, state } = await recordTask(started);
  expect(record.calls).toMatchObject([{ outcome: "failed" }]);
  expect(JSON.stringify([record, state])).not.toContain("the secret");
});

test("a retracted call is not recorded, and its round counts once", async () => {
  const { agent } = scriptedAgent(
    [[{ call: "get", args: {} }, { cut: true }], [{ call: "get", args: {} }], [{ text: "Done." }]],
    { tools },
  );
  const { record } = await recordTask(await start(agent));
  expect(record.stats).toMatchObject({ rounds: 2, calls: 1 });
});

test("repairs and retries are recorded once with their count, including those of sub-agents", async () => {
  const anna = createHelperAgent("anna", [
    [{ text: "It" }, { cut: true }],
    [{ text: "It is there." }],
  ]);
  const { agent } = scriptedAgent(
    [[{ text: "Half" }, { cut: true }], askForHelpCalls("anna"), [{ text: "Done." }]],
    { agents: [anna] },
  );
  const { record, events } = await recordTask(await start(agent));
  const { warnings } = record;
  expect(warnings).toContainEqual({
    code: "model_retry_scheduled",
    message: expect.stringContaining("closed the stream") as string,
    count: 2,
  });
  const kinds = new Set(warnings.map(({ code, message }) => `${code}: ${message}`));
  expect(kinds.size).toBe(warnings.length);
  const all = filterWarnings(events);
  expect(new Set(all.map(({ code, message }) => `${code}: ${message}`))).toEqual(kinds);
  expect(warnings.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
});

test("an incomplete log yields the calls so far, and an empty log none", async () => {
  const { agent } = scriptedAgent([[{ call: "get", args: {} }], [{ text: "Done." }]], { tools });
  const { events } = await recordTask(await start(agent));
  const half = events.findIndex(({ type }) => type === "task.tool_execution.started");
  const { calls, stats } = buildRecord(events.slice(0, half + 1));
  expect(calls).toMatchObject([{ name: "get", outcome: "in_progress" }]);
  expect(stats.outcomes).toEqual({});
  expect(buildRecord([])).toEqual({
    calls: [],
    stats: { rounds: 0, calls: 0, outcomes: {}, model_ms: 0, tool_ms: 0, waited_ms: 0 },
    warnings: [],
  });
});
