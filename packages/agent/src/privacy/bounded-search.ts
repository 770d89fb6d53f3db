import { createContext, Script, type Context } from "node:vm";

const script = new Script(
  `patterns.map((pattern, index) => {
    at = index;
    let expression;
    try { expression = new RegExp(pattern, "gmu"); } catch { expression = new RegExp(pattern, "gm"); }
    const found = [];
    for (const match of text.matchAll(expression)) found.push(match.index, match.index + match[0].length);
    return found;
  })`,
);
let context: Context | undefined;

/**
 * Where each of these patterns is in a text, starts and ends in turn; or which of them was at work when the time was up.
 * They are of people whom nobody knows; as in `testPattern`, only the time limit of `node:vm` stops a regular expression on
 * its own thread.
 */
export function searchBounded(
  patterns: readonly string[],
  text: string,
  limitMs: number,
): readonly (readonly number[])[] | { slow: number } {
  context ??= createContext({ patterns: [], text: "", at: 0 });
  context["patterns"] = patterns;
  context["text"] = text;
  try {
    return script.runInContext(context, { timeout: limitMs }) as number[][];
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT")
      return { slow: context["at"] as number };
    throw error;
  } finally {
    context["text"] = "";
  }
}
