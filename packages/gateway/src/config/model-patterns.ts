import type { Config, ModelAlias } from "./config.ts";

/** True for a name in `[models]` with `*`, which stands for any characters. */
export function isModelPattern(name: string): boolean {
  return name.includes("*");
}

/** Returns the entry in `[models]` for a name: the name itself, else the most specific pattern that matches it. */
export function findModelAlias(
  name: string,
  { models, modelPatterns }: Pick<Config, "models" | "modelPatterns">,
): ModelAlias | undefined {
  return models.get(name) ?? findMatchingPattern(name, modelPatterns);
}

/** Returns the entry of the pattern with the most literal characters; undefined if none matches. */
export function findMatchingPattern(
  name: string,
  patterns: ReadonlyMap<string, ModelAlias>,
): ModelAlias | undefined {
  let best: { alias: ModelAlias; literals: number } | undefined;
  for (const [pattern, alias] of patterns) {
    const literals = pattern.replaceAll("*", "").length;
    if (literals > (best?.literals ?? -1) && matchesPattern(name, pattern))
      best = { alias, literals };
  }
  return best?.alias;
}

/** Compares without regular expressions, because clients choose the names. */
function matchesPattern(name: string, pattern: string): boolean {
  const [prefix = "", ...rest] = pattern.split("*");
  const suffix = rest.pop() ?? "";
  if (name.length < prefix.length + suffix.length) return false;
  if (!name.startsWith(prefix) || !name.endsWith(suffix)) return false;
  const end = name.length - suffix.length;
  let position = prefix.length;
  for (const part of rest) {
    const index = name.indexOf(part, position);
    if (index === -1 || index + part.length > end) return false;
    position = index + part.length;
  }
  return true;
}
