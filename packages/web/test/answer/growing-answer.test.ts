import { expect, test } from "vitest";
import type { OutputItem, TaskState, TaskTree } from "@deltawire/tasks";
import { answerView } from "../../src/answer/answer-view.ts";
import { callsIn, stepsIn } from "../../src/answer/timeline-view.ts";
import { call, message, result, runningTask, sampleVersion, treeOfTasks } from "./sample-answer.ts";

/* An answer with 500 calls that have ended, 50 of them of sub-agents, of which a word more comes. */

const version = sampleVersion({ status: "running" });
const ids = Array.from({ length: 500 }, (_, at) => `call_${at}`);

/** Counts how often things are looked into. */
function watch() {
  let looks = 0;
  const watched = <One extends object>(one: One): One =>
    new Proxy(one, {
      get(target, name) {
        looks += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
  return { watched, looks: () => looks };
}

function subAgents(watched: <One extends object>(one: One) => One): TaskState[] {
  return ids.slice(0, 50).map((id) => {
    const output = [call(`of_${id}`), result(`of_${id}`)].map(watched);
    return watched(runningTask(id, { status: "completed", output }, "task_1"));
  });
}

function growing(text: string): OutputItem {
  return { ...message(text), id: "last", status: "in_progress" };
}

test("a word more looks into nothing that has ended, and makes one step", () => {
  const { watched, looks } = watch();
  const ended = ids.flatMap((id) => [watched(call(id)), watched(result(id))]);
  const root = runningTask("task_1", {});
  const tree = treeOfTasks([root, ...subAgents(watched)]);
  const treeOf = (text: string) => withTask(tree, { ...root, output: [...ended, growing(text)] });
  const before = answerView(version, treeOf("One"));
  const seen = looks();
  expect(seen).toBeGreaterThan(3000);
  const { timeline } = answerView(version, treeOf("One more"), before);
  expect(looks()).toBe(seen);
  const known = new Set(stepsIn(before.timeline));
  expect(stepsIn(timeline).filter((step) => !known.has(step))).toMatchObject([
    { is: "message", item: { block_list: [{ text: "One more" }] } },
  ]);
  expect(timeline.sources).toBe(before.timeline.sources);
  expect(timeline).toEqual(answerView(version, treeOf("One more")).timeline);
});

test("a word of one sub-agent looks into no other that was asked with it", () => {
  const { watched, looks } = watch();
  const output = [
    ...ids.map((id) => call(id)),
    call("slow", { status: "executing", outcome: null }),
    ...ids.map((id) => result(id)),
  ];
  const tree = treeOfTasks([runningTask("task_1", { output }), ...subAgents(watched)]);
  const slow = runningTask("slow", {}, "task_1");
  const treeOf = (text: string) => withTask(tree, { ...slow, output: [growing(text)] });
  const before = answerView(version, treeOf("One"));
  const seen = looks();
  const { timeline } = answerView(version, treeOf("One more"), before);
  expect(looks()).toBe(seen);
  const known = new Set(callsIn(before.timeline));
  const changed = callsIn(timeline).filter((view) => !known.has(view));
  expect(changed.map((view) => view.call.call_id)).toEqual(["slow"]);
  expect(timeline).toEqual(answerView(version, treeOf("One more")).timeline);
});

function withTask(tree: TaskTree, task: TaskState): TaskTree {
  return { ...tree, tasks: { ...tree.tasks, [task.task_id]: task } };
}
