import {
  annotateCitations,
  ReferencePool,
  removeMarkers,
  removeReferences,
  findWrappedNumbers,
  type EarlierReferences,
  type TaskState,
} from "@deltawire/tasks";
import type { ResponseInputContent as WirePart, ResponseInputItem } from "@deltawire/wire";
import type { PrivateRecords } from "../log/private-records.ts";
import type { TaskRequest } from "../task-request.ts";

/*
 * References are numbered across the conversation, so that earlier messages never change: the prompt caches of providers match
 * by prefix.
 */

/** Higher numbers were made up by a model; they are ignored when the next number is determined. */
export const maxReference = 999_999;
const maxCitedReference = 9999;

/**
 * Finds the numbers used in a history. `lastKnown` is the highest number used earlier, for example in turns that the history
 * omits.
 */
export function scanReferences(
  history: readonly ResponseInputItem[],
  lastKnown = 0,
): EarlierReferences {
  const citable = new Set<number>();
  let lastNumber = lastKnown;
  for (const item of history) {
    if (item.type === "function_call_output") {
      for (const n of findWrappedNumbers(getTexts(item.output))) {
        if (n > maxReference) continue;
        citable.add(n);
        lastNumber = Math.max(lastNumber, n);
      }
    } else if (isAssistantMessage(item)) {
      // Clients send back the agent's text, but not the items that it cites.
      for (const text of getTexts(item["content"]))
        for (const { reference_id: n } of annotateCitations(text, () => false))
          if (n <= maxCitedReference) lastNumber = Math.max(lastNumber, n);
    }
  }
  return { lastNumber, citable };
}

/** Restores the references that the model of a task may cite. */
export function restoreReferencePool(
  state: TaskState,
  privateRecords: PrivateRecords,
): ReferencePool {
  const storedPools = state.output.flatMap(({ id }) => {
    const { pool } = privateRecords.item(id);
    return pool === undefined ? [] : [pool];
  });
  const { history } = privateRecords.request(state.task_id) as Pick<TaskRequest, "history">;
  const { citable } = scanReferences(history ?? []);
  const { references_before: lastNumber = 0 } = state.info;
  return new ReferencePool({ lastNumber, citable }).restore(
    ...storedPools.toSorted((a, b) => Number(a["after"]) - Number(b["after"])),
  );
}

/**
 * Adds the reference numbers of an answer to `used`. If an earlier answer uses one of them, all numbers of this answer are
 * removed: chats of earlier versions number every answer from 1, and another version of an earlier answer may have been chosen
 * since.
 */
export function withUniqueReferences(
  answer: readonly ResponseInputItem[],
  used: Set<number>,
): ResponseInputItem[] {
  const references = collectReferences(answer);
  if ([...references].some((n) => used.has(n))) return answer.map(stripReferences);
  for (const n of references) used.add(n);
  return [...answer];
}

/** Returns the reference numbers of the tool results in a history. */
export function collectReferences(history: readonly ResponseInputItem[]): Set<number> {
  return findWrappedNumbers(
    history.flatMap((item) => (item.type === "function_call_output" ? getTexts(item.output) : [])),
  );
}

function stripReferences(item: ResponseInputItem): ResponseInputItem {
  if (item.type === "function_call_output")
    return { ...item, output: mapTexts(item.output, removeReferences) } as ResponseInputItem;
  // Footnotes in user messages are not references.
  if (!isAssistantMessage(item)) return item;
  return {
    ...item,
    content: mapTexts(item["content"], (texts) => texts.map(removeMarkers)),
  } as ResponseInputItem;
}

function isAssistantMessage(
  item: ResponseInputItem,
): item is ResponseInputItem & { content: unknown } {
  return (item.type === "message" || item.type === undefined) && item["role"] === "assistant";
}

function getTexts(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return (content as WirePart[]).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
}

function mapTexts(content: unknown, transform: (texts: string[]) => string[]): unknown {
  if (typeof content === "string") return transform([content])[0];
  if (!Array.isArray(content)) return content;
  const newTexts = transform(getTexts(content));
  return (content as WirePart[]).map((part) =>
    typeof part.text === "string" ? { ...part, text: newTexts.shift() ?? "" } : part,
  );
}
