import type { StreamEvent } from "@deltawire/tasks";
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
  expect(known()).toEqual({
    task_1: { message: "overloaded", again: { failed: 2 } },
  });
  tell({ type: "task.output_item.added" });
  expect(known()).toEqual({});
});

test("with a snapshot only what is told behind it goes on", () => {
  const { tell, known } = listening();
  const report = (call_id: string) =>
    tell({ type: "task.tool_execution.progress", call_id, execution_id: "x", message: "half" });
  report("call_1");
  report("call_2");
  expect(Object.keys(known())).toEqual(["call_1", "call_2"]);
  tell({ type: "task.snapshot" });
  report("call_2");
  expect(Object.keys(known())).toEqual(["call_2"]);
});
