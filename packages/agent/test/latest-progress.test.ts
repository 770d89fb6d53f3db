import type { LogEntry, TaskEvent } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { LatestProgress } from "../src/log/latest-progress.ts";

function noting() {
  const progress = new LatestProgress();
  let number = 0;
  const note = (...bodies: object[]) =>
    progress.note(
      bodies.map((body): LogEntry => {
        const event = { task_id: "task_1", sequence_number: number++, ...body } as TaskEvent;
        return { event, json: JSON.stringify(event) };
      }),
    );
  const told = () => progress.events.map((event) => ("message" in event ? event.message : ""));
  return { progress, note, told };
}

const ofCall = (call_id: string, message: string) => ({
  type: "task.tool_execution.progress",
  call_id,
  execution_id: `run of ${call_id}`,
  message,
});
const ofRound = (message: string) => ({ type: "task.round.progress", round: 1, message });
const retry = { type: "task.warning", code: "model_asked_again", message: "busy", attempt: 1 };

test("of each call the last report is known, until the call is done", () => {
  const { progress, note, told } = noting();
  note(ofCall("call_1", "1 of 3"), ofCall("call_2", "begun"), ofCall("call_1", "2 of 3"));
  expect(told()).toEqual(["begun", "2 of 3"]);
  expect(progress.events.map(({ sequence_number }) => sequence_number)).toEqual([1, 2]);
  note({ type: "task.tool_execution.done", call_id: "call_1" });
  expect(told()).toEqual(["begun"]);
});

test.each([{ type: "task.output_item.added" }, { type: "task.round.done" }])(
  "how far a model is, or when it is asked again, is known until %o",
  (end) => {
    const { note, told } = noting();
    note(ofRound("drawing"));
    expect(told()).toEqual(["drawing"]);
    note(end, { ...retry, retry_in_ms: 1000 });
    expect(told()).toEqual(["busy"]);
    note(end);
    expect(told()).toEqual([]);
  },
);

test("a warning that announces nothing is not kept", () => {
  const { note, told } = noting();
  note(retry);
  expect(told()).toEqual([]);
});

test("with a task end the reports of its model and of all its calls, and those alone", () => {
  const { note, told } = noting();
  note(ofRound("of the parent"), ofCall("call_1", "of the parent's call"));
  note({ ...ofRound("of the child"), task_id: "call_1" });
  note({ ...ofCall("call_2", "of the child's call"), task_id: "call_1" });
  note({ type: "task.canceled", task_id: "call_1" });
  expect(told()).toEqual(["of the parent", "of the parent's call"]);
  note({ type: "task.completed" });
  expect(told()).toEqual([]);
});

test("however much is told, and however long a report is, little is kept: the latest", () => {
  const { progress, note, told } = noting();
  for (let nth = 0; nth < 20_000; nth += 1) note(ofCall(`call_${nth}`, `${nth} ${"x".repeat(80)}`));
  expect(JSON.stringify(progress.events).length).toBeLessThan(300_000);
  expect(told().at(-1)).toMatch(/^19999 /);
  note(ofCall("call_long", "x".repeat(1_000_000)));
  expect(JSON.stringify(progress.events).length).toBeLessThan(300_000);
  note(ofCall("call_short", "short"));
  expect(told().at(-1)).toBe("short");
});
