import { wholeCharacters } from "@deltawire/tasks";

/** Where texts may be cut whose private values are masked later: half of a value would not be known for one. */
export interface Cuts {
  /** `at`, or where the private value begins that would be cut there. */
  cutBefore(text: string, at: number): number;
  /** Resolves when all values that were found at cuts are stored: before that, nothing of the text is. */
  stored?(): Promise<void>;
}

/** The first characters of a text, or a few less, so that nothing is cut in two that must not be. */
export function beginningOf(text: string, longest: number, cuts: Cuts | undefined): string {
  if (text.length <= longest) return text;
  return wholeCharacters(text.slice(0, cuts?.cutBefore(text, longest) ?? longest));
}
