import { annotate } from "../markdown/annotator.ts";
import type { TaskEvent } from "../events.ts";
import type { LogNotes, Part, TaskNotes } from "../log-notes.ts";
import type { Annotation } from "../items.ts";
import { equalJson } from "../json.ts";
import { hasEnded } from "../task-status.ts";
import { RuleBroken } from "./rule-broken.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

/** One that comes while its text streams: it must be true of the text so far. */
export function annotationAdded(
  task: TaskNotes,
  part: Part,
  event: EventOf<"task.text.annotation.added">,
): void {
  const { annotation } = event;
  if (event.annotation_index !== part.annotations.length)
    throw new RuleBroken("annotations", `annotation ${event.annotation_index} is not the next one`);
  const { reference_id: n, start_index, end_index } = annotation;
  if (part.text.slice(start_index, end_index) !== `[^${n}]`)
    throw new RuleBroken("annotations", `[^${n}] does not stand at ${start_index}`);
  if (!mayHaveType(task, annotation))
    throw new RuleBroken("annotations", `[^${n}] is ${annotation.type}, and should not be`);
  part.annotations.push(annotation);
}

/** Of a message's whole text: all its markers, and none in code. `streamed` is what has been told before. */
export function annotationsOfText(
  task: TaskNotes,
  text: string,
  annotations: readonly Annotation[],
  streamed: readonly Annotation[] | undefined,
): void {
  if (streamed !== undefined && !equalJson(streamed, annotations))
    throw new RuleBroken(
      "annotations",
      "the annotations of the text are not those that were added",
    );
  if (annotations.length === 0 && !text.includes("[^")) return;
  const found = annotate(text, (n) => isKnown(task, n));
  const same =
    equalJson(found.map(place), annotations.map(place)) &&
    // What was told while the text streamed was true then, and a reference may have come since.
    (streamed !== undefined || annotations.every((one) => mayHaveType(task, one)));
  if (!same) throw new RuleBroken("annotations", "the annotations are not the markers of the text");
}

function place({ reference_id, start_index, end_index }: Annotation): number[] {
  return [reference_id, start_index, end_index];
}

/** Whether the model could still see a group of an earlier turn is not in the log: both types are possible. */
function mayHaveType(task: TaskNotes, { type, reference_id: n }: Annotation): boolean {
  if (n >= 1 && n <= task.referencesBefore) return true;
  return (type === "reference_to_block") === isKnown(task, n);
}

/** True if this task has a reference of the number. */
function isKnown(task: TaskNotes, n: number): boolean {
  return n > task.referencesBefore && n <= task.references;
}

export function referenceAdded(
  notes: LogNotes,
  task: TaskNotes,
  { reference }: EventOf<"task.reference.added">,
): void {
  const { reference_id: n, item_id, block_indexes, source } = reference;
  if (n !== task.references + 1)
    throw new RuleBroken("reference_ids", `reference ${n} follows ${task.references}`);
  const item = task.items.findLast((candidate) => candidate.id === item_id);
  if (item?.type !== "tool_result" || item.state === "retracted")
    throw new RuleBroken("reference_blocks", `reference ${n} points at no result: ${item_id}`);
  for (const [at, index] of block_indexes.entries())
    if (item.blocks[index]?.id !== n || block_indexes.indexOf(index) !== at)
      throw new RuleBroken("reference_blocks", `block ${index} of ${item_id} is no block of ${n}`);
  if (source !== undefined) {
    const child = notes.tasks.get(source.task_id);
    if (child === undefined || item.call.child !== child || !hasEnded(child.status))
      throw new RuleBroken("reference_blocks", `${source.task_id} has not answered ${item_id}`);
    if (!isKnown(child, source.reference_id))
      throw new RuleBroken(
        "reference_blocks",
        `${child.id} has no reference ${source.reference_id}`,
      );
  }
  task.references = n;
  task.unreferenced.delete(n);
  item.cited = true;
}
