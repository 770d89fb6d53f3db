import {
  annotate,
  ReferencePool,
  withoutMarkers,
  withoutReferences,
  wrappedNumbers,
  type EarlierNumbers,
  type TaskState,
} from "@deltawire/tasks";
import type { ContentPart as WirePart, InputItem } from "@deltawire/wire";
import type { PrivateParts } from "../log/private-parts.ts";
import type { TaskRequest } from "../task-request.ts";

/*
 * References are numbered through a whole conversation, so that what a model was sent stays as it is: its provider's
 * prompt cache is by prefix.
 */

/** No conversation gets there: what has a higher number was made up, and the next number is not counted from it. */
export const highestReference = 999_999;
const highestCited = 9999;

/** Finds the numbers that a history uses. `before`: the last number known otherwise, such as of turns that it leaves out. */
export function earlierNumbers(history: readonly InputItem[], before = 0): EarlierNumbers {
  const citable = new Set<number>();
  let last = before;
  for (const item of history) {
    if (item.type === "function_call_output") {
      for (const n of wrappedNumbers(textsIn(item.output))) {
        if (n > highestReference) continue;
        citable.add(n);
        last = Math.max(last, n);
      }
    } else if (isAnswer(item)) {
      // A client sends back what an agent said, but not what it cited.
      for (const text of textsIn(item["content"]))
        for (const { reference_id: n } of annotate(text, () => false))
          if (n <= highestCited) last = Math.max(last, n);
    }
  }
  return { last, citable };
}

/** Restores the references that the model of a task may cite so far. */
export function referencePool(state: TaskState, privateParts: PrivateParts): ReferencePool {
  const pieces = state.output.flatMap(({ id }) => {
    const { pool } = privateParts.item(id);
    return pool === undefined ? [] : [pool];
  });
  const { history } = privateParts.request(state.task_id) as Pick<TaskRequest, "history">;
  const { citable } = earlierNumbers(history ?? []);
  const { references_before: last = 0 } = state.info;
  return new ReferencePool({ last, citable }).restore(
    ...pieces.toSorted((one, other) => Number(one["after"]) - Number(other["after"])),
  );
}

/**
 * Returns one answer of a history whose numbers no earlier answer has, and adds them to `used`. The numbers of an answer
 * that shares some with an earlier one are removed: chats of earlier versions number every answer from 1, and another
 * version of an earlier answer may have been chosen since.
 */
export function withUniqueNumbers(answer: readonly InputItem[], used: Set<number>): InputItem[] {
  const own = wrappedIn(answer);
  if ([...own].some((n) => used.has(n))) return answer.map(withoutNumbers);
  for (const n of own) used.add(n);
  return [...answer];
}

/** Returns the numbers of the groups in a history. */
export function wrappedIn(history: readonly InputItem[]): Set<number> {
  return wrappedNumbers(
    history.flatMap((item) => (item.type === "function_call_output" ? textsIn(item.output) : [])),
  );
}

function withoutNumbers(item: InputItem): InputItem {
  if (item.type === "function_call_output")
    return { ...item, output: withTexts(item.output, withoutReferences) } as InputItem;
  // A footnote that the user wrote is the user's.
  if (!isAnswer(item)) return item;
  return {
    ...item,
    content: withTexts(item["content"], (texts) => texts.map(withoutMarkers)),
  } as InputItem;
}

function isAnswer(item: InputItem): item is InputItem & { content: unknown } {
  return (item.type === "message" || item.type === undefined) && item["role"] === "assistant";
}

function textsIn(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return (content as WirePart[]).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
}

function withTexts(content: unknown, change: (texts: string[]) => string[]): unknown {
  if (typeof content === "string") return change([content])[0];
  if (!Array.isArray(content)) return content;
  const changed = change(textsIn(content));
  return (content as WirePart[]).map((part) =>
    typeof part.text === "string" ? { ...part, text: changed.shift() ?? "" } : part,
  );
}
