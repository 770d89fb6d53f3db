import {
  argumentsHash,
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

/* What the writer decides by itself. That all it writes is legal, random runs show. */

test("a text of 2,000 units that comes whole is told at once, a longer one in pieces", () => {
  const { task, types } = inRound();
  task.message().text("x".repeat(2_000));
  expect(types().slice(-1)).toEqual(["task.text.done"]);
  task.message().text("x".repeat(2_001));
  expect(types().slice(-4)).toEqual([
    "task.text.added",
    "task.text.delta",
    "task.text.delta",
    "task.text.done",
  ]);
});

test("no piece of a long text ends within a surrogate pair", () => {
  const { task, events } = inRound();
  const text = `x${"😀".repeat(1_500)}`;
  task.message().text(text);
  const deltas = events().flatMap((event) =>
    event.type === "task.text.delta" ? [event.delta] : [],
  );
  expect(deltas.map(({ length }) => length)).toEqual([1_999, 1_002]);
  expect(deltas.join("")).toBe(text);
});

test("half a surrogate pair is held back until its other half comes", () => {
  const { task, events } = inRound();
  const message = task.message();
  message.delta("a\ud83d");
  message.delta("\ude00b");
  message.textDone();
  const deltas = events().flatMap((event) =>
    event.type === "task.text.delta" ? [event.delta] : [],
  );
  expect(deltas).toEqual(["a", "😀b"]);
});

test("half a surrogate pair that stays alone becomes a replacement character", () => {
  const { task, events } = inRound();
  const message = task.message();
  message.delta("a\ud83d");
  message.delta("b\ude00");
  message.delta("\ud83d");
  message.done();
  expect(events().at(-1)).toMatchObject({
    item: { block_list: [{ text: "a\u{FFFD}b\u{FFFD}\u{FFFD}" }] },
  });
});

test("a marker is annotated right behind the delta that completes it", () => {
  const { task, types } = inRound();
  const message = task.message();
  message.delta("Sunny.[^");
  message.delta("1] And");
  message.delta(" warm.");
  expect(types().slice(-4)).toEqual([
    "task.text.delta",
    "task.text.delta",
    "task.text.annotation.added",
    "task.text.delta",
  ]);
});

test("a picture of 64 KB is announced, one that has an address is not", () => {
  const { task, types } = inRound();
  const message = task.message();
  const picture = (url: string) => ({ type: "image" as const, image_url: { url } });
  message.block(picture(`data:image/png;base64,${"A".repeat(65_536)}`));
  expect(types().slice(-2)).toEqual(["task.image.added", "task.image.done"]);
  message.block(picture(`https://example.org/${"a".repeat(65_536)}`));
  expect(types().slice(-2)).toEqual(["task.image.done", "task.image.done"]);
});

test("what a call's deltas have left out is told before it is done", () => {
  const { task, events } = inRound();
  const call = task.toolCall("call_1", "weather");
  call.argumentsDelta('{"city"');
  call.done('{"city":"Paris"}');
  const [rest, whole] = events().slice(-3);
  expect(rest).toMatchObject({ delta: ':"Paris"}' });
  expect(whole).toMatchObject({ arguments: '{"city":"Paris"}' });
});

test("a call cannot be done with other arguments than those of its deltas", () => {
  const { task } = inRound();
  const call = task.toolCall("call_1", "weather");
  call.argumentsDelta('{"city":"Paris"');
  expect(() => call.done('{"city":"Rome"}')).toThrow(/not those of its deltas/);
});

test("deltas have no time, everything else has", () => {
  const { task, events } = inRound();
  task.message().delta("Hello");
  for (const event of events()) expect(event.ts === undefined).toBe(event.type.endsWith(".delta"));
});

test("when a sub-task waits for a person its ancestors wait too, and go on with it", () => {
  const { task, child, statuses } = withChild();
  asks(child, "call_2", "ap_1");
  child.inputRequired("approval", ["ap_1"]);
  expect(statuses()).toEqual({ task_1: "input_required", call_1: "input_required" });
  child.approvalResolved("ap_1", { decision: "approve", by: "user", scope: "once" });
  task.working();
  expect(statuses()).toEqual({ task_1: "input_required", call_1: "input_required" });
  child.working();
  expect(statuses()).toEqual({ task_1: "working", call_1: "working" });
});

test("an ancestor that has a question of its own goes on waiting", () => {
  const { task, child, statuses } = withChild();
  task.approvalRequested({ approval_id: "ap_0", kind: "question", choices: ["approve"] });
  asks(child, "call_2", "ap_1");
  child.inputRequired("approval", ["ap_1"]);
  child.approvalResolved("ap_1", { decision: "approve", by: "user", scope: "once" });
  child.working();
  expect(statuses()).toEqual({ task_1: "input_required", call_1: "working" });
});

test("what was asked of a person expires when its task ends", () => {
  const { task, types } = inRound();
  task.approvalRequested({ approval_id: "ap_0", kind: "question", choices: ["approve"] });
  task.canceled("user", undefined, noUsage);
  expect(types().slice(-2)).toEqual(["task.approval.expired", "task.canceled"]);
});

test("another process goes on with the number after the state, and closes what was open", () => {
  const { task, child, options, events } = withChild();
  child.message().delta("Half a sen");
  const state = JSON.parse(JSON.stringify(reduce(emptyTree, events()))) as TaskTree;
  const tree = new TreeWriter(options, state);
  const again = tree.task("call_1");
  again.working({ recovered: true, epoch: 1 });
  const open = again.state.output.at(-1);
  again.retract(open?.id ?? "", "the process ended");
  again.roundStarted(1, "model");
  again.message().done();
  again.roundDone(1, "stop", noUsage);
  again.completed(noUsage);
  const parent = tree.task(task.taskId);
  parent.openResult("call_1")?.done();
  parent.completed(noUsage);
  expect(validateLog(events(), { complete: true })).toBeUndefined();
});

const noUsage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

function inRound() {
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
  const events = (): TaskEvent[] => entries.map(({ event }) => event);
  const types = (): string[] => entries.map(({ event }) => event.type);
  return { tree, options, info, task, events, types };
}

/** A parent whose call a sub-agent is at work on. */
function withChild() {
  const { tree, info, task, ...rest } = inRound();
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
  const statuses = () =>
    Object.fromEntries(Object.entries(tree.state.tasks).map(([id, { status }]) => [id, status]));
  return { ...rest, task, child, statuses };
}

function asks(
  task: ReturnType<typeof inRound>["task"],
  call_id: string,
  approval_id: string,
): void {
  task.toolCall(call_id, "weather").done("{}");
  const args_hash = argumentsHash("{}");
  task.approvalRequested({ approval_id, kind: "call", call_id, args_hash, choices: ["approve"] });
}
