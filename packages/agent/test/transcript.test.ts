import { defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";
import {
  waitForEnd,
  copyLogUntil,
  waitForApproval,
  createRuntime,
  scriptedAgent,
  start,
  getSentItems,
  waitUntil,
  type SentItem,
} from "./runtime-fixture.ts";

const get = defineTool({ name: "get", description: "Gets.", run: () => "15 C" });
const call = { call: "get", args: { n: 1 }, id: "provider_a" };
const history = [
  { type: "message" as const, role: "user" as const, content: "Before." },
  { type: "function_call" as const, call_id: "provider_a", name: "get", arguments: "{}" },
  { type: "function_call_output" as const, call_id: "provider_a", output: "old" },
];

const listKinds = (items: readonly object[]) =>
  (items as SentItem[]).map(({ type, role }) => (type === "message" ? role : type));

test("a transcript contains the items that the model wrote and received, without the request", async () => {
  const { agent, model } = scriptedAgent(
    [[{ reasoning: "Hm." }, { text: "I look." }, call], [{ text: "It is 15 C." }]],
    { tools: [get] },
  );
  const started = await start(agent, { history, input: "How warm?" });
  await waitForEnd(started);
  const { state, items } = await started.runtime.transcript(started.id);
  expect(state.tasks[started.id]?.status).toBe("completed");
  expect(listKinds(items)).toEqual([
    "reasoning",
    "assistant",
    "function_call",
    "function_call_output",
    "assistant",
  ]);
  // The items equal the input of the last round.
  const sentItems = getSentItems(model);
  expect(items.slice(0, -1)).toEqual(sentItems.slice(history.length + 1));
  // Call ids of the history are not reused.
  expect((items[2] as SentItem).call_id).not.toBe("provider_a");
});

test("a transcript is the same in another process, and is complete even if the history was compacted", async () => {
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
  const { events } = await waitForEnd(started);
  expect(events.some(({ type }) => type === "task.context_compression.completed")).toBe(true);
  const other = createRuntime(agent, { log: started.log });
  const { items } = await other.runtime.transcript(started.id);
  expect(items).toEqual((await started.runtime.transcript(started.id)).items);
  const calls = events.filter(
    (event) => event.type === "task.output_item.done" && event.item.type === "tool_call",
  );
  expect(listKinds(items).filter((kind) => kind === "function_call")).toHaveLength(calls.length);
  expect(JSON.stringify(items)).not.toContain("Notes.");
});

test("a transcript contains user messages at the position where the model received them", async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const slow = defineTool({ name: "get", description: "", run: () => released.then(() => "15 C") });
  const { agent } = scriptedAgent([[call], [{ text: "Done." }]], { tools: [slow] });
  const started = await start(agent);
  await waitUntil(started, ({ tasks }) => (tasks[started.id]?.executions.length ?? 0) > 0);
  await started.runtime.input(started.id, "And tomorrow?", "steer");
  release();
  await waitForEnd(started);
  const { items } = await started.runtime.transcript(started.id);
  expect(listKinds(items)).toEqual(["function_call", "function_call_output", "user", "assistant"]);
});

test("a transcript contains no calls without a result", async () => {
  const askingTool = defineTool({
    name: "get",
    description: "",
    approval: "ask_always",
    run: () => 1,
  });
  const { agent } = scriptedAgent([[{ text: "I look." }, call]], { tools: [askingTool] });
  const started = await start(agent);
  await waitForApproval(started);
  expect(listKinds((await started.runtime.transcript(started.id)).items)).toEqual(["assistant"]);
  await started.runtime.close();
});

test("a transcript contains no retracted items, and that of an unknown task is empty", async () => {
  const { agent } = scriptedAgent([[{ text: "It is su" }, { cut: true }], [{ text: "Sunny." }]]);
  const started = await start(agent);
  await waitForEnd(started);
  const { items } = await started.runtime.transcript(started.id);
  expect(items).toMatchObject([{ role: "assistant", content: [{ text: "Sunny." }] }]);
  const empty = await copyLogUntil(started, () => true);
  const { runtime } = createRuntime(agent, { log: empty });
  expect((await runtime.transcript(started.id)).items).toEqual([]);
  expect((await runtime.transcript("task_none")).items).toEqual([]);
});
