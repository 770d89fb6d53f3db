import { toWellFormed } from "@deltawire/tasks";

/* Texts of others for the fields of events: whatever they were, they are words there, and not too many. */

/** Whatever was thrown, as a text. */
export function messageOf(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

const longestBrief = 2000;

/** A text for a field of an event, which is no place for a whole listing. */
export function brief(text: string): string {
  if (text.length <= longestBrief) return text;
  return `${toWellFormed(text.slice(0, longestBrief - 1))}…`;
}

/** How far something has come, of whoever may tell anything. */
export function partOfOne(fraction: unknown): number | undefined {
  if (typeof fraction !== "number" || Number.isNaN(fraction)) return undefined;
  return Math.min(1, Math.max(0, fraction));
}

/** An object may have no way to be told as a text, or one that throws. */
export function textOf(value: unknown): string {
  try {
    return toWellFormed(String(value));
  } catch {
    return "something that has no text";
  }
}
