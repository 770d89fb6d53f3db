import type { JsonObject } from "@deltawire/wire";
import type { KeyPath } from "./toml-positions.ts";
import { didYouMean } from "@deltawire/tasks";
import type { ConfigProblems } from "./config-problems.ts";
import {
  looksLikeVariable,
  parseSecret,
  parseEnvReference,
  type EnvironmentVariables,
  type Secret,
} from "./secret.ts";
import type { Setting, SettingType, SettingValues } from "./setting.ts";

/** Passed to every decoder. */
export interface DecodeContext {
  readonly env: EnvironmentVariables;
  readonly problems: ConfigProblems;
}

export type TomlTable = Readonly<Record<string, unknown>>;

/** Returns the decoded value. If it is invalid, reports an error and returns undefined. */
export function decodeValue(
  value: unknown,
  setting: Setting,
  location: KeyPath,
  context: DecodeContext,
): unknown {
  return decoders[setting.type](value, setting, location, context);
}

export function isTomlTable(value: unknown): value is TomlTable {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

type ValueDecoder<T> = (
  value: unknown,
  setting: Setting,
  location: KeyPath,
  context: DecodeContext,
) => T | undefined;

/** Error messages never quote string values: a value may be a secret in the wrong setting. */
const decoders: { readonly [T in SettingType]: ValueDecoder<SettingValues[T]> } = {
  string(value, { type }, location, { problems }) {
    if (typeof value !== "string") return reportWrongType(value, type, location, problems);
    if (value.trim() === "")
      return reportError("must not be empty; remove it or write a string", location, problems);
    return value;
  },
  secret: (value, { type }, location, context) => decodeSecret(value, type, location, context),
  integer(value, { type, ...range }, location, { problems }) {
    return Number.isSafeInteger(value)
      ? checkRange(Number(value), range, location, problems)
      : reportWrongType(value, type, location, problems);
  },
  number(value, { type, ...range }, location, { problems }) {
    return Number.isFinite(value)
      ? checkRange(Number(value), range, location, problems)
      : reportWrongType(value, type, location, problems);
  },
  boolean(value, { type }, location, { problems }) {
    return typeof value === "boolean" ? value : reportWrongType(value, type, location, problems);
  },
  enum(value, setting, location, context) {
    const text = decoders.string(value, setting, location, context);
    return text === undefined ? undefined : checkAllowed(setting, text, location, context.problems);
  },
  "list of strings": (value, setting, location, context) =>
    decodeList(value, setting, location, context, decoders.string),
  "list of secrets": (value, setting, location, context) =>
    decodeList(value, setting, location, context, decoders.secret),
  "list of enums": (value, setting, location, context) =>
    decodeList(value, setting, location, context, decoders.enum),
  "string or list"(value, setting, location, context) {
    if (Array.isArray(value)) return decoders["list of strings"](value, setting, location, context);
    if (typeof value !== "string")
      return reportWrongType(value, setting.type, location, context.problems);
    const text = decoders.string(value, setting, location, context);
    return text === undefined ? undefined : [text];
  },
  "enum or list": (value, setting, location, context) =>
    Array.isArray(value)
      ? decoders["list of strings"](value, setting, location, context)
      : decoders.enum(value, setting, location, context),
  "table of strings": (value, setting, location, context) =>
    decodeRecord(value, setting, location, context, decoders.string),
  "table of secrets": (value, setting, location, context) =>
    decodeRecord(value, setting, location, context, decoders.secret),
  "table of variables": (value, setting, location, context) =>
    decodeRecord(value, setting, location, context, decodeVariable),
  table(value, { type }, location, { problems }) {
    return isTomlTable(value) ? value : reportWrongType(value, type, location, problems);
  },
  "JSON table"(value, setting, location, context) {
    const table = decoders.table(value, setting, location, context);
    const invalidPath = findNonJson(table, location);
    if (invalidPath === undefined) return table as JsonObject | undefined;
    return reportError(
      "must be a JSON value, not a date, inf or nan; write it as a string",
      invalidPath,
      context.problems,
    );
  },
};

function decodeSecret(
  value: unknown,
  type: SettingType,
  location: KeyPath,
  context: DecodeContext,
): Secret | undefined {
  const { env, problems } = context;
  if (typeof value !== "string") return reportWrongType(value, type, location, problems);
  const secret = parseSecret(value, env);
  switch (secret) {
    case "empty":
      return reportError('must not be empty; remove it or write "env:NAME"', location, problems);
    case "invalid variable name":
      return reportError(invalidVariableNameMessage, location, problems);
    case "invalid header value":
      return reportError(
        "contains a character that is not allowed in a header; copy it again, without line breaks",
        location,
        problems,
      );
    default:
      if (secret.variable === undefined) warnIfBareVariable(value, location, context);
      return secret;
  }
}

const invalidVariableNameMessage =
  'invalid variable name after env:; write "env:NAME" with letters, digits and _';

function warnIfBareVariable(
  value: string,
  location: KeyPath,
  { env, problems }: DecodeContext,
): void {
  if (looksLikeVariable(value, env))
    problems.warn(
      location,
      'looks like the name of an environment variable; to use its value, write "env:NAME" without $',
    );
}

function decodeVariable(
  value: unknown,
  { type }: Setting,
  location: KeyPath,
  context: DecodeContext,
): Secret | undefined {
  const { env, problems } = context;
  if (typeof value !== "string") return reportWrongType(value, type, location, problems);
  if (value.startsWith("env:")) {
    const secret = parseEnvReference(value, env);
    return secret ?? reportError(invalidVariableNameMessage, location, problems);
  }
  if (value.includes("\0"))
    return reportError("must not contain a NUL character", location, problems);
  warnIfBareVariable(value, location, context);
  return { value, variable: undefined };
}

function decodeList<T>(
  value: unknown,
  setting: Setting,
  location: KeyPath,
  context: DecodeContext,
  decodeItem: ValueDecoder<T>,
): T[] | undefined {
  if (!Array.isArray(value))
    return reportWrongType(value, setting.type, location, context.problems);
  return value.flatMap((item: unknown, index) => {
    const decoded = decodeItem(
      item,
      { ...setting, type: getItemType(setting.type) },
      [...location, index],
      context,
    );
    return decoded === undefined ? [] : [decoded];
  });
}

function decodeRecord<T>(
  value: unknown,
  setting: Setting,
  location: KeyPath,
  context: DecodeContext,
  decodeItem: ValueDecoder<T>,
): Record<string, T> | undefined {
  if (!isTomlTable(value)) return reportWrongType(value, setting.type, location, context.problems);
  const decoded: [string, T][] = [];
  for (const [name, item] of Object.entries(value)) {
    const decodedItem = decodeItem(
      item,
      { ...setting, type: getItemType(setting.type) },
      [...location, name],
      context,
    );
    if (decodedItem !== undefined) decoded.push([name, decodedItem]);
  }
  return Object.fromEntries(decoded);
}

/** Returns the path of the first date, infinity or NaN, which JSON does not support. */
function findNonJson(value: unknown, location: KeyPath): KeyPath | undefined {
  if (value instanceof Date || (typeof value === "number" && !Number.isFinite(value)))
    return location;
  if (typeof value !== "object" || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [name, item] of Object.entries(value)) {
    const invalidPath = findNonJson(item, [...location, isList ? Number(name) : name]);
    if (invalidPath !== undefined) return invalidPath;
  }
  return undefined;
}

function getItemType(type: SettingType): SettingType {
  return /secrets|variables/.test(type) ? "secret" : "string";
}

function checkRange(
  value: number,
  { min, max }: Pick<Setting, "min" | "max">,
  location: KeyPath,
  problems: ConfigProblems,
): number | undefined {
  if (value >= (min ?? value) && value <= (max ?? value)) return value;
  const range = max === undefined ? `at least ${min}` : `from ${min} to ${max}`;
  return reportError(`must be ${range}, got ${value}`, location, problems);
}

function checkAllowed(
  { values = [], type }: Setting,
  text: string,
  location: KeyPath,
  problems: ConfigProblems,
): string | undefined {
  if (values.includes(text)) return text;
  const allowed = values.map((value) => `"${value}"`).join(", ");
  const oneOf = values.length === 1 ? allowed : `one of ${allowed}`;
  const orList = type === "enum or list" ? ", or a list of strings" : "";
  return reportError(`must be ${oneOf}${orList}${didYouMean(text, values)}`, location, problems);
}

function reportWrongType(
  value: unknown,
  type: SettingType,
  location: KeyPath,
  problems: ConfigProblems,
): undefined {
  return reportError(
    `must be ${typeDescriptions[type]}, got ${describeType(value)}`,
    location,
    problems,
  );
}

function reportError(message: string, location: KeyPath, problems: ConfigProblems): undefined {
  problems.error(location, message);
  return undefined;
}

export function describeType(value: unknown): string {
  if (typeof value === "string") return "a string";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a number";
  if (typeof value === "boolean") return `${value}`;
  if (value instanceof Date) return "a date";
  return Array.isArray(value) ? "a list" : "a table";
}

const typeDescriptions: Readonly<Record<SettingType, string>> = {
  string: "a string in quotes",
  secret: '"env:NAME" or a string in quotes',
  integer: "an integer",
  number: "a number",
  boolean: "true or false",
  enum: "a string in quotes",
  "list of strings": 'a list of strings such as ["…", "…"]',
  "list of secrets": 'a list such as ["env:NAME"]',
  "list of enums": 'a list of strings such as ["…"]',
  "string or list": 'a string or a list of strings such as ["…", "…"]',
  "enum or list": 'a string or a list of strings such as ["…", "…"]',
  "table of strings": 'a table of strings such as { name = "…" }',
  "table of secrets": 'a table of strings such as { name = "…" }',
  "table of variables": 'a table of strings such as { NAME = "…" }',
  table: "a table such as { name = … }",
  "JSON table": "a table such as { name = … }",
};
