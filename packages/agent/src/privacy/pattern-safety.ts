import { messageOf } from "../event-text.ts";
import { searchBounded } from "./bounded-search.ts";
import { OddPattern, parsePattern, type PatternNode } from "./pattern-parser.ts";
import { pathsOf } from "./pattern-paths.ts";

const longestPattern = 500;
const highestCount = 1000;
/** Each doubles the ways through a text at the worst, in `a?a?a?…` for one. */
const mostChoices = 20;
const probeLength = 1000;
/** A second try tells a slow pattern from a busy machine. */
const probeMs = [30, 300];

/** Why a person's regular expression cannot be used; undefined if it can. */
export function patternProblem(pattern: string): string | undefined {
  return formProblem(pattern) ?? (isSlow(pattern) ? "takes too long with some texts" : undefined);
}

/**
 * What is wrong with the form of a pattern, which tells whether it can take time exponential in the length of a text. The
 * third power is seen by trying only.
 */
export function formProblem(pattern: string): string | undefined {
  if (pattern === "") return "is empty";
  if (pattern.length > longestPattern)
    return `has ${pattern.length} characters; ${longestPattern} are the most`;
  try {
    compile(pattern);
    const node = parsePattern(pattern);
    const problem = countsProblem(node);
    if (problem !== undefined) return problem;
    const paths = pathsOf(node);
    if (paths.canBeEmpty) return "matches the empty text";
    return paths.twoWaysAround
      ? "can take for ever: what it repeats can match the same text in two ways"
      : undefined;
  } catch (error) {
    if (error instanceof OddPattern) return `cannot be used: ${error.message}`;
    if (error instanceof SyntaxError) return `is no regular expression: ${messageOf(error)}`;
    throw error;
  }
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function countsProblem(node: PatternNode): string | undefined {
  let choices = 0;
  const visit = (one: PatternNode): string | undefined => {
    switch (one.is) {
      case "repeat": {
        const { min, max, body } = one;
        if (min !== max) choices += 1;
        if (min > highestCount || (max !== Infinity && max > highestCount))
          return `repeats more than ${highestCount} times`;
        return visit(body);
      }
      case "look":
        return visit(one.body);
      case "choice":
        return one.options.map(visit).find((problem) => problem !== undefined);
      case "sequence":
        return one.parts.map(visit).find((problem) => problem !== undefined);
      default:
        return undefined;
    }
  };
  const problem = visit(node);
  if (problem !== undefined) return problem;
  return choices > mostChoices ? `has more than ${mostChoices} quantifiers` : undefined;
}

/** With long runs of its own characters, each alone and all in turn, that end as no match does. */
function isSlow(pattern: string): boolean {
  const { characters } = pathsOf(parsePattern(pattern));
  const own = [...new Set(characters)].slice(0, 12);
  const all = characters.slice(0, 60).join("");
  return [...own, all].some((unit) => {
    const text = `${unit.repeat(Math.ceil(probeLength / Math.max(1, unit.length)))}\u0001`;
    return probeMs.every((limit) => "slow" in searchBounded([pattern], text, limit));
  });
}
