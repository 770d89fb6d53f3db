import type { TaskEvent } from "../events.ts";
import type { Block } from "../items.ts";
import type {
  CallNotes,
  MessageNotes,
  Part,
  ReasoningNotes,
  ResultNotes,
  TaskNotes,
} from "../log-notes.ts";
import { isWellFormed } from "../well-formed.ts";
import { annotationAdded, annotationsOfText } from "./citations.ts";
import { itemAt } from "./items.ts";
import { RuleBroken } from "./rule-broken.ts";

/* Summaries, raw reasoning, arguments and blocks: they open, grow and close, one at a time in an item. */

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function summaryAdded(
  task: TaskNotes,
  event: EventOf<"task.reasoning_summary_item.added">,
): void {
  const item = openReasoning(task, event);
  opensNext(item, event.summary_index, item.summary.length);
  startsEmpty(event.item.text);
  item.part = newPart("summary", event.summary_index);
  item.summary.push(event.item);
}

export function summaryDelta(
  task: TaskNotes,
  event: EventOf<"task.reasoning_summary_text.delta">,
): void {
  const item = openReasoning(task, event);
  grow(openPart(item, "summary", event.summary_index, item.summary), event);
}

export function summaryDone(
  task: TaskNotes,
  event: EventOf<"task.reasoning_summary_item.done">,
): void {
  const item = openReasoning(task, event);
  const part = openPart(item, "summary", event.summary_index, item.summary);
  isJoined(part.text, event.item.text);
  item.summary[event.summary_index] = { ...item.summary[event.summary_index], ...event.item };
  item.part = undefined;
}

export function rawDelta(task: TaskNotes, event: EventOf<"task.reasoning_text.delta">): void {
  const item = openReasoning(task, event);
  const { content_index: index } = event;
  if (item.part === undefined && index === item.raw.length) {
    const part = newPart("raw", index);
    grow(part, event);
    item.part = part;
    item.raw.push({ type: "text", text: "" });
  } else {
    grow(openPart(item, "raw", index, item.raw), event);
  }
}

export function rawDone(task: TaskNotes, event: EventOf<"task.reasoning_text.done">): void {
  const item = openReasoning(task, event);
  const part = openPart(item, "raw", event.content_index, item.raw);
  isJoined(part.text, event.text);
  item.raw[event.content_index] = { type: "text", text: event.text };
  item.part = undefined;
}

export function argumentsDelta(
  task: TaskNotes,
  event: EventOf<"task.tool_call_arguments.delta">,
): void {
  const call = openCall(task, event);
  isAtItsPlace(call.arguments, event);
  call.arguments += event.delta;
}

export function argumentsDone(
  task: TaskNotes,
  event: EventOf<"task.tool_call_arguments.done">,
): void {
  const call = openCall(task, event);
  isJoined(call.arguments, event.arguments);
  call.argumentsDone = true;
}

export function blockAdded(task: TaskNotes, event: BlockEvent): void {
  const item = openBlocks(task, event);
  const { item: block, block_index: index } = event;
  opensNext(item, index, item.blocks.length);
  if (block.type === "text") {
    startsEmpty(block.text);
    if (block.annotations !== undefined)
      throw new RuleBroken("annotations", "a text opens with annotations");
  }
  mayHaveNumber(item, block);
  item.part = newPart(block.type, index, block);
  item.blocks.push(block);
}

export function textDelta(task: TaskNotes, event: EventOf<"task.text.delta">): void {
  const item = openBlocks(task, event);
  grow(openPart(item, "text", event.block_index, item.blocks), event);
}

export function textAnnotated(task: TaskNotes, event: EventOf<"task.text.annotation.added">): void {
  const item = openBlocks(task, event);
  const part = openPart(item, "text", event.block_index, item.blocks);
  if (item.type !== "message")
    throw new RuleBroken("annotations", "only what a message says has annotations");
  annotationAdded(task, part, event);
}

export function imageDelta(task: TaskNotes, event: EventOf<"task.image.delta">): void {
  const item = openBlocks(task, event);
  const part = openPart(item, "image", event.block_index, item.blocks);
  if (event.partial_image_index !== part.partials)
    throw new RuleBroken("part_index", `picture ${event.partial_image_index} is not the next one`);
  sameNumber(part, event.item);
  part.partials += 1;
  merge(item.blocks, event.block_index, event.item);
}

/** Closes the block that is open, or gives a whole one. */
export function blockDone(task: TaskNotes, event: BlockEvent): void {
  const item = openBlocks(task, event);
  const { item: block, block_index: index } = event;
  const isNew = item.part === undefined && index === item.blocks.length;
  const part = isNew ? undefined : openPart(item, block.type, index, item.blocks);
  if (block.type === "text") {
    if (part === undefined) isSound(block.text);
    else isJoined(part.text, block.text);
    const annotations = block.annotations ?? [];
    if (item.type === "message")
      annotationsOfText(task, block.text, annotations, part?.annotations);
    else if (annotations.length > 0)
      throw new RuleBroken("annotations", "only what a message says has annotations");
  }
  if (part === undefined) mayHaveNumber(item, block);
  else sameNumber(part, block);
  if (part === undefined) item.blocks.push(block);
  else merge(item.blocks, index, block);
  item.part = undefined;
}

interface Place {
  item_id: string;
  output_index: number;
}

interface BlockEvent extends Place {
  block_index: number;
  item: Block;
}

function openReasoning(task: TaskNotes, event: Place): ReasoningNotes {
  const item = itemAt(task, event.output_index, event.item_id);
  if (item.type !== "reasoning" || item.state !== "open")
    throw new RuleBroken("open_part", `${item.id} is no open reasoning`);
  return item;
}

function openCall(task: TaskNotes, event: Place): CallNotes {
  const item = itemAt(task, event.output_index, event.item_id);
  if (item.type !== "tool_call" || item.state !== "open")
    throw new RuleBroken("open_part", `${item.id} is no open call`);
  if (item.argumentsDone)
    throw new RuleBroken("arguments_done", `the arguments of ${item.id} are done`);
  return item;
}

function openBlocks(task: TaskNotes, event: Place): ResultNotes | MessageNotes {
  const item = itemAt(task, event.output_index, event.item_id);
  if ((item.type !== "tool_result" && item.type !== "message") || item.state !== "open")
    throw new RuleBroken("open_part", `${item.id} is no open list of blocks`);
  if (item.type === "tool_result" && item.call.child !== undefined)
    throw new RuleBroken("child_blocks", `the blocks of ${item.id} are those of its sub-task`);
  return item;
}

function opensNext(item: { id: string; part: Part | undefined }, index: number, count: number) {
  if (item.part !== undefined)
    throw new RuleBroken("open_part", `part ${item.part.index} of ${item.id} is still open`);
  if (index !== count)
    throw new RuleBroken("part_index", `part ${index} of ${item.id} comes after ${count} parts`);
}

function startsEmpty(text: string): void {
  if (text !== "") throw new RuleBroken("joined_is_done", "a text opens with words in it");
}

function newPart(kind: Part["kind"], index: number, block?: Block): Part {
  return { kind, index, text: "", block, annotations: [], partials: 0 };
}

function openPart(
  item: ReasoningNotes | ResultNotes | MessageNotes,
  kind: Part["kind"],
  index: number,
  list: readonly (Block | { type: "text"; text: string })[],
): Part {
  const { part } = item;
  if (part !== undefined && part.kind === kind && part.index === index) return part;
  const last = list[index];
  const mayBeOpen = item.restored && part === undefined && index === list.length - 1;
  if (!mayBeOpen || last === undefined)
    throw new RuleBroken("open_part", `part ${index} of ${item.id} is not open as ${kind}`);
  const again = newPart(kind, index, last);
  if (last.type === "text") again.text = last.text;
  if ("annotations" in last) again.annotations.push(...(last.annotations ?? []));
  item.part = again;
  return again;
}

function grow(part: Part, event: { delta: string; offset?: number }): void {
  isAtItsPlace(part.text, event);
  part.text += event.delta;
}

function isAtItsPlace(text: string, { delta, offset }: { delta: string; offset?: number }): void {
  isSound(delta);
  if (offset !== undefined && offset !== text.length)
    throw new RuleBroken("joined_is_done", `a delta for ${offset} comes at ${text.length}`);
}

function isSound(text: string): void {
  if (!isWellFormed(text)) throw new RuleBroken("surrogate_pairs", "half a surrogate pair");
}

function isJoined(joined: string, whole: string): void {
  if (joined !== whole)
    throw new RuleBroken("joined_is_done", "the deltas do not add up to what is done");
}

function mayHaveNumber(item: ResultNotes | MessageNotes, block: Block): void {
  if (block.id !== undefined && item.type === "message")
    throw new RuleBroken("block_ids", "what a message says cannot be referred to");
}

function sameNumber(part: Part, block: Block): void {
  if (part.block !== undefined && part.block.id !== block.id)
    throw new RuleBroken("block_ids", `block ${part.index} changes its number`);
}

function merge(blocks: Block[], index: number, block: Block): void {
  blocks[index] = { ...blocks[index], ...block };
}
