import { callProgressKey, modelProgressKey, type StreamEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { TaskProgress } from "../../src/state/task-progress.ts";

function createTestProgress() {
  let frame = () => {};
  const progress = new TaskProgress((_ms, run) => {
    frame = run;
    return () => {};
  });
  const handle = (event: object) => {
    progress.handleEvent("task_1", { task_id: "task_1", ...event } as StreamEvent);
    frame();
  };
  return { handle, getProgress: () => progress.get("task_1").get() };
}

const createCallProgress = (call_id: string, message = "half") => ({
  type: "task.tool_execution.progress",
  call_id,
  execution_id: `run of ${call_id}`,
  message,
});
const createModelProgress = (message: string) => ({
  type: "task.round.progress",
  round: 0,
  message,
});

test("a model retry is shown with its number of failed attempts until the model answers", () => {
  const { handle, getProgress } = createTestProgress();
  handle({ type: "task.warning", code: "reply_repaired", message: "mended" });
  expect(getProgress()).toEqual({});
  handle({
    type: "task.warning",
    code: "model_retry_scheduled",
    message: "overloaded",
    retry_in_ms: 1000,
    attempt: 2,
  });
  expect(getProgress()).toMatchObject({
    [modelProgressKey("task_1")]: { message: "overloaded", retry: { failedAttempts: 2 } },
  });
  handle({ type: "task.output_item.added" });
  expect(getProgress()).toEqual({});
});

test("a snapshot clears the progress that was reported before it", () => {
  const { handle, getProgress } = createTestProgress();
  const [one, other] = [callProgressKey("call_1"), callProgressKey("call_2")];
  handle(createCallProgress("call_1"));
  handle(createCallProgress("call_2"));
  expect(Object.keys(getProgress())).toEqual([one, other]);
  handle({ type: "task.snapshot" });
  handle(createCallProgress("call_2"));
  expect(Object.keys(getProgress())).toEqual([other]);
});

test("the progress of a sub-agent's model and of the call that started it are independent", () => {
  const { handle, getProgress } = createTestProgress();
  handle(createCallProgress("call_1", "of the call"));
  handle({ ...createModelProgress("of the model"), task_id: "call_1" });
  const [call, model] = [callProgressKey("call_1"), modelProgressKey("call_1")];
  expect(getProgress()).toMatchObject({
    [call]: { message: "of the call" },
    [model]: { message: "of the model" },
  });
  handle({ type: "task.output_item.added", task_id: "call_1" });
  expect(Object.keys(getProgress())).toEqual([call]);
});

test.each(["task.completed", "task.failed", "task.canceled", "task.expired"])(
  "the event %s of a sub-agent removes the progress of its model and its calls, and no other",
  (type) => {
    const { handle, getProgress } = createTestProgress();
    handle(createModelProgress("of the parent"));
    handle(createCallProgress("call_1", "of the parent's call"));
    handle({ ...createModelProgress("of the child"), task_id: "call_1" });
    handle({ ...createCallProgress("call_2", "of the child's call"), task_id: "call_1" });
    handle({ type, task_id: "call_1" });
    expect(Object.values(getProgress()).map(({ message }) => message)).toEqual([
      "of the parent",
      "of the parent's call",
    ]);
  },
);
