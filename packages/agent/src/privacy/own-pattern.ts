import { messageOf } from "../event-text.ts";
import {
  compileLinear,
  PatternTooLargeError,
  UnsupportedPatternError,
  type LinearPattern,
} from "../patterns/linear-pattern.ts";

const longestPattern = 500;

/** Compiles a regular expression that a user wrote, or says why it cannot be used. */
export function compileOwnPattern(
  pattern: string,
): { compiled: LinearPattern; problem?: undefined } | { problem: string } {
  if (pattern === "") return { problem: "is empty" };
  if (pattern.length > longestPattern)
    return { problem: `has ${pattern.length} characters; ${longestPattern} are the most` };
  try {
    const compiled = compileLinear(pattern, "m");
    return compiled.canBeEmpty ? { problem: "matches the empty text" } : { compiled };
  } catch (error) {
    if (error instanceof PatternTooLargeError) return { problem: error.message };
    if (error instanceof UnsupportedPatternError)
      return { problem: `is not supported: ${error.message}` };
    if (error instanceof SyntaxError)
      return { problem: `is not a regular expression: ${messageOf(error)}` };
    throw error;
  }
}
