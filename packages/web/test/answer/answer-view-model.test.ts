import { afterAll, expect, test, vi } from "vitest";
import { emptyTree, reduce, reuseItems, type TaskTree } from "@deltawire/tasks";
import {
  toAnswerTask,
  toAnswerTree,
  computeChainStats,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { buildAnswerViewModel } from "../../src/answer/answer-view-model.ts";
import {
  getTimelineCalls,
  getTimelineSteps,
  type TimelineViewModel,
} from "../../src/answer/timeline-view-model.ts";
import { composerMessages } from "../../src/chat/composer-messages.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { recordDemoRun, sleep, reduceEvents, type DemoPrompt, type DemoRun } from "./demo-run.ts";
import {
  createCall,
  createMessage,
  createResult,
  createRunningTask,
  createVersion,
  createTaskTree,
} from "./answer-fixtures.ts";

// The first test waits for eleven answers of a real gateway, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const approvalPrompt = 'please send_message to Bob: "hello"';

const prompts = {
  markdown: { text: "Show some markdown" },
  weather: { text: "What is the weather in Paris?" },
  cities: { text: "What is the weather in Paris, Rome and Oslo?" },
  helper: { text: "ask forecaster about the weather in Paris" },
  helperInChinese: { text: composerMessages.zh.subAgentText },
  approved: { text: approvalPrompt, decision: "approve" },
  denied: { text: approvalPrompt, decision: "deny" },
  aborted: { text: approvalPrompt, decision: "abort" },
  image: { text: "a blue house", settings: { model: "demo/painter" } },
  stopped: {
    text: "long 2000",
    async whileRunning(client, taskId, chatId) {
      const hasStarted = async () => (await client.task(taskId)).output.length > 1;
      while (!(await hasStarted())) await sleep(20);
      await client.stop(chatId);
    },
  },
  steered: {
    text: "long 80",
    whileRunning: (client, taskId) => client.steer(taskId, "and the weather in Rome?", "queue"),
  },
} satisfies Record<string, DemoPrompt>;

type DemoRuns = Readonly<Record<keyof typeof prompts, DemoRun>>;

/** Created by the first test that needs them. */
let cachedRuns: Promise<DemoRuns> | undefined;
let gateway: GatewayProcess | undefined;

afterAll(() => gateway?.close());

async function recordDemoRuns(): Promise<DemoRuns> {
  gateway = await startGatewayProcess();
  const { url } = gateway;
  const getDemoRuns = await Promise.all(
    Object.entries(prompts).map(
      async ([name, prompt]) => [name, await recordDemoRun(url, prompt)] as const,
    ),
  );
  return Object.fromEntries(getDemoRuns) as unknown as DemoRuns;
}

const getDemoRuns = (): Promise<DemoRuns> => (cachedRuns ??= recordDemoRuns());

test("a finished task and its stored answer have the same view model", async () => {
  for (const [name, { tree, version }] of Object.entries(await getDemoRuns())) {
    const stored = buildAnswerViewModel(version);
    expect(getTimelineSteps(stored.timeline), name).not.toEqual([]);
    expect(buildAnswerViewModel(asRunning(version), tree), name).toEqual(stored);
  }
});

test("a stored answer equals the state reduced from the events of its task", async () => {
  for (const [name, { tree, version }] of Object.entries(await getDemoRuns())) {
    expect(version, name).toMatchObject(toAnswerTask(tree));
    const { [tree.root_task_id]: storedRoot, ...storedSubTasks } = toAnswerTree(version).tasks;
    const { [tree.root_task_id]: liveRoot, ...liveSubTasks } = tree.tasks;
    expect(storedSubTasks, name).toEqual(liveSubTasks);
    expect(storedRoot?.output, name).toEqual(liveRoot?.output);
    expect(computeChainStats(toAnswerTree(version)), name).toEqual(computeChainStats(tree));
  }
});

test("the end of an answer changes no step", async () => {
  for (const [name, { tree, version }] of Object.entries(await getDemoRuns())) {
    const live = buildAnswerViewModel(asRunning(version), tree);
    const ended = buildAnswerViewModel(version, reuseItems(toAnswerTree(version), tree), live);
    expect(countChangedSteps(live.timeline, ended.timeline), name).toBe(0);
  }
});

test("a delta changes only its own step", async () => {
  for (const { events, version } of Object.values(await getDemoRuns())) {
    let tree = emptyTree;
    let view = buildAnswerViewModel(asRunning(version));
    const deltas: number[] = [];
    for (const event of events) {
      tree = reduce(tree, [event]);
      const next = buildAnswerViewModel(asRunning(version), tree, view);
      expect(next).toEqual(buildAnswerViewModel(asRunning(version), tree));
      expect(buildAnswerViewModel(asRunning(version), tree, next).timeline).toBe(next.timeline);
      if (event.type.endsWith(".delta"))
        deltas.push(countChangedSteps(view.timeline, next.timeline));
      view = next;
    }
    expect(Math.max(...deltas)).toBe(1);
  }
});

test("parallel calls are one step, with results, durations and sources", async () => {
  const { version } = (await getDemoRuns()).cities;
  const { timeline, citedNumbers } = buildAnswerViewModel(version);
  const groups = getTimelineSteps(timeline).filter(({ type }) => type === "calls");
  expect(groups).toHaveLength(1);
  const calls = getTimelineCalls(timeline);
  expect(calls.map(({ call }) => JSON.parse(call.arguments))).toEqual([
    { city: "Paris" },
    { city: "Rome" },
    { city: "Oslo" },
  ]);
  expect(
    calls.every(({ state, durationMs }) => state === "completed" && durationMs !== undefined),
  ).toBe(true);
  expect(citedNumbers.length).toBeGreaterThan(0);
  const source = timeline.sources.get(citedNumbers[0] ?? 0);
  expect(source?.title).toMatch(/^The weather in /);
  expect(calls.map(({ call }) => call.call_id)).toContain(source?.path.at(-1));
});

test("the timeline of a sub-agent is part of its call, and its citations lead to its own calls", async () => {
  const { version, tree } = (await getDemoRuns()).helper;
  const { timeline } = buildAnswerViewModel(version);
  const [call] = getTimelineCalls(timeline);
  expect(call?.child).toMatchObject({ agent: "forecaster", timeline: { isRunning: false } });
  expect(call?.child?.usage?.total_tokens).toBe(
    tree.tasks[call?.call.call_id ?? ""]?.usage.total_tokens,
  );
  expect(call?.startedAt).toBeDefined();
  const nested = call?.child && getTimelineCalls(call.child.timeline)[0];
  expect(nested?.call.name).toBe("get_weather");
  const [source] = timeline.sources.values();
  expect(source).toMatchObject({
    path: [call?.call.call_id, nested?.call.call_id],
    blocks: nested?.blocks,
  });
});

test("the demo agent understands the Chinese suggestion for sub-agents", async () => {
  const [call] = getTimelineCalls(
    buildAnswerViewModel((await getDemoRuns()).helperInChinese.version).timeline,
  );
  expect(call?.child?.agent).toBe("forecaster");
  const calls = call?.child === undefined ? [] : getTimelineCalls(call.child.timeline);
  expect(calls).toMatchObject([{ call: { name: "get_weather", arguments: '{"city":"Oslo"}' } }]);
});

test("a pending approval is shown at its call", async () => {
  const { approved: run } = await getDemoRuns();
  const { timeline } = buildAnswerViewModel(
    asRunning(run.version),
    getTreeBefore(run, "task.approval.resolved"),
  );
  const [call] = getTimelineCalls(timeline);
  expect(call).toMatchObject({
    state: "waiting",
    pendingApprovals: [{ kind: "call", status: "pending" }],
  });
  expect(timeline.pendingApprovals).toEqual(call?.pendingApprovals);
  expect(timeline.isAwaitingModel).toBe(false);
  expect(getTimelineCalls(buildAnswerViewModel(run.version).timeline)[0]).toMatchObject({
    state: "completed",
    decisions: ["approve"],
    pendingApprovals: [],
  });
});

test("a message that was sent while the answer ran is shown where the model received it", async () => {
  const { version } = (await getDemoRuns()).steered;
  const steps = getTimelineSteps(buildAnswerViewModel(version).timeline);
  expect(steps.map(({ type }) => type)).toEqual([
    "reasoning",
    "message",
    "input",
    "reasoning",
    "message",
    "calls",
    "reasoning",
    "message",
  ]);
});

test("retracted items do not shift messages that the user sent", () => {
  const [first, second] = [createMessage("One."), createMessage("Two.")];
  const input = (taken_at: number) => ({
    item: { type: "message" as const, id: "in_1", role: "user" as const, content: [] },
    delivery: "steer" as const,
    taken_at,
  });
  const retracted = { type: "retracted" as const, id: "gone", reason: "interrupted" };
  const task = createRunningTask("task_1", {
    status: "completed",
    output: [retracted, first, retracted, second],
    inputs: [input(3)],
  });
  const { timeline } = buildAnswerViewModel(
    createVersion({ output: task.output, inputs: task.inputs }),
  );
  expect(getTimelineSteps(timeline).map(({ type }) => type)).toEqual([
    "message",
    "input",
    "message",
  ]);
  expect(buildAnswerViewModel(createVersion({}), createTaskTree([task])).timeline).toEqual(
    timeline,
  );
});

test("an undelivered message is shown once, even after the ended task is loaded again", () => {
  const part = { type: "text" as const, text: "Goodbye" };
  const item = { type: "message" as const, id: "in_1", role: "user" as const, content: [part] };
  const inputs = [{ item, delivery: "queue" as const }];
  const task = { status: "canceled" as const, output: [createMessage("Hello.")], inputs };
  const loadTree = () => createTaskTree([createRunningTask("task_1", task)]);
  const version = createVersion({});
  const first = buildAnswerViewModel(version, loadTree());
  const second = buildAnswerViewModel(version, loadTree(), first);
  expect(getTimelineSteps(second.timeline).map(({ type }) => type)).toEqual(["message", "input"]);
});

test("an answer does not wait for the model while a tool runs, even if a user message is pending", () => {
  const input = {
    item: { type: "message" as const, id: "in_1", role: "user" as const, content: [] },
    delivery: "steer" as const,
  };
  const isAwaitingModel = (status: "executing" | "completed") => {
    const isCompleted = status === "completed";
    const call = createCall("a", { status, outcome: isCompleted ? "completed" : null });
    const results = isCompleted ? [createResult("a")] : [];
    const task = createRunningTask("task_1", { output: [call, ...results], inputs: [input] });
    return buildAnswerViewModel(createVersion({ status: "running" }), createTaskTree([task]))
      .timeline.isAwaitingModel;
  };
  expect(isAwaitingModel("executing")).toBe(false);
  expect(isAwaitingModel("completed")).toBe(true);
});

/** Returns the state right before the first event of a type. */
function getTreeBefore({ events }: DemoRun, type: string): TaskTree {
  return reduceEvents(
    events.slice(
      0,
      events.findIndex((event) => event.type === type),
    ),
  );
}

function asRunning(version: AnswerVersion): AnswerVersion {
  return { ...version, status: "running" };
}

function countChangedSteps(before: TimelineViewModel, after: TimelineViewModel): number {
  const unchanged = new Set(getTimelineSteps(before));
  return getTimelineSteps(after).filter((step) => !unchanged.has(step)).length;
}
