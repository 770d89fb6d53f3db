import { isWellFormed } from "../well-formed.ts";

/** What is wrong with a value that somebody sent, each with the path of the fault: "limits.rounds: must be …". */
export type Check = (value: unknown, path: string) => string[];

export function problem(path: string, what: string): string[] {
  return [path === "" ? what : `${path}: ${what}`];
}

export function at(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Fields that are `undefined` are as good as none; those that nobody knows are faults. */
export function shaped(
  fields: Readonly<Record<string, Check>>,
  needed: readonly string[] = [],
): Check {
  return (value, path) => {
    if (!isPlainObject(value)) return problem(path, "must be an object");
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
    return [
      ...unknown.flatMap((name) => problem(at(path, name.slice(0, 100)), "there is no such field")),
      ...Object.entries(fields).flatMap(([name, check]) => {
        const field = Object.hasOwn(value, name) ? value[name] : undefined;
        if (field !== undefined) return check(field, at(path, name));
        return needed.includes(name) ? problem(at(path, name), "is missing") : [];
      }),
    ];
  };
}

export function listOf(check: Check): Check {
  return (value, path) =>
    Array.isArray(value)
      ? value.flatMap((one: unknown, index) => check(one, `${path}[${index}]`))
      : problem(path, "must be a list");
}

export function listUpTo(most: number, check: Check): Check {
  return (value, path) =>
    Array.isArray(value) && value.length > most
      ? problem(path, `must not have more than ${most} entries`)
      : listOf(check)(value, path);
}

export function oneOf(...names: readonly string[]): Check {
  return (value, path) =>
    names.includes(value as string) ? [] : problem(path, `must be one of ${names.join(", ")}`);
}

export function orNull(check: Check): Check {
  return (value, path) => (value === null ? [] : check(value, path));
}

/** A number of which `fits` is true. */
export function numeric(what: string, fits: (value: number) => boolean): Check {
  return (value, path) =>
    typeof value === "number" && Number.isFinite(value) && fits(value)
      ? []
      : problem(path, `must be ${what}`);
}

export const isNatural = numeric(
  "a whole number, 0 or more",
  (value) => Number.isSafeInteger(value) && value >= 0,
);

/** No file and no other program can take half a character. */
const halved = "has half a character in it";

export const isText: Check = (value, path) => {
  if (typeof value !== "string") return problem(path, "must be a text");
  return isWellFormed(value) ? [] : problem(path, halved);
};

export const isFlag: Check = (value, path) =>
  typeof value === "boolean" ? [] : problem(path, "must be true or false");

/** JSON of at most so many levels, which a reader's stack can bear, with whole characters only. Tells the first fault. */
export function jsonUpTo(deepest: number): Check {
  return (value, path) => {
    const open: { value: unknown; path: string; depth: number }[] = [{ value, path, depth: 0 }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { value: one, path: here, depth } = next;
      const wrong = wrongJson(one);
      if (wrong !== undefined) return problem(here, wrong);
      if (typeof one !== "object" || one === null) continue;
      if (depth >= deepest) return problem(here, `is nested deeper than ${deepest} levels`);
      if (Array.isArray(one)) {
        for (const [index, each] of one.entries())
          open.push({ value: each, path: `${here}[${index}]`, depth: depth + 1 });
      } else {
        for (const [name, each] of Object.entries(one)) {
          if (!isWellFormed(name)) return problem(here, "a name in it has half a character");
          open.push({ value: each, path: at(here, name), depth: depth + 1 });
        }
      }
    }
    return [];
  };
}

function wrongJson(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return isWellFormed(value) ? undefined : halved;
    case "number":
      return Number.isFinite(value) ? undefined : "is no number of JSON";
    case "boolean":
    case "object":
      return undefined;
    default:
      return "is no JSON";
  }
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
