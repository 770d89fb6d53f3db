import { canonicalJson, type JsonObject } from "@deltawire/tasks";
import {
  checkSettings,
  type ChatSettings,
  type ModelOptions,
  type UserEdit,
  type PrivacyField,
  type PrivacyKind,
} from "@deltawire/tasks/chats";
import { getSelectedResponder, type ResponderSelection } from "./responder.tsx";

export type SettingsPatch = Extract<UserEdit, { type: "settings" }>["patch"];

export const limitNames = ["rounds", "tokens", "cost", "seconds", "depth"] as const;
export type LimitField = (typeof limitNames)[number];

export const resultPolicyOptions = ["never", "on_error", "always"] as const;

/** State of the settings dialog. Empty strings and undefined mean the gateway's default. */
export interface SettingsForm extends OptionInputs {
  readonly responder: ResponderSelection;
  readonly instructions: string | undefined;
  readonly toolGroups: readonly string[] | undefined;
  readonly skills: readonly string[] | undefined;
  readonly limits: Readonly<Record<LimitField, string>>;
  readonly resultApproval: ChatSettings["result_approval"];
  readonly turns: string;
  readonly messageTimes: boolean | undefined;
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

/** Errors by field: the path of a setting, or `responder` for agent and model. */
export type FieldProblems = Readonly<Record<string, FieldProblem>>;
export type FieldProblem =
  | { readonly type: "not_a_number" | "invalid_json" | "not_an_object" | "set_twice" }
  | { readonly type: "server_message"; readonly text: string };

export function toSettingsForm(settings: ChatSettings): SettingsForm {
  const { instructions, tool_groups, skills, limits = {}, privacy } = settings;
  const toText = (value: number | undefined) => (value === undefined ? "" : String(value));
  return {
    ...splitOptions(settings.options),
    responder: getSelectedResponder(settings),
    instructions,
    toolGroups: tool_groups,
    skills,
    limits: {
      rounds: toText(limits.rounds),
      tokens: toText(limits.tokens),
      cost: toText(limits.cost),
      seconds: toText(limits.seconds),
      depth: toText(limits.depth),
    },
    resultApproval: settings.result_approval,
    turns: toText(settings.turns),
    messageTimes: settings.message_times,
    timeZone: settings.time_zone ?? "",
    titleModel: settings.title_model ?? "",
    privacy: privacy && toPrivacyForm(privacy),
  };
}

export function toPrivacyForm({
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

/** Converts the form to settings, and reports the problems that can be found without the gateway. */
export function parseSettingsForm(form: SettingsForm): {
  settings: ChatSettings;
  problems: FieldProblems;
} {
  const problems: Record<string, FieldProblem> = {};
  const parseNumber = (text: string, field: string): number | undefined => {
    if (text.trim() === "") return undefined;
    const value = Number(text);
    if (Number.isFinite(value)) return value;
    problems[field] = { type: "not_a_number" };
    return undefined;
  };
  const limits = omitUndefined(
    Object.fromEntries(
      limitNames.map((name) => [name, parseNumber(form.limits[name], `limits.${name}`)]),
    ),
  );
  const settings = omitUndefined({
    ...form.responder,
    instructions: form.instructions,
    tool_groups: form.toolGroups,
    skills: form.skills,
    options: joinOptions(form, parseNumber, (field, type) => (problems[field] = { type })),
    limits: Object.keys(limits).length === 0 ? undefined : limits,
    result_approval: form.resultApproval,
    turns: parseNumber(form.turns, "turns"),
    privacy: form.privacy && {
      enabled: form.privacy.enabled,
      fields: form.privacy.fields.map(toPrivacyField),
    },
    time_zone: form.timeZone.trim() === "" ? undefined : form.timeZone.trim(),
    message_times: form.messageTimes,
    title_model: form.titleModel === "" ? undefined : form.titleModel,
  }) as ChatSettings;
  for (const error of checkSettings(settings)) {
    const { field, text } = parseFieldError(error);
    problems[field] ??= { type: "server_message", text };
  }
  return { settings, problems };
}

/** Omits inputs that the kind does not use: the kind may have been changed after they were filled in. */
function toPrivacyField({ kind, value, pattern, label }: PrivacyRow): PrivacyField {
  const hasPattern = kind === "pattern";
  return {
    kind,
    ...(hasPattern || value.trim() === "" ? {} : { value: value.trim() }),
    ...(hasPattern && pattern !== "" ? { pattern } : {}),
    ...(label.trim() === "" ? {} : { label: label.trim() }),
  };
}

/** Returns a patch with the changed settings. */
export function diffSettings(before: ChatSettings, after: ChatSettings): SettingsPatch {
  const names = Object.keys({ ...before, ...after }) as (keyof ChatSettings)[];
  const changedNames = names.filter(
    (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
  );
  return Object.fromEntries(changedNames.map((name) => [name, after[name] ?? null]));
}

export function isSameForm(a: SettingsForm, b: SettingsForm): boolean {
  return a === b || canonicalJson(omitUndefined(a)) === canonicalJson(omitUndefined(b));
}

/** Splits `settings.limits.rounds: must be …` into field and message. `path` takes precedence over the path in the text. */
export function parseFieldError(error: string, path?: string): { field: string; text: string } {
  const [, pathInText, text] = /^([\w.[\]]+): ([^]*)$/.exec(error) ?? [];
  return { field: findFormField(path ?? pathInText ?? ""), text: text ?? error };
}

/** Returns the form field for a setting's path, or for its nearest parent with a field; "" if there is none. */
export function findFormField(path: string): string {
  const setting = path.replace(/^(?:edits\[\d+\]\.patch|settings|patch)\./, "");
  if (setting === "agent" || setting === "model") return "responder";
  for (let parent = setting; parent !== ""; parent = parent.replace(/(?:^|\.)[^.]*$/, ""))
    if (isFormField(parent)) return parent;
  const [, list] = /^(tool_groups|skills)\[/.exec(setting) ?? [];
  return list ?? "";
}

function isFormField(path: string): boolean {
  return path in sectionByField || /^privacy\.fields\[\d+\]$/.test(path);
}

/** Path of each field in error messages of the gateway. Each limit and each private value has its own path. */
export const fieldPaths = {
  responder: "responder",
  instructions: "instructions",
  effort: "options.reasoning.effort",
  temperature: "options.temperature",
  maxTokens: "options.max_output_tokens",
  otherOptions: "options",
  toolGroups: "tool_groups",
  skills: "skills",
  resultApproval: "result_approval",
  turns: "turns",
  messageTimes: "message_times",
  timeZone: "time_zone",
  titleModel: "title_model",
  privacy: "privacy",
} as const satisfies Partial<Record<keyof SettingsForm, string>>;

export type FieldName = keyof typeof fieldPaths;

/** True if the chat overrides the gateway's default. */
export function isFieldSet(form: SettingsForm, name: FieldName): boolean {
  return JSON.stringify(form[name]) !== JSON.stringify(emptyForm[name]);
}

export const emptyForm: SettingsForm = toSettingsForm({});

export type SectionName = "answer" | "tools" | "conversation" | "privacy";

const sectionByField: Readonly<Record<string, SectionName>> = {
  responder: "answer",
  instructions: "answer",
  "options.reasoning.effort": "answer",
  "options.temperature": "answer",
  "options.max_output_tokens": "answer",
  options: "answer",
  tool_groups: "tools",
  skills: "tools",
  ...Object.fromEntries(limitNames.map((name) => [`limits.${name}`, "tools" as const])),
  result_approval: "tools",
  turns: "conversation",
  message_times: "conversation",
  time_zone: "conversation",
  title_model: "conversation",
  privacy: "privacy",
};

/** Returns the section of a field, or undefined if there is no such field. */
export function findSection(field: string): SectionName | undefined {
  return field.startsWith("privacy.") ? "privacy" : sectionByField[field];
}

function omitUndefined<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

/** Form inputs for model options: three have separate inputs, the others share one JSON object. */
interface OptionInputs {
  readonly effort: string;
  readonly temperature: string;
  readonly maxTokens: string;
  readonly otherOptions: string;
}

function splitOptions(options: ModelOptions = {}): OptionInputs {
  const effort = getEffort(options);
  const rest: ModelOptions = { ...withEffort(options, undefined) };
  // Other values, such as null, stay in the JSON.
  const takeNumber = (name: string) => {
    const value = rest[name];
    if (typeof value !== "number") return "";
    delete rest[name];
    return String(value);
  };
  const temperature = takeNumber("temperature");
  const maxTokens = takeNumber("max_output_tokens");
  const isEmpty = Object.keys(rest).length === 0;
  return {
    effort: effort ?? "",
    temperature,
    maxTokens,
    otherOptions: isEmpty ? "" : JSON.stringify(rest, undefined, 2),
  };
}

type OptionProblem = "invalid_json" | "not_an_object" | "set_twice";

/** Returns undefined if no option is set. */
function joinOptions(
  { effort, temperature, maxTokens, otherOptions }: OptionInputs,
  parseNumber: (text: string, field: string) => number | undefined,
  addProblem: (field: string, problem: OptionProblem) => void,
): ModelOptions | undefined {
  const parsed = parseJsonObject(otherOptions);
  if (typeof parsed === "string") addProblem("options", parsed);
  const rest = typeof parsed === "string" ? {} : parsed;
  const numbers = {
    temperature: parseNumber(temperature, "options.temperature"),
    max_output_tokens: parseNumber(maxTokens, "options.max_output_tokens"),
  };
  const entries = Object.entries(numbers).filter(([, value]) => value !== undefined);
  if (entries.some(([name]) => name in rest) || (effort !== "" && getEffort(rest) !== undefined))
    addProblem("options", "set_twice");
  const joinedOptions = { ...rest, ...Object.fromEntries(entries) };
  const options = effort === "" ? joinedOptions : (withEffort(joinedOptions, effort) ?? {});
  return Object.keys(options).length === 0 ? undefined : options;
}

function parseJsonObject(text: string): JsonObject | "invalid_json" | "not_an_object" {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : "not_an_object";
  } catch {
    return "invalid_json";
  }
}

export function getEffort(options: ModelOptions | undefined): string | undefined {
  const { effort } = toObject(options?.["reasoning"]);
  return typeof effort === "string" ? effort : undefined;
}

/** Returns the options with another effort, or without one. Null if no option remains. */
export function withEffort(
  options: ModelOptions | undefined,
  effort: string | undefined,
): ModelOptions | null {
  const { reasoning, ...others } = options ?? {};
  const { effort: _previous, ...rest } = toObject(reasoning);
  const newReasoning = effort === undefined ? rest : { ...rest, effort };
  const newOptions =
    Object.keys(newReasoning).length === 0 ? others : { ...others, reasoning: newReasoning };
  return Object.keys(newOptions).length === 0 ? null : newOptions;
}

function toObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}
