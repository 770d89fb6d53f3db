import { expect, test } from "vitest";
import { hasEnded, statusAfter } from "@deltawire/tasks";

test.each(["completed", "failed", "canceled", "expired"] as const)(
  "a task has ended that is %s",
  (status) => {
    expect(hasEnded(status)).toBe(true);
  },
);

test.each(["created", "queued", "working", "paused", "input_required"] as const)(
  "a task goes on that is %s",
  (status) => {
    expect(hasEnded(status)).toBe(false);
  },
);

test("of a task that nobody knows, nothing has ended", () => {
  expect(hasEnded(undefined)).toBe(false);
});

test("an event of a status is named after it", () => {
  expect(statusAfter("task.input_required")).toBe("input_required");
  expect(statusAfter("task.expired")).toBe("expired");
});

test.each(["task.text.done", "task.output_item.added", "task.toString", "", "task."])(
  "%j gives no status",
  (type) => {
    expect(statusAfter(type)).toBeUndefined();
  },
);
