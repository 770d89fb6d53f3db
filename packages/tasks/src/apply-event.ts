import type { Draft, Mutable, Place } from "./draft.ts";
import { TaskError } from "./error.ts";
import type { TaskEvent, TaskEventType } from "./events.ts";
import type { Block, Resolution, SummaryText, TaskStatus } from "./items.ts";
import { equalJson } from "./json.ts";
import type { TaskApproval, TaskState } from "./state.ts";

/** Changes what the event is about; one that does not fit or that nobody knows changes nothing. */
export function applyEvent(draft: Draft, event: TaskEvent): void {
  handlers.get(event.type)?.(draft, event);
}

type EventOf<T extends TaskEventType> = TaskEvent extends infer E
  ? E extends { type: infer U }
    ? T extends U
      ? E
      : never
    : never
  : never;

type Handler<T extends TaskEventType> = (draft: Draft, event: EventOf<T>) => void;

const table: { [T in TaskEventType]: Handler<T> } = {
  // lifecycle
  "task.created": (draft, { task_id, task }) => draft.addTask(newTask(task_id, task)),
  "task.queued": (draft, event) => setStatus(draft, event, "queued"),
  "task.working": (draft, event) => {
    const task = setStatus(draft, event, "working");
    if (task === undefined) return;
    if (event.epoch !== undefined) task.epoch = event.epoch;
    // No process was there to answer meanwhile.
    if (event.recovered === true) task.model_since = null;
  },
  "task.paused": (draft, event) => setStatus(draft, event, "paused"),
  "task.input_required": (draft, event) => setStatus(draft, event, "input_required"),
  "task.completed": (draft, event) => end(draft, event, "completed"),
  "task.failed": (draft, event) => {
    const task = end(draft, event, "failed");
    if (task !== undefined) task.error = event.error;
  },
  "task.canceled": (draft, event) => {
    const { by, reason } = event;
    const task = end(draft, event, "canceled");
    if (task !== undefined) task.ended = reason === undefined ? { by } : { by, reason };
  },
  "task.expired": (draft, event) => {
    const task = end(draft, event, "expired");
    if (task !== undefined) task.ended = { reason: event.reason };
  },
  // rounds
  "task.round.started": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    takeInputs(draft, task);
    addElapsed(task, "model_ms", "model_since", event.ts);
    if (event.ts !== undefined) task.model_since = event.ts;
    task.round = event.round;
    task.round_done = false;
    task.round_started_at_index = task.output.length;
  },
  "task.round.progress": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task !== undefined) delete task.retry;
  },
  "task.round.done": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    task.round_done = true;
    addElapsed(task, "model_ms", "model_since", event.ts);
    delete task.retry;
  },
  "task.warning": (draft, event) => {
    const { code, retry_in_ms, attempt = 1, message, ts } = event;
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    const warnings = draft.list(task.warnings);
    const known = warnings.findIndex((one) => one.code === code && one.message === message);
    const { count = 0 } = warnings[known] ?? {};
    warnings[known === -1 ? warnings.length : known] = { code, message, count: count + 1 };
    task.warnings = warnings;
    if (retry_in_ms === undefined) return;
    task.retry = {
      attempt,
      message,
      retry_in_ms,
      ...(ts === undefined ? {} : { failed_at: ts }),
    };
  },
  "task.input.added": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    const inputs = draft.list(task.inputs);
    inputs.push({ item: event.item, delivery: event.delivery });
    task.inputs = inputs;
  },
  "task.context_compression.created": nothing,
  "task.context_compression.in_progress": nothing,
  "task.context_compression.completed": nothing,
  "task.usage.updated": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    task.usage = event.usage;
    if (event.tree_usage !== undefined) task.tree_usage = event.tree_usage;
  },
  // items
  "task.output_item.added": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined || event.output_index !== task.output.length) return;
    const output = draft.list(task.output);
    output.push(draft.own({ ...event.item, status: event.item.status ?? "in_progress" }));
    task.output = output;
    delete task.retry;
    // A time that is not told is not that of the item before it.
    if (event.ts === undefined) delete task.item_added_at;
    else task.item_added_at = event.ts;
  },
  "task.output_item.updated": (draft, event) => {
    const item = anyItem(draft, event);
    if (item !== undefined) Object.assign(item, event.patch);
  },
  "task.output_item.done": (draft, event) => {
    const item = anyItem(draft, event);
    if (item === undefined) return;
    const old: Record<string, unknown> = item as object as Record<string, unknown>;
    for (const [key, value] of Object.entries(event.item))
      if (!equalJson(old[key], value)) old[key] = value;
    item.status = event.item.status ?? "completed";
  },
  "task.output_item.retracted": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined || anyItem(draft, event) === undefined) return;
    const output = draft.list(task.output);
    output[event.output_index] = { type: "retracted", id: event.item_id, reason: event.reason };
    task.output = output;
  },
  "task.reasoning_summary_item.added": putSummary,
  "task.reasoning_summary_text.delta": (draft, event) => {
    const item = draft.item(event, "reasoning");
    if (item === undefined) return;
    const summary = draft.list(item.summary);
    const part = summary[event.summary_index];
    if (part === undefined) return;
    summary[event.summary_index] = grown(draft, part, event);
    item.summary = summary;
  },
  "task.reasoning_summary_item.done": putSummary,
  "task.reasoning_text.delta": (draft, event) => {
    const item = draft.item(event, "reasoning");
    if (item === undefined) return;
    const content = draft.list(item.content);
    if (event.content_index > content.length) return;
    const part = content[event.content_index] ?? { type: "text", text: "" };
    content[event.content_index] = grown(draft, part, event);
    item.content = content;
  },
  "task.reasoning_text.done": (draft, event) => {
    const item = draft.item(event, "reasoning");
    if (item === undefined) return;
    const content = draft.list(item.content);
    put(content, event.content_index, { type: "text", text: event.text });
    item.content = content;
  },
  "task.tool_call_arguments.delta": (draft, event) => {
    const item = draft.item(event, "tool_call");
    if (item !== undefined) item.arguments += unseen(item.arguments.length, event);
  },
  "task.tool_call_arguments.done": (draft, event) => {
    const item = draft.item(event, "tool_call");
    if (item !== undefined) item.arguments = event.arguments;
  },
  // blocks
  "task.text.added": putBlock,
  "task.text.delta": (draft, event) => {
    const blocks = draft.blocks(event);
    const block = blocks?.[event.block_index];
    if (blocks === undefined || block?.type !== "text") return;
    blocks[event.block_index] = grown(draft, block, event);
  },
  "task.text.done": putBlock,
  "task.text.annotation.added": (draft, event) => {
    const blocks = draft.blocks(event);
    const block = blocks?.[event.block_index];
    if (blocks === undefined || block?.type !== "text") return;
    const owned = draft.object(block);
    const annotations = draft.list(block.annotations);
    put(annotations, event.annotation_index, event.annotation);
    owned.annotations = annotations;
    blocks[event.block_index] = owned;
  },
  "task.image.added": putBlock,
  "task.image.delta": putBlock,
  "task.image.done": putBlock,
  "task.audio.added": putBlock,
  "task.audio.done": putBlock,
  "task.file.added": putBlock,
  "task.file.done": putBlock,
  "task.data.done": putBlock,
  // references, approvals, executions
  "task.reference.added": (draft, { task_id, reference }) => {
    draft.references().push({ ...reference, task_id });
  },
  "task.approval.requested": (draft, { task_id, approval }) => {
    draft.approvals().push({ ...approval, task_id, status: "pending" });
  },
  "task.approval.resolved": (draft, event) => {
    const resolution = resolutionIn(event);
    const forgotten = resolution.decision !== "approve";
    settle(draft, event.approval_id, { status: "resolved", resolution }, forgotten);
  },
  "task.approval.expired": (draft, event) =>
    settle(draft, event.approval_id, { status: "expired" }, true),
  "task.tool_execution.started": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    const { call_id, execution_id, attempt, args_hash, effect, idempotency_key } = event;
    const executions = draft.list(task.executions);
    executions.push({
      call_id,
      execution_id,
      attempt,
      args_hash,
      effect,
      idempotency_key,
      ...(event.ts === undefined ? {} : { started_at: event.ts }),
    });
    task.executions = executions;
  },
  "task.tool_execution.progress": nothing,
  "task.tool_execution.done": (draft, event) => {
    const task = draft.task(event.task_id);
    if (task === undefined) return;
    const executions = draft.list(task.executions);
    const index = executions.findLastIndex((e) => e.execution_id === event.execution_id);
    const execution = executions[index];
    if (execution === undefined) return;
    const { outcome, duration_ms, error } = event;
    executions[index] = {
      ...execution,
      outcome,
      duration_ms,
      ...(error === undefined ? {} : { error }),
    };
    task.executions = executions;
  },
};

const handlers = new Map(
  Object.entries(table) as [string, (draft: Draft, event: TaskEvent) => void][],
);

function nothing(): void {}

function newTask(task_id: string, info: TaskState["info"]): TaskState {
  return {
    task_id,
    info,
    status: info.status,
    output: [],
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    round: 0,
    round_done: true,
    round_started_at_index: 0,
    epoch: 0,
    executions: [],
    inputs: [],
  };
}

function setStatus(
  draft: Draft,
  event: { task_id: string; ts?: string },
  status: TaskStatus,
): Mutable<TaskState> | undefined {
  const task = draft.task(event.task_id);
  if (task === undefined) return undefined;
  task.status = status;
  delete task.retry;
  addElapsed(task, "waited_ms", "waiting_since", event.ts);
  if (status === "input_required" && event.ts !== undefined) task.waiting_since = event.ts;
  return task;
}

function end(
  draft: Draft,
  event: { task_id: string; usage: TaskState["usage"]; ts?: string },
  status: TaskStatus,
): Mutable<TaskState> | undefined {
  const task = setStatus(draft, event, status);
  if (task === undefined) return undefined;
  task.usage = event.usage;
  addElapsed(task, "model_ms", "model_since", event.ts);
  if (event.ts !== undefined) task.ended_at = event.ts;
  return task;
}

/** Ends a span of time, if one is open, and adds it to its sum. */
function addElapsed(
  task: Mutable<TaskState>,
  sum: "model_ms" | "waited_ms",
  since: "model_since" | "waiting_since",
  until: string | undefined,
): void {
  const start = task[since];
  if (typeof start !== "string") return;
  // Not deleted: that would make every later copy of the task slower.
  task[since] = null;
  if (until === undefined) return;
  // oxlint-disable-next-line no-restricted-globals -- It parses what events say; no clock is read.
  const [from, to] = [Date.parse(start), Date.parse(until)];
  task[sum] = (task[sum] ?? 0) + Math.max(0, to - from);
}

/** The model sees at this round what was waiting for it; a queued word waits until a turn is over. */
function takeInputs(draft: Draft, task: Mutable<TaskState>): void {
  if (!task.inputs.some((input) => input.taken_at === undefined)) return;
  const said = task.output.slice(task.round_started_at_index);
  const turnIsOver =
    task.round > 0 && task.round_done && !said.some((item) => item.type === "tool_call");
  const inputs = draft.list(task.inputs);
  for (const [index, input] of inputs.entries())
    if (input.taken_at === undefined && (input.delivery === "steer" || turnIsOver))
      inputs[index] = { ...input, taken_at: task.output.length };
  task.inputs = inputs;
}

function anyItem(draft: Draft, place: Place) {
  return draft.item(place, "reasoning", "tool_call", "tool_result", "message");
}

function putSummary(
  draft: Draft,
  event: Place & { summary_index: number; item: SummaryText },
): void {
  const item = draft.item(event, "reasoning");
  if (item === undefined) return;
  const summary = draft.list(item.summary);
  put(summary, event.summary_index, event.item);
  item.summary = summary;
}

/** Opened, replaced or closed: what an event does not name stays. */
function putBlock(draft: Draft, event: Place & { block_index: number; item: Block }): void {
  const blocks = draft.blocks(event);
  if (blocks !== undefined) put(blocks, event.block_index, event.item);
}

function put<T extends { type: string }>(list: T[], index: number, value: T): void {
  const old = list[index];
  if (old !== undefined) list[index] = old.type === value.type ? { ...old, ...value } : value;
  else if (index === list.length) list.push(value);
}

interface Delta {
  delta: string;
  offset?: number;
}

function grown<T extends { text: string }>(draft: Draft, part: T, event: Delta): T {
  const owned = draft.object(part);
  owned.text += unseen(part.text.length, event);
  return owned;
}

function unseen(length: number, { delta, offset }: Delta): string {
  if (offset === undefined || offset === length) return delta;
  if (offset > length)
    throw new TaskError("gap", `a delta starts at ${offset}, the text before it ends at ${length}`);
  return delta.slice(length - offset);
}

/** All that is not the envelope: fields that are not known yet are kept. */
function resolutionIn(event: EventOf<"task.approval.resolved">): Resolution {
  const { type: _type, task_id: _task, sequence_number: _number, ...rest } = event;
  const { ts: _ts, coalesced_from: _from, approval_id: _id, ...resolution } = rest;
  return resolution;
}

/** The first decision holds. What a person refused to release, or never released, is forgotten. */
function settle(
  draft: Draft,
  approvalId: string,
  change: Pick<TaskApproval, "status" | "resolution">,
  forgotten: boolean,
): void {
  const approvals = draft.approvals();
  const index = approvals.findLastIndex((a) => a.approval_id === approvalId);
  const old = approvals[index];
  if (old?.status !== "pending") return;
  const { block_list, ...rest } = old;
  if (forgotten && old.kind === "result") forgetErrors(draft, old);
  approvals[index] =
    forgotten || block_list === undefined
      ? { ...rest, ...change }
      : { ...rest, block_list, ...change };
}

/** Why a run failed is part of the result that was refused. */
function forgetErrors(draft: Draft, { task_id, call_id }: TaskApproval): void {
  const task = draft.task(task_id);
  if (task === undefined) return;
  const executions = draft.list(task.executions);
  for (const [index, { error, ...execution }] of executions.entries())
    if (execution.call_id === call_id && error !== undefined) executions[index] = execution;
  task.executions = executions;
}
