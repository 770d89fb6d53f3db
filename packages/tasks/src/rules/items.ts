import { assertNever } from "../error.ts";
import type { DoneItem, TaskEvent } from "../events.ts";
import type { Block, ItemStatus, OutputItem } from "../items.ts";
import { isJsonEqual } from "../json.ts";
import {
  createTrackedCall,
  type TrackedCall,
  type TrackedItem,
  type ValidatorState,
  type TrackedResult,
  type TrackedTask,
} from "../validator-state.ts";
import { hasEnded } from "../task-status.ts";
import { assertMayRun } from "./executions.ts";
import { RuleViolationError } from "./rule-violation.ts";
import { claimIds } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function checkItemAdded(
  state: ValidatorState,
  task: TrackedTask,
  event: EventOf<"task.output_item.added">,
): void {
  const { item, output_index: index } = event;
  if (index !== task.items.length)
    throw new RuleViolationError(
      "output_index",
      `item ${index} is added, expected ${task.items.length}`,
    );
  if ((item.status ?? "in_progress") !== "in_progress")
    throw new RuleViolationError(
      "item_status",
      `${item.id} is added with the status ${item.status}`,
    );
  if (!isEmpty(item))
    throw new RuleViolationError("item_opens_empty", `${item.id} is added with content`);
  if (item.type !== "tool_result" && task.isRoundDone)
    throw new RuleViolationError("rounds", `${item.id} is added outside of a round`);
  const base = {
    id: item.id,
    index,
    state: "open" as const,
    isCited: false,
    openPart: undefined,
    isRestored: false,
  };
  switch (item.type) {
    case "reasoning":
      claimIds(state, item.id);
      task.items.push({ ...base, type: "reasoning", summary: [], rawParts: [] });
      return;
    case "tool_call": {
      claimIds(state, item.id, item.call_id);
      const call = createTrackedCall(item, index);
      task.calls.set(item.call_id, call);
      task.items.push(call);
      return;
    }
    case "tool_result": {
      const call = getAnswerableCall(task, item.call_id);
      claimIds(state, item.id);
      const result: TrackedResult = { ...base, type: "tool_result", call, blocks: [] };
      call.result = result;
      task.items.push(result);
      return;
    }
    case "message":
      claimIds(state, item.id);
      task.items.push({ ...base, type: "message", blocks: [] });
      return;
    default:
      assertNever(item);
  }
}

function isEmpty(item: OutputItem): boolean {
  switch (item.type) {
    case "reasoning":
      return item.summary.length === 0 && (item.content ?? []).length === 0;
    case "tool_call":
      return item.arguments === "" && item.outcome === undefined;
    default:
      return Array.isArray(item.block_list) && item.block_list.length === 0;
  }
}

function getAnswerableCall(task: TrackedTask, callId: string): TrackedCall {
  const call = task.calls.get(callId);
  if (call?.state !== "closed")
    throw new RuleViolationError("result_of_call", `${callId} is not a closed call of ${task.id}`);
  if (call.result !== undefined)
    throw new RuleViolationError("one_result", `call ${callId} already has a result`);
  if (call.approval === "pending")
    throw new RuleViolationError("not_approved", `call ${callId} has a pending approval`);
  return call;
}

/** Returns the item of an event. Throws if the index or the id does not match. */
export function getItemAt(task: TrackedTask, index: number, id: string): TrackedItem {
  const item = task.items[index];
  if (item === undefined)
    throw new RuleViolationError("output_index", `item ${index} does not exist`);
  if (item.id !== id)
    throw new RuleViolationError("item_id", `item ${index} is ${item.id}, not ${id}`);
  return item;
}

export function checkItemUpdated(
  task: TrackedTask,
  event: EventOf<"task.output_item.updated">,
): void {
  const item = getItemAt(task, event.output_index, event.item_id);
  const { status, outcome, child_task_ids } = event.patch;
  if (item.type !== "tool_call" || item.state !== "closed")
    throw new RuleViolationError(
      "item_status",
      `${item.id} is not a closed call: other items cannot be updated`,
    );
  if (item.hasOutcome)
    throw new RuleViolationError("item_status", `${item.callId} already has an outcome`);
  if (status === "in_progress" || (outcome !== undefined && !isFinalStatus(status)))
    throw new RuleViolationError("item_status", `call ${item.callId} cannot be ${status}`);
  if (status === "executing") assertMayRun(task, item);
  if (status === "awaiting_approval" && item.pendingApprovals === 0)
    throw new RuleViolationError("item_status", `${item.callId} has no pending approval`);
  if (child_task_ids !== undefined && !isJsonEqual(child_task_ids, [item.callId]))
    throw new RuleViolationError(
      "parent_call",
      `child_task_ids of ${item.callId} may contain only the id of the call`,
    );
  if (outcome !== undefined) item.hasOutcome = true;
}

function isFinalStatus(status: ItemStatus | undefined): boolean {
  return status !== "in_progress" && status !== "awaiting_approval" && status !== "executing";
}

export function checkItemRetracted(
  task: TrackedTask,
  event: EventOf<"task.output_item.retracted">,
): void {
  const item = getItemAt(task, event.output_index, event.item_id);
  if (item.state === "retracted")
    throw new RuleViolationError("item_once", `${item.id} is already retracted`);
  if (item.isCited) throw new RuleViolationError("retraction", `a reference points to ${item.id}`);
  if (item.type === "tool_result") {
    if (item.state !== "open" || item.call.child !== undefined)
      throw new RuleViolationError(
        "retraction",
        `the result ${item.id} is closed or has a sub-agent`,
      );
    for (const { id } of item.blocks) if (id !== undefined) task.unreferencedNumbers.delete(id);
    item.call.result = undefined;
  } else {
    if (task.isRoundDone || item.index < task.roundStartIndex)
      throw new RuleViolationError("retraction", `the round of ${item.id} is done`);
    if (item.type === "tool_call" && isInUse(item))
      throw new RuleViolationError(
        "retraction",
        `call ${item.callId} already has an approval, an execution or a result`,
      );
  }
  item.state = "retracted";
  item.openPart = undefined;
}

function isInUse(call: TrackedCall): boolean {
  return call.result !== undefined || call.execution !== undefined || call.approval !== "none";
}

export function checkItemDone(task: TrackedTask, event: EventOf<"task.output_item.done">): void {
  const doneItem = event.item;
  const item = getItemAt(task, event.output_index, doneItem.id);
  if (item.state !== "open")
    throw new RuleViolationError("item_once", `${item.id} is already ${item.state}`);
  if (item.openPart !== undefined)
    throw new RuleViolationError(
      "parts_closed",
      `part ${item.openPart.index} of ${item.id} is still open`,
    );
  const { status = "completed" } = doneItem;
  if (
    !isFinalStatus(status) ||
    (isModelItem(item) && status !== "completed" && status !== "incomplete")
  )
    throw new RuleViolationError(
      "item_status",
      `${item.id} cannot be done with the status ${status}`,
    );
  assertClosingItem(item, doneItem);
  if (item.type === "tool_call") item.isComplete = status === "completed";
  if (item.type === "tool_result")
    for (const { id } of item.blocks)
      if (id !== undefined && id > task.lastReference) task.unreferencedNumbers.add(id);
  item.state = "closed";
}

function isModelItem(item: TrackedItem): boolean {
  return item.type !== "tool_result";
}

/** Throws unless the closing item is the open item, with the content of its events. */
function assertClosingItem(item: TrackedItem, doneItem: DoneItem): void {
  if (item.type === "reasoning" && doneItem.type === "reasoning") {
    if (!isJsonEqual(doneItem.summary, item.summary))
      throw new RuleViolationError(
        "deltas_match_done",
        `the summary of ${item.id} differs from its events`,
      );
    if (!isJsonEqual(doneItem.content ?? item.rawParts, item.rawParts))
      throw new RuleViolationError(
        "deltas_match_done",
        `the text of ${item.id} differs from its events`,
      );
  } else if (item.type === "tool_call" && doneItem.type === "tool_call") {
    if (doneItem.call_id !== item.callId || doneItem.name !== item.name)
      throw new RuleViolationError(
        "item_identity",
        `the call_id or name of ${item.id} has changed`,
      );
    if (!item.areArgumentsDone && !item.isRestored)
      throw new RuleViolationError(
        "arguments_done",
        `${item.id} is done before its arguments are complete`,
      );
    if (doneItem.arguments !== item.arguments)
      throw new RuleViolationError(
        "deltas_match_done",
        `the arguments of ${item.id} differ from its events`,
      );
  } else if (item.type === "tool_result" && doneItem.type === "tool_result") {
    if (doneItem.call_id !== item.call.callId)
      throw new RuleViolationError("item_identity", `the call_id of ${item.id} has changed`);
    assertClosingResult(item, doneItem);
  } else if (item.type === "message" && doneItem.type === "message") {
    if (!isJsonEqual(doneItem.block_list, item.blocks))
      throw new RuleViolationError("block_list", `the blocks of ${item.id} differ from its events`);
  } else {
    throw new RuleViolationError(
      "item_identity",
      `${item.id} is a ${item.type}, not a ${doneItem.type}`,
    );
  }
}

function assertClosingResult(
  item: TrackedResult,
  doneItem: Extract<DoneItem, { type: "tool_result" }>,
): void {
  const { child } = item.call;
  if (item.call.pendingApprovals > 0)
    throw new RuleViolationError(
      "not_approved",
      `the result of ${item.call.callId} has a pending approval`,
    );
  if (child === undefined) {
    mergeClosingBlocks(item, doneItem.block_list);
  } else {
    if (doneItem.block_list !== undefined)
      throw new RuleViolationError(
        "child_blocks",
        `${item.id} must not have blocks: its content is the items of ${child.id}`,
      );
    if (!hasEnded(child.status))
      throw new RuleViolationError(
        "children_end_first",
        `${item.id} is done before ${child.id} has ended`,
      );
  }
}

/** Throws unless the blocks are those that were streamed. A block without a number may get one here, which is then stored. */
function mergeClosingBlocks(item: TrackedResult, blockList: unknown): void {
  const blocks: unknown[] = Array.isArray(blockList) ? blockList : [];
  const isSame = (block: Block, index: number): boolean =>
    isJsonEqual(blocks[index], block) ||
    (block.id === undefined &&
      isJsonEqual(blocks[index], { ...block, id: getBlockNumber(blocks[index]) }));
  if (
    !Array.isArray(blockList) ||
    blocks.length !== item.blocks.length ||
    !item.blocks.every(isSame)
  )
    throw new RuleViolationError("block_list", `the blocks of ${item.id} differ from its events`);
  for (const [index, block] of (blocks as Block[]).entries()) item.blocks[index] = block;
}

function getBlockNumber(block: unknown): number | undefined {
  const id = (block as Partial<Block> | null | undefined)?.id;
  return typeof id === "number" ? id : undefined;
}
