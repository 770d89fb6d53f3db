import { isWellFormed } from "../well-formed.ts";

/** Returns the problems of a value, each prefixed with its path: "limits.rounds: must be …". */
export type ValueCheck = (value: unknown, path: string) => string[];

export function createProblem(path: string, message: string): string[] {
  return [path === "" ? message : `${path}: ${message}`];
}

export function fieldPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Returns a check for objects. `undefined` fields count as absent; unknown fields are problems. */
export function strictObjectOf(
  fields: Readonly<Record<string, ValueCheck>>,
  required: readonly string[] = [],
): ValueCheck {
  return (value, path) => {
    if (!isPlainObject(value)) return createProblem(path, "must be an object");
    const unknownNames = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
    return [
      ...unknownNames.flatMap((name) =>
        createProblem(fieldPath(path, name.slice(0, 100)), "unknown field"),
      ),
      ...Object.entries(fields).flatMap(([name, check]) => {
        const field = Object.hasOwn(value, name) ? value[name] : undefined;
        if (field !== undefined) return check(field, fieldPath(path, name));
        return required.includes(name) ? createProblem(fieldPath(path, name), "is missing") : [];
      }),
    ];
  };
}

export function arrayOf(check: ValueCheck): ValueCheck {
  return (value, path) =>
    Array.isArray(value)
      ? value.flatMap((item: unknown, index) => check(item, `${path}[${index}]`))
      : createProblem(path, "must be an array");
}

export function boundedArrayOf(maxLength: number, check: ValueCheck): ValueCheck {
  return (value, path) =>
    Array.isArray(value) && value.length > maxLength
      ? createProblem(path, `must have at most ${maxLength} entries`)
      : arrayOf(check)(value, path);
}

export function oneOf(...names: readonly string[]): ValueCheck {
  return (value, path) =>
    names.includes(value as string)
      ? []
      : createProblem(path, `must be one of ${names.join(", ")}`);
}

export function nullOr(check: ValueCheck): ValueCheck {
  return (value, path) => (value === null ? [] : check(value, path));
}

/** Returns a check for finite numbers for which `isAllowed` returns true. `expected` completes the message "must be …". */
export function numberOf(expected: string, isAllowed: (value: number) => boolean): ValueCheck {
  return (value, path) =>
    typeof value === "number" && Number.isFinite(value) && isAllowed(value)
      ? []
      : createProblem(path, `must be ${expected}`);
}

export const checkNatural = numberOf(
  "a whole number, 0 or more",
  (value) => Number.isSafeInteger(value) && value >= 0,
);

const loneSurrogateMessage = "must not contain lone surrogates";

export const checkText: ValueCheck = (value, path) => {
  if (typeof value !== "string") return createProblem(path, "must be a string");
  return isWellFormed(value) ? [] : createProblem(path, loneSurrogateMessage);
};

export const checkBoolean: ValueCheck = (value, path) =>
  typeof value === "boolean" ? [] : createProblem(path, "must be true or false");

/**
 * Returns a check for JSON values without lone surrogates, at most `maxDepth` levels deep: deeper values could overflow the stack.
 * The check returns only the first problem.
 */
export function jsonWithMaxDepth(maxDepth: number): ValueCheck {
  return (value, path) => {
    const pending: { value: unknown; path: string; depth: number }[] = [{ value, path, depth: 0 }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { value: current, path: currentPath, depth } = next;
      const problem = describeJsonProblem(current);
      if (problem !== undefined) return createProblem(currentPath, problem);
      if (typeof current !== "object" || current === null) continue;
      if (depth >= maxDepth)
        return createProblem(currentPath, `is nested deeper than ${maxDepth} levels`);
      if (Array.isArray(current)) {
        for (const [index, item] of current.entries())
          pending.push({ value: item, path: `${currentPath}[${index}]`, depth: depth + 1 });
      } else {
        for (const [name, field] of Object.entries(current)) {
          if (!isWellFormed(name))
            return createProblem(currentPath, "must not have keys with lone surrogates");
          pending.push({ value: field, path: fieldPath(currentPath, name), depth: depth + 1 });
        }
      }
    }
    return [];
  };
}

function describeJsonProblem(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return isWellFormed(value) ? undefined : loneSurrogateMessage;
    case "number":
      return Number.isFinite(value) ? undefined : "must be a finite number";
    case "boolean":
    case "object":
      return undefined;
    default:
      return "must be a JSON value";
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
