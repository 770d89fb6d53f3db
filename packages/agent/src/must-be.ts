import type { Limits } from "@deltawire/tasks";

/* For definitions that no compiler has seen: each throws a TypeError that says what is wrong. */

export function mustBeText(what: string, value: unknown): void {
  if (typeof value !== "string") throw new TypeError(`${what} must be a text, not ${told(value)}`);
}

export function mustBeOneOf(what: string, value: unknown, words: readonly string[]): void {
  if (words.some((word) => word === value)) return;
  const list = words.map((word) => `"${word}"`).join(", ");
  throw new TypeError(`${what} must be one of ${list}, not ${told(value)}`);
}

export const resultPolicies = ["never", "on error", "always"] as const;

/** Who is asked, before a call and before its result is told. */
export function mustBePolicy(what: string, policy: { call?: unknown; result?: unknown }): void {
  if (typeof policy !== "object" || policy === null)
    throw new TypeError(`${what} must be a word or { call, result }, not ${told(policy)}`);
  mustHaveOnly(what, policy, ["call", "result"]);
  const { call = "auto", result = "never" } = policy;
  mustBeOneOf(what, call, ["auto", "ask once", "ask always"]);
  mustBeOneOf(`${what}, of its result,`, result, resultPolicies);
}

export function mustBeLimits(what: string, limits: Limits): void {
  mustHaveOnly(what, limits, ["rounds", "tokens", "cost", "seconds", "depth"]);
  for (const [name, limit] of Object.entries<unknown>({ ...limits }))
    if (limit !== undefined && !(typeof limit === "number" && limit >= 0))
      throw new TypeError(`${what}, ${name}, must be a number from 0 on, not ${told(limit)}`);
}

function mustHaveOnly(what: string, value: object, names: readonly string[]): void {
  const odd = Object.keys(value).find((name) => !names.includes(name));
  if (odd !== undefined)
    throw new TypeError(`${what} can have ${names.join(", ")}, and no "${odd}"`);
}

export function mustBeUnique(what: string, names: readonly string[]): void {
  const double = names.find((name, at) => names.indexOf(name) < at);
  if (double !== undefined) throw new TypeError(`${what} has two tools named "${double}"`);
}

function told(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : value === null ? "null" : typeof value;
}
