import {
  callProgressKey,
  modelProgressKey,
  progressChange,
  type StreamEvent,
  type TaskEvent,
} from "@deltawire/tasks";
import { expect, test } from "vitest";

const changeBy = (event: object) =>
  progressChange({ task_id: "call_1", ...event } as TaskEvent | StreamEvent);

const ofCall = { type: "task.tool_execution.progress", call_id: "call_1", execution_id: "run_1" };
const ofModel = { type: "task.round.progress", round: 0, message: "drawing" };
const retry = { type: "task.warning", code: "model_asked_again", message: "busy", retry_in_ms: 9 };

test("a call and the model of the sub-agent that it asked, which has its id, are told apart", () => {
  expect(callProgressKey("call_1")).not.toBe(modelProgressKey("call_1"));
  expect(changeBy(ofCall)).toMatchObject({ is: "report", key: callProgressKey("call_1") });
  for (const event of [ofModel, retry])
    expect(changeBy(event)).toMatchObject({ is: "report", key: modelProgressKey("call_1") });
});

test("a report is the same with a number and without one", () => {
  for (const event of [ofCall, ofModel, retry]) {
    expect(changeBy(event)).toMatchObject({ report: event });
    expect(changeBy({ ...event, sequence_number: 7 })).toMatchObject({ report: event });
  }
});

test("a call is done with its execution, a model with its next item or its round", () => {
  const done = { type: "task.tool_execution.done", call_id: "call_2" };
  expect(changeBy(done)).toEqual({ is: "done", key: callProgressKey("call_2") });
  for (const type of ["task.output_item.added", "task.round.done"])
    expect(changeBy({ type })).toEqual({ is: "done", key: modelProgressKey("call_1") });
});

test.each(["task.completed", "task.failed", "task.canceled", "task.expired"])(
  "%s ends all that the task has told",
  (type) => {
    expect(changeBy({ type })).toEqual({ is: "ended", task_id: "call_1" });
  },
);

test("nothing else changes what is known", () => {
  const { retry_in_ms: _ms, ...warning } = retry;
  for (const event of [warning, { type: "task.text.delta" }, { type: "task.stream.weather" }])
    expect(changeBy(event)).toBeUndefined();
});
