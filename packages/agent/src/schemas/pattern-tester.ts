import {
  compileLinearPattern,
  SearchTooComplexError,
  type LinearPattern,
  type StepCounter,
} from "../patterns/linear-pattern.ts";

export type PatternResult = "matches" | "differs" | "too complex" | "unusable";

const maxPatternLength = 2000;

/** Tests strings against the patterns of a JSON Schema, each in time linear in the length of the string. */
export class PatternTester {
  readonly #compiled = new Map<string, LinearPattern | undefined>();
  /** The cost of all compilations and tests so far. */
  readonly counter: StepCounter = { steps: 0 };

  /** True if a pattern is already compiled. */
  has(pattern: string): boolean {
    return this.#compiled.has(pattern);
  }

  /** Returns "unusable" if the pattern is invalid, has backreferences, or is too large. */
  test(pattern: string, text: string): PatternResult {
    if (!this.has(pattern)) this.#compiled.set(pattern, tryCompile(pattern, this.counter));
    const compiled = this.#compiled.get(pattern);
    if (compiled === undefined) return "unusable";
    try {
      return compiled.test(text, this.counter) ? "matches" : "differs";
    } catch (error) {
      if (error instanceof SearchTooComplexError) return "too complex";
      throw error;
    }
  }
}

function tryCompile(pattern: string, counter: StepCounter): LinearPattern | undefined {
  if (pattern.length > maxPatternLength) return undefined;
  try {
    return compileLinearPattern(pattern, "", counter);
  } catch {
    return undefined;
  }
}
