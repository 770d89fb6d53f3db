import type { TaskEvent, TaskEventType } from "../events.ts";
import { itemStatuses, callOutcomes } from "../item-status.ts";
import { RuleViolationError } from "./rule-violation.ts";

/** Throws unless the known fields of an event are valid. Unknown fields and types are allowed. */
export function assertEventShape(event: TaskEvent): void {
  if (typeof event !== "object" || event === null || typeof event.type !== "string")
    throw new RuleViolationError("shape", "an event must be an object with a type");
  if (typeof event.task_id !== "string" || event.task_id === "")
    throw new RuleViolationError("shape", `${event.type} has no task_id`);
  if (!isIndex(event.sequence_number))
    throw new RuleViolationError("shape", `${event.type} has no sequence_number`);
  const shape = eventShapes.get(event.type);
  if (shape === undefined) return;
  const invalidField = findInvalidField(shape, event as unknown as Record<string, unknown>);
  if (invalidField !== undefined)
    throw new RuleViolationError("shape", `${event.type}: ${invalidField} is missing or invalid`);
}

type FieldTest = (value: unknown) => boolean;
type EventShape = readonly (readonly [field: string, test: FieldTest])[];

function findInvalidField(shape: EventShape, value: Record<string, unknown>): string | undefined {
  for (const [field, test] of shape) if (!test(value[field])) return field;
  return undefined;
}

const isText: FieldTest = (value) => typeof value === "string";
const isName: FieldTest = (value) => typeof value === "string" && value !== "";
const isIndex: FieldTest = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isAmount: FieldTest = (value) => Number.isFinite(value) && (value as number) >= 0;
const isFraction: FieldTest = (value) => isAmount(value) && (value as number) <= 1;
const isBoolean: FieldTest = (value) => typeof value === "boolean";
const isDefined: FieldTest = (value) => value !== undefined;
const isObject: FieldTest = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function optional(test: FieldTest): FieldTest {
  return (value) => value === undefined || test(value);
}
function oneOf(...names: readonly string[]): FieldTest {
  return (value) => names.includes(value as string);
}
function arrayOf(test: FieldTest): FieldTest {
  return (value) => Array.isArray(value) && value.every(test);
}
function objectOf(fields: Record<string, FieldTest>): FieldTest {
  const shape = Object.entries(fields);
  return (value) =>
    isObject(value) && findInvalidField(shape, value as Record<string, unknown>) === undefined;
}
function variantOf(types: Record<string, Record<string, FieldTest>>): FieldTest {
  const tests = new Map(Object.entries(types).map(([type, fields]) => [type, objectOf(fields)]));
  return (value) =>
    isObject(value) && (tests.get((value as { type: string }).type)?.(value) ?? false);
}

const isOutcome = oneOf(...callOutcomes);
const isItemStatus = oneOf(...itemStatuses);
const isUrl = objectOf({ url: isText });
const isOptionalIndex = optional(isIndex);

const isAnnotation = variantOf(
  Object.fromEntries(
    ["reference_to_block", "unresolved_reference"].map((type) => [
      type,
      { reference_id: isIndex, start_index: isIndex, end_index: isIndex },
    ]),
  ),
);
const blockFields = {
  text: { text: isText, id: isOptionalIndex, annotations: optional(arrayOf(isAnnotation)) },
  image: { image_url: isUrl, id: isOptionalIndex },
  audio: { audio_url: isUrl, transcript: optional(isText), id: isOptionalIndex },
  file: {
    file_url: isUrl,
    filename: optional(isText),
    media_type: optional(isText),
    id: isOptionalIndex,
  },
  data: { data: isDefined, id: isOptionalIndex },
};
const isBlock = variantOf(blockFields);
const isSummary = variantOf({ text: { text: isText } });
const isContent = optional(arrayOf(isObject));

const itemFields = {
  reasoning: {
    id: isName,
    summary: arrayOf(isSummary),
    content: optional(arrayOf(isSummary)),
    duration_ms: optional(isAmount),
  },
  tool_call: { id: isName, call_id: isName, name: isText, arguments: isText },
  tool_result: {
    id: isName,
    call_id: isName,
    block_list: optional(arrayOf(isBlock)),
    content: isContent,
  },
  message: {
    id: isName,
    role: oneOf("assistant"),
    block_list: optional(arrayOf(isBlock)),
    content: isContent,
  },
};
const statusFields = { status: optional(isItemStatus), outcome: optional(isOutcome) };
const isItem = variantOf(
  Object.fromEntries(
    Object.entries(itemFields).map(([type, fields]) => [type, { ...fields, ...statusFields }]),
  ),
);
const isUsage = objectOf({
  input_tokens: isAmount,
  output_tokens: isAmount,
  total_tokens: isAmount,
  cached_tokens: optional(isAmount),
  reasoning_tokens: optional(isAmount),
  cost: optional(isAmount),
});
const isExpandedArguments: FieldTest = (value) =>
  objectOf({ text: isText })(value) ||
  objectOf({ head: isText, tail: isText, length: isIndex, url: isText })(value);
const isDecision = oneOf("approve", "deny", "redact", "abort");
const isScope = oneOf("once", "session");

const itemPositionFields = { item_id: isName, output_index: isIndex };
const summaryPositionFields = { ...itemPositionFields, summary_index: isIndex };
const blockPositionFields = { ...itemPositionFields, block_index: isIndex };
const deltaFields = { delta: isText, offset: optional(isIndex) };
const terminalFields = { usage: isUsage, state_hash: isText };
const compactionFields = { before_tokens: optional(isAmount), after_tokens: optional(isAmount) };
const executionFields = { call_id: isName, execution_id: isName };

const eventFields: Record<TaskEventType, Record<string, FieldTest>> = {
  "task.created": {
    task: objectOf({
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
  "task.working": { recovered: optional(isBoolean), epoch: optional(isIndex) },
  "task.paused": { by: optional(isText) },
  "task.input_required": {
    approval_ids: arrayOf(isName),
    reason: oneOf("approval", "question", "limit", "reconcile"),
  },
  "task.completed": terminalFields,
  "task.failed": {
    ...terminalFields,
    error: objectOf({ code: isText, message: isText, retryable: isBoolean }),
  },
  "task.canceled": { ...terminalFields, by: isText, reason: optional(isText) },
  "task.expired": { ...terminalFields, reason: isText },
  "task.round.started": { round: isIndex, model: isText },
  "task.round.progress": { round: isIndex, message: isText, fraction: optional(isFraction) },
  "task.round.done": { round: isIndex, finish_reason: isText, usage: isUsage },
  "task.warning": {
    code: isText,
    message: isText,
    retry_in_ms: optional(isAmount),
    attempt: optional(isIndex),
  },
  "task.input.added": {
    item: variantOf({ message: { id: isName, role: oneOf("user"), content: arrayOf(isObject) } }),
    delivery: oneOf("steer", "queue"),
  },
  "task.context_compression.created": compactionFields,
  "task.context_compression.in_progress": compactionFields,
  "task.context_compression.completed": compactionFields,
  "task.usage.updated": { usage: isUsage, tree_usage: optional(isUsage) },
  "task.output_item.added": { output_index: isIndex, item: isItem },
  "task.output_item.updated": {
    ...itemPositionFields,
    patch: objectOf({ ...statusFields, child_task_ids: optional(arrayOf(isName)) }),
  },
  "task.output_item.done": { output_index: isIndex, item: isItem },
  "task.output_item.retracted": { ...itemPositionFields, reason: isText },
  "task.reasoning_summary_item.added": { ...summaryPositionFields, item: isSummary },
  "task.reasoning_summary_text.delta": { ...summaryPositionFields, ...deltaFields },
  "task.reasoning_summary_item.done": { ...summaryPositionFields, item: isSummary },
  "task.reasoning_text.delta": { ...itemPositionFields, content_index: isIndex, ...deltaFields },
  "task.reasoning_text.done": { ...itemPositionFields, content_index: isIndex, text: isText },
  "task.tool_call_arguments.delta": { ...itemPositionFields, ...deltaFields },
  "task.tool_call_arguments.done": { ...itemPositionFields, arguments: isText },
  "task.text.added": { ...blockPositionFields, item: variantOf({ text: blockFields.text }) },
  "task.text.delta": { ...blockPositionFields, ...deltaFields },
  "task.text.done": { ...blockPositionFields, item: variantOf({ text: blockFields.text }) },
  "task.text.annotation.added": {
    ...blockPositionFields,
    annotation_index: isIndex,
    annotation: isAnnotation,
  },
  "task.image.added": { ...blockPositionFields, item: variantOf({ image: blockFields.image }) },
  "task.image.delta": {
    ...blockPositionFields,
    partial_image_index: isIndex,
    item: variantOf({ image: blockFields.image }),
  },
  "task.image.done": { ...blockPositionFields, item: variantOf({ image: blockFields.image }) },
  "task.audio.added": { ...blockPositionFields, item: variantOf({ audio: blockFields.audio }) },
  "task.audio.done": { ...blockPositionFields, item: variantOf({ audio: blockFields.audio }) },
  "task.file.added": { ...blockPositionFields, item: variantOf({ file: blockFields.file }) },
  "task.file.done": { ...blockPositionFields, item: variantOf({ file: blockFields.file }) },
  "task.data.done": { ...blockPositionFields, item: variantOf({ data: blockFields.data }) },
  "task.reference.added": {
    reference: objectOf({
      reference_id: isIndex,
      item_id: isName,
      block_indexes: arrayOf(isIndex),
      source: optional(objectOf({ task_id: isName, reference_id: isIndex })),
      title: optional(isText),
      url: optional(isText),
    }),
  },
  "task.approval.requested": {
    approval: objectOf({
      approval_id: isName,
      kind: oneOf("call", "result", "question", "limit", "reconcile"),
      call_id: optional(isName),
      args_hash: optional(isText),
      expanded_arguments: optional(isExpandedArguments),
      choices: arrayOf(isDecision),
      scopes: optional(arrayOf(isScope)),
      any_arguments: optional(isBoolean),
      expires_at: optional(isText),
      tool: optional(isText),
      question: optional(isText),
      limit_name: optional(isText),
      limit: optional(isAmount),
      used: optional(isAmount),
      block_list: optional(arrayOf(isBlock)),
    }),
  },
  "task.approval.resolved": {
    approval_id: isName,
    decision: isDecision,
    by: isText,
    scope: isScope,
    any_arguments: optional(isBoolean),
    arguments: optional(isText),
    expanded_arguments: optional(isExpandedArguments),
    reason: optional(isText),
    replacement: optional(isText),
    idempotency_key: optional(isText),
  },
  "task.approval.expired": { approval_id: isName },
  "task.tool_execution.started": {
    ...executionFields,
    attempt: isIndex,
    args_hash: isText,
    effect: oneOf("pure", "idempotent", "once"),
    idempotency_key: isName,
  },
  "task.tool_execution.progress": {
    ...executionFields,
    message: optional(isText),
    fraction: optional(isFraction),
  },
  "task.tool_execution.done": {
    ...executionFields,
    outcome: isOutcome,
    duration_ms: isAmount,
    error: optional(isText),
  },
};

const eventShapes = new Map<string, EventShape>(
  Object.entries(eventFields).map(([type, eventFieldTests]) => [
    type,
    Object.entries(eventFieldTests),
  ]),
);
