import type { TaskTreeDraft, Mutable, ItemPosition } from "./task-tree-draft.ts";
import { TaskError } from "./error.ts";
import type { TaskEvent, TaskEventType } from "./events.ts";
import type { Block, ApprovalResolution, SummaryText, TaskStatus } from "./items.ts";
import { isJsonEqual } from "./json.ts";
import type { TaskApproval, TaskState } from "./state.ts";

/** Applies the event to the draft. Events that do not fit the state and events of unknown types are ignored. */
export function applyEvent(draft: TaskTreeDraft, event: TaskEvent): void {
  handlers.get(event.type)?.(draft, event);
}

type EventOf<T extends TaskEventType> = TaskEvent extends infer E
  ? E extends { type: infer U }
    ? T extends U
      ? E
      : never
    : never
  : never;

type Handler<T extends TaskEventType> = (draft: TaskTreeDraft, event: EventOf<T>) => void;

const handlersByType: { [T in TaskEventType]: Handler<T> } = {
  // lifecycle
  "task.created": (draft, { task_id, task }) => draft.addTask(createTaskState(task_id, task)),
  "task.queued": (draft, event) => setStatus(draft, event, "queued"),
  "task.working": (draft, event) => {
    const task = setStatus(draft, event, "working");
    if (task === undefined) return;
    if (event.epoch !== undefined) task.epoch = event.epoch;
    // No process was waiting for a model during the interruption.
    if (event.recovered === true) task.model_since = null;
  },
  "task.paused": (draft, event) => setStatus(draft, event, "paused"),
  "task.input_required": (draft, event) => setStatus(draft, event, "input_required"),
  "task.completed": (draft, event) => endTask(draft, event, "completed"),
  "task.failed": (draft, event) => {
    const task = endTask(draft, event, "failed");
    if (task !== undefined) task.error = event.error;
  },
  "task.canceled": (draft, event) => {
    const { by, reason } = event;
    const task = endTask(draft, event, "canceled");
    if (task !== undefined) task.ended = reason === undefined ? { by } : { by, reason };
  },
  "task.expired": (draft, event) => {
    const task = endTask(draft, event, "expired");
    if (task !== undefined) task.ended = { reason: event.reason };
  },
  // rounds
  "task.round.started": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    markInputsTaken(draft, task);
    addElapsed(task, "model_ms", "model_since", event.ts);
    if (event.ts !== undefined) task.model_since = event.ts;
    task.round = event.round;
    task.round_done = false;
    task.round_started_at_index = task.output.length;
  },
  "task.round.progress": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task !== undefined) delete task.retry;
  },
  "task.round.done": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    task.round_done = true;
    addElapsed(task, "model_ms", "model_since", event.ts);
    delete task.retry;
  },
  "task.warning": (draft, event) => {
    const { code, retry_in_ms, attempt = 1, message, ts } = event;
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    const warnings = draft.ownList(task.warnings);
    const knownIndex = warnings.findIndex(
      (warning) => warning.code === code && warning.message === message,
    );
    const { count = 0 } = warnings[knownIndex] ?? {};
    warnings[knownIndex === -1 ? warnings.length : knownIndex] = {
      code,
      message,
      count: count + 1,
    };
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
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    const inputs = draft.ownList(task.inputs);
    inputs.push({ item: event.item, delivery: event.delivery });
    task.inputs = inputs;
  },
  "task.context_compression.created": ignoreEvent,
  "task.context_compression.in_progress": ignoreEvent,
  "task.context_compression.completed": ignoreEvent,
  "task.usage.updated": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    task.usage = event.usage;
    if (event.tree_usage !== undefined) task.tree_usage = event.tree_usage;
  },
  // items
  "task.output_item.added": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined || event.output_index !== task.output.length) return;
    const output = draft.ownList(task.output);
    output.push(draft.markOwned({ ...event.item, status: event.item.status ?? "in_progress" }));
    task.output = output;
    delete task.retry;
    // An item without a timestamp must not inherit that of the previous item.
    if (event.ts === undefined) delete task.item_added_at;
    else task.item_added_at = event.ts;
  },
  "task.output_item.updated": (draft, event) => {
    const item = getItem(draft, event);
    if (item !== undefined) Object.assign(item, event.patch);
  },
  "task.output_item.done": (draft, event) => {
    const item = getItem(draft, event);
    if (item === undefined) return;
    const old: Record<string, unknown> = item as object as Record<string, unknown>;
    for (const [key, value] of Object.entries(event.item))
      if (!isJsonEqual(old[key], value)) old[key] = value;
    item.status = event.item.status ?? "completed";
  },
  "task.output_item.retracted": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined || getItem(draft, event) === undefined) return;
    const output = draft.ownList(task.output);
    output[event.output_index] = { type: "retracted", id: event.item_id, reason: event.reason };
    task.output = output;
  },
  "task.reasoning_summary_item.added": upsertSummary,
  "task.reasoning_summary_text.delta": (draft, event) => {
    const item = draft.ownItem(event, "reasoning");
    if (item === undefined) return;
    const summary = draft.ownList(item.summary);
    const part = summary[event.summary_index];
    if (part === undefined) return;
    summary[event.summary_index] = appendDelta(draft, part, event);
    item.summary = summary;
  },
  "task.reasoning_summary_item.done": upsertSummary,
  "task.reasoning_text.delta": (draft, event) => {
    const item = draft.ownItem(event, "reasoning");
    if (item === undefined) return;
    const content = draft.ownList(item.content);
    if (event.content_index > content.length) return;
    const part = content[event.content_index] ?? { type: "text", text: "" };
    content[event.content_index] = appendDelta(draft, part, event);
    item.content = content;
  },
  "task.reasoning_text.done": (draft, event) => {
    const item = draft.ownItem(event, "reasoning");
    if (item === undefined) return;
    const content = draft.ownList(item.content);
    upsert(content, event.content_index, { type: "text", text: event.text });
    item.content = content;
  },
  "task.tool_call_arguments.delta": (draft, event) => {
    const item = draft.ownItem(event, "tool_call");
    if (item !== undefined) item.arguments += sliceUnapplied(item.arguments.length, event);
  },
  "task.tool_call_arguments.done": (draft, event) => {
    const item = draft.ownItem(event, "tool_call");
    if (item !== undefined) item.arguments = event.arguments;
  },
  // blocks
  "task.text.added": upsertBlock,
  "task.text.delta": (draft, event) => {
    const blocks = draft.ownBlocks(event);
    const block = blocks?.[event.block_index];
    if (blocks === undefined || block?.type !== "text") return;
    blocks[event.block_index] = appendDelta(draft, block, event);
  },
  "task.text.done": upsertBlock,
  "task.text.annotation.added": (draft, event) => {
    const blocks = draft.ownBlocks(event);
    const block = blocks?.[event.block_index];
    if (blocks === undefined || block?.type !== "text") return;
    const ownedPart = draft.ownObject(block);
    const annotations = draft.ownList(block.annotations);
    upsert(annotations, event.annotation_index, event.annotation);
    ownedPart.annotations = annotations;
    blocks[event.block_index] = ownedPart;
  },
  "task.image.added": upsertBlock,
  "task.image.delta": upsertBlock,
  "task.image.done": upsertBlock,
  "task.audio.added": upsertBlock,
  "task.audio.done": upsertBlock,
  "task.file.added": upsertBlock,
  "task.file.done": upsertBlock,
  "task.data.done": upsertBlock,
  // references, approvals, executions
  "task.reference.added": (draft, { task_id, reference }) => {
    draft.ownReferences().push({ ...reference, task_id });
  },
  "task.approval.requested": (draft, { task_id, approval }) => {
    draft.ownApprovals().push({ ...approval, task_id, status: "pending" });
  },
  "task.approval.resolved": (draft, event) => {
    const resolution = toResolution(event);
    const dropContent = resolution.decision !== "approve";
    settleApproval(draft, event.approval_id, { status: "resolved", resolution }, dropContent);
  },
  "task.approval.expired": (draft, event) =>
    settleApproval(draft, event.approval_id, { status: "expired" }, true),
  "task.tool_execution.started": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    const { call_id, execution_id, attempt, args_hash, effect, idempotency_key } = event;
    const executions = draft.ownList(task.executions);
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
  "task.tool_execution.progress": ignoreEvent,
  "task.tool_execution.done": (draft, event) => {
    const task = draft.ownTask(event.task_id);
    if (task === undefined) return;
    const executions = draft.ownList(task.executions);
    const index = executions.findLastIndex(
      ({ execution_id }) => execution_id === event.execution_id,
    );
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
  Object.entries(handlersByType) as [string, (draft: TaskTreeDraft, event: TaskEvent) => void][],
);

function ignoreEvent(): void {}

function createTaskState(task_id: string, info: TaskState["info"]): TaskState {
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
  draft: TaskTreeDraft,
  event: { task_id: string; ts?: string },
  status: TaskStatus,
): Mutable<TaskState> | undefined {
  const task = draft.ownTask(event.task_id);
  if (task === undefined) return undefined;
  task.status = status;
  delete task.retry;
  addElapsed(task, "waited_ms", "waiting_since", event.ts);
  if (status === "input_required" && event.ts !== undefined) task.waiting_since = event.ts;
  return task;
}

function endTask(
  draft: TaskTreeDraft,
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

/** Ends an open time span and adds it to its total. Does nothing if no span is open. */
function addElapsed(
  task: Mutable<TaskState>,
  totalField: "model_ms" | "waited_ms",
  startField: "model_since" | "waiting_since",
  endTime: string | undefined,
): void {
  const startTime = task[startField];
  if (typeof startTime !== "string") return;
  // Null instead of deleted: `delete` would make every later copy of the task slower.
  task[startField] = null;
  if (endTime === undefined) return;
  // oxlint-disable-next-line no-restricted-globals -- Parses the times of events; no clock is read.
  const elapsedMs = Date.parse(endTime) - Date.parse(startTime);
  task[totalField] = (task[totalField] ?? 0) + Math.max(0, elapsedMs);
}

/** Marks the pending inputs that the model receives in this round. Queued inputs wait until a turn is over. */
function markInputsTaken(draft: TaskTreeDraft, task: Mutable<TaskState>): void {
  if (!task.inputs.some((input) => input.taken_at === undefined)) return;
  const roundOutput = task.output.slice(task.round_started_at_index);
  const turnIsOver =
    task.round > 0 && task.round_done && !roundOutput.some((item) => item.type === "tool_call");
  const inputs = draft.ownList(task.inputs);
  for (const [index, input] of inputs.entries())
    if (input.taken_at === undefined && (input.delivery === "steer" || turnIsOver))
      inputs[index] = { ...input, taken_at: task.output.length };
  task.inputs = inputs;
}

function getItem(draft: TaskTreeDraft, position: ItemPosition) {
  return draft.ownItem(position, "reasoning", "tool_call", "tool_result", "message");
}

function upsertSummary(
  draft: TaskTreeDraft,
  event: ItemPosition & { summary_index: number; item: SummaryText },
): void {
  const item = draft.ownItem(event, "reasoning");
  if (item === undefined) return;
  const summary = draft.ownList(item.summary);
  upsert(summary, event.summary_index, event.item);
  item.summary = summary;
}

/** Adds or replaces a block. Fields that the event does not contain keep their values. */
function upsertBlock(
  draft: TaskTreeDraft,
  event: ItemPosition & { block_index: number; item: Block },
): void {
  const blocks = draft.ownBlocks(event);
  if (blocks !== undefined) upsert(blocks, event.block_index, event.item);
}

function upsert<T extends { type: string }>(list: T[], index: number, value: T): void {
  const old = list[index];
  if (old !== undefined) list[index] = old.type === value.type ? { ...old, ...value } : value;
  else if (index === list.length) list.push(value);
}

interface TextDelta {
  delta: string;
  offset?: number;
}

function appendDelta<T extends { text: string }>(
  draft: TaskTreeDraft,
  part: T,
  event: TextDelta,
): T {
  const ownedPart = draft.ownObject(part);
  ownedPart.text += sliceUnapplied(part.text.length, event);
  return ownedPart;
}

function sliceUnapplied(length: number, { delta, offset }: TextDelta): string {
  if (offset === undefined || offset === length) return delta;
  if (offset > length)
    throw new TaskError("gap", `delta starts at ${offset}, but the text ends at ${length}`);
  return delta.slice(length - offset);
}

/**
 * Returns all fields of the resolution, including those of newer versions: everything except the envelope and the approval id.
 */
function toResolution(event: EventOf<"task.approval.resolved">): ApprovalResolution {
  const { type: _type, task_id: _task, sequence_number: _number, ...rest } = event;
  const { ts: _ts, coalesced_from: _from, approval_id: _id, ...resolution } = rest;
  return resolution;
}

/**
 * Does nothing unless the approval is pending: the first decision is final. `dropContent`: removes the content of a held result.
 */
function settleApproval(
  draft: TaskTreeDraft,
  approvalId: string,
  change: Pick<TaskApproval, "status" | "resolution">,
  dropContent: boolean,
): void {
  const approvals = draft.ownApprovals();
  const index = approvals.findLastIndex(({ approval_id }) => approval_id === approvalId);
  const old = approvals[index];
  if (old?.status !== "pending") return;
  const { block_list, ...rest } = old;
  if (dropContent && old.kind === "result") dropExecutionErrors(draft, old);
  approvals[index] =
    dropContent || block_list === undefined
      ? { ...rest, ...change }
      : { ...rest, block_list, ...change };
}

/** Removes the errors of the executions, which are part of the rejected result. */
function dropExecutionErrors(draft: TaskTreeDraft, { task_id, call_id }: TaskApproval): void {
  const task = draft.ownTask(task_id);
  if (task === undefined) return;
  const executions = draft.ownList(task.executions);
  for (const [index, { error, ...execution }] of executions.entries())
    if (execution.call_id === call_id && error !== undefined) executions[index] = execution;
  task.executions = executions;
}
