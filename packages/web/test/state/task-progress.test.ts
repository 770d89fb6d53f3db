import type { StreamEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { TaskProgress } from "../../src/state/task-progress.ts";

test("that a model is asked again is told as such, with the tries that have failed, until it answers", () => {
  let frame = () => {};
  const progress = new TaskProgress((_ms, run) => {
    frame = run;
    return () => {};
  });
  const tell = (event: object) => {
    progress.hear("task_1", { task_id: "task_1", ...event } as StreamEvent);
    frame();
  };
  tell({ type: "task.warning", code: "reply_repaired", message: "mended" });
  expect(progress.of("task_1").get()).toEqual({});
  tell({
    type: "task.warning",
    code: "model_asked_again",
    message: "overloaded",
    retry_in_ms: 1000,
    attempt: 2,
  });
  expect(progress.of("task_1").get()).toEqual({
    task_1: { message: "overloaded", again: { failed: 2 } },
  });
  tell({ type: "task.output_item.added" });
  expect(progress.of("task_1").get()).toEqual({});
});
