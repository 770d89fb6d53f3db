import type { LogEntry, TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { LatestProgress } from "../src/log/latest-progress.ts";

function createProgress() {
  const progress = new LatestProgress();
  let number = 0;
  const record = (...bodies: object[]) =>
    progress.record(
      bodies.map((body): LogEntry => {
        const event = { task_id: "task_1", sequence_number: number++, ...body } as TaskEvent;
        return { event, json: JSON.stringify(event) };
      }),
    );
  const messages = () => progress.events.map((event) => ("message" in event ? event.message : ""));
  return { progress, record, messages };
}

const createCallProgress = (call_id: string, message: string) => ({
  type: "task.tool_execution.progress",
  call_id,
  execution_id: `run of ${call_id}`,
  message,
});
const createRoundProgress = (message: string) => ({
  type: "task.round.progress",
  round: 1,
  message,
});
const retry = { type: "task.warning", code: "model_retry_scheduled", message: "busy", attempt: 1 };

test("the latest progress of each call is available until the call is done", () => {
  const { progress, record, messages } = createProgress();
  record(
    createCallProgress("call_1", "1 of 3"),
    createCallProgress("call_2", "begun"),
    createCallProgress("call_1", "2 of 3"),
  );
  expect(messages()).toEqual(["begun", "2 of 3"]);
  expect(progress.events.map(({ sequence_number }) => sequence_number)).toEqual([1, 2]);
  record({ type: "task.tool_execution.done", call_id: "call_1" });
  expect(messages()).toEqual(["begun"]);
});

test.each([{ type: "task.output_item.added" }, { type: "task.round.done" }])(
  "the progress of a round, or its scheduled retry, is available until the event %o",
  (endEvent) => {
    const { record, messages } = createProgress();
    record(createRoundProgress("drawing"));
    expect(messages()).toEqual(["drawing"]);
    record(endEvent, { ...retry, retry_in_ms: 1000 });
    expect(messages()).toEqual(["busy"]);
    record(endEvent);
    expect(messages()).toEqual([]);
  },
);

test("warnings other than scheduled retries are not retained", () => {
  const { record, messages } = createProgress();
  record(retry);
  expect(messages()).toEqual([]);
});

test("the end of a task removes the progress of its rounds and calls, and no other", () => {
  const { record, messages } = createProgress();
  record(
    createRoundProgress("of the parent"),
    createCallProgress("call_1", "of the parent's call"),
  );
  record({ ...createRoundProgress("of the child"), task_id: "call_1" });
  record({ ...createCallProgress("call_2", "of the child's call"), task_id: "call_1" });
  record({ type: "task.canceled", task_id: "call_1" });
  expect(messages()).toEqual(["of the parent", "of the parent's call"]);
  record({ type: "task.completed" });
  expect(messages()).toEqual([]);
});

test("only the latest progress is retained, within a limit for its total size", () => {
  const { progress, record, messages } = createProgress();
  for (let nth = 0; nth < 20_000; nth += 1)
    record(createCallProgress(`call_${nth}`, `${nth} ${"x".repeat(80)}`));
  expect(JSON.stringify(progress.events).length).toBeLessThan(300_000);
  expect(messages().at(-1)).toMatch(/^19999 /);
  record(createCallProgress("call_long", "x".repeat(1_000_000)));
  expect(JSON.stringify(progress.events).length).toBeLessThan(300_000);
  record(createCallProgress("call_short", "short"));
  expect(messages().at(-1)).toBe("short");
});
