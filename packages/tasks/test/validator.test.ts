import {
  hashArguments,
  TaskError,
  TreeWriter,
  validateLog,
  type LogEntry,
  type RuleName,
  type TaskEvent,
  type TaskWriter,
} from "@deltawire/tasks";
import { expect, test } from "vitest";

/* Every rule is tested with a change to a valid log that breaks it. */

type LooseEvent = Record<string, unknown> & { type: string; task_id: string };
type Change = (log: LooseEvent[]) => void;

const violations: Record<RuleName, Change> = {
  shape: edit("task.text.delta", { delta: 5 }),
  dense_numbers: (log) => void log.splice(4, 1),
  unique_ids: edit("task.output_item.added", { "item.id": "rs_1" }, 1),
  unfinished: (log) => void log.pop(),
  created_first: withRenumbering((log) => void log.splice(0, 1)),
  created_once: after("task.working", (log) => log[0]),
  created_fields: edit("task.created", { "task.protocol_version": "2.0" }),
  parent_call: edit("task.created", { "task.parent_call_id": "call_1" }, 1),
  depth: edit("task.created", { "task.depth": 3 }, 1),
  status_transition: after("task.working", { type: "task.queued", task_id: "root" }),
  input_required_ancestors: drop("task.input_required", 1),
  input_required_approvals: edit("task.input_required", { approval_ids: ["ap_none"] }),
  one_terminal: after("task.completed", warning("root"), 1),
  children_end_first: drop("task.completed", 0),
  items_closed: before("task.canceled", {
    type: "task.output_item.added",
    task_id: "root",
    output_index: 0,
    item: { type: "message", id: "msg_x", role: "assistant", block_list: [] },
  }),
  approvals_closed: after("task.working", {
    type: "task.approval.requested",
    task_id: "root",
    approval: { approval_id: "ap_x", kind: "question", choices: ["approve"] },
  }),
  executions_closed: drop("task.tool_execution.done", 1),
  rounds: edit("task.round.started", { round: 3 }, 1),
  compaction: after("task.working", {
    type: "task.context_compression.completed",
    task_id: "root",
  }),
  usage_cumulative: after("task.usage.updated", {
    type: "task.usage.updated",
    task_id: "root",
    usage: { input_tokens: 0, output_tokens: 9, total_tokens: 9 },
  }),
  state_hash: edit("task.completed", { state_hash: "0".repeat(64) }),
  output_index: edit("task.output_item.added", { output_index: 7 }),
  item_id: edit("task.reasoning_summary_text.delta", { item_id: "fc_2" }),
  item_opens_empty: edit("task.output_item.added", {
    "item.summary": [{ type: "text", text: "" }],
  }),
  item_once: duplicate("task.output_item.done"),
  item_identity: edit("task.output_item.done", { "item.name": "another" }, 1),
  item_status: edit("task.output_item.added", { "item.status": "completed" }),
  retraction: after("task.round.done", {
    type: "task.output_item.retracted",
    task_id: "root",
    item_id: "rs_1",
    output_index: 0,
    reason: "cut",
  }),
  open_part: duplicate("task.reasoning_summary_item.done"),
  part_index: edit("task.reasoning_summary_item.added", { summary_index: 1 }),
  parts_closed: drop("task.reasoning_summary_item.done"),
  deltas_match_done: edit("task.reasoning_summary_text.delta", { delta: "Wondering." }),
  surrogate_pairs: edit("task.text.delta", { delta: "\ud83d" }),
  block_list: edit("task.output_item.done", { "item.block_list": [] }, 3),
  child_blocks: edit("task.output_item.done", { "item.block_list": [] }, 6),
  arguments_done: drop("task.tool_call_arguments.done"),
  one_result: after(
    "task.output_item.added",
    (log) => {
      const result = log.find(
        ({ item }) => (item as LooseEvent | undefined)?.type === "tool_result",
      );
      return { ...result, output_index: 4, item: { ...(result?.["item"] as object), id: "fco_x" } };
    },
    3,
  ),
  result_of_call: edit("task.output_item.added", { "item.call_id": "call_none" }, 3),
  call_has_result: before("task.canceled", ...callWithoutResult()),
  annotations: edit("task.text.annotation.added", { "annotation.start_index": 1 }),
  reference_ids: edit("task.reference.added", { "reference.reference_id": 2 }),
  reference_blocks: edit("task.reference.added", { "reference.block_indexes": [4] }),
  block_ids: edit("task.text.added", { "item.id": 1 }),
  approval_of_call: edit("task.approval.requested", { "approval.call_id": "call_none" }),
  approval_pending: duplicate("task.approval.resolved"),
  approval_choice: edit("task.approval.resolved", { decision: "redact" }),
  not_approved: drop("task.approval.resolved"),
  execution_of_call: edit("task.tool_execution.started", { call_id: "call_none" }),
  executed_hash: edit("task.tool_execution.started", { args_hash: hashArguments("{}") }),
  run_once: after("task.tool_execution.done", (log) => ({
    ...log.find(({ type }) => type === "task.tool_execution.started"),
    type: "task.tool_execution.started",
    task_id: "root",
    execution_id: "ex_x",
    attempt: 2,
  })),
  execution_attempt: edit("task.tool_execution.started", { attempt: 2 }),
  execution_running: edit("task.tool_execution.done", { execution_id: "ex_none" }),
};

/** Rules that are tested with a canceled run, because in a complete run another rule would be broken first. */
const testedWithCanceledRun = new Set<RuleName>(["items_closed", "call_has_result"]);

test.each(Object.entries(violations))(
  "a log that breaks the rule %s is rejected",
  (rule, change) => {
    const log = structuredClone(
      testedWithCanceledRun.has(rule as RuleName) ? canceledLog() : completeLog(),
    );
    expect(validateLog(log as unknown as TaskEvent[], { complete: true })).toBeUndefined();
    change(log);
    const violation = validateLog(log as unknown as TaskEvent[], { complete: true });
    expect(violation).toMatchObject({ rule });
    expect(violation?.message).toMatch(/\w/);
  },
);

test("the range of a coalesced event must follow the previous number", () => {
  const log = completeLog();
  const position = log.findIndex(({ type }) => type === "task.text.delta");
  const coalesced = log.map((event, index) => {
    if (index < position) return event;
    const numbering = { sequence_number: index + 2 };
    return index === position
      ? { ...event, ...numbering, coalesced_from: position }
      : { ...event, ...numbering };
  });
  expect(validateLog(coalesced as unknown as TaskEvent[], { complete: true })).toBeUndefined();
  const delta = coalesced[position];
  if (delta !== undefined) delta["coalesced_from"] = position + 1;
  expect(validateLog(coalesced as unknown as TaskEvent[])).toMatchObject({ rule: "dense_numbers" });
});

test("only the running round may report progress", () => {
  const { log, root } = startTask();
  expect(() => root.roundProgress(1, "too soon")).toThrow(TaskError);
  root.roundStarted(1, "model");
  root.roundProgress(1, "half of it", 0.5);
  root.roundProgress(1, "more of it");
  expect(() => root.roundProgress(2, "of another round")).toThrow(TaskError);
  expect(() => root.roundProgress(1, "more than all", 1.5)).toThrow(TaskError);
  root.roundDone(1, "stop", { input_tokens: 0, output_tokens: 0, total_tokens: 0 });
  expect(() => root.roundProgress(1, "too late")).toThrow(TaskError);
  const reports = log.filter(({ event }) => event.type === "task.round.progress");
  expect(reports.map(({ event }) => event)).toMatchObject([{ fraction: 0.5 }, { round: 1 }]);
});

test("the writer throws instead of breaking a rule, and writes no event", () => {
  const { log, root } = startTask();
  const before = log.length;
  expect(() => root.roundStarted(3, "model")).toThrow(TaskError);
  expect(() => root.retract("msg_none", "cut")).toThrow(TaskError);
  expect(log.length).toBe(before);
  root.roundStarted(1, "model");
  expect(log.length).toBe(before + 1);
});

function startTask() {
  const log: LogEntry[] = [];
  let ids = 0;
  const tree = new TreeWriter({
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => "2026-01-01T00:00:00.000Z",
    emit: (entry) => log.push(entry),
  });
  const info = { root_task_id: "root", attempt: 1, agent: "agent", model: "model", limits: {} };
  const root = tree.create("root", { ...info, depth: 0 });
  root.working();
  const child = (callId: string) =>
    tree.create(callId, {
      ...info,
      depth: 1,
      parent_task_id: "root",
      parent_call_id: callId,
    });
  return { log, root, child };
}

function usage(tokens: number) {
  return { input_tokens: tokens, output_tokens: tokens, total_tokens: 2 * tokens };
}

/** Writes the log of two calls, one of them to a sub-agent with an approval, and an answer with a citation. */
function completeLog(): LooseEvent[] {
  const { log, root, child } = startTask();
  root.roundStarted(1, "model");
  const reasoning = root.reasoning();
  reasoning.summaryDelta("Thinking.");
  reasoning.done();
  const call = root.toolCall("call_1", "weather");
  call.done('{"city":"Paris"}');
  const ask = root.toolCall("call_2", "ask_for_help");
  ask.done('{"name":"helper"}');
  root.roundDone(1, "tool_calls", usage(1));
  root.usageUpdated(usage(1));
  approve(root, "ap_1", "call_1", '{"city":"Paris"}');
  execute(root, "call_1", '{"city":"Paris"}');
  const result = root.toolResult("call_1");
  result.block({ type: "text", text: "15C", id: 1 });
  root.referenceAdded({ reference_id: 1, item_id: result.itemId, block_indexes: [0] });
  result.done();
  const answer = root.toolResult("call_2");
  const helper = child("call_2");
  helper.working();
  helper.roundStarted(1, "model");
  const childCall = helper.toolCall("call_3", "weather");
  childCall.done("{}");
  helper.roundDone(1, "tool_calls", usage(1));
  approve(helper, "ap_2", "call_3", "{}");
  execute(helper, "call_3", "{}");
  helper.toolResult("call_3").done();
  helper.completed(usage(1));
  answer.done();
  root.roundStarted(2, "model");
  const message = root.message();
  message.delta("Sunny.[^1]");
  message.done();
  root.roundDone(2, "stop", usage(2));
  root.completed(usage(3));
  return log.map(({ event }) => event as unknown as LooseEvent);
}

function approve(task: TaskWriter, approval_id: string, call_id: string, args: string): void {
  const args_hash = hashArguments(args);
  const choices = ["approve" as const, "deny" as const];
  task.approvalRequested({ approval_id, kind: "call", call_id, args_hash, choices });
  task.inputRequired("approval", [approval_id]);
  task.approvalResolved(approval_id, { decision: "approve", by: "user", scope: "once" });
  task.working();
}

function execute(task: TaskWriter, call_id: string, args: string): void {
  const execution_id = `ex_${call_id}`;
  task.executionStarted({
    call_id,
    execution_id,
    attempt: 1,
    args_hash: hashArguments(args),
    effect: "once",
    idempotency_key: `key_${call_id}`,
  });
  task.executionDone(call_id, execution_id, "completed", 1);
}

function canceledLog(): LooseEvent[] {
  const { log, root } = startTask();
  root.roundStarted(1, "model");
  root.canceled("user", undefined, usage(1));
  return log.map(({ event }) => event as unknown as LooseEvent);
}

function callWithoutResult(): LooseEvent[] {
  const item = { type: "tool_call", id: "fc_x", call_id: "call_x", name: "weather", arguments: "" };
  const position = { task_id: "root", output_index: 0 };
  return [
    { type: "task.output_item.added", ...position, item },
    { type: "task.tool_call_arguments.done", ...position, item_id: "fc_x", arguments: "" },
    { type: "task.output_item.done", ...position, item },
  ];
}

function warning(task_id: string): LooseEvent {
  return { type: "task.warning", task_id, code: "late", message: "too late" };
}

function edit(type: string, fields: Record<string, unknown>, nth = 0): Change {
  return (log) => {
    const event = log[findIndexOf(log, type, nth)] as Record<string, unknown>;
    for (const [path, value] of Object.entries(fields)) {
      const keys = path.split(".");
      const last = keys.pop() ?? "";
      let target = event;
      for (const key of keys) target = target[key] as Record<string, unknown>;
      target[last] = value;
    }
  };
}

function drop(type: string, nth = 0): Change {
  return withRenumbering((log) => void log.splice(findIndexOf(log, type, nth), 1));
}

function duplicate(type: string): Change {
  return after(type, (log) => log[findIndexOf(log, type, 0)]);
}

type Inserted = LooseEvent | ((log: LooseEvent[]) => object | undefined);

function after(type: string, inserted: Inserted, nth = 0): Change {
  return withRenumbering((log) => {
    const event = typeof inserted === "function" ? inserted(log) : inserted;
    log.splice(findIndexOf(log, type, nth) + 1, 0, { ...(event as LooseEvent) });
  });
}

function before(type: string, ...inserted: LooseEvent[]): Change {
  return withRenumbering((log) => void log.splice(findIndexOf(log, type, 0), 0, ...inserted));
}

function withRenumbering(change: Change): Change {
  return (log) => {
    change(log);
    for (const [sequence_number, event] of log.entries())
      event["sequence_number"] = sequence_number;
  };
}

function findIndexOf(log: readonly LooseEvent[], type: string, nth: number): number {
  const indexes = [...log.keys()].filter((index) => log[index]?.type === type);
  const index = indexes[nth];
  if (index === undefined) throw new Error(`the log has no ${type} at ${nth}`);
  return index;
}
