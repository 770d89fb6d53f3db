import {
  at,
  isFlag,
  isName,
  isNatural,
  isJsonObject,
  isPlainObject,
  isText,
  listOf,
  numeric,
  oneOf,
  orNull,
  problem,
  shaped,
  type Check,
} from "./check-value.ts";
import type { PersonEdit } from "./edit.ts";
import type { ChatSettings, PrivacyKind } from "./shapes.ts";

type SettingsPatch = Extract<PersonEdit, { type: "settings" }>["patch"];

/** What is wrong with settings, whoever sent them. Time zones and what a pattern may cost are checked where they are used. */
export function checkSettings(value: unknown, path = ""): string[] {
  const problems = shaped(fields)(value, path);
  const both = isPlainObject(value) && isGiven(value["agent"]) && isGiven(value["model"]);
  return both
    ? [...problems, ...problem(at(path, "agent"), "a chat has an agent or a model, not both")]
    : problems;
}

/** The patch alone, field by field. */
export const checkSettingsPatch: Check = (value, path) => shaped(patchFields)(value, path);

export function settingsAfter(settings: ChatSettings, patch: SettingsPatch): ChatSettings {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = Object.entries({ ...settings, ...Object.fromEntries(given) });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

const isCount = numeric("a whole number above 0", (value) => Number.isInteger(value) && value > 0);
const isAmount = numeric("a number above 0", (value) => value > 0);

const kinds: Readonly<Record<PrivacyKind, "value" | "pattern" | "neither">> = {
  email: "neither",
  phone: "neither",
  card: "neither",
  key: "neither",
  password: "neither",
  id: "neither",
  name: "value",
  text: "value",
  pattern: "pattern",
};

const privacyShape = shaped(
  { kind: oneOf(...Object.keys(kinds)), value: isName, pattern: isName, label: isName },
  ["kind"],
);

/** What a kind needs, and nothing that would be without effect. */
const isPrivacyField: Check = (value, path) => {
  const problems = privacyShape(value, path);
  if (problems.length > 0) return problems;
  const { kind, ...field } = value as { kind: PrivacyKind; value?: string; pattern?: string };
  const needs = kinds[kind];
  if (needs !== "neither" && field[needs] === undefined)
    return problem(at(path, needs), `is missing: the kind "${kind}" needs it`);
  const idle = needs === "pattern" ? "value" : "pattern";
  return field[idle] === undefined
    ? []
    : problem(at(path, idle), `has no meaning for the kind "${kind}"`);
};

const fields: Readonly<Record<keyof ChatSettings, Check>> = {
  agent: isName,
  model: isName,
  instructions: isText,
  tool_groups: listOf(isName),
  skills: listOf(isName),
  options: isJsonObject,
  limits: shaped({
    rounds: isCount,
    tokens: isCount,
    cost: isAmount,
    seconds: isAmount,
    depth: isNatural,
  }),
  results: oneOf("never", "on error", "always"),
  turns: isNatural,
  privacy: shaped({ enabled: isFlag, fields: listOf(isPrivacyField) }, ["enabled", "fields"]),
  time_zone: isName,
  exact_time: isFlag,
  title_model: isName,
};

const patchFields = Object.fromEntries(
  Object.entries(fields).map(([name, check]) => [name, orNull(check)]),
);
