import { Problem } from "../problem.ts";
import { isObject } from "../json.ts";

/** Reads an object's fields one by one; what is wrong with one is told by its path. */
export class BodyFields {
  readonly #values: Record<string, unknown>;
  readonly #path: string;

  /** A field that is not among `known` is a mistake: a misspelt limit would be none. */
  constructor(value: unknown, known: readonly string[], path = "") {
    if (!isObject(value)) throw invalid(path, "expected an object");
    this.#values = value;
    this.#path = path;
    const odd = Object.keys(value).find((name) => !known.includes(name));
    if (odd !== undefined)
      throw invalid(this.at(odd), `unknown field; there are ${known.join(", ")}`);
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined && this.#values[name] !== null;
  }

  get(name: string): unknown {
    return this.#values[name];
  }

  at(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  text(name: string, longest = Infinity): string {
    const value = this.get(name);
    if (typeof value !== "string") throw invalid(this.at(name), "expected a string");
    if (value.length > longest)
      throw invalid(this.at(name), `expected at most ${longest} characters`);
    return value;
  }

  /** A name that says something. */
  name(name: string): string {
    const value = this.text(name, longestName);
    if (value.trim() === "") throw invalid(this.at(name), "expected a name, got an empty string");
    if (!value.isWellFormed()) throw invalid(this.at(name), "has half a character in it");
    return value;
  }

  word<Word extends string>(name: string, words: readonly Word[]): Word {
    const value = this.get(name);
    const found = words.find((word) => word === value);
    if (found === undefined)
      throw invalid(this.at(name), `expected one of ${words.join(", ")}, got ${shown(value)}`);
    return found;
  }

  yesOrNo(name: string): boolean {
    const value = this.get(name);
    if (typeof value !== "boolean") throw invalid(this.at(name), "expected true or false");
    return value;
  }

  list(name: string): unknown[] {
    const value = this.get(name);
    if (!Array.isArray(value)) throw invalid(this.at(name), "expected an array");
    return value;
  }

  /** Nothing else may be fetched or shown: `file:` would read this machine, `javascript:` run in a page. */
  address(name: string): string {
    const url = this.text(name);
    if (/^(?:https?:\/\/|data:|\/api\/blobs\/[\da-f]{64}$)/i.test(url)) return url;
    throw invalid(this.at(name), "expected an address with https:, http: or data:, or a blob's");
  }

  /** The fields that are there, each read as told: nothing stands for those that are not. */
  given<Shape extends object>(readers: { [Name in keyof Shape]-?: (name: string) => Shape[Name] }) {
    const found: Partial<Shape> = {};
    for (const name of Object.keys(readers) as (keyof Shape & string)[])
      if (this.has(name)) found[name] = readers[name](name);
    return found;
  }
}

const longestName = 300;

export function invalid(param: string, what: string): Problem {
  return new Problem("invalid_request", param === "" ? what : `${param}: ${what}`, {
    param: param === "" ? undefined : param,
  });
}

function shown(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 50)}"` : typeof value;
}
