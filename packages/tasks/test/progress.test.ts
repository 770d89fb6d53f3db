import {
  callProgressKey,
  modelProgressKey,
  toProgressChange,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { expect, test } from "vitest";

const getChange = (event: object) =>
  toProgressChange({ task_id: "call_1", ...event } as TaskEvent | StreamEvent);

const callProgress = {
  type: "task.tool_execution.progress",
  call_id: "call_1",
  execution_id: "run_1",
};
const modelProgress = { type: "task.round.progress", round: 0, message: "drawing" };
const retry = {
  type: "task.warning",
  code: "model_retry_scheduled",
  message: "busy",
  retry_in_ms: 9,
};

test("the progress of a call and that of its sub-agent's model have different keys, although both have the same id", () => {
  expect(callProgressKey("call_1")).not.toBe(modelProgressKey("call_1"));
  expect(getChange(callProgress)).toMatchObject({ type: "report", key: callProgressKey("call_1") });
  for (const event of [modelProgress, retry])
    expect(getChange(event)).toMatchObject({ type: "report", key: modelProgressKey("call_1") });
});

test("progress is read from events with a number and from repeated events without a number", () => {
  for (const event of [callProgress, modelProgress, retry]) {
    expect(getChange(event)).toMatchObject({ report: event });
    expect(getChange({ ...event, sequence_number: 7 })).toMatchObject({ report: event });
  }
});

test("the progress of a call ends with its execution, and that of a model with its next item or its round", () => {
  const done = { type: "task.tool_execution.done", call_id: "call_2" };
  expect(getChange(done)).toEqual({ type: "done", key: callProgressKey("call_2") });
  for (const type of ["task.output_item.added", "task.round.done"])
    expect(getChange({ type })).toEqual({ type: "done", key: modelProgressKey("call_1") });
});

test.each(["task.completed", "task.failed", "task.canceled", "task.expired"])(
  "%s ends all progress of the task",
  (type) => {
    expect(getChange({ type })).toEqual({ type: "ended", task_id: "call_1" });
  },
);

test("other events do not change the progress", () => {
  const { retry_in_ms: _ms, ...warning } = retry;
  for (const event of [warning, { type: "task.text.delta" }, { type: "task.stream.weather" }])
    expect(getChange(event)).toBeUndefined();
});
