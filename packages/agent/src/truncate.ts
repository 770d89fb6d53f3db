import { trimSplitSurrogates } from "@deltawire/tasks";

/** Prevents truncation from splitting a private value that is masked later: half of a value would not be recognized. */
export interface TruncationGuard {
  /** Returns `position`, or the start of the private value that a cut there would split. */
  cutBefore(text: string, position: number): number;
  /** Stores all values found so far. The text must not be stored before this has resolved. */
  flush?(): Promise<void>;
}

/** Returns at most `maxLength` characters, without splitting a surrogate pair or a private value. */
export function truncateSafely(
  text: string,
  maxLength: number,
  truncationGuard: TruncationGuard | undefined,
): string {
  if (text.length <= maxLength) return text;
  return trimSplitSurrogates(
    text.slice(0, truncationGuard?.cutBefore(text, maxLength) ?? maxLength),
  );
}
