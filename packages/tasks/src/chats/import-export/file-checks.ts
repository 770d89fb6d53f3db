import {
  fieldPath,
  isPlainObject,
  jsonWithMaxDepth,
  numberOf,
  createProblem,
  type ValueCheck,
} from "../value-checks.ts";

/* Checks for imported files, in addition to those in `value-checks.ts`. */

/** Checks that a value is JSON: not nested too deeply, and without cycles or lone surrogates. */
export const checkJson = jsonWithMaxDepth(200);

/** Returns the first 50 problems and the number of the others: with more than 50 problems, it is probably the wrong file. */
export function limitProblems(problems: readonly string[]): string[] {
  const maxCount = 50;
  if (problems.length <= maxCount) return [...problems];
  return [...problems.slice(0, maxCount), `and ${problems.length - maxCount} more`];
}

export const acceptAny: ValueCheck = () => [];

export function textWithMaxLength(maxLength: number): ValueCheck {
  return (value, path) => {
    if (typeof value !== "string") return createProblem(path, "must be a string");
    return value.length > maxLength
      ? createProblem(path, `must have at most ${maxLength} characters`)
      : [];
  };
}

export const checkNonNegative = numberOf("a number, 0 or more", (value) => value >= 0);

/** Ids are also keys of records, so names of `Object.prototype` are not allowed. */
export const checkId: ValueCheck = (value, path) =>
  typeof value === "string" && /^[\w.:-]{1,200}$/.test(value) && !(value in Object.prototype)
    ? []
    : createProblem(path, "must be an id: letters, digits and _ . : - only");

const timePattern =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

export const checkTime: ValueCheck = (value, path) =>
  typeof value === "string" && timePattern.test(value)
    ? []
    : createProblem(path, "must be a time in UTC, such as 2026-01-31T12:00:00.000Z");

export function recordOf(checkKey: ValueCheck, checkEntry: ValueCheck): ValueCheck {
  return (value, path) =>
    isPlainObject(value)
      ? Object.entries(value).flatMap(([key, entry]) => [
          ...checkKey(key, fieldPath(path, key.slice(0, 100))),
          ...checkEntry(entry, fieldPath(path, key.slice(0, 100))),
        ])
      : createProblem(path, "must be an object");
}

/** Returns a check for objects. Additional fields are allowed and not checked. */
export function looseObjectOf(
  required: Readonly<Record<string, ValueCheck>>,
  optional: Readonly<Record<string, ValueCheck>> = {},
): ValueCheck {
  return (value, path) => {
    if (!isPlainObject(value)) return createProblem(path, "must be an object");
    return [
      ...Object.entries(required).flatMap(([name, check]) =>
        Object.hasOwn(value, name)
          ? check(value[name], fieldPath(path, name))
          : createProblem(fieldPath(path, name), "is missing"),
      ),
      ...Object.entries(optional).flatMap(([name, check]) =>
        Object.hasOwn(value, name) ? check(value[name], fieldPath(path, name)) : [],
      ),
    ];
  };
}

/** Returns a check for objects whose field `tag` decides which of the shapes applies. */
export function variantOf(tag: string, shapes: Readonly<Record<string, ValueCheck>>): ValueCheck {
  return (value, path) => {
    if (!isPlainObject(value)) return createProblem(path, "must be an object");
    const name = value[tag];
    const check =
      typeof name === "string" && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    return check === undefined
      ? createProblem(fieldPath(path, tag), `must be one of ${Object.keys(shapes).join(", ")}`)
      : check(value, path);
  };
}
