import { createContext, Script, type Context } from "node:vm";

export type PatternAnswer = "matches" | "differs" | "too slow" | "no pattern";

const limitMs = 100;
const script = new Script(
  `(() => {
    let expression;
    try { expression = new RegExp(pattern, "u"); } catch {
      try { expression = new RegExp(pattern); } catch { return "no pattern"; }
    }
    return expression.test(text) ? "matches" : "differs";
  })()`,
);
let context: Context | undefined;

/**
 * Whether a text has a pattern, where both come from others: `(a+)+$` on thirty letters would hold the process for
 * minutes. A time limit of `node:vm` is the only one that stops a regular expression on its own thread.
 */
export function testPattern(pattern: string, text: string): PatternAnswer {
  context ??= createContext({ pattern: "", text: "" });
  context["pattern"] = pattern;
  context["text"] = text;
  try {
    return script.runInContext(context, { timeout: limitMs }) as PatternAnswer;
  } catch {
    return "too slow";
  } finally {
    context["text"] = "";
  }
}
