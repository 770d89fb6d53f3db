import { unreachable } from "../error.ts";
import type { DoneItem, TaskEvent } from "../events.ts";
import type { Block, ItemStatus, OutputItem } from "../items.ts";
import { equalJson } from "../json.ts";
import {
  newCallNotes,
  type CallNotes,
  type ItemNotes,
  type LogNotes,
  type ResultNotes,
  type TaskNotes,
} from "../log-notes.ts";
import { hasEnded } from "../task-status.ts";
import { mayRun } from "./executions.ts";
import { RuleBroken } from "./rule-broken.ts";
import { takeId } from "./unique-ids.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function added(
  notes: LogNotes,
  task: TaskNotes,
  event: EventOf<"task.output_item.added">,
): void {
  const { item, output_index: index } = event;
  if (index !== task.items.length)
    throw new RuleBroken("output_index", `index ${index} is given to item ${task.items.length}`);
  if ((item.status ?? "in_progress") !== "in_progress")
    throw new RuleBroken("item_status", `${item.id} opens as ${item.status}`);
  if (!isEmpty(item)) throw new RuleBroken("item_opens_empty", `${item.id} opens with content`);
  if (item.type !== "tool_result" && task.roundDone)
    throw new RuleBroken("rounds", `${item.id} is said in no round`);
  const base = {
    id: item.id,
    index,
    state: "open" as const,
    cited: false,
    part: undefined,
    restored: false,
  };
  switch (item.type) {
    case "reasoning":
      takeId(notes, item.id);
      task.items.push({ ...base, type: "reasoning", summary: [], raw: [] });
      return;
    case "tool_call": {
      takeId(notes, item.id, item.call_id);
      const call = newCallNotes(item, index);
      task.calls.set(item.call_id, call);
      task.items.push(call);
      return;
    }
    case "tool_result": {
      const call = toBeAnswered(task, item.call_id);
      takeId(notes, item.id);
      const result: ResultNotes = { ...base, type: "tool_result", call, blocks: [] };
      call.result = result;
      task.items.push(result);
      return;
    }
    case "message":
      takeId(notes, item.id);
      task.items.push({ ...base, type: "message", blocks: [] });
      return;
    default:
      unreachable(item);
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

function toBeAnswered(task: TaskNotes, callId: string): CallNotes {
  const call = task.calls.get(callId);
  if (call?.state !== "closed")
    throw new RuleBroken("result_of_call", `${callId} is no closed call of ${task.id}`);
  if (call.result !== undefined)
    throw new RuleBroken("one_result", `call ${callId} has a result already`);
  if (call.approval === "pending")
    throw new RuleBroken("not_approved", `call ${callId} waits for a person`);
  return call;
}

/** The item that an event is about. */
export function itemAt(task: TaskNotes, index: number, id: string): ItemNotes {
  const item = task.items[index];
  if (item === undefined) throw new RuleBroken("output_index", `there is no item ${index}`);
  if (item.id !== id) throw new RuleBroken("item_id", `item ${index} is ${item.id}, not ${id}`);
  return item;
}

export function updated(task: TaskNotes, event: EventOf<"task.output_item.updated">): void {
  const item = itemAt(task, event.output_index, event.item_id);
  const { status, outcome, child_task_ids } = event.patch;
  if (item.type !== "tool_call" || item.state !== "closed")
    throw new RuleBroken("item_status", `${item.id} is no closed call, and nothing else changes`);
  if (item.settled)
    throw new RuleBroken("item_status", `the outcome of ${item.callId} has been told`);
  if (status === "in_progress" || (outcome !== undefined && !isFinal(status)))
    throw new RuleBroken("item_status", `call ${item.callId} cannot be ${status}`);
  if (status === "executing") mayRun(task, item);
  if (status === "awaiting_approval" && item.pending === 0)
    throw new RuleBroken("item_status", `nothing about ${item.callId} is pending`);
  if (child_task_ids !== undefined && !equalJson(child_task_ids, [item.callId]))
    throw new RuleBroken("parent_call", `the sub-task of ${item.callId} has its id`);
  if (outcome !== undefined) item.settled = true;
}

function isFinal(status: ItemStatus | undefined): boolean {
  return status !== "in_progress" && status !== "awaiting_approval" && status !== "executing";
}

export function retracted(task: TaskNotes, event: EventOf<"task.output_item.retracted">): void {
  const item = itemAt(task, event.output_index, event.item_id);
  if (item.state === "retracted")
    throw new RuleBroken("item_once", `${item.id} has been retracted before`);
  if (item.cited) throw new RuleBroken("retraction", `a reference points at ${item.id}`);
  if (item.type === "tool_result") {
    if (item.state !== "open" || item.call.child !== undefined)
      throw new RuleBroken("retraction", `the result ${item.id} has been given`);
    for (const { id } of item.blocks) if (id !== undefined) task.unreferenced.delete(id);
    item.call.result = undefined;
  } else {
    if (task.roundDone || item.index < task.roundFrom)
      throw new RuleBroken("retraction", `the round of ${item.id} is done`);
    if (item.type === "tool_call" && isBuiltUpon(item))
      throw new RuleBroken("retraction", `call ${item.callId} has been taken up`);
  }
  item.state = "retracted";
  item.part = undefined;
}

function isBuiltUpon(call: CallNotes): boolean {
  return call.result !== undefined || call.execution !== undefined || call.approval !== "none";
}

export function done(task: TaskNotes, event: EventOf<"task.output_item.done">): void {
  const given = event.item;
  const item = itemAt(task, event.output_index, given.id);
  if (item.state !== "open")
    throw new RuleBroken("item_once", `${item.id} has been ${item.state} before`);
  if (item.part !== undefined)
    throw new RuleBroken("parts_closed", `part ${item.part.index} of ${item.id} is open`);
  const { status = "completed" } = given;
  if (!isFinal(status) || (isOfModel(item) && status !== "completed" && status !== "incomplete"))
    throw new RuleBroken("item_status", `${item.id} cannot be done as ${status}`);
  closes(item, given);
  if (item.type === "tool_call") item.whole = status === "completed";
  if (item.type === "tool_result")
    for (const { id } of item.blocks)
      if (id !== undefined && id > task.references) task.unreferenced.add(id);
  item.state = "closed";
}

function isOfModel(item: ItemNotes): boolean {
  return item.type !== "tool_result";
}

/** Whether what closes an item is that item, with all that its events have added up to. */
function closes(item: ItemNotes, given: DoneItem): void {
  if (item.type === "reasoning" && given.type === "reasoning") {
    if (!equalJson(given.summary, item.summary))
      throw new RuleBroken("joined_is_done", `the summary of ${item.id} is another`);
    if (!equalJson(given.content ?? item.raw, item.raw))
      throw new RuleBroken("joined_is_done", `the text of ${item.id} is another`);
  } else if (item.type === "tool_call" && given.type === "tool_call") {
    if (given.call_id !== item.callId || given.name !== item.name)
      throw new RuleBroken("item_identity", `${item.id} closes as another call`);
    if (!item.argumentsDone && !item.restored)
      throw new RuleBroken("arguments_done", `${item.id} is done before its arguments are`);
    if (given.arguments !== item.arguments)
      throw new RuleBroken("joined_is_done", `the arguments of ${item.id} are others`);
  } else if (item.type === "tool_result" && given.type === "tool_result") {
    if (given.call_id !== item.call.callId)
      throw new RuleBroken("item_identity", `${item.id} closes as the result of another call`);
    closesResult(item, given);
  } else if (item.type === "message" && given.type === "message") {
    if (!equalJson(given.block_list, item.blocks))
      throw new RuleBroken("block_list", `the blocks of ${item.id} are others`);
  } else {
    throw new RuleBroken("item_identity", `${item.id} is a ${item.type}, not a ${given.type}`);
  }
}

function closesResult(item: ResultNotes, given: Extract<DoneItem, { type: "tool_result" }>): void {
  const { child } = item.call;
  if (item.call.pending > 0)
    throw new RuleBroken("not_approved", `the result of ${item.call.callId} waits for a person`);
  if (child === undefined) {
    closesBlocks(item, given.block_list);
  } else {
    if (given.block_list !== undefined)
      throw new RuleBroken("child_blocks", `the blocks of ${item.id} are the items of ${child.id}`);
    if (!hasEnded(child.status))
      throw new RuleBroken("children_end_first", `${item.id} is done before ${child.id} has ended`);
  }
}

/** The blocks are those that were streamed. One that was written without a number may get it here. */
function closesBlocks(item: ResultNotes, given: unknown): void {
  const blocks: unknown[] = Array.isArray(given) ? given : [];
  const isSame = (block: Block, index: number): boolean =>
    equalJson(blocks[index], block) ||
    (block.id === undefined && equalJson(blocks[index], { ...block, id: numberIn(blocks[index]) }));
  if (!Array.isArray(given) || blocks.length !== item.blocks.length || !item.blocks.every(isSame))
    throw new RuleBroken("block_list", `the blocks of ${item.id} are others`);
  for (const [index, block] of (blocks as Block[]).entries()) item.blocks[index] = block;
}

function numberIn(block: unknown): number | undefined {
  const id = (block as Partial<Block> | null | undefined)?.id;
  return typeof id === "number" ? id : undefined;
}
