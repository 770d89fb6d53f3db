import { afterAll, expect, test, vi } from "vitest";
import { emptyTree, reduce, withItemsOf, type TaskTree } from "@deltawire/tasks";
import { answerTask, answerTree, chainStats, type AnswerVersion } from "@deltawire/tasks/chats";
import { answerView } from "../../src/answer/answer-view.ts";
import { callsIn, stepsIn, type TimelineView } from "../../src/answer/timeline-view.ts";
import { composerWords } from "../../src/chat/composer-words.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { demoRun, pause, treeAfter, type DemoAsk, type DemoRun } from "./demo-run.ts";
import { call, message, result, runningTask, sampleVersion, treeOfTasks } from "./sample-answer.ts";

// Ten runs of a real gateway are made before the first of these, and the machine may be busy.
vi.setConfig({ testTimeout: 60_000 });

const letter = 'please send_message to Bob: "hello"';

const asks = {
  words: { text: "Show some markdown" },
  weather: { text: "What is the weather in Paris?" },
  cities: { text: "What is the weather in Paris, Rome and Oslo?" },
  helper: { text: "ask forecaster about the weather in Paris" },
  helperInChinese: { text: composerWords.zh.subAgentText },
  approved: { text: letter, decision: "approve" },
  denied: { text: letter, decision: "deny" },
  aborted: { text: letter, decision: "abort" },
  picture: { text: "a blue house", settings: { model: "demo/painter" } },
  stopped: {
    text: "long 2000",
    async meanwhile(client, taskId, chatId) {
      const hasBegun = async () => (await client.task(taskId)).output.length > 1;
      while (!(await hasBegun())) await pause(20);
      await client.stop(chatId);
    },
  },
  steered: {
    text: "long 80",
    meanwhile: (client, taskId) => client.steer(taskId, "and the weather in Rome?", "queue"),
  },
} satisfies Record<string, DemoAsk>;

type Runs = Readonly<Record<keyof typeof asks, DemoRun>>;

/** Made once, by the first test that wants them. */
let recorded: Promise<Runs> | undefined;
let gateway: GatewayProcess | undefined;

afterAll(() => gateway?.close());

async function demoRuns(): Promise<Runs> {
  gateway = await startGatewayProcess();
  const { url } = gateway;
  const runs = await Promise.all(
    Object.entries(asks).map(async ([name, ask]) => [name, await demoRun(url, ask)] as const),
  );
  return Object.fromEntries(runs) as unknown as Runs;
}

const runs = (): Promise<Runs> => (recorded ??= demoRuns());

test("what a task has come to is drawn as what the chat keeps of it", async () => {
  for (const [name, { tree, version }] of Object.entries(await runs())) {
    const stored = answerView(version);
    expect(stepsIn(stored.timeline), name).not.toEqual([]);
    expect(answerView(running(version), tree), name).toEqual(stored);
  }
});

test("what a chat stores of an answer is what the events of its task reduce to", async () => {
  for (const [name, { tree, version }] of Object.entries(await runs())) {
    expect(version, name).toMatchObject(answerTask(tree));
    const { [tree.root_task_id]: root, ...below } = answerTree(version).tasks;
    const { [tree.root_task_id]: followed, ...belowFollowed } = tree.tasks;
    expect(below, name).toEqual(belowFollowed);
    expect(root?.output, name).toEqual(followed?.output);
    expect(chainStats(answerTree(version)), name).toEqual(chainStats(tree));
  }
});

test("the end of an answer draws no step anew", async () => {
  for (const [name, { tree, version }] of Object.entries(await runs())) {
    const live = answerView(running(version), tree);
    const ended = answerView(version, withItemsOf(answerTree(version), tree), live);
    expect(changedSteps(live.timeline, ended.timeline), name).toBe(0);
  }
});

test("an event draws nothing anew but the step that it is about", async () => {
  for (const { events, version } of Object.values(await runs())) {
    let tree = emptyTree;
    let view = answerView(running(version));
    const deltas: number[] = [];
    for (const event of events) {
      tree = reduce(tree, [event]);
      const next = answerView(running(version), tree, view);
      expect(next).toEqual(answerView(running(version), tree));
      expect(answerView(running(version), tree, next).timeline).toBe(next.timeline);
      if (event.type.endsWith(".delta")) deltas.push(changedSteps(view.timeline, next.timeline));
      view = next;
    }
    expect(Math.max(...deltas)).toBe(1);
  }
});

test("calls of one round stand together, with their results, times and sources", async () => {
  const { version } = (await runs()).cities;
  const { timeline, cited } = answerView(version);
  const groups = stepsIn(timeline).filter(({ is }) => is === "calls");
  expect(groups).toHaveLength(1);
  const calls = callsIn(timeline);
  expect(calls.map(({ call }) => JSON.parse(call.arguments))).toEqual([
    { city: "Paris" },
    { city: "Rome" },
    { city: "Oslo" },
  ]);
  expect(
    calls.every(({ state, durationMs }) => state === "completed" && durationMs !== undefined),
  ).toBe(true);
  expect(cited.length).toBeGreaterThan(0);
  const source = timeline.sources.get(cited[0] ?? 0);
  expect(source?.title).toMatch(/^The weather in /);
  expect(calls.map(({ call }) => call.call_id)).toContain(source?.path.at(-1));
});

test("a sub-agent stands within its call, and what it cited leads to its own call", async () => {
  const { version, tree } = (await runs()).helper;
  const { timeline } = answerView(version);
  const [asked] = callsIn(timeline);
  expect(asked?.child).toMatchObject({ agent: "forecaster", timeline: { isRunning: false } });
  expect(asked?.child?.usage?.total_tokens).toBe(
    tree.tasks[asked?.call.call_id ?? ""]?.usage.total_tokens,
  );
  expect(asked?.startedAt).toBeDefined();
  const nested = asked?.child && callsIn(asked.child.timeline)[0];
  expect(nested?.call.name).toBe("get_weather");
  const [source] = timeline.sources.values();
  expect(source).toMatchObject({
    path: [asked?.call.call_id, nested?.call.call_id],
    blocks: nested?.blocks,
  });
});

test("what the page suggests in Chinese is understood by the demo as what it suggests in English", async () => {
  const [asked] = callsIn(answerView((await runs()).helperInChinese.version).timeline);
  expect(asked?.child?.agent).toBe("forecaster");
  const calls = asked?.child === undefined ? [] : callsIn(asked.child.timeline);
  expect(calls).toMatchObject([{ call: { name: "get_weather", arguments: '{"city":"Oslo"}' } }]);
});

test("what a person is asked stands at its call while it is asked", async () => {
  const { approved: run } = await runs();
  const { timeline } = answerView(running(run.version), before(run, "task.approval.resolved"));
  const [call] = callsIn(timeline);
  expect(call).toMatchObject({ state: "waiting", asked: [{ kind: "call", status: "pending" }] });
  expect(timeline.pending).toEqual(call?.asked);
  expect(timeline.awaitsModel).toBe(false);
  expect(callsIn(answerView(run.version).timeline)[0]).toMatchObject({
    state: "completed",
    decisions: ["approve"],
    asked: [],
  });
});

test("what the user said meanwhile stands where the model heard it", async () => {
  const { version } = (await runs()).steered;
  const steps = stepsIn(answerView(version).timeline);
  expect(steps.map(({ is }) => is)).toEqual([
    "reasoning",
    "message",
    "said",
    "reasoning",
    "message",
    "calls",
    "reasoning",
    "message",
  ]);
});

test("what was taken back moves nothing that the user said meanwhile", () => {
  const [one, two] = [message("One."), message("Two.")];
  const input = (taken_at: number) => ({
    item: { type: "message" as const, id: "in_1", role: "user" as const, content: [] },
    delivery: "steer" as const,
    taken_at,
  });
  const gone = { type: "retracted" as const, id: "gone", reason: "interrupted" };
  const task = runningTask("task_1", {
    status: "completed",
    output: [gone, one, gone, two],
    inputs: [input(3)],
  });
  const { timeline } = answerView(sampleVersion({ output: task.output, inputs: task.inputs }));
  expect(stepsIn(timeline).map(({ is }) => is)).toEqual(["message", "said", "message"]);
  expect(answerView(sampleVersion({}), treeOfTasks([task])).timeline).toEqual(timeline);
});

test("what the model did not hear stands there once, also when the ended task is read again", () => {
  const words = { type: "text" as const, text: "Goodbye" };
  const item = { type: "message" as const, id: "in_1", role: "user" as const, content: [words] };
  const inputs = [{ item, delivery: "queue" as const }];
  const task = { status: "canceled" as const, output: [message("Hello.")], inputs };
  const stopped = () => treeOfTasks([runningTask("task_1", task)]);
  const version = sampleVersion({});
  const first = answerView(version, stopped());
  const again = answerView(version, stopped(), first);
  expect(stepsIn(again.timeline).map(({ is }) => is)).toEqual(["message", "said"]);
});

test("while a call runs nothing else is waited for, also when something was said meanwhile", () => {
  const input = {
    item: { type: "message" as const, id: "in_1", role: "user" as const, content: [] },
    delivery: "steer" as const,
  };
  const awaits = (status: "executing" | "completed") => {
    const ran = status === "completed" ? [result("a")] : [];
    const asked = call("a", { status, outcome: status === "completed" ? "completed" : null });
    const task = runningTask("task_1", { output: [asked, ...ran], inputs: [input] });
    return answerView(sampleVersion({ status: "running" }), treeOfTasks([task])).timeline
      .awaitsModel;
  };
  expect(awaits("executing")).toBe(false);
  expect(awaits("completed")).toBe(true);
});

/** The state right before the first event of a type. */
function before({ events }: DemoRun, type: string): TaskTree {
  return treeAfter(
    events.slice(
      0,
      events.findIndex((event) => event.type === type),
    ),
  );
}

function running(version: AnswerVersion): AnswerVersion {
  return { ...version, status: "running" };
}

function changedSteps(old: TimelineView, now: TimelineView): number {
  const known = new Set(stepsIn(old));
  return stepsIn(now).filter((step) => !known.has(step)).length;
}
