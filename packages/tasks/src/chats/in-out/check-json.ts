import { at, isPlainObject, jsonUpTo, numeric, problem, type Check } from "../check-value.ts";

/* Checks for whole files of others, beside those for single values. */

/** That it is JSON at all, with an end and with whole characters. */
export const checkJson = jsonUpTo(200);

/** At most so many faults: who reads more of them has the wrong file. */
export function first(problems: readonly string[]): string[] {
  const most = 50;
  if (problems.length <= most) return [...problems];
  return [...problems.slice(0, most), `and ${problems.length - most} more`];
}

export const anything: Check = () => [];

export function textUpTo(most: number): Check {
  return (value, path) => {
    if (typeof value !== "string") return problem(path, "must be a text");
    return value.length > most ? problem(path, `must not have more than ${most} characters`) : [];
  };
}

export const isAmount = numeric("a number, 0 or more", (value) => value >= 0);

/** Also a key of a record, so nothing that every object has. */
export const isId: Check = (value, path) =>
  typeof value === "string" && /^[\w.:-]{1,200}$/.test(value) && !(value in Object.prototype)
    ? []
    : problem(path, "must be an id: letters, digits and _ . : - only");

const timeForm =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/;

export const isTime: Check = (value, path) =>
  typeof value === "string" && timeForm.test(value)
    ? []
    : problem(path, "must be a time in UTC, such as 2026-01-31T12:00:00.000Z");

export function recordOf(name: Check, check: Check): Check {
  return (value, path) =>
    isPlainObject(value)
      ? Object.entries(value).flatMap(([key, one]) => [
          ...name(key, at(path, key.slice(0, 100))),
          ...check(one, at(path, key.slice(0, 100))),
        ])
      : problem(path, "must be an object");
}

/** Fields that are not named are left as they are. */
export function atLeast(
  needed: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return (value, path) => {
    if (!isPlainObject(value)) return problem(path, "must be an object");
    return [
      ...Object.entries(needed).flatMap(([name, check]) =>
        Object.hasOwn(value, name)
          ? check(value[name], at(path, name))
          : problem(at(path, name), "is missing"),
      ),
      ...Object.entries(optional).flatMap(([name, check]) =>
        Object.hasOwn(value, name) ? check(value[name], at(path, name)) : [],
      ),
    ];
  };
}

/** The field `tag` says which of the shapes it is. */
export function tagged(tag: string, shapes: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (!isPlainObject(value)) return problem(path, "must be an object");
    const name = value[tag];
    const check =
      typeof name === "string" && Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    return check === undefined
      ? problem(at(path, tag), `must be one of ${Object.keys(shapes).join(", ")}`)
      : check(value, path);
  };
}
