import type { TaskWarning } from "@deltawire/tasks";
import { isRepairCode, usualRepairs, type RepairCode } from "./repair-words.ts";

/** What is said of an answer below it: what a reader should know, and what is as usual. */
export interface NotesView {
  readonly told: readonly Note[];
  readonly usual: readonly Note[];
}

export type Note =
  | { readonly is: "repair"; readonly code: RepairCode; readonly times: number }
  /** As it came. */
  | { readonly is: "words"; readonly words: string; readonly times: number };

export function notesOf(notices: readonly string[], warnings: readonly TaskWarning[]): NotesView {
  const told: Note[] = notices.map((words) => ({ is: "words", words, times: 1 }));
  const repairs = new Map<string, number>();
  for (const { code, message, count } of warnings) {
    const mended = code === "reply_repaired" ? repairsIn(message) : undefined;
    if (mended === undefined) told.push({ is: "words", words: message, times: count });
    for (const [repair, times] of mended ?? [])
      repairs.set(repair, (repairs.get(repair) ?? 0) + times * count);
  }
  const usual: Note[] = [];
  for (const [code, times] of repairs)
    if (!isRepairCode(code)) told.push({ is: "words", words: code, times });
    else (usualRepairs.has(code) ? usual : told).push({ is: "repair", code, times });
  return { told, usual };
}

/** Of "1 x call_id_minted, 2 x tool_dropped": what was mended, and how often. Undefined: it says something else. */
function repairsIn(message: string): [code: string, times: number][] | undefined {
  const found: [string, number][] = [];
  for (const one of message.split(", ")) {
    const [, times, code] = /^(\d+) x (\w+)$/.exec(one) ?? [];
    if (times === undefined || code === undefined) return undefined;
    found.push([code, Number(times)]);
  }
  return found;
}
