import type { TaskLimits } from "@deltawire/tasks";

/* Checks for definitions that may come from untyped JavaScript. Each function throws a TypeError that describes the problem. */

export function validateString(label: string, value: unknown): void {
  if (typeof value !== "string")
    throw new TypeError(`${label} must be a string, got ${describeValue(value)}`);
}

export function validateOneOf(label: string, value: unknown, allowed: readonly string[]): void {
  if (allowed.some((option) => option === value)) return;
  const currentName = formerPolicies.get(value);
  if (currentName !== undefined && allowed.includes(currentName))
    throw new TypeError(`${label}: "${String(value)}" was renamed to "${currentName}"`);
  const list = allowed.map((option) => `"${option}"`).join(", ");
  throw new TypeError(`${label} must be one of ${list}, got ${describeValue(value)}`);
}

/** Names of approval policies in earlier versions, with their replacements. */
const formerPolicies: ReadonlyMap<unknown, string> = new Map([
  ["ask once", "ask_once"],
  ["ask always", "ask_always"],
  ["on error", "on_error"],
]);

export const resultPolicies = ["never", "on_error", "always"] as const;

export function validateApprovalPolicy(
  label: string,
  policy: { call?: unknown; result?: unknown },
  expected = "{ call, result }",
): void {
  if (typeof policy !== "object" || policy === null)
    throw new TypeError(`${label} must be ${expected}, got ${describeValue(policy)}`);
  validateKnownKeys(label, policy, ["call", "result"]);
  const { call = "auto", result = "never" } = policy;
  validateOneOf(label, call, ["auto", "ask_once", "ask_always"]);
  validateOneOf(`${label} (result)`, result, resultPolicies);
}

export function validateLimits(label: string, limits: TaskLimits): void {
  validateKnownKeys(label, limits, ["rounds", "tokens", "cost", "seconds", "depth"]);
  for (const [name, limit] of Object.entries<unknown>({ ...limits }))
    if (limit !== undefined && !(typeof limit === "number" && limit >= 0))
      throw new TypeError(
        `${label}: ${name} must be a non-negative number, got ${typeof limit === "number" ? limit : describeValue(limit)}`,
      );
}

function validateKnownKeys(label: string, value: object, names: readonly string[]): void {
  const unknownKey = Object.keys(value).find((name) => !names.includes(name));
  if (unknownKey !== undefined)
    throw new TypeError(`${label}: unknown key "${unknownKey}" (known: ${names.join(", ")})`);
}

export function validateUniqueToolNames(label: string, names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) < index);
  if (duplicate !== undefined) throw new TypeError(`${label} has two tools named "${duplicate}"`);
}

function describeValue(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : value === null ? "null" : typeof value;
}
