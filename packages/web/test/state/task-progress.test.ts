import { callProgressKey, modelProgressKey, type StreamEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { TaskProgress } from "../../src/state/task-progress.ts";

function listening() {
  let frame = () => {};
  const progress = new TaskProgress((_ms, run) => {
    frame = run;
    return () => {};
  });
  const tell = (event: object) => {
    progress.hear("task_1", { task_id: "task_1", ...event } as StreamEvent);
    frame();
  };
  return { tell, known: () => progress.of("task_1").get() };
}

const ofCall = (call_id: string, message = "half") => ({
  type: "task.tool_execution.progress",
  call_id,
  execution_id: `run of ${call_id}`,
  message,
});
const ofModel = (message: string) => ({ type: "task.round.progress", round: 0, message });

test("that a model is asked again is told as such, with the tries that have failed, until it answers", () => {
  const { tell, known } = listening();
  tell({ type: "task.warning", code: "reply_repaired", message: "mended" });
  expect(known()).toEqual({});
  tell({
    type: "task.warning",
    code: "model_asked_again",
    message: "overloaded",
    retry_in_ms: 1000,
    attempt: 2,
  });
  expect(known()).toMatchObject({
    [modelProgressKey("task_1")]: { message: "overloaded", again: { failed: 2 } },
  });
  tell({ type: "task.output_item.added" });
  expect(known()).toEqual({});
});

test("with a snapshot only what is told behind it goes on", () => {
  const { tell, known } = listening();
  const [one, other] = [callProgressKey("call_1"), callProgressKey("call_2")];
  tell(ofCall("call_1"));
  tell(ofCall("call_2"));
  expect(Object.keys(known())).toEqual([one, other]);
  tell({ type: "task.snapshot" });
  tell(ofCall("call_2"));
  expect(Object.keys(known())).toEqual([other]);
});

test("a sub-agent's model takes nothing from the call that asked for it, nor the call from the model", () => {
  const { tell, known } = listening();
  tell(ofCall("call_1", "of the call"));
  tell({ ...ofModel("of the model"), task_id: "call_1" });
  const [call, model] = [callProgressKey("call_1"), modelProgressKey("call_1")];
  expect(known()).toMatchObject({
    [call]: { message: "of the call" },
    [model]: { message: "of the model" },
  });
  tell({ type: "task.output_item.added", task_id: "call_1" });
  expect(Object.keys(known())).toEqual([call]);
});

test.each(["task.completed", "task.failed", "task.canceled", "task.expired"])(
  "%s of a sub-agent takes with it what its model and its calls have told, and that alone",
  (type) => {
    const { tell, known } = listening();
    tell(ofModel("of the parent"));
    tell(ofCall("call_1", "of the parent's call"));
    tell({ ...ofModel("of the child"), task_id: "call_1" });
    tell({ ...ofCall("call_2", "of the child's call"), task_id: "call_1" });
    tell({ type, task_id: "call_1" });
    expect(Object.values(known()).map(({ message }) => message)).toEqual([
      "of the parent",
      "of the parent's call",
    ]);
  },
);
