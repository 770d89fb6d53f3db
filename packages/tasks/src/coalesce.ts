import type { TaskEvent } from "./events.ts";

/**
 * The same log in fewer events: neighbours that grow or replace the same thing become one, which stands for the numbers
 * of all of them. Reduced, it is the same.
 */
export function coalesce(events: readonly TaskEvent[]): TaskEvent[] {
  const fewer: TaskEvent[] = [];
  let last: TaskEvent | undefined;
  for (const event of events) {
    const both = last === undefined ? undefined : joinEvents(last, event);
    if (both === undefined) fewer.push(event);
    else fewer[fewer.length - 1] = both;
    last = both ?? event;
  }
  return fewer;
}

/** One event instead of two, if the second follows on the first and is about the same place. */
export function joinEvents(first: TaskEvent, second: TaskEvent): TaskEvent | undefined {
  if (first.type !== second.type || first.task_id !== second.task_id) return undefined;
  if ((second.coalesced_from ?? second.sequence_number) !== first.sequence_number + 1)
    return undefined;
  const body = joinedBody(first, second);
  if (body === undefined) return undefined;
  return { ...body, coalesced_from: first.coalesced_from ?? first.sequence_number };
}

function joinedBody(first: TaskEvent, second: TaskEvent): TaskEvent | undefined {
  switch (second.type) {
    case "task.text.delta":
      return first.type === second.type &&
        sameItem(first, second) &&
        first.block_index === second.block_index
        ? grown(first, second)
        : undefined;
    case "task.reasoning_summary_text.delta":
      return first.type === second.type &&
        sameItem(first, second) &&
        first.summary_index === second.summary_index
        ? grown(first, second)
        : undefined;
    case "task.reasoning_text.delta":
      return first.type === second.type &&
        sameItem(first, second) &&
        first.content_index === second.content_index
        ? grown(first, second)
        : undefined;
    case "task.tool_call_arguments.delta":
      return first.type === second.type && sameItem(first, second)
        ? grown(first, second)
        : undefined;
    case "task.image.delta":
      return first.type === second.type &&
        sameItem(first, second) &&
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

function sameItem(
  first: { item_id: string; output_index: number },
  second: { item_id: string; output_index: number },
): boolean {
  return first.item_id === second.item_id && first.output_index === second.output_index;
}

interface Delta {
  delta: string;
  offset?: number;
}

function grown<E extends TaskEvent & Delta>(first: E, second: E): E | undefined {
  const { offset: secondOffset, ...rest } = second;
  const offset =
    first.offset ?? (secondOffset === undefined ? undefined : secondOffset - first.delta.length);
  if (secondOffset !== undefined && offset !== secondOffset - first.delta.length) return undefined;
  const both = { ...first, ...rest, delta: first.delta + second.delta };
  return offset === undefined ? both : { ...both, offset };
}
