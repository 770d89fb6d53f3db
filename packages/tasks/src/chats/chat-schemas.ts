import * as v from "valibot";
import { isPlainObject } from "./check-value.ts";
import {
  findProblems,
  integer,
  issuePath,
  smallJsonObject,
  list,
  nonEmpty,
  object,
  optionalFields,
  patchFields,
  positive,
  text,
  wellFormed,
  words,
} from "./schema.ts";

/* Schemas of settings, messages and edits, as clients send them and as chats store them. */

/** Of a message, of each context beside it, and of instructions. */
export const maxMessageCharacters = 1_000_000;

/** Of an agent, a model, a node, … */
const name = nonEmpty(300);

/** Upper limits of what a task may use. */
export const limits = object(
  optionalFields({
    rounds: integer(1),
    tokens: integer(1),
    cost: positive,
    seconds: positive,
    depth: integer(0),
  }),
);

/** Parameters by their names in the Responses API. `null` removes what a lower layer has set. */
export type ModelOptions = v.InferOutput<typeof modelOptions>;
export const modelOptions = v.pipe(
  smallJsonObject,
  v.description(
    "Parameters for the model by their names in the Responses API; null takes one out.",
  ),
);

export type PrivacyKind = keyof typeof privacyKinds;
/** The field that a kind requires. The other kinds match by form, or exactly `value` if it is set. */
const privacyKinds = {
  email: undefined,
  phone: undefined,
  card: undefined,
  key: undefined,
  password: undefined,
  id: undefined,
  name: "value",
  text: "value",
  pattern: "pattern",
} as const;

export type PrivacyField = Readonly<v.InferOutput<typeof privacyField>>;
const privacyField = v.pipe(
  object({
    kind: v.picklist(Object.keys(privacyKinds) as PrivacyKind[]),
    ...optionalFields({
      value: nonEmpty(10_000),
      pattern: nonEmpty(10_000),
      label: v.pipe(
        name,
        v.description("For the placeholder: {{LABEL_1_x7f3}}; the kind unless it says otherwise."),
      ),
    }),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const needed = privacyKinds[input.kind];
    const unused = needed === "pattern" ? "value" : "pattern";
    const key = needed !== undefined && input[needed] === undefined ? needed : unused;
    if (key === unused && input[unused] === undefined) return;
    addIssue({
      message:
        key === needed
          ? `is missing: the kind "${input.kind}" needs it`
          : `has no meaning for the kind "${input.kind}"`,
      path: issuePath(input, key),
    });
  }),
);

export type PrivacySettings = Readonly<v.InferOutput<typeof privacySettings>>;
const privacySettings = object({ enabled: v.boolean(), fields: list(privacyField) });

const settingsFields = {
  agent: name,
  model: name,
  instructions: v.pipe(text(maxMessageCharacters), v.description("The user's system prompt.")),
  tool_groups: list(name),
  skills: v.pipe(list(name), v.description("By name; absent: all that are configured.")),
  options: modelOptions,
  limits,
  results: v.pipe(
    v.picklist(["never", "on error", "always"]),
    v.description(
      "When a person is asked before the model gets a tool's result; absent: as the gateway is configured.",
    ),
  ),
  turns: v.pipe(
    integer(0),
    v.description(
      "How many turns of the conversation the model receives; absent: as the gateway is configured. 0: all.",
    ),
  ),
  privacy: privacySettings,
  time_zone: v.pipe(
    nonEmpty(100),
    v.description("An IANA name, for the date in the system prompt."),
  ),
  exact_time: v.pipe(
    v.boolean(),
    v.description("Every message of the user tells its time of day."),
  ),
  title_model: v.pipe(
    name,
    v.description("The model that names the chat; absent: the one that answers."),
  ),
};

/** Time zones, and what a pattern of a privacy field may cost, are checked where they are used. */
export type ChatSettings = Readonly<v.InferOutput<typeof chatSettings>>;
export const chatSettings = v.pipe(
  object(optionalFields(settingsFields)),
  v.rawCheck(({ dataset: { value: input }, addIssue }) => {
    if (!isPlainObject(input) || input["agent"] === undefined || input["model"] === undefined)
      return;
    addIssue({
      message: "a chat has an agent or a model, not both",
      path: issuePath(input, "agent"),
    });
  }),
);

const chatTitle = words(300);

const chatTags = v.pipe(
  list(words(100), { max: 100 }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const key = input.findIndex((tag, index) => input.indexOf(tag) !== index);
    if (key === -1) return;
    addIssue({
      message: "is there twice",
      path: issuePath(input, key),
    });
  }),
  v.metadata({ uniqueItems: true }),
);

const messageText = v.pipe(
  v.string(),
  v.maxLength(
    maxMessageCharacters,
    `must have at most ${maxMessageCharacters} characters: send the rest as another message or attach it as a file`,
  ),
  wellFormed,
);

/** Imported conversations of others have names of any length; what clients send is limited in `bodies.ts`. */
export type Attachment = Readonly<v.InferOutput<typeof attachment>>;
export const attachment = object({
  kind: v.picklist(["image", "audio", "file"]),
  url: v.pipe(
    v.string(),
    v.nonEmpty(),
    wellFormed,
    v.description("Of a blob, or with https:, http: or data:. As long as a body may be."),
  ),
  ...optionalFields({
    filename: v.pipe(v.string(), wellFormed),
    media_type: v.pipe(v.string(), wellFormed),
    size: v.pipe(integer(0), v.description("In bytes.")),
  }),
});

/** Context that the user added to a message: a file, a selection, a page. Stored apart from its text. */
export type ContextSnippet = Readonly<v.InferOutput<typeof contextSnippet>>;
export const contextSnippet = object({
  kind: v.picklist(["file", "selection", "page", "text"]),
  title: text(10_000),
  text: messageText,
  ...optionalFields({ url: text(100_000) }),
});

/** The fields of a message of the user. */
export const messageFields = {
  text: messageText,
  ...optionalFields({
    attachments: list(attachment, { max: 1000 }),
    contexts: list(contextSnippet, { max: 1000 }),
    options: modelOptions,
  }),
};

export type NewMessage = Readonly<v.InferOutput<typeof newMessage>>;
const newMessage = object(messageFields);

const ofNode = { node_id: name };
const ofVersion = { node_id: name, version_id: name };
const mark = { node_id: name, value: v.boolean() };

/** What clients may ask for in `POST /api/chats/{chat}/edits`. */
export type PersonEdit = Readonly<v.InferOutput<typeof personEdit>>;
export const personEdit = v.variant("type", [
  object({ type: v.literal("rename"), title: chatTitle }),
  object({ type: v.literal("tag"), tags: chatTags }),
  object({ type: v.literal("pin_chat"), value: v.boolean() }),
  /** By field; `null` takes one out. */
  object({ type: v.literal("settings"), patch: object(patchFields(settingsFields)) }),
  /** The current path goes through this node, and on from it as it did before. */
  object({ type: v.literal("choose_branch"), ...ofNode }),
  object({ type: v.literal("choose_version"), ...ofVersion }),
  object({ type: v.literal("pin"), ...mark }),
  object({ type: v.literal("hide"), ...mark }),
  object({ type: v.literal("bookmark"), ...mark }),
  /** At the end of the path, or between a node and the next one on the path. */
  object({ type: v.literal("add_separator"), after: name }),
  /** `children`: what stands under it goes too, or moves up to its parent. */
  object({ type: v.literal("delete_node"), ...ofNode, children: v.picklist(["delete", "keep"]) }),
  object({ type: v.literal("delete_version"), ...ofVersion }),
]);

export type NewChat = Readonly<v.InferOutput<typeof newChat>>;
export const newChat = object(
  optionalFields({ title: chatTitle, settings: chatSettings, tags: chatTags }),
  { nullIsAbsent: true },
);

/** Returns all problems, each with its path before it. */
export function checkSettings(value: unknown, path = ""): string[] {
  return findProblems(chatSettings, value, path);
}

export function checkTitle(value: unknown, path = "title"): string[] {
  return findProblems(chatTitle, value, path);
}

export function checkTags(value: unknown, path = "tags"): string[] {
  return findProblems(chatTags, value, path);
}

export function checkMessage(value: unknown, path = ""): string[] {
  return findProblems(newMessage, value, path);
}

/** Checks the values of an edit; whether the chat allows it is checked by `applyEdit`. */
export function checkPersonEdit(value: unknown): string[] {
  return findProblems(personEdit, value);
}

export function settingsAfter(settings: ChatSettings, patch: SettingsPatch): ChatSettings {
  const given = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = Object.entries({ ...settings, ...Object.fromEntries(given) });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

type SettingsPatch = Extract<PersonEdit, { type: "settings" }>["patch"];
