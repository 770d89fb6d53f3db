import { canonicalJson, type JsonObject } from "@deltawire/tasks";
import {
  checkSettings,
  type ChatSettings,
  type ModelOptions,
  type PersonEdit,
  type PrivacyField,
  type PrivacyKind,
} from "@deltawire/tasks/chats";
import type { Who } from "./who-answers.tsx";

export type SettingsPatch = Extract<PersonEdit, { type: "settings" }>["patch"];

export const limitNames = ["rounds", "tokens", "cost", "seconds", "depth"] as const;
type LimitName = (typeof limitNames)[number];

export const resultPolicies = ["never", "on error", "always"] as const;

/** What stands in the dialog. An empty text, and undefined, is what the gateway has configured. */
export interface SettingsForm extends OptionTexts {
  readonly who: Who;
  readonly instructions: string | undefined;
  readonly toolGroups: readonly string[] | undefined;
  readonly skills: readonly string[] | undefined;
  readonly limits: Readonly<Record<LimitName, string>>;
  readonly results: ChatSettings["results"];
  readonly turns: string;
  readonly exactTime: boolean | undefined;
  readonly timeZone: string;
  readonly titleModel: string;
  readonly privacy: PrivacyForm | undefined;
}

export interface PrivacyForm {
  readonly enabled: boolean;
  readonly fields: readonly PrivacyRow[];
}
export interface PrivacyRow {
  readonly kind: PrivacyKind;
  readonly value: string;
  readonly pattern: string;
  readonly label: string;
}

/** What is wrong, by the field that it is shown at: the path of a setting, `who` for agent and model. */
export type FieldProblems = Readonly<Record<string, FieldProblem>>;
export type FieldProblem =
  | { readonly is: "no number" | "no json" | "no object" | "said twice" }
  | { readonly is: "told"; readonly text: string };

export function formOf(settings: ChatSettings): SettingsForm {
  const { agent, model, instructions, tool_groups, skills, limits = {}, privacy } = settings;
  const number = (value: number | undefined) => (value === undefined ? "" : String(value));
  return {
    ...splitOptions(settings.options),
    who: agent !== undefined ? { agent } : model !== undefined ? { model } : {},
    instructions,
    toolGroups: tool_groups,
    skills,
    limits: {
      rounds: number(limits.rounds),
      tokens: number(limits.tokens),
      cost: number(limits.cost),
      seconds: number(limits.seconds),
      depth: number(limits.depth),
    },
    results: settings.results,
    turns: number(settings.turns),
    exactTime: settings.exact_time,
    timeZone: settings.time_zone ?? "",
    titleModel: settings.title_model ?? "",
    privacy: privacy && privacyForm(privacy),
  };
}

export function privacyForm({
  enabled,
  fields,
}: {
  readonly enabled: boolean;
  readonly fields: readonly PrivacyField[];
}): PrivacyForm {
  return {
    enabled,
    fields: fields.map(({ kind, value = "", pattern = "", label = "" }) => ({
      kind,
      value,
      pattern,
      label,
    })),
  };
}

/** The settings that a form says, with all that is wrong with them as far as the page can know. */
export function readForm(form: SettingsForm): { settings: ChatSettings; problems: FieldProblems } {
  const problems: Record<string, FieldProblem> = {};
  const number = (text: string, field: string): number | undefined => {
    if (text.trim() === "") return undefined;
    const value = Number(text);
    if (Number.isFinite(value)) return value;
    problems[field] = { is: "no number" };
    return undefined;
  };
  const limits = onlySaid(
    Object.fromEntries(
      limitNames.map((name) => [name, number(form.limits[name], `limits.${name}`)]),
    ),
  );
  const settings = onlySaid({
    ...form.who,
    instructions: form.instructions,
    tool_groups: form.toolGroups,
    skills: form.skills,
    options: joinOptions(form, number, (field, is) => (problems[field] = { is })),
    limits: Object.keys(limits).length === 0 ? undefined : limits,
    results: form.results,
    turns: number(form.turns, "turns"),
    privacy: form.privacy && {
      enabled: form.privacy.enabled,
      fields: form.privacy.fields.map(privacyField),
    },
    time_zone: form.timeZone.trim() === "" ? undefined : form.timeZone.trim(),
    exact_time: form.exactTime,
    title_model: form.titleModel === "" ? undefined : form.titleModel,
  }) as ChatSettings;
  for (const fault of checkSettings(settings)) {
    const { field, text } = placedAt(fault);
    problems[field] ??= { is: "told", text };
  }
  return { settings, problems };
}

/** Only what a kind can use: another kind may have been chosen after something was written. */
function privacyField({ kind, value, pattern, label }: PrivacyRow): PrivacyField {
  const hasPattern = kind === "pattern";
  return {
    kind,
    ...(hasPattern || value.trim() === "" ? {} : { value: value.trim() }),
    ...(hasPattern && pattern !== "" ? { pattern } : {}),
    ...(label.trim() === "" ? {} : { label: label.trim() }),
  };
}

/** What has to be sent to make the one of the other: only what is different. */
export function patchBetween(before: ChatSettings, after: ChatSettings): SettingsPatch {
  const names = Object.keys({ ...before, ...after }) as (keyof ChatSettings)[];
  const changed = names.filter(
    (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
  );
  return Object.fromEntries(changed.map((name) => [name, after[name] ?? null]));
}

export function isSameForm(one: SettingsForm, other: SettingsForm): boolean {
  return one === other || canonicalJson(onlySaid(one)) === canonicalJson(onlySaid(other));
}

/** `settings.limits.rounds: must be …`, as the gateway and we say it: the field, and what is wrong there. */
export function placedAt(fault: string, path?: string): { field: string; text: string } {
  const [, written, text] = /^([\w.[\]]+): ([^]*)$/.exec(fault) ?? [];
  return { field: fieldAt(path ?? written ?? ""), text: text ?? fault };
}

/** The field that shows what a path names: the nearest around it that there is; "" where there is none. */
export function fieldAt(path: string): string {
  const own = path.replace(/^(?:edits\[\d+\]\.patch|settings|patch)\./, "");
  if (own === "agent" || own === "model") return "who";
  for (let place = own; place !== ""; place = place.replace(/(?:^|\.)[^.]*$/, ""))
    if (isField(place)) return place;
  const [, list] = /^(tool_groups|skills)\[/.exec(own) ?? [];
  return list ?? "";
}

function isField(place: string): boolean {
  return place in sections || /^privacy\.fields\[\d+\]$/.test(place);
}

/** Where the gateway names a fault of each part of the form; limits and private values have a path each. */
export const fieldPaths = {
  who: "who",
  instructions: "instructions",
  effort: "options.reasoning.effort",
  temperature: "options.temperature",
  maxTokens: "options.max_output_tokens",
  otherOptions: "options",
  toolGroups: "tool_groups",
  skills: "skills",
  results: "results",
  turns: "turns",
  exactTime: "exact_time",
  timeZone: "time_zone",
  titleModel: "title_model",
  privacy: "privacy",
} as const satisfies Partial<Record<keyof SettingsForm, string>>;

export type FieldName = keyof typeof fieldPaths;

/** True if the chat has a setting of its own here. */
export function isSet(form: SettingsForm, name: FieldName): boolean {
  return JSON.stringify(form[name]) !== JSON.stringify(emptyForm[name]);
}

export const emptyForm: SettingsForm = formOf({});

export type SectionName = "answer" | "tools" | "conversation" | "privacy";

const sections: Readonly<Record<string, SectionName>> = {
  who: "answer",
  instructions: "answer",
  "options.reasoning.effort": "answer",
  "options.temperature": "answer",
  "options.max_output_tokens": "answer",
  options: "answer",
  tool_groups: "tools",
  skills: "tools",
  ...Object.fromEntries(limitNames.map((name) => [`limits.${name}`, "tools" as const])),
  results: "tools",
  turns: "conversation",
  exact_time: "conversation",
  time_zone: "conversation",
  title_model: "conversation",
  privacy: "privacy",
};

/** Where a field stands; undefined for a fault of no field. */
export function sectionOf(field: string): SectionName | undefined {
  return field.startsWith("privacy.") ? "privacy" : sections[field];
}

function onlySaid<Values extends object>(values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Values;
}

/** Options as they are written: three in fields of their own, the others as JSON. */
interface OptionTexts {
  readonly effort: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly otherOptions: string;
}

function splitOptions(options: ModelOptions = {}): OptionTexts {
  const effort = effortIn(options);
  const rest: ModelOptions = { ...withEffort(options, undefined) };
  // What is no number, null above all, has a meaning that only JSON can show.
  const taken = (name: string) => {
    const value = rest[name];
    if (typeof value !== "number") return "";
    delete rest[name];
    return String(value);
  };
  const temperature = taken("temperature");
  const maxTokens = taken("max_output_tokens");
  const isEmpty = Object.keys(rest).length === 0;
  return {
    effort: effort ?? "",
    temperature,
    maxTokens,
    otherOptions: isEmpty ? "" : JSON.stringify(rest, undefined, 2),
  };
}

type OptionProblem = "no json" | "no object" | "said twice";

/** Undefined where nothing is said. */
function joinOptions(
  { effort, temperature, maxTokens, otherOptions }: OptionTexts,
  number: (text: string, field: string) => number | undefined,
  problem: (field: string, is: OptionProblem) => void,
): ModelOptions | undefined {
  const others = readObject(otherOptions);
  if (typeof others === "string") problem("options", others);
  const rest = typeof others === "string" ? {} : others;
  const own = {
    temperature: number(temperature, "options.temperature"),
    max_output_tokens: number(maxTokens, "options.max_output_tokens"),
  };
  const said = Object.entries(own).filter(([, value]) => value !== undefined);
  if (said.some(([name]) => name in rest) || (effort !== "" && effortIn(rest) !== undefined))
    problem("options", "said twice");
  const joined = { ...rest, ...Object.fromEntries(said) };
  const all = effort === "" ? joined : (withEffort(joined, effort) ?? {});
  return Object.keys(all).length === 0 ? undefined : all;
}

function readObject(text: string): JsonObject | "no json" | "no object" {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : "no object";
  } catch {
    return "no json";
  }
}

export function effortIn(options: ModelOptions | undefined): string | undefined {
  const { effort } = objectOr(options?.["reasoning"]);
  return typeof effort === "string" ? effort : undefined;
}

/** The options with another effort, or without one; null where nothing is left of them. */
export function withEffort(
  options: ModelOptions | undefined,
  effort: string | undefined,
): ModelOptions | null {
  const { reasoning, ...others } = options ?? {};
  const { effort: _before, ...rest } = objectOr(reasoning);
  const next = effort === undefined ? rest : { ...rest, effort };
  const all = Object.keys(next).length === 0 ? others : { ...others, reasoning: next };
  return Object.keys(all).length === 0 ? null : all;
}

function objectOr(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}
