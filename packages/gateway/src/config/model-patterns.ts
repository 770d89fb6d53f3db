import type { Config, ModelAlias, UpstreamConfig } from "./config.ts";

/** True for a name in `[models]` with `*`, which stands for any characters. */
export function isModelPattern(name: string): boolean {
  return name.includes("*");
}

/**
 * Returns the entry in `[models]` for a name: the name itself, else the most specific pattern that matches it. A pattern does not
 * apply to `upstream/model`, so its price does not apply to models that it does not stand for.
 */
export function findModelAlias(
  name: string,
  config: Pick<Config, "models" | "modelPatterns" | "upstreams">,
): ModelAlias | undefined {
  const alias = config.models.get(name);
  if (alias !== undefined || splitFullName(name, config) !== undefined) return alias;
  return findMatchingPattern(name, config.modelPatterns);
}

/** Splits `upstream/model`. Undefined: the name does not start with an upstream. */
export function splitFullName(
  name: string,
  { upstreams }: Pick<Config, "upstreams">,
): { upstream: UpstreamConfig; model: string } | undefined {
  const slash = name.indexOf("/");
  const upstream = slash === -1 ? undefined : upstreams.get(name.slice(0, slash));
  const model = name.slice(slash + 1);
  return upstream === undefined || model === "" ? undefined : { upstream, model };
}

/** Returns the entry of the pattern with the most literal characters; undefined if none matches. */
function findMatchingPattern(
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
