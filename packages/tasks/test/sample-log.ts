import type { TaskEvent, TaskEventBody, TaskInfo } from "@deltawire/tasks";

/** Builds events with consecutive sequence numbers from `[task id, body]` pairs. */
export function numberEvents(bodies: readonly (readonly [string, TaskEventBody])[]): TaskEvent[] {
  return bodies.map(([task_id, body], sequence_number) => ({ ...body, task_id, sequence_number }));
}

export const usage = (total: number) => ({
  input_tokens: total - 1,
  output_tokens: 1,
  total_tokens: total,
});

export function createTaskInfo(overrides: Partial<TaskInfo> = {}): TaskInfo {
  return {
    root_task_id: "task_1",
    attempt: 1,
    depth: 0,
    agent: "main",
    model: "m",
    status: "created",
    limits: { rounds: 10 },
    created_at: "2026-01-01T00:00:00Z",
    protocol_version: "1.0",
    ...overrides,
  };
}

const root = (body: TaskEventBody) => ["task_1", body] as const;
const child = (body: TaskEventBody) => ["call_1", body] as const;

/**
 * A run with raw and summarized reasoning, an approved call, a sub-agent with a tool, an image with a preview, a retracted
 * answer, a user input, and a message with a reference.
 */
export const sampleLog: readonly TaskEvent[] = numberEvents([
  root({ type: "task.created", task: createTaskInfo() }),
  root({ type: "task.working" }),
  root({ type: "task.round.started", round: 1, model: "m" }),
  root({
    type: "task.output_item.added",
    output_index: 0,
    item: { type: "reasoning", id: "rs_1", summary: [] },
  }),
  root({
    type: "task.reasoning_summary_item.added",
    item_id: "rs_1",
    output_index: 0,
    summary_index: 0,
    item: { type: "text", text: "" },
  }),
  ...["Thinking ", "of ", "Paris."].map((delta) =>
    root({
      type: "task.reasoning_summary_text.delta",
      item_id: "rs_1",
      output_index: 0,
      summary_index: 0,
      delta,
    }),
  ),
  root({
    type: "task.reasoning_summary_item.done",
    item_id: "rs_1",
    output_index: 0,
    summary_index: 0,
    item: { type: "text", text: "Thinking of Paris." },
  }),
  ...["ra", "w"].map((delta) =>
    root({
      type: "task.reasoning_text.delta",
      item_id: "rs_1",
      output_index: 0,
      content_index: 0,
      delta,
    }),
  ),
  root({
    type: "task.reasoning_text.done",
    item_id: "rs_1",
    output_index: 0,
    content_index: 0,
    text: "raw",
  }),
  root({
    type: "task.output_item.done",
    output_index: 0,
    item: {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "text", text: "Thinking of Paris." }],
    },
  }),
  root({
    type: "task.output_item.added",
    output_index: 1,
    item: { type: "tool_call", id: "fc_1", call_id: "call_1", name: "ask_for_help", arguments: "" },
  }),
  ...['{"name":', '"W"}'].map((delta) =>
    root({ type: "task.tool_call_arguments.delta", item_id: "fc_1", output_index: 1, delta }),
  ),
  root({
    type: "task.tool_call_arguments.done",
    item_id: "fc_1",
    output_index: 1,
    arguments: '{"name":"W"}',
  }),
  root({
    type: "task.output_item.done",
    output_index: 1,
    item: {
      type: "tool_call",
      id: "fc_1",
      call_id: "call_1",
      name: "ask_for_help",
      arguments: '{"name":"W"}',
    },
  }),
  root({ type: "task.round.done", round: 1, finish_reason: "tool_calls", usage: usage(10) }),
  root({ type: "task.usage.updated", usage: usage(10), tree_usage: usage(10) }),
  root({
    type: "task.approval.requested",
    approval: {
      approval_id: "ap_1",
      kind: "call",
      call_id: "call_1",
      args_hash: "h",
      choices: ["approve", "deny"],
    },
  }),
  root({
    type: "task.output_item.updated",
    item_id: "fc_1",
    output_index: 1,
    patch: { status: "awaiting_approval" },
  }),
  root({ type: "task.input_required", approval_ids: ["ap_1"], reason: "approval" }),
  root({
    type: "task.approval.resolved",
    approval_id: "ap_1",
    decision: "approve",
    by: "user",
    scope: "once",
  }),
  root({ type: "task.working" }),
  root({
    type: "task.tool_execution.started",
    call_id: "call_1",
    execution_id: "ex_1",
    attempt: 1,
    args_hash: "h",
    effect: "once",
    idempotency_key: "k",
  }),
  root({
    type: "task.output_item.updated",
    item_id: "fc_1",
    output_index: 1,
    patch: { status: "executing", child_task_ids: ["call_1"] },
  }),
  root({
    type: "task.output_item.added",
    output_index: 2,
    item: { type: "tool_result", id: "fco_1", call_id: "call_1", block_list: [] },
  }),
  child({
    type: "task.created",
    task: createTaskInfo({
      parent_task_id: "task_1",
      parent_call_id: "call_1",
      depth: 1,
      agent: "W",
    }),
  }),
  child({ type: "task.working" }),
  child({ type: "task.round.started", round: 1, model: "m" }),
  child({
    type: "task.output_item.added",
    output_index: 0,
    item: { type: "tool_call", id: "fc_2", call_id: "call_2", name: "get_weather", arguments: "" },
  }),
  child({
    type: "task.tool_call_arguments.done",
    item_id: "fc_2",
    output_index: 0,
    arguments: "{}",
  }),
  child({
    type: "task.output_item.done",
    output_index: 0,
    item: {
      type: "tool_call",
      id: "fc_2",
      call_id: "call_2",
      name: "get_weather",
      arguments: "{}",
    },
  }),
  child({ type: "task.round.done", round: 1, finish_reason: "tool_calls", usage: usage(4) }),
  child({
    type: "task.output_item.added",
    output_index: 1,
    item: { type: "tool_result", id: "fco_2", call_id: "call_2", block_list: [] },
  }),
  child({
    type: "task.text.done",
    item_id: "fco_2",
    output_index: 1,
    block_index: 0,
    item: { type: "text", text: "15C", id: 1 },
  }),
  child({
    type: "task.image.added",
    item_id: "fco_2",
    output_index: 1,
    block_index: 1,
    item: { type: "image", image_url: { url: "" }, id: 1 },
  }),
  child({
    type: "task.image.delta",
    item_id: "fco_2",
    output_index: 1,
    block_index: 1,
    partial_image_index: 0,
    item: { type: "image", image_url: { url: "data:,half" }, id: 1 },
  }),
  child({
    type: "task.image.done",
    item_id: "fco_2",
    output_index: 1,
    block_index: 1,
    item: { type: "image", image_url: { url: "data:,whole" }, id: 1 },
  }),
  child({
    type: "task.output_item.done",
    output_index: 1,
    item: {
      type: "tool_result",
      id: "fco_2",
      call_id: "call_2",
      block_list: [
        { type: "text", text: "15C", id: 1 },
        { type: "image", image_url: { url: "data:,whole" }, id: 1 },
      ],
    },
  }),
  child({
    type: "task.reference.added",
    reference: { reference_id: 1, item_id: "fco_2", block_indexes: [0, 1] },
  }),
  child({
    type: "task.approval.requested",
    approval: {
      approval_id: "ap_2",
      kind: "result",
      call_id: "call_2",
      choices: ["approve", "redact"],
      block_list: [{ type: "text", text: "secret" }],
    },
  }),
  child({
    type: "task.approval.resolved",
    approval_id: "ap_2",
    decision: "redact",
    by: "user",
    scope: "once",
    replacement: "no",
  }),
  child({ type: "task.completed", usage: usage(4), state_hash: "" }),
  root({
    type: "task.tool_execution.done",
    call_id: "call_1",
    execution_id: "ex_1",
    outcome: "completed",
    duration_ms: 5,
  }),
  root({
    type: "task.output_item.updated",
    item_id: "fc_1",
    output_index: 1,
    patch: { status: "completed", outcome: "completed" },
  }),
  root({
    type: "task.output_item.done",
    output_index: 2,
    item: { type: "tool_result", id: "fco_1", call_id: "call_1", status: "completed" },
  }),
  root({
    type: "task.reference.added",
    reference: {
      reference_id: 1,
      item_id: "fco_1",
      block_indexes: [],
      source: { task_id: "call_1", reference_id: 1 },
    },
  }),
  root({
    type: "task.input.added",
    item: { type: "message", id: "in_1", role: "user", content: [{ type: "text", text: "short" }] },
    delivery: "steer",
  }),
  root({ type: "task.round.started", round: 2, model: "m" }),
  root({ type: "task.round.progress", round: 2, message: "half of it", fraction: 0.5 }),
  root({
    type: "task.output_item.added",
    output_index: 3,
    item: { type: "message", id: "msg_1", role: "assistant", block_list: [] },
  }),
  root({
    type: "task.text.added",
    item_id: "msg_1",
    output_index: 3,
    block_index: 0,
    item: { type: "text", text: "" },
  }),
  root({ type: "task.text.delta", item_id: "msg_1", output_index: 3, block_index: 0, delta: "Su" }),
  root({
    type: "task.output_item.retracted",
    item_id: "msg_1",
    output_index: 3,
    reason: "upstream_cut",
  }),
  root({ type: "task.warning", code: "retry", message: "asked again", retry_in_ms: 5, attempt: 2 }),
  root({
    type: "task.output_item.added",
    output_index: 4,
    item: { type: "message", id: "msg_2", role: "assistant", block_list: [] },
  }),
  root({
    type: "task.text.added",
    item_id: "msg_2",
    output_index: 4,
    block_index: 0,
    item: { type: "text", text: "" },
  }),
  ...["Sunny", ", 15C.", "[^1]"].map((delta, index) =>
    root({
      type: "task.text.delta",
      item_id: "msg_2",
      output_index: 4,
      block_index: 0,
      delta,
      offset: [0, 5, 11][index] ?? 0,
    }),
  ),
  root({
    type: "task.text.annotation.added",
    item_id: "msg_2",
    output_index: 4,
    block_index: 0,
    annotation_index: 0,
    annotation: { type: "reference_to_block", reference_id: 1, start_index: 11, end_index: 15 },
  }),
  root({
    type: "task.text.done",
    item_id: "msg_2",
    output_index: 4,
    block_index: 0,
    item: {
      type: "text",
      text: "Sunny, 15C.[^1]",
      annotations: [
        { type: "reference_to_block", reference_id: 1, start_index: 11, end_index: 15 },
      ],
    },
  }),
  root({
    type: "task.output_item.done",
    output_index: 4,
    item: {
      type: "message",
      id: "msg_2",
      role: "assistant",
      block_list: [
        {
          type: "text",
          text: "Sunny, 15C.[^1]",
          annotations: [
            { type: "reference_to_block", reference_id: 1, start_index: 11, end_index: 15 },
          ],
        },
      ],
    },
  }),
  root({ type: "task.round.done", round: 2, finish_reason: "stop", usage: usage(20) }),
  root({ type: "task.usage.updated", usage: usage(30), tree_usage: usage(34) }),
  root({ type: "task.completed", usage: usage(30), state_hash: "" }),
]);
