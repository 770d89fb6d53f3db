import { defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";
import {
  ended,
  logUpTo,
  question,
  runtimeOf,
  scriptedAgent,
  start,
  toldItems,
  until,
  type ToldItem,
} from "./run-kit.ts";

const get = defineTool({ name: "get", description: "Gets.", run: () => "15 C" });
const call = { call: "get", args: { n: 1 }, id: "provider_a" };
const history = [
  { type: "message" as const, role: "user" as const, content: "Before." },
  { type: "function_call" as const, call_id: "provider_a", name: "get", arguments: "{}" },
  { type: "function_call_output" as const, call_id: "provider_a", output: "old" },
];

const kinds = (items: readonly object[]) =>
  (items as ToldItem[]).map(({ type, role }) => (type === "message" ? role : type));

test("a transcript is what the model said and was told, without what it was asked", async () => {
  const { agent, model } = scriptedAgent(
    [[{ reasoning: "Hm." }, { text: "I look." }, call], [{ text: "It is 15 C." }]],
    { tools: [get] },
  );
  const started = await start(agent, { history, input: "How warm?" });
  await ended(started);
  const { state, items } = await started.runtime.transcript(started.id);
  expect(state.tasks[started.id]?.status).toBe("completed");
  expect(kinds(items)).toEqual([
    "reasoning",
    "assistant",
    "function_call",
    "function_call_output",
    "assistant",
  ]);
  // Word for word what it was told in its last round.
  const told = toldItems(model);
  expect(items.slice(0, -1)).toEqual(told.slice(history.length + 1));
  // An id that the history has is not used for another call.
  expect((items[2] as ToldItem).call_id).not.toBe("provider_a");
});

test("it is the same when another process reads it, and after the history was put into fewer words", async () => {
  const long = defineTool({ name: "get", description: "", run: () => "warm ".repeat(400) });
  const { agent } = scriptedAgent(
    (request, round) => {
      const isSummary = request.tools === undefined;
      if (isSummary) return [{ text: "Notes." }];
      return round < 6 ? [{ call: "get", args: {} }] : [{ text: "Done." }];
    },
    { tools: [long], contextWindow: 2500 },
  );
  const started = await start(agent);
  const { events } = await ended(started);
  expect(events.some(({ type }) => type === "task.context_compression.completed")).toBe(true);
  const other = runtimeOf(agent, { log: started.log });
  const { items } = await other.runtime.transcript(started.id);
  expect(items).toEqual((await started.runtime.transcript(started.id)).items);
  const calls = events.filter(
    (event) => event.type === "task.output_item.done" && event.item.type === "tool_call",
  );
  expect(kinds(items).filter((kind) => kind === "function_call")).toHaveLength(calls.length);
  expect(JSON.stringify(items)).not.toContain("Notes.");
});

test("what the user said meanwhile stands where the model saw it", async () => {
  let release: () => void = () => undefined;
  const waits = new Promise<void>((resolve) => (release = resolve));
  const slow = defineTool({ name: "get", description: "", run: () => waits.then(() => "15 C") });
  const { agent } = scriptedAgent([[call], [{ text: "Done." }]], { tools: [slow] });
  const started = await start(agent);
  await until(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);
  await started.runtime.input(started.id, "And tomorrow?", "steer");
  release();
  await ended(started);
  const { items } = await started.runtime.transcript(started.id);
  expect(kinds(items)).toEqual(["function_call", "function_call_output", "user", "assistant"]);
});

test("a call that has no result yet is not told", async () => {
  const asks = defineTool({ name: "get", description: "", approval: "ask always", run: () => 1 });
  const { agent } = scriptedAgent([[{ text: "I look." }, call]], { tools: [asks] });
  const started = await start(agent);
  await question(started);
  expect(kinds((await started.runtime.transcript(started.id)).items)).toEqual(["assistant"]);
  await started.runtime.close();
});

test("what was taken back is not told, and of a task that nobody knows there is nothing", async () => {
  const { agent } = scriptedAgent([[{ text: "It is su" }, { cut: true }], [{ text: "Sunny." }]]);
  const started = await start(agent);
  await ended(started);
  const { items } = await started.runtime.transcript(started.id);
  expect(items).toMatchObject([{ role: "assistant", content: [{ text: "Sunny." }] }]);
  const empty = await logUpTo(started, () => true);
  const { runtime } = runtimeOf(agent, { log: empty });
  expect((await runtime.transcript(started.id)).items).toEqual([]);
  expect((await runtime.transcript("task_none")).items).toEqual([]);
});
