import {
  compileLinear,
  SearchTooComplexError,
  type LinearPattern,
  type StepCounter,
} from "../patterns/linear-pattern.ts";

export type PatternAnswer = "matches" | "differs" | "too complex" | "no pattern";

const longestPattern = 2000;

/** Tests texts against the patterns of a JSON Schema, each in time linear in the length of the text. */
export class PatternTester {
  readonly #compiled = new Map<string, LinearPattern | undefined>();
  /** What all of it has cost so far. */
  readonly counter: StepCounter = { steps: 0 };

  /** True if a pattern has been used before. */
  has(pattern: string): boolean {
    return this.#compiled.has(pattern);
  }

  /** "no pattern": it is invalid, has backreferences, or is too large. */
  test(pattern: string, text: string): PatternAnswer {
    if (!this.has(pattern)) this.#compiled.set(pattern, compile(pattern, this.counter));
    const compiled = this.#compiled.get(pattern);
    if (compiled === undefined) return "no pattern";
    try {
      return compiled.test(text, this.counter) ? "matches" : "differs";
    } catch (error) {
      if (error instanceof SearchTooComplexError) return "too complex";
      throw error;
    }
  }
}

function compile(pattern: string, counter: StepCounter): LinearPattern | undefined {
  if (pattern.length > longestPattern) return undefined;
  try {
    return compileLinear(pattern, "", counter);
  } catch {
    return undefined;
  }
}
