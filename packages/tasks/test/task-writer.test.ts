import {
  hashArguments,
  emptyTree,
  reduce,
  TreeWriter,
  validateLog,
  type LogEntry,
  type TaskEvent,
  type TaskTree,
  type TreeWriterOptions,
} from "@deltawire/tasks";
import { expect, test } from "vitest";

/* How the writer splits and orders its events. Random runs test that everything it writes is valid. */

test("complete text of up to 2,000 UTF-16 units is sent in one event, and longer text in deltas", () => {
  const { task, listTypes } = startRound();
  task.message().text("x".repeat(2_000));
  expect(listTypes().slice(-1)).toEqual(["task.text.done"]);
  task.message().text("x".repeat(2_001));
  expect(listTypes().slice(-4)).toEqual([
    "task.text.added",
    "task.text.delta",
    "task.text.delta",
    "task.text.done",
  ]);
});

test("the deltas of long text do not split surrogate pairs", () => {
  const { task, listEvents } = startRound();
  const text = `x${"😀".repeat(1_500)}`;
  task.message().text(text);
  const deltas = listEvents().flatMap((event) =>
    event.type === "task.text.delta" ? [event.delta] : [],
  );
  expect(deltas.map(({ length }) => length)).toEqual([1_999, 1_002]);
  expect(deltas.join("")).toBe(text);
});

test("the first half of a surrogate pair is held back until the second half arrives", () => {
  const { task, listEvents } = startRound();
  const message = task.message();
  message.delta("a\ud83d");
  message.delta("\ude00b");
  message.textDone();
  const deltas = listEvents().flatMap((event) =>
    event.type === "task.text.delta" ? [event.delta] : [],
  );
  expect(deltas).toEqual(["a", "😀b"]);
});

test("a lone surrogate becomes a replacement character", () => {
  const { task, listEvents } = startRound();
  const message = task.message();
  message.delta("a\ud83d");
  message.delta("b\ude00");
  message.delta("\ud83d");
  message.done();
  expect(listEvents().at(-1)).toMatchObject({
    item: { block_list: [{ text: "a\u{FFFD}b\u{FFFD}\u{FFFD}" }] },
  });
});

test("a marker is annotated directly after the delta that completes it", () => {
  const { task, listTypes } = startRound();
  const message = task.message();
  message.delta("Sunny.[^");
  message.delta("1] And");
  message.delta(" warm.");
  expect(listTypes().slice(-4)).toEqual([
    "task.text.delta",
    "task.text.delta",
    "task.text.annotation.added",
    "task.text.delta",
  ]);
});

test("an image of 64 KB in a data URL is announced, and one with another URL is not", () => {
  const { task, listTypes } = startRound();
  const message = task.message();
  const image = (url: string) => ({ type: "image" as const, image_url: { url } });
  message.block(image(`data:image/png;base64,${"A".repeat(65_536)}`));
  expect(listTypes().slice(-2)).toEqual(["task.image.added", "task.image.done"]);
  message.block(image(`https://example.org/${"a".repeat(65_536)}`));
  expect(listTypes().slice(-2)).toEqual(["task.image.done", "task.image.done"]);
});

test("arguments that were not streamed are sent as a delta before the call is done", () => {
  const { task, listEvents } = startRound();
  const call = task.toolCall("call_1", "weather");
  call.argumentsDelta('{"city"');
  call.done('{"city":"Paris"}');
  const [rest, done] = listEvents().slice(-3);
  expect(rest).toMatchObject({ delta: ':"Paris"}' });
  expect(done).toMatchObject({ arguments: '{"city":"Paris"}' });
});

test("a call cannot be done with arguments that differ from its deltas", () => {
  const { task } = startRound();
  const call = task.toolCall("call_1", "weather");
  call.argumentsDelta('{"city":"Paris"');
  expect(() => call.done('{"city":"Rome"}')).toThrow(/do not start with the deltas sent so far/);
});

test("all events except deltas have a timestamp", () => {
  const { task, listEvents } = startRound();
  task.message().delta("Hello");
  for (const event of listEvents())
    expect(event.ts === undefined).toBe(event.type.endsWith(".delta"));
});

test("when a sub-agent is waiting for the user, its ancestors are waiting too and are resumed with it", () => {
  const { task, child, listStatuses } = startRoundWithChild();
  requestApproval(child, "call_2", "ap_1");
  child.inputRequired("approval", ["ap_1"]);
  expect(listStatuses()).toEqual({ task_1: "input_required", call_1: "input_required" });
  child.approvalResolved("ap_1", { decision: "approve", by: "user", scope: "once" });
  task.working();
  expect(listStatuses()).toEqual({ task_1: "input_required", call_1: "input_required" });
  child.working();
  expect(listStatuses()).toEqual({ task_1: "working", call_1: "working" });
});

test("an ancestor with its own pending approval keeps waiting", () => {
  const { task, child, listStatuses } = startRoundWithChild();
  task.approvalRequested({ approval_id: "ap_0", kind: "question", choices: ["approve"] });
  requestApproval(child, "call_2", "ap_1");
  child.inputRequired("approval", ["ap_1"]);
  child.approvalResolved("ap_1", { decision: "approve", by: "user", scope: "once" });
  child.working();
  expect(listStatuses()).toEqual({ task_1: "input_required", call_1: "working" });
});

test("pending approvals expire when the task ends", () => {
  const { task, listTypes } = startRound();
  task.approvalRequested({ approval_id: "ap_0", kind: "question", choices: ["approve"] });
  task.canceled("user", undefined, noUsage);
  expect(listTypes().slice(-2)).toEqual(["task.approval.expired", "task.canceled"]);
});

test("another process continues with the next sequence number and can close open items", () => {
  const { task, child, options, listEvents } = startRoundWithChild();
  child.message().delta("Half a sen");
  const state = JSON.parse(JSON.stringify(reduce(emptyTree, listEvents()))) as TaskTree;
  const tree = new TreeWriter(options, state);
  const resumed = tree.task("call_1");
  resumed.working({ recovered: true, epoch: 1 });
  const open = resumed.state.output.at(-1);
  resumed.retract(open?.id ?? "", "the process ended");
  resumed.roundStarted(1, "model");
  resumed.message().done();
  resumed.roundDone(1, "stop", noUsage);
  resumed.completed(noUsage);
  const parent = tree.task(task.taskId);
  parent.openResult("call_1")?.done();
  parent.completed(noUsage);
  expect(validateLog(listEvents(), { complete: true })).toBeUndefined();
});

const noUsage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

function startRound() {
  const entries: LogEntry[] = [];
  let ids = 0;
  const options: TreeWriterOptions = {
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => "2026-01-01T00:00:00.000Z",
    emit: (entry) => entries.push(entry),
  };
  const tree = new TreeWriter(options);
  const info = { root_task_id: "task_1", attempt: 1, agent: "agent", model: "model", limits: {} };
  const task = tree.create("task_1", { ...info, depth: 0 });
  task.working();
  task.roundStarted(1, "model");
  const listEvents = (): TaskEvent[] => entries.map(({ event }) => event);
  const listTypes = (): string[] => entries.map(({ event }) => event.type);
  return { tree, options, info, task, listEvents, listTypes };
}

/** Starts a task with a running sub-agent. */
function startRoundWithChild() {
  const { tree, info, task, ...rest } = startRound();
  task.toolCall("call_1", "ask_for_help").done("{}");
  task.roundDone(1, "tool_calls", noUsage);
  task.toolResult("call_1");
  const child = tree.create("call_1", {
    ...info,
    depth: 1,
    parent_task_id: "task_1",
    parent_call_id: "call_1",
  });
  child.working();
  child.roundStarted(1, "model");
  const listStatuses = () =>
    Object.fromEntries(Object.entries(tree.state.tasks).map(([id, { status }]) => [id, status]));
  return { ...rest, task, child, listStatuses };
}

function requestApproval(
  task: ReturnType<typeof startRound>["task"],
  call_id: string,
  approval_id: string,
): void {
  task.toolCall(call_id, "weather").done("{}");
  const args_hash = hashArguments("{}");
  task.approvalRequested({ approval_id, kind: "call", call_id, args_hash, choices: ["approve"] });
}
