import { annotateCitations } from "../markdown/citation-annotator.ts";
import type { TaskEvent } from "../events.ts";
import type { ValidatorState, OpenPart, TrackedTask } from "../validator-state.ts";
import type { Annotation } from "../items.ts";
import { isJsonEqual } from "../json.ts";
import { hasEnded } from "../task-status.ts";
import { RuleViolationError } from "./rule-violation.ts";

type EventOf<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

/** Checks an annotation of streaming text against the text so far. */
export function checkAnnotationAdded(
  task: TrackedTask,
  part: OpenPart,
  event: EventOf<"task.text.annotation.added">,
): void {
  const { annotation } = event;
  if (event.annotation_index !== part.annotations.length)
    throw new RuleViolationError(
      "annotations",
      `annotation ${event.annotation_index} is not the next one`,
    );
  const { reference_id: n, start_index, end_index } = annotation;
  if (part.text.slice(start_index, end_index) !== `[^${n}]`)
    throw new RuleViolationError("annotations", `the text has no [^${n}] at ${start_index}`);
  if (!isAllowedType(task, annotation))
    throw new RuleViolationError("annotations", `[^${n}] must not be ${annotation.type}`);
  part.annotations.push(annotation);
}

/**
 * Throws unless complete text has one annotation for each marker outside of code. `streamedAnnotations`: the annotations that
 * were sent before.
 */
export function assertTextAnnotations(
  task: TrackedTask,
  text: string,
  annotations: readonly Annotation[],
  streamedAnnotations: readonly Annotation[] | undefined,
): void {
  if (streamedAnnotations !== undefined && !isJsonEqual(streamedAnnotations, annotations))
    throw new RuleViolationError(
      "annotations",
      "the annotations differ from those that were added",
    );
  if (annotations.length === 0 && !text.includes("[^")) return;
  const expectedAnnotations = annotateCitations(text, (n) => isKnownReference(task, n));
  const isSame =
    isJsonEqual(expectedAnnotations.map(toMarkerPosition), annotations.map(toMarkerPosition)) &&
    // The types of streamed annotations were correct when they were sent; a reference may have been added since.
    (streamedAnnotations !== undefined ||
      annotations.every((annotation) => isAllowedType(task, annotation)));
  if (!isSame)
    throw new RuleViolationError(
      "annotations",
      "the annotations do not match the markers of the text",
    );
}

function toMarkerPosition({ reference_id, start_index, end_index }: Annotation): number[] {
  return [reference_id, start_index, end_index];
}

/** For groups of earlier turns both types are allowed: the log does not record whether they were still in the history. */
function isAllowedType(task: TrackedTask, { type, reference_id: n }: Annotation): boolean {
  if (n >= 1 && n <= task.lastEarlierReference) return true;
  return (type === "reference_to_block") === isKnownReference(task, n);
}

/** True if this task has a reference with the number. */
function isKnownReference(task: TrackedTask, n: number): boolean {
  return n > task.lastEarlierReference && n <= task.lastReference;
}

export function checkReferenceAdded(
  state: ValidatorState,
  task: TrackedTask,
  { reference }: EventOf<"task.reference.added">,
): void {
  const { reference_id: n, item_id, block_indexes, source } = reference;
  if (n !== task.lastReference + 1)
    throw new RuleViolationError("reference_ids", `reference ${n} follows ${task.lastReference}`);
  const item = task.items.findLast((candidate) => candidate.id === item_id);
  if (item?.type !== "tool_result" || item.state === "retracted")
    throw new RuleViolationError("reference_blocks", `reference ${n}: ${item_id} is not a result`);
  for (const [position, index] of block_indexes.entries())
    if (item.blocks[index]?.id !== n || block_indexes.indexOf(index) !== position)
      throw new RuleViolationError(
        "reference_blocks",
        `block ${index} of ${item_id} does not have the number ${n}`,
      );
  if (source !== undefined) {
    const child = state.tasks.get(source.task_id);
    if (child === undefined || item.call.child !== child || !hasEnded(child.status))
      throw new RuleViolationError(
        "reference_blocks",
        `${source.task_id} is not a finished sub-agent of ${item_id}`,
      );
    if (!isKnownReference(child, source.reference_id))
      throw new RuleViolationError(
        "reference_blocks",
        `${child.id} has no reference ${source.reference_id}`,
      );
  }
  task.lastReference = n;
  task.unreferencedNumbers.delete(n);
  item.isCited = true;
}
