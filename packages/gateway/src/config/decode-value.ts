import type { JsonObject } from "@deltawire/wire";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import type { Problems } from "./problems.ts";
import {
  looksLikeVariable,
  readSecret,
  readVariable,
  type Environment,
  type Secret,
} from "./secret.ts";
import type { Setting, SettingType, SettingValues } from "./setting.ts";

/** What goes along while a file is read. */
export interface Reading {
  readonly env: Environment;
  readonly problems: Problems;
}

export type Table = Readonly<Record<string, unknown>>;

/** A value as its setting wants it, or undefined where that was wrong and has been said. */
export function decodeValue(
  value: unknown,
  setting: Setting,
  place: KeyPath,
  reading: Reading,
): unknown {
  return decoders[setting.type](value, setting, place, reading);
}

export function isTable(value: unknown): value is Table {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

type Decode<T> = (
  value: unknown,
  setting: Setting,
  place: KeyPath,
  reading: Reading,
) => T | undefined;

/** No decoder repeats a value in its message, for any text may be a secret that stands in the wrong place. */
const decoders: { readonly [T in SettingType]: Decode<SettingValues[T]> } = {
  string(value, { type }, place, { problems }) {
    if (typeof value !== "string") return wrongType(value, type, place, problems);
    if (value.trim() === "")
      return wrong("is empty; leave it out, or write a text", place, problems);
    return value;
  },
  secret: (value, { type }, place, reading) => decodeSecret(value, type, place, reading),
  integer(value, { type, ...range }, place, { problems }) {
    return Number.isSafeInteger(value)
      ? inRange(Number(value), range, place, problems)
      : wrongType(value, type, place, problems);
  },
  number(value, { type, ...range }, place, { problems }) {
    return Number.isFinite(value)
      ? inRange(Number(value), range, place, problems)
      : wrongType(value, type, place, problems);
  },
  boolean(value, { type }, place, { problems }) {
    return typeof value === "boolean" ? value : wrongType(value, type, place, problems);
  },
  word(value, setting, place, reading) {
    const text = decoders.string(value, setting, place, reading);
    return text === undefined ? undefined : oneOf(setting, text, place, reading.problems);
  },
  "list of strings": (value, setting, place, reading) =>
    decodeList(value, setting, place, reading, decoders.string),
  "list of secrets": (value, setting, place, reading) =>
    decodeList(value, setting, place, reading, decoders.secret),
  "list of words": (value, setting, place, reading) =>
    decodeList(value, setting, place, reading, decoders.word),
  "string or list"(value, setting, place, reading) {
    if (Array.isArray(value)) return decoders["list of strings"](value, setting, place, reading);
    if (typeof value !== "string") return wrongType(value, setting.type, place, reading.problems);
    const text = decoders.string(value, setting, place, reading);
    return text === undefined ? undefined : [text];
  },
  "word or list": (value, setting, place, reading) =>
    Array.isArray(value)
      ? decoders["list of strings"](value, setting, place, reading)
      : decoders.word(value, setting, place, reading),
  "table of strings": (value, setting, place, reading) =>
    decodeNamed(value, setting, place, reading, decoders.string),
  "table of secrets": (value, setting, place, reading) =>
    decodeNamed(value, setting, place, reading, decoders.secret),
  "table of variables": (value, setting, place, reading) =>
    decodeNamed(value, setting, place, reading, decodeVariable),
  table(value, { type }, place, { problems }) {
    return isTable(value) ? value : wrongType(value, type, place, problems);
  },
  "JSON table"(value, setting, place, reading) {
    const table = decoders.table(value, setting, place, reading);
    const odd = notJson(table, place);
    if (odd === undefined) return table as JsonObject | undefined;
    return wrong("JSON has no such value; write a text", odd, reading.problems);
  },
};

function decodeSecret(
  value: unknown,
  type: SettingType,
  place: KeyPath,
  reading: Reading,
): Secret | undefined {
  const { env, problems } = reading;
  if (typeof value !== "string") return wrongType(value, type, place, problems);
  const secret = readSecret(value, env);
  switch (secret) {
    case "empty":
      return wrong('is empty; leave it out, or write "env:NAME"', place, problems);
    case "no variable name":
      return wrong(noVariableName, place, problems);
    case "no header value":
      return wrong(
        "has a character that no header can carry; copy it again, without line ends",
        place,
        problems,
      );
    default:
      if (secret.variable === undefined) warnOfBareVariable(value, place, reading);
      return secret;
  }
}

const noVariableName =
  'has no name of a variable after env:; write "env:NAME" with letters, digits and _';

function warnOfBareVariable(value: string, place: KeyPath, { env, problems }: Reading): void {
  if (looksLikeVariable(value, env))
    problems.warn(place, 'looks like the name of a variable; write "env:" before it, without $');
}

function decodeVariable(
  value: unknown,
  { type }: Setting,
  place: KeyPath,
  reading: Reading,
): Secret | undefined {
  const { env, problems } = reading;
  if (typeof value !== "string") return wrongType(value, type, place, problems);
  if (value.startsWith("env:")) {
    const secret = readVariable(value, env);
    return secret ?? wrong(noVariableName, place, problems);
  }
  if (value.includes("\0"))
    return wrong("has a character that no variable can carry; write it anew", place, problems);
  warnOfBareVariable(value, place, reading);
  return { value, variable: undefined };
}

function decodeList<T>(
  value: unknown,
  setting: Setting,
  place: KeyPath,
  reading: Reading,
  decodeItem: Decode<T>,
): T[] | undefined {
  if (!Array.isArray(value)) return wrongType(value, setting.type, place, reading.problems);
  return value.flatMap((item: unknown, index) => {
    const decoded = decodeItem(
      item,
      { ...setting, type: itemType(setting.type) },
      [...place, index],
      reading,
    );
    return decoded === undefined ? [] : [decoded];
  });
}

function decodeNamed<T>(
  value: unknown,
  setting: Setting,
  place: KeyPath,
  reading: Reading,
  decodeItem: Decode<T>,
): Record<string, T> | undefined {
  if (!isTable(value)) return wrongType(value, setting.type, place, reading.problems);
  const decoded: [string, T][] = [];
  for (const [name, item] of Object.entries(value)) {
    const one = decodeItem(
      item,
      { ...setting, type: itemType(setting.type) },
      [...place, name],
      reading,
    );
    if (one !== undefined) decoded.push([name, one]);
  }
  return Object.fromEntries(decoded);
}

/** Where a date or an endless number stands, which TOML has and JSON has not. */
function notJson(value: unknown, place: KeyPath): KeyPath | undefined {
  if (value instanceof Date || (typeof value === "number" && !Number.isFinite(value))) return place;
  if (typeof value !== "object" || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [name, item] of Object.entries(value)) {
    const odd = notJson(item, [...place, isList ? Number(name) : name]);
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function itemType(type: SettingType): SettingType {
  return /secrets|variables/.test(type) ? "secret" : "string";
}

function inRange(
  value: number,
  { least, most }: Pick<Setting, "least" | "most">,
  place: KeyPath,
  problems: Problems,
): number | undefined {
  if (value >= (least ?? value) && value <= (most ?? value)) return value;
  const range = most === undefined ? `at least ${least}` : `from ${least} to ${most}`;
  return wrong(`is ${value}; write a number ${range}`, place, problems);
}

function oneOf(
  { words = [], type }: Setting,
  text: string,
  place: KeyPath,
  problems: Problems,
): string | undefined {
  if (words.includes(text)) return text;
  const near = didYouMean(text, words);
  const allowed = words.map((word) => `"${word}"`).join(", ");
  const orList = type === "word or list" ? ", or a list of texts" : "";
  return wrong(
    `is none of its words; write one of ${allowed}${orList}${near === "" ? "" : `;${near}`}`,
    place,
    problems,
  );
}

function wrongType(
  value: unknown,
  type: SettingType,
  place: KeyPath,
  problems: Problems,
): undefined {
  return wrong(`is ${kindOf(value)}; write ${typeWords[type]}`, place, problems);
}

function wrong(what: string, place: KeyPath, problems: Problems): undefined {
  problems.error(place, what);
  return undefined;
}

export function kindOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number";
  if (typeof value === "boolean") return `${value}`;
  if (value instanceof Date) return "a date";
  return Array.isArray(value) ? "a list" : "a table";
}

const typeWords: Readonly<Record<SettingType, string>> = {
  string: "a text in quotes",
  secret: '"env:NAME", or a text in quotes',
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  word: "a word in quotes",
  "list of strings": 'a list of texts: ["…", "…"]',
  "list of secrets": 'a list: ["env:NAME"]',
  "list of words": 'a list of words: ["…"]',
  "string or list": 'a text, or a list of texts: ["…", "…"]',
  "word or list": 'a word in quotes, or a list of texts: ["…", "…"]',
  "table of strings": 'a table of texts: { name = "…" }',
  "table of secrets": 'a table of texts: { name = "…" }',
  "table of variables": 'a table of texts: { NAME = "…" }',
  table: "a table: { name = … }",
  "JSON table": "a table: { name = … }",
};
