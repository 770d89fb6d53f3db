import { expect, test } from "vitest";
import type { OutputItem, TaskState, TaskTree } from "@deltawire/tasks";
import { buildAnswerViewModel } from "../../src/answer/answer-view-model.ts";
import { getTimelineCalls, getTimelineSteps } from "../../src/answer/timeline-view-model.ts";
import {
  createCall,
  createMessage,
  createResult,
  createRunningTask,
  createVersion,
  createTaskTree,
} from "./answer-fixtures.ts";

/* The answers have 500 finished calls, 50 of which are sub-agents. */

const version = createVersion({ status: "running" });
const ids = Array.from({ length: 500 }, (_, index) => `call_${index}`);

/** Creates a function that wraps objects to count the reads of their properties. */
function createAccessCounter() {
  let count = 0;
  const track = <T extends object>(object: T): T =>
    new Proxy(object, {
      get(target, name) {
        count += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  return { track, count: () => count };
}

function createSubAgents(track: <T extends object>(object: T) => T): TaskState[] {
  return ids.slice(0, 50).map((id) => {
    const output = [createCall(`of_${id}`), createResult(`of_${id}`)].map(track);
    return track(createRunningTask(id, { status: "completed", output }, "task_1"));
  });
}

function createStreamingMessage(text: string): OutputItem {
  return { ...createMessage(text), id: "last", status: "in_progress" };
}

test("a delta of a message reads no finished item and changes one step", () => {
  const { track, count } = createAccessCounter();
  const finished = ids.flatMap((id) => [track(createCall(id)), track(createResult(id))]);
  const root = createRunningTask("task_1", {});
  const tree = createTaskTree([root, ...createSubAgents(track)]);
  const createTree = (text: string) =>
    withTask(tree, { ...root, output: [...finished, createStreamingMessage(text)] });
  const before = buildAnswerViewModel(version, createTree("One"));
  const countBefore = count();
  expect(countBefore).toBeGreaterThan(3000);
  const { timeline } = buildAnswerViewModel(version, createTree("One more"), before);
  expect(count()).toBe(countBefore);
  const unchanged = new Set(getTimelineSteps(before.timeline));
  expect(getTimelineSteps(timeline).filter((step) => !unchanged.has(step))).toMatchObject([
    { type: "message", item: { block_list: [{ text: "One more" }] } },
  ]);
  expect(timeline.sources).toBe(before.timeline.sources);
  expect(timeline).toEqual(buildAnswerViewModel(version, createTree("One more")).timeline);
});

test("a delta of one sub-agent reads no other parallel sub-agent", () => {
  const { track, count } = createAccessCounter();
  const output = [
    ...ids.map((id) => createCall(id)),
    createCall("slow", { status: "executing", outcome: null }),
    ...ids.map((id) => createResult(id)),
  ];
  const tree = createTaskTree([createRunningTask("task_1", { output }), ...createSubAgents(track)]);
  const slow = createRunningTask("slow", {}, "task_1");
  const createTree = (text: string) =>
    withTask(tree, { ...slow, output: [createStreamingMessage(text)] });
  const before = buildAnswerViewModel(version, createTree("One"));
  const countBefore = count();
  const { timeline } = buildAnswerViewModel(version, createTree("One more"), before);
  expect(count()).toBe(countBefore);
  const unchanged = new Set(getTimelineCalls(before.timeline));
  const changed = getTimelineCalls(timeline).filter((view) => !unchanged.has(view));
  expect(changed.map((view) => view.call.call_id)).toEqual(["slow"]);
  expect(timeline).toEqual(buildAnswerViewModel(version, createTree("One more")).timeline);
});

function withTask(tree: TaskTree, task: TaskState): TaskTree {
  return { ...tree, tasks: { ...tree.tasks, [task.task_id]: task } };
}
