import { expect, test } from "vitest";
import { hasEnded, statusFromEventType } from "@deltawire/tasks";

test.each(["completed", "failed", "canceled", "expired"] as const)(
  "a task with the status %s has ended",
  (status) => {
    expect(hasEnded(status)).toBe(true);
  },
);

test.each(["created", "queued", "working", "paused", "input_required"] as const)(
  "a task with the status %s has not ended",
  (status) => {
    expect(hasEnded(status)).toBe(false);
  },
);

test("an unknown task has not ended", () => {
  expect(hasEnded(undefined)).toBe(false);
});

test("statusFromEventType returns the status of a status event", () => {
  expect(statusFromEventType("task.input_required")).toBe("input_required");
  expect(statusFromEventType("task.expired")).toBe("expired");
});

test.each(["task.text.done", "task.output_item.added", "task.toString", "", "task."])(
  "statusFromEventType returns undefined for %j",
  (type) => {
    expect(statusFromEventType(type)).toBeUndefined();
  },
);
