import type { TaskEvent } from "./events.ts";

/**
 * Merges adjacent events that extend or replace the same part into one event, which covers the sequence numbers of all of
 * them. The result reduces to the same state.
 */
export function coalesce(events: readonly TaskEvent[]): TaskEvent[] {
  const coalesced: TaskEvent[] = [];
  let last: TaskEvent | undefined;
  for (const event of events) {
    const joinedEvent = last === undefined ? undefined : joinEvents(last, event);
    if (joinedEvent === undefined) coalesced.push(event);
    else coalesced[coalesced.length - 1] = joinedEvent;
    last = joinedEvent ?? event;
  }
  return coalesced;
}

/** Merges two events if the second directly follows the first and changes the same part. Otherwise undefined. */
export function joinEvents(first: TaskEvent, second: TaskEvent): TaskEvent | undefined {
  if (first.type !== second.type || first.task_id !== second.task_id) return undefined;
  if ((second.coalesced_from ?? second.sequence_number) !== first.sequence_number + 1)
    return undefined;
  const body = joinBodies(first, second);
  if (body === undefined) return undefined;
  return { ...body, coalesced_from: first.coalesced_from ?? first.sequence_number };
}

function joinBodies(first: TaskEvent, second: TaskEvent): TaskEvent | undefined {
  switch (second.type) {
    case "task.text.delta":
      return first.type === second.type &&
        isSameItem(first, second) &&
        first.block_index === second.block_index
        ? joinDeltas(first, second)
        : undefined;
    case "task.reasoning_summary_text.delta":
      return first.type === second.type &&
        isSameItem(first, second) &&
        first.summary_index === second.summary_index
        ? joinDeltas(first, second)
        : undefined;
    case "task.reasoning_text.delta":
      return first.type === second.type &&
        isSameItem(first, second) &&
        first.content_index === second.content_index
        ? joinDeltas(first, second)
        : undefined;
    case "task.tool_call_arguments.delta":
      return first.type === second.type && isSameItem(first, second)
        ? joinDeltas(first, second)
        : undefined;
    case "task.image.delta":
      return first.type === second.type &&
        isSameItem(first, second) &&
        first.block_index === second.block_index
        ? { ...first, ...second, item: { ...first.item, ...second.item } }
        : undefined;
    case "task.tool_execution.progress":
      return first.type === second.type && first.execution_id === second.execution_id
        ? { ...first, ...second }
        : undefined;
    case "task.round.progress":
      return first.type === second.type && first.round === second.round
        ? { ...first, ...second }
        : undefined;
    case "task.usage.updated":
      return { ...first, ...second };
    default:
      return undefined;
  }
}

function isSameItem(
  first: { item_id: string; output_index: number },
  second: { item_id: string; output_index: number },
): boolean {
  return first.item_id === second.item_id && first.output_index === second.output_index;
}

interface DeltaFields {
  delta: string;
  offset?: number;
}

function joinDeltas<E extends TaskEvent & DeltaFields>(first: E, second: E): E | undefined {
  const { offset: secondOffset, ...rest } = second;
  const offset =
    first.offset ?? (secondOffset === undefined ? undefined : secondOffset - first.delta.length);
  if (secondOffset !== undefined && offset !== secondOffset - first.delta.length) return undefined;
  const joinedEvent = { ...first, ...rest, delta: first.delta + second.delta };
  return offset === undefined ? joinedEvent : { ...joinedEvent, offset };
}
