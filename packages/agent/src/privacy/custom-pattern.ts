import { getErrorMessage } from "../event-text.ts";
import {
  compileLinearPattern,
  PatternTooLargeError,
  UnsupportedPatternError,
  type LinearPattern,
} from "../patterns/linear-pattern.ts";

const maxPatternLength = 500;

/** Compiles a user's regular expression. Returns `problem` if it cannot be used. */
export function compileCustomPattern(
  pattern: string,
): { compiled: LinearPattern; problem?: undefined } | { problem: string } {
  if (pattern === "") return { problem: "must not be empty" };
  if (pattern.length > maxPatternLength)
    return { problem: `must have at most ${maxPatternLength} characters, has ${pattern.length}` };
  try {
    const compiled = compileLinearPattern(pattern, "m");
    return compiled.matchesEmpty ? { problem: "must not match the empty string" } : { compiled };
  } catch (error) {
    if (error instanceof PatternTooLargeError) return { problem: error.message };
    if (error instanceof UnsupportedPatternError)
      return { problem: `is not supported: ${error.message}` };
    if (error instanceof SyntaxError)
      return { problem: `is not a valid regular expression: ${getErrorMessage(error)}` };
    throw error;
  }
}
