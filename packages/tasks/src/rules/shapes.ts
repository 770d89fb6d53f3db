import type { TaskEvent, TaskEventType } from "../events.ts";
import { itemStatuses, outcomes } from "../item-status.ts";
import { RuleBroken } from "./rule-broken.ts";

/** Looks at the fields that the type of an event has; those that nobody knows are left alone. */
export function checkShape(event: TaskEvent): void {
  if (typeof event !== "object" || event === null || typeof event.type !== "string")
    throw new RuleBroken("shape", "an event is an object with a type");
  if (typeof event.task_id !== "string" || event.task_id === "")
    throw new RuleBroken("shape", `${event.type} names no task`);
  if (!isIndex(event.sequence_number)) throw new RuleBroken("shape", `${event.type} has no number`);
  const shape = shapes.get(event.type);
  if (shape === undefined) return;
  const wrong = firstWrong(shape, event as unknown as Record<string, unknown>);
  if (wrong !== undefined)
    throw new RuleBroken("shape", `${event.type} has no ${wrong} that fits its type`);
}

type Test = (value: unknown) => boolean;
type Shape = readonly (readonly [field: string, test: Test])[];

function firstWrong(shape: Shape, value: Record<string, unknown>): string | undefined {
  for (const [field, test] of shape) if (!test(value[field])) return field;
  return undefined;
}

const isText: Test = (value) => typeof value === "string";
const isName: Test = (value) => typeof value === "string" && value !== "";
const isIndex: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isAmount: Test = (value) => Number.isFinite(value) && (value as number) >= 0;
const isPartOfOne: Test = (value) => isAmount(value) && (value as number) <= 1;
const isFlag: Test = (value) => typeof value === "boolean";
const isAnything: Test = (value) => value !== undefined;
const isObject: Test = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function optional(test: Test): Test {
  return (value) => value === undefined || test(value);
}
function oneOf(...names: readonly string[]): Test {
  return (value) => names.includes(value as string);
}
function listOf(test: Test): Test {
  return (value) => Array.isArray(value) && value.every(test);
}
function shaped(fields: Record<string, Test>): Test {
  const shape = Object.entries(fields);
  return (value) =>
    isObject(value) && firstWrong(shape, value as Record<string, unknown>) === undefined;
}
function typed(types: Record<string, Record<string, Test>>): Test {
  const tests = new Map(Object.entries(types).map(([type, fields]) => [type, shaped(fields)]));
  return (value) =>
    isObject(value) && (tests.get((value as { type: string }).type)?.(value) ?? false);
}

const isOutcome = oneOf(...outcomes);
const isItemStatus = oneOf(...itemStatuses);
const isUrl = shaped({ url: isText });
const isId = optional(isIndex);

const isAnnotation = typed(
  Object.fromEntries(
    ["reference_to_block", "unresolved_reference"].map((type) => [
      type,
      { reference_id: isIndex, start_index: isIndex, end_index: isIndex },
    ]),
  ),
);
const block = {
  text: { text: isText, id: isId, annotations: optional(listOf(isAnnotation)) },
  image: { image_url: isUrl, id: isId },
  audio: { audio_url: isUrl, transcript: optional(isText), id: isId },
  file: { file_url: isUrl, filename: optional(isText), media_type: optional(isText), id: isId },
  data: { data: isAnything, id: isId },
};
const isBlock = typed(block);
const isSummary = typed({ text: { text: isText } });
const isContent = optional(listOf(isObject));

const item = {
  reasoning: {
    id: isName,
    summary: listOf(isSummary),
    content: optional(listOf(isSummary)),
    duration_ms: optional(isAmount),
  },
  tool_call: { id: isName, call_id: isName, name: isText, arguments: isText },
  tool_result: {
    id: isName,
    call_id: isName,
    block_list: optional(listOf(isBlock)),
    content: isContent,
  },
  message: {
    id: isName,
    role: oneOf("assistant"),
    block_list: optional(listOf(isBlock)),
    content: isContent,
  },
};
const status = { status: optional(isItemStatus), outcome: optional(isOutcome) };
const isItem = typed(
  Object.fromEntries(
    Object.entries(item).map(([type, fields]) => [type, { ...fields, ...status }]),
  ),
);
const isUsage = shaped({
  input_tokens: isAmount,
  output_tokens: isAmount,
  total_tokens: isAmount,
  cached_tokens: optional(isAmount),
  reasoning_tokens: optional(isAmount),
  cost: optional(isAmount),
});
const isExpanded: Test = (value) =>
  shaped({ text: isText })(value) ||
  shaped({ head: isText, tail: isText, length: isIndex, url: isText })(value);
const isDecision = oneOf("approve", "deny", "redact", "abort");
const isScope = oneOf("once", "session");

const ofItem = { item_id: isName, output_index: isIndex };
const ofSummary = { ...ofItem, summary_index: isIndex };
const ofBlock = { ...ofItem, block_index: isIndex };
const delta = { delta: isText, offset: optional(isIndex) };
const end = { usage: isUsage, state_hash: isText };
const compression = { before_tokens: optional(isAmount), after_tokens: optional(isAmount) };
const ofExecution = { call_id: isName, execution_id: isName };

const fields: Record<TaskEventType, Record<string, Test>> = {
  "task.created": {
    task: shaped({
      root_task_id: isName,
      parent_task_id: optional(isName),
      parent_call_id: optional(isName),
      attempt: isIndex,
      depth: isIndex,
      session_id: optional(isText),
      agent: isText,
      model: isText,
      status: isText,
      limits: isObject,
      references_before: optional(isIndex),
      created_at: isText,
      protocol_version: isText,
    }),
  },
  "task.queued": { position: optional(isIndex) },
  "task.working": { recovered: optional(isFlag), epoch: optional(isIndex) },
  "task.paused": { by: optional(isText) },
  "task.input_required": {
    approval_ids: listOf(isName),
    reason: oneOf("approval", "question", "limit", "reconcile"),
  },
  "task.completed": end,
  "task.failed": { ...end, error: shaped({ code: isText, message: isText, retryable: isFlag }) },
  "task.canceled": { ...end, by: isText, reason: optional(isText) },
  "task.expired": { ...end, reason: isText },
  "task.round.started": { round: isIndex, model: isText },
  "task.round.progress": { round: isIndex, message: isText, fraction: optional(isPartOfOne) },
  "task.round.done": { round: isIndex, finish_reason: isText, usage: isUsage },
  "task.warning": {
    code: isText,
    message: isText,
    retry_in_ms: optional(isAmount),
    attempt: optional(isIndex),
  },
  "task.input.added": {
    item: typed({ message: { id: isName, role: oneOf("user"), content: listOf(isObject) } }),
    delivery: oneOf("steer", "queue"),
  },
  "task.context_compression.created": compression,
  "task.context_compression.in_progress": compression,
  "task.context_compression.completed": compression,
  "task.usage.updated": { usage: isUsage, tree_usage: optional(isUsage) },
  "task.output_item.added": { output_index: isIndex, item: isItem },
  "task.output_item.updated": {
    ...ofItem,
    patch: shaped({ ...status, child_task_ids: optional(listOf(isName)) }),
  },
  "task.output_item.done": { output_index: isIndex, item: isItem },
  "task.output_item.retracted": { ...ofItem, reason: isText },
  "task.reasoning_summary_item.added": { ...ofSummary, item: isSummary },
  "task.reasoning_summary_text.delta": { ...ofSummary, ...delta },
  "task.reasoning_summary_item.done": { ...ofSummary, item: isSummary },
  "task.reasoning_text.delta": { ...ofItem, content_index: isIndex, ...delta },
  "task.reasoning_text.done": { ...ofItem, content_index: isIndex, text: isText },
  "task.tool_call_arguments.delta": { ...ofItem, ...delta },
  "task.tool_call_arguments.done": { ...ofItem, arguments: isText },
  "task.text.added": { ...ofBlock, item: typed({ text: block.text }) },
  "task.text.delta": { ...ofBlock, ...delta },
  "task.text.done": { ...ofBlock, item: typed({ text: block.text }) },
  "task.text.annotation.added": {
    ...ofBlock,
    annotation_index: isIndex,
    annotation: isAnnotation,
  },
  "task.image.added": { ...ofBlock, item: typed({ image: block.image }) },
  "task.image.delta": {
    ...ofBlock,
    partial_image_index: isIndex,
    item: typed({ image: block.image }),
  },
  "task.image.done": { ...ofBlock, item: typed({ image: block.image }) },
  "task.audio.added": { ...ofBlock, item: typed({ audio: block.audio }) },
  "task.audio.done": { ...ofBlock, item: typed({ audio: block.audio }) },
  "task.file.added": { ...ofBlock, item: typed({ file: block.file }) },
  "task.file.done": { ...ofBlock, item: typed({ file: block.file }) },
  "task.data.done": { ...ofBlock, item: typed({ data: block.data }) },
  "task.reference.added": {
    reference: shaped({
      reference_id: isIndex,
      item_id: isName,
      block_indexes: listOf(isIndex),
      source: optional(shaped({ task_id: isName, reference_id: isIndex })),
      title: optional(isText),
      url: optional(isText),
    }),
  },
  "task.approval.requested": {
    approval: shaped({
      approval_id: isName,
      kind: oneOf("call", "result", "question", "limit", "reconcile"),
      call_id: optional(isName),
      args_hash: optional(isText),
      expanded_arguments: optional(isExpanded),
      choices: listOf(isDecision),
      scopes: optional(listOf(isScope)),
      any_arguments: optional(isFlag),
      expires_at: optional(isText),
      tool: optional(isText),
      question: optional(isText),
      limit_name: optional(isText),
      limit: optional(isAmount),
      used: optional(isAmount),
      block_list: optional(listOf(isBlock)),
    }),
  },
  "task.approval.resolved": {
    approval_id: isName,
    decision: isDecision,
    by: isText,
    scope: isScope,
    any_arguments: optional(isFlag),
    arguments: optional(isText),
    expanded_arguments: optional(isExpanded),
    reason: optional(isText),
    replacement: optional(isText),
    idempotency_key: optional(isText),
  },
  "task.approval.expired": { approval_id: isName },
  "task.tool_execution.started": {
    ...ofExecution,
    attempt: isIndex,
    args_hash: isText,
    effect: oneOf("pure", "idempotent", "once"),
    idempotency_key: isName,
  },
  "task.tool_execution.progress": {
    ...ofExecution,
    message: optional(isText),
    fraction: optional(isPartOfOne),
  },
  "task.tool_execution.done": {
    ...ofExecution,
    outcome: isOutcome,
    duration_ms: isAmount,
    error: optional(isText),
  },
};

const shapes = new Map<string, Shape>(
  Object.entries(fields).map(([type, of]) => [type, Object.entries(of)]),
);
