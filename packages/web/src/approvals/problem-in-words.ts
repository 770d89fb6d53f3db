import { unreachable } from "../unreachable.ts";
import type { ArgumentProblem } from "./check-arguments.ts";
import type { ApprovalWords } from "./words.ts";

/** What is wrong with arguments, and where. */
export function problemInWords(problem: ArgumentProblem, words: ApprovalWords): string {
  if (problem.is === "no JSON") return words.notJson(problem.why);
  if (problem.is === "no object") return words.notObject;
  const why = whyOf(problem, words);
  return problem.path === "" ? why : words.atPath(problem.path, why);
}

function whyOf(
  problem: Extract<ArgumentProblem, { readonly path: string }>,
  words: ApprovalWords,
): string {
  switch (problem.is) {
    case "type":
      return words.wrongType(problem.expected);
    case "choice":
      return words.wrongChoice(problem.expected);
    case "missing":
      return words.missing(problem.name);
    case "unknown":
      return words.unknown(problem.name);
    default:
      return unreachable(problem);
  }
}
