import type { TaskEvent } from "../events.ts";
import type { Block } from "../items.ts";
import type {
  TrackedCall,
  TrackedMessage,
  OpenPart,
  TrackedReasoning,
  TrackedResult,
  TrackedTask,
} from "../validator-state.ts";
import { isWellFormed } from "../well-formed.ts";
import { checkAnnotationAdded, assertTextAnnotations } from "./citations.ts";
import { getItemAt } from "./items.ts";
import { RuleViolationError } from "./rule-violation.ts";

/* The parts of items: summaries, raw reasoning, arguments and blocks. An item has at most one open part. */

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export function checkSummaryAdded(
  task: TrackedTask,
  event: EventOf<"task.reasoning_summary_item.added">,
): void {
  const item = getOpenReasoning(task, event);
  assertOpensNext(item, event.summary_index, item.summary.length);
  assertStartsEmpty(event.item.text);
  item.openPart = createPart("summary", event.summary_index);
  item.summary.push(event.item);
}

export function checkSummaryDelta(
  task: TrackedTask,
  event: EventOf<"task.reasoning_summary_text.delta">,
): void {
  const item = getOpenReasoning(task, event);
  appendDelta(getOpenPart(item, "summary", event.summary_index, item.summary), event);
}

export function checkSummaryDone(
  task: TrackedTask,
  event: EventOf<"task.reasoning_summary_item.done">,
): void {
  const item = getOpenReasoning(task, event);
  const part = getOpenPart(item, "summary", event.summary_index, item.summary);
  assertJoined(part.text, event.item.text);
  item.summary[event.summary_index] = { ...item.summary[event.summary_index], ...event.item };
  item.openPart = undefined;
}

export function checkRawDelta(
  task: TrackedTask,
  event: EventOf<"task.reasoning_text.delta">,
): void {
  const item = getOpenReasoning(task, event);
  const { content_index: index } = event;
  if (item.openPart === undefined && index === item.rawParts.length) {
    const part = createPart("raw", index);
    appendDelta(part, event);
    item.openPart = part;
    item.rawParts.push({ type: "text", text: "" });
  } else {
    appendDelta(getOpenPart(item, "raw", index, item.rawParts), event);
  }
}

export function checkRawDone(task: TrackedTask, event: EventOf<"task.reasoning_text.done">): void {
  const item = getOpenReasoning(task, event);
  const part = getOpenPart(item, "raw", event.content_index, item.rawParts);
  assertJoined(part.text, event.text);
  item.rawParts[event.content_index] = { type: "text", text: event.text };
  item.openPart = undefined;
}

export function checkArgumentsDelta(
  task: TrackedTask,
  event: EventOf<"task.tool_call_arguments.delta">,
): void {
  const call = getOpenCall(task, event);
  assertOffset(call.arguments, event);
  call.arguments += event.delta;
}

export function checkArgumentsDone(
  task: TrackedTask,
  event: EventOf<"task.tool_call_arguments.done">,
): void {
  const call = getOpenCall(task, event);
  assertJoined(call.arguments, event.arguments);
  call.areArgumentsDone = true;
}

export function checkBlockAdded(task: TrackedTask, event: BlockEvent): void {
  const item = getOpenBlockItem(task, event);
  const { item: block, block_index: index } = event;
  assertOpensNext(item, index, item.blocks.length);
  if (block.type === "text") {
    assertStartsEmpty(block.text);
    if (block.annotations !== undefined)
      throw new RuleViolationError("annotations", "a text block is added with annotations");
  }
  assertCanHaveId(item, block);
  item.openPart = createPart(block.type, index, block);
  item.blocks.push(block);
}

export function checkTextDelta(task: TrackedTask, event: EventOf<"task.text.delta">): void {
  const item = getOpenBlockItem(task, event);
  appendDelta(getOpenPart(item, "text", event.block_index, item.blocks), event);
}

export function checkTextAnnotated(
  task: TrackedTask,
  event: EventOf<"task.text.annotation.added">,
): void {
  const item = getOpenBlockItem(task, event);
  const part = getOpenPart(item, "text", event.block_index, item.blocks);
  if (item.type !== "message")
    throw new RuleViolationError("annotations", "only text in messages can have annotations");
  checkAnnotationAdded(task, part, event);
}

export function checkImageDelta(task: TrackedTask, event: EventOf<"task.image.delta">): void {
  const item = getOpenBlockItem(task, event);
  const part = getOpenPart(item, "image", event.block_index, item.blocks);
  if (event.partial_image_index !== part.partialCount)
    throw new RuleViolationError(
      "part_index",
      `partial image ${event.partial_image_index} is not the next one`,
    );
  assertSameId(part, event.item);
  part.partialCount += 1;
  mergeBlock(item.blocks, event.block_index, event.item);
}

/** Closes the open block, or adds a complete one. */
export function checkBlockDone(task: TrackedTask, event: BlockEvent): void {
  const item = getOpenBlockItem(task, event);
  const { item: block, block_index: index } = event;
  const isNew = item.openPart === undefined && index === item.blocks.length;
  const part = isNew ? undefined : getOpenPart(item, block.type, index, item.blocks);
  if (block.type === "text") {
    if (part === undefined) assertWellFormed(block.text);
    else assertJoined(part.text, block.text);
    const annotations = block.annotations ?? [];
    if (item.type === "message")
      assertTextAnnotations(task, block.text, annotations, part?.annotations);
    else if (annotations.length > 0)
      throw new RuleViolationError("annotations", "only text in messages can have annotations");
  }
  if (part === undefined) assertCanHaveId(item, block);
  else assertSameId(part, block);
  if (part === undefined) item.blocks.push(block);
  else mergeBlock(item.blocks, index, block);
  item.openPart = undefined;
}

interface ItemReference {
  item_id: string;
  output_index: number;
}

interface BlockEvent extends ItemReference {
  block_index: number;
  item: Block;
}

function getOpenReasoning(task: TrackedTask, event: ItemReference): TrackedReasoning {
  const item = getItemAt(task, event.output_index, event.item_id);
  if (item.type !== "reasoning" || item.state !== "open")
    throw new RuleViolationError("open_part", `${item.id} is not an open reasoning item`);
  return item;
}

function getOpenCall(task: TrackedTask, event: ItemReference): TrackedCall {
  const item = getItemAt(task, event.output_index, event.item_id);
  if (item.type !== "tool_call" || item.state !== "open")
    throw new RuleViolationError("open_part", `${item.id} is not an open call`);
  if (item.areArgumentsDone)
    throw new RuleViolationError("arguments_done", `the arguments of ${item.id} are already done`);
  return item;
}

function getOpenBlockItem(task: TrackedTask, event: ItemReference): TrackedResult | TrackedMessage {
  const item = getItemAt(task, event.output_index, event.item_id);
  if ((item.type !== "tool_result" && item.type !== "message") || item.state !== "open")
    throw new RuleViolationError("open_part", `${item.id} is not an open message or result`);
  if (item.type === "tool_result" && item.call.child !== undefined)
    throw new RuleViolationError(
      "child_blocks",
      `${item.id} must not have blocks: its content is the items of its sub-agent`,
    );
  return item;
}

function assertOpensNext(
  item: { id: string; openPart: OpenPart | undefined },
  index: number,
  count: number,
) {
  if (item.openPart !== undefined)
    throw new RuleViolationError(
      "open_part",
      `part ${item.openPart.index} of ${item.id} is still open`,
    );
  if (index !== count)
    throw new RuleViolationError(
      "part_index",
      `part ${index} of ${item.id} is added, expected ${count}`,
    );
}

function assertStartsEmpty(text: string): void {
  if (text !== "")
    throw new RuleViolationError("deltas_match_done", "a text part is added with text");
}

function createPart(kind: OpenPart["kind"], index: number, block?: Block): OpenPart {
  return { kind, index, text: "", block, annotations: [], partialCount: 0 };
}

function getOpenPart(
  item: TrackedReasoning | TrackedResult | TrackedMessage,
  kind: OpenPart["kind"],
  index: number,
  list: readonly (Block | { type: "text"; text: string })[],
): OpenPart {
  const { openPart: part } = item;
  if (part !== undefined && part.kind === kind && part.index === index) return part;
  const last = list[index];
  const couldBeOpen = item.isRestored && part === undefined && index === list.length - 1;
  if (!couldBeOpen || last === undefined)
    throw new RuleViolationError("open_part", `part ${index} of ${item.id} is not open as ${kind}`);
  const restoredPart = createPart(kind, index, last);
  if (last.type === "text") restoredPart.text = last.text;
  if ("annotations" in last) restoredPart.annotations.push(...(last.annotations ?? []));
  item.openPart = restoredPart;
  return restoredPart;
}

function appendDelta(part: OpenPart, event: { delta: string; offset?: number }): void {
  assertOffset(part.text, event);
  part.text += event.delta;
}

function assertOffset(text: string, { delta, offset }: { delta: string; offset?: number }): void {
  assertWellFormed(delta);
  if (offset !== undefined && offset !== text.length)
    throw new RuleViolationError(
      "deltas_match_done",
      `the delta has the offset ${offset}, but the text ends at ${text.length}`,
    );
}

function assertWellFormed(text: string): void {
  if (!isWellFormed(text))
    throw new RuleViolationError("surrogate_pairs", "the text contains a lone surrogate");
}

function assertJoined(joined: string, complete: string): void {
  if (joined !== complete)
    throw new RuleViolationError(
      "deltas_match_done",
      "the deltas do not add up to the complete text",
    );
}

function assertCanHaveId(item: TrackedResult | TrackedMessage, block: Block): void {
  if (block.id !== undefined && item.type === "message")
    throw new RuleViolationError("block_ids", "blocks of messages cannot have an id");
}

function assertSameId(part: OpenPart, block: Block): void {
  if (part.block !== undefined && part.block.id !== block.id)
    throw new RuleViolationError("block_ids", `the id of block ${part.index} changes`);
}

function mergeBlock(blocks: Block[], index: number, block: Block): void {
  blocks[index] = { ...blocks[index], ...block };
}
