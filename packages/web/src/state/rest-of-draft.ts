import { isSame } from "../same.ts";
import type { DraftState } from "./page.ts";

/** What came to a draft while it was on its way. */
export function restOfDraft(
  now: DraftState,
  sent: DraftState,
): Pick<DraftState, "text" | "attachments" | "contexts" | "options"> {
  return {
    text: restAfter(now.text, sent.text),
    attachments: without(now.attachments, sent.attachments),
    contexts: without(now.contexts, sent.contexts),
    options: isSame(now.options, sent.options) ? undefined : now.options,
  };
}

/** What is left of the words once a part of them was told: somebody may have gone on writing. */
export function restAfter(words: string, told: string): string {
  return words.startsWith(told) ? words.slice(told.length).trimStart() : words;
}

function without<Item>(items: readonly Item[], gone: readonly Item[]): readonly Item[] {
  return items.filter((item) => !gone.some((each) => isSame(each, item)));
}
