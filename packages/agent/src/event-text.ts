import { toWellFormed } from "@deltawire/tasks";

/* Converts values from tools and models, which may be of any type and size, to valid event fields. */

/** Returns the message of a thrown value of any type. Never throws. */
export function getErrorMessage(error: unknown): string {
  return safeToString(error instanceof Error ? error.message : error);
}

const maxEventTextLength = 2000;

/** Truncates text to the maximum length of an event field: 2,000 characters. */
export function truncateEventText(text: string): string {
  if (text.length <= maxEventTextLength) return text;
  return `${toWellFormed(text.slice(0, maxEventTextLength - 1))}…`;
}

/** Clamps reported progress to the range from 0 to 1. Returns undefined if it is not a number. */
export function clampFraction(fraction: unknown): number | undefined {
  if (typeof fraction !== "number" || Number.isNaN(fraction)) return undefined;
  return Math.min(1, Math.max(0, fraction));
}

/** `String(value)` for objects whose conversion to a string may be missing or throw. */
export function safeToString(value: unknown): string {
  try {
    return toWellFormed(String(value));
  } catch {
    return "(value that cannot be converted to a string)";
  }
}
