import { defineTool, ModelError } from "@deltawire/agent";
import { emptyTree, reduce, type TaskEvent } from "@deltawire/tasks";
import { callRecords, chainStats, chainWarnings } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { help, helper } from "../helpers.ts";
import {
  decide,
  ended,
  questions,
  scriptedAgent,
  start,
  warningsIn,
  type Started,
} from "../run-kit.ts";

/** A clock of which every look takes ten milliseconds. */
const ticking = () => {
  let ms = Date.parse("2026-01-01T00:00:00.000Z");
  return () => (ms += 10);
};

async function recordOf(started: Started) {
  const { events, state } = await ended(started);
  return { record: recorded(events), events, state };
}

function recorded(events: readonly TaskEvent[]) {
  const tree = reduce(emptyTree, events);
  return { calls: callRecords(tree), stats: chainStats(tree), warnings: chainWarnings(tree) };
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

test("calls are told with their round, arguments, result, times and outcome", async () => {
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
  const { record, events } = await recordOf(await start(agent, {}, { now: ticking() }));
  const [get, fail, none, long] = record.calls;
  expect(get).toMatchObject({
    round: 1,
    name: "get",
    arguments: '{"city":"Oslo"}',
    outcome: "completed",
    result: '{"degrees":15}',
  });
  expect(get).not.toHaveProperty("task_id");
  const began = events.find(({ type }) => type === "task.tool_execution.started");
  expect(get?.started_at).toBe(began?.ts);
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

test("what people decided is told, and a result that was refused is not", async () => {
  const held = defineTool({
    name: "held",
    description: "",
    effect: "pure",
    approval: { call: "ask always", result: "always" },
    run: () => "the secret",
  });
  const { agent } = scriptedAgent(
    [[{ call: "held", args: {} }], [{ call: "held", args: {} }], [{ call: "held", args: {} }]],
    { tools: [held] },
  );
  const started = await start(agent, {}, { now: ticking() });
  await decide(started, { arguments: '{"room":2}' });
  await decide(started, { decision: "redact", replacement: "nothing" });
  await decide(started, {});
  await decide(started, { decision: "approve" });
  await decide(started, { decision: "deny", reason: "no" });
  const { record, events } = await recordOf(started);
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

test("calls of a sub-agent are told as its own, with what it used told where it was asked", async () => {
  const slow = defineTool({
    name: "slow",
    description: "",
    effect: "pure",
    approval: "ask always",
    run: () => "found",
  });
  const anna = helper("anna", [[{ call: "slow", args: {} }], [{ text: "It is there." }]], {
    tools: [slow],
  });
  const { agent } = scriptedAgent([help("anna"), [{ text: "Done." }]], { agents: [anna] });
  const started = await start(agent, {}, { now: ticking() });
  await questions(started);
  await decide(started, {});
  const { record, state } = await recordOf(started);
  const [asked, own] = record.calls;
  expect(asked).toMatchObject({ name: "ask_for_help", round: 1, result: "It is there." });
  expect(asked?.usage).toEqual(state.tasks[asked?.call_id ?? ""]?.tree_usage);
  expect(asked?.usage?.total_tokens).toBe(30);
  expect(own).toMatchObject({ name: "slow", task_id: asked?.call_id, decisions: ["approve"] });
  expect(record.stats).toMatchObject({ rounds: 4, calls: 2, outcomes: { completed: 2 } });
  // The time of the help is that of the sub-agent, and is not counted twice.
  expect(record.stats.tool_ms).toBe(own?.duration_ms);
  expect(record.stats.waited_ms).toBeGreaterThan(0);
});

test("why a call failed is told: a tool's words, and what the task of a sub-agent ended with", async () => {
  const broken = helper("broken", [
    [{ error: new ModelError("upstream_refused", "it is closed", { retryable: false }) }],
  ]);
  const slow = helper("slow", [[{ wait: new Promise(() => undefined) }]], {
    limits: { seconds: 0.05 },
  });
  const asks = helper("asks", [help("broken"), [{ text: "Nobody." }]], { agents: [broken] });
  const { agent } = scriptedAgent(
    [
      [
        { call: "fail", args: {} },
        { call: "get", args: {} },
      ],
      help("asks", "slow"),
      [{ text: "Done." }],
    ],
    { tools, agents: [asks, slow] },
  );
  const { record, state } = await recordOf(await start(agent));
  const errors = record.calls.map(({ name, arguments: json, error }) => [
    (JSON.parse(json) as { name?: string }).name ?? name,
    error,
  ]);
  const [reason] = Object.values(state.tasks).flatMap(({ ended }) => ended?.reason ?? []);
  expect(Object.fromEntries(errors)).toEqual({
    fail: { code: "failed", message: "no such place" },
    get: undefined,
    asks: undefined,
    broken: { code: "upstream_refused", message: "it is closed" },
    slow: { code: "timeout", message: reason },
  });
});

test("why a tool failed is not told where a person has refused its result", async () => {
  const held = defineTool({
    name: "held",
    description: "",
    effect: "pure",
    approval: { result: "on error" },
    run: () => {
      throw new Error("the secret");
    },
  });
  const { agent } = scriptedAgent([[{ call: "held", args: {} }], [{ text: "Done." }]], {
    tools: [held],
  });
  const started = await start(agent);
  await decide(started, { decision: "redact", replacement: "nothing" });
  const { record, state } = await recordOf(started);
  expect(record.calls).toMatchObject([{ outcome: "failed" }]);
  expect(JSON.stringify([record, state])).not.toContain("the secret");
});

test("a call that was taken back is not told, and its round counts once", async () => {
  const { agent } = scriptedAgent(
    [[{ call: "get", args: {} }, { cut: true }], [{ call: "get", args: {} }], [{ text: "Done." }]],
    { tools },
  );
  const { record } = await recordOf(await start(agent));
  expect(record.stats).toMatchObject({ rounds: 2, calls: 1 });
});

test("what was mended or asked for again is told once, with how often, that of sub-agents too", async () => {
  const anna = helper("anna", [[{ text: "It" }, { cut: true }], [{ text: "It is there." }]]);
  const { agent } = scriptedAgent(
    [[{ text: "Half" }, { cut: true }], help("anna"), [{ text: "Done." }]],
    { agents: [anna] },
  );
  const { record, events } = await recordOf(await start(agent));
  const { warnings } = record;
  expect(warnings).toContainEqual({
    code: "model_asked_again",
    message: expect.stringContaining("closed the stream") as string,
    count: 2,
  });
  const kinds = new Set(warnings.map(({ code, message }) => `${code}: ${message}`));
  expect(kinds.size).toBe(warnings.length);
  const all = warningsIn(events);
  expect(new Set(all.map(({ code, message }) => `${code}: ${message}`))).toEqual(kinds);
  expect(warnings.reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
});

test("half a log is told as far as it goes, and no log as nothing", async () => {
  const { agent } = scriptedAgent([[{ call: "get", args: {} }], [{ text: "Done." }]], { tools });
  const { events } = await recordOf(await start(agent));
  const half = events.findIndex(({ type }) => type === "task.tool_execution.started");
  const { calls, stats } = recorded(events.slice(0, half + 1));
  expect(calls).toMatchObject([{ name: "get", outcome: "in_progress" }]);
  expect(stats.outcomes).toEqual({});
  expect(recorded([])).toEqual({
    calls: [],
    stats: { rounds: 0, calls: 0, outcomes: {}, model_ms: 0, tool_ms: 0, waited_ms: 0 },
    warnings: [],
  });
});
