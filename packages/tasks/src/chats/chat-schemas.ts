import * as v from "valibot";
import { isPlainObject } from "./value-checks.ts";
import {
  acceptFormerValues,
  findProblems,
  integer,
  issuePath,
  smallJsonObject,
  readonlyArray,
  nonEmptyText,
  strictObject,
  optionalFields,
  patchFields,
  positiveNumber,
  boundedText,
  wellFormed,
  nonBlankText,
} from "./schema-builders.ts";
import { formerResultPolicies, upgradeSettings } from "./upgrade-settings.ts";

/* Schemas of settings, messages and edits, as clients send them and as chats store them. */

/** Limit for a message, for each context snippet and for instructions. */
export const maxMessageCharacters = 1_000_000;

/** Name of an agent, model or tool group, or a node id. */
const nameSchema = nonEmptyText(300);

/** Upper limits of what a task may use. */
export const limitsSchema = strictObject(
  optionalFields({
    rounds: integer(1),
    tokens: integer(1),
    cost: positiveNumber,
    seconds: positiveNumber,
    depth: integer(0),
  }),
);

/**
 * Parameters by their names in the Responses API. `null` removes a parameter that less specific options set, such as those of
 * the chat.
 */
export type ModelOptions = v.InferOutput<typeof modelOptionsSchema>;
export const modelOptionsSchema = v.pipe(
  smallJsonObject,
  v.description(
    "Parameters for the model by their names in the Responses API; null removes a parameter.",
  ),
);

export type PrivacyKind = keyof typeof privacyKinds;
/** The field that each kind requires. Kinds without one match by format, or exactly `value` if it is set. */
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

export type PrivacyField = Readonly<v.InferOutput<typeof privacyFieldSchema>>;
const privacyFieldSchema = v.pipe(
  strictObject({
    kind: v.picklist(Object.keys(privacyKinds) as PrivacyKind[]),
    ...optionalFields({
      value: nonEmptyText(10_000),
      pattern: nonEmptyText(10_000),
      label: v.pipe(
        nameSchema,
        v.description("For the placeholder: {{LABEL_1_x7f3}}; default: the kind."),
      ),
    }),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const requiredField = privacyKinds[input.kind];
    const unusedField = requiredField === "pattern" ? "value" : "pattern";
    const invalidField =
      requiredField !== undefined && input[requiredField] === undefined
        ? requiredField
        : unusedField;
    if (invalidField === unusedField && input[unusedField] === undefined) return;
    addIssue({
      message:
        invalidField === requiredField
          ? `is required for the kind "${input.kind}"`
          : `is not allowed for the kind "${input.kind}"`,
      path: issuePath(input, invalidField),
    });
  }),
);

export type PrivacySettings = Readonly<v.InferOutput<typeof privacySettingsSchema>>;
const privacySettingsSchema = strictObject({
  enabled: v.boolean(),
  fields: readonlyArray(privacyFieldSchema),
});

const resultPolicySchema = acceptFormerValues(
  v.picklist(["never", "on_error", "always"]),
  formerResultPolicies,
);

const settingsFields = {
  agent: nameSchema,
  model: nameSchema,
  instructions: v.pipe(
    boundedText(maxMessageCharacters),
    v.description("The user's system prompt."),
  ),
  tool_groups: readonlyArray(nameSchema),
  skills: v.pipe(
    readonlyArray(nameSchema),
    v.description("By name; absent: all configured skills."),
  ),
  options: modelOptionsSchema,
  limits: limitsSchema,
  result_approval: v.pipe(
    resultPolicySchema,
    v.description(
      "When a user must approve a tool's result before the model receives it; absent: the default of the gateway.",
    ),
  ),
  results: v.pipe(resultPolicySchema, v.description("Former name of `result_approval`.")),
  turns: v.pipe(
    integer(0),
    v.description(
      "How many turns of the conversation the model receives. 0: all; absent: the default of the gateway.",
    ),
  ),
  privacy: privacySettingsSchema,
  time_zone: v.pipe(
    nonEmptyText(100),
    v.description("An IANA name, for the date in the system prompt."),
  ),
  message_times: v.pipe(
    v.boolean(),
    v.description("Adds the time of day to every message of the user."),
  ),
  exact_time: v.pipe(v.boolean(), v.description("Former name of `message_times`.")),
  title_model: v.pipe(
    nameSchema,
    v.description("The model that names the chat; absent: the model that answers."),
  ),
};

/** Time zones, and the cost of a privacy field's pattern, are checked where they are used. */
export type ChatSettings = Readonly<v.InferOutput<typeof chatSettingsSchema>>;
export const chatSettingsSchema = v.pipe(
  strictObject(optionalFields(settingsFields)),
  v.rawCheck(({ dataset: { value: input }, addIssue }) => {
    if (!isPlainObject(input) || input["agent"] === undefined || input["model"] === undefined)
      return;
    addIssue({
      message: "a chat can have an agent or a model, not both",
      path: issuePath(input, "agent"),
    });
  }),
);

const chatTitleSchema = nonBlankText(300);

const chatTagsSchema = v.pipe(
  readonlyArray(nonBlankText(100), { max: 100 }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const duplicateIndex = input.findIndex((tag, index) => input.indexOf(tag) !== index);
    if (duplicateIndex === -1) return;
    addIssue({
      message: "is a duplicate",
      path: issuePath(input, duplicateIndex),
    });
  }),
  v.metadata({ uniqueItems: true }),
);

const messageTextSchema = v.pipe(
  v.string(),
  v.maxLength(
    maxMessageCharacters,
    `must have at most ${maxMessageCharacters} characters; send the rest as another message or attach it as a file`,
  ),
  wellFormed,
);

/** Imported conversations may have file names of any length; limits for clients are in `request-bodies.ts`. */
export type Attachment = Readonly<v.InferOutput<typeof attachmentSchema>>;
export const attachmentSchema = strictObject({
  kind: v.picklist(["image", "audio", "file"]),
  url: v.pipe(
    v.string(),
    v.nonEmpty(),
    wellFormed,
    v.description(
      "The URL of a blob, or a URL with https:, http: or data:. Limited only by the size of the body.",
    ),
  ),
  ...optionalFields({
    filename: v.pipe(v.string(), wellFormed),
    media_type: v.pipe(v.string(), wellFormed),
    size: v.pipe(integer(0), v.description("In bytes.")),
  }),
});

/** Context that the user added to a message: a file, a selection, a page. Stored apart from the message text. */
export type ContextSnippet = Readonly<v.InferOutput<typeof contextSnippetSchema>>;
export const contextSnippetSchema = strictObject({
  kind: v.picklist(["file", "selection", "page", "text"]),
  title: boundedText(10_000),
  text: messageTextSchema,
  ...optionalFields({ url: boundedText(100_000) }),
});

/** The fields of a user message. */
export const messageFields = {
  text: messageTextSchema,
  ...optionalFields({
    attachments: readonlyArray(attachmentSchema, { max: 1000 }),
    contexts: readonlyArray(contextSnippetSchema, { max: 1000 }),
    options: modelOptionsSchema,
  }),
};

export type NewMessage = Readonly<v.InferOutput<typeof newMessageSchema>>;
const newMessageSchema = strictObject(messageFields);

const nodeFields = { node_id: nameSchema };
const versionFields = { node_id: nameSchema, version_id: nameSchema };
const markFields = { node_id: nameSchema, value: v.boolean() };

/** The edits that clients can send to `POST /api/chats/{chat}/edits`. */
export type UserEdit = Readonly<v.InferOutput<typeof userEditSchema>>;
export const userEditSchema = v.variant("type", [
  strictObject({ type: v.literal("rename"), title: chatTitleSchema }),
  strictObject({ type: v.literal("tag"), tags: chatTagsSchema }),
  strictObject({ type: v.literal("pin_chat"), value: v.boolean() }),
  /** Sets the given fields; `null` removes one. */
  strictObject({ type: v.literal("settings"), patch: strictObject(patchFields(settingsFields)) }),
  /** Moves the current path to this node; below it, the path is unchanged. */
  strictObject({ type: v.literal("choose_branch"), ...nodeFields }),
  strictObject({ type: v.literal("choose_version"), ...versionFields }),
  strictObject({ type: v.literal("pin"), ...markFields }),
  strictObject({ type: v.literal("hide"), ...markFields }),
  strictObject({ type: v.literal("bookmark"), ...markFields }),
  /** Between a node and the next node on the path, or at the end of the path. */
  strictObject({ type: v.literal("add_separator"), after: nameSchema }),
  /** `children`: whether the nodes below are deleted too, or move up to the parent. */
  strictObject({
    type: v.literal("delete_node"),
    ...nodeFields,
    children: v.picklist(["delete", "keep"]),
  }),
  strictObject({ type: v.literal("delete_version"), ...versionFields }),
]);

export type NewChatInput = Readonly<v.InferOutput<typeof newChatSchema>>;
export const newChatSchema = strictObject(
  optionalFields({ title: chatTitleSchema, settings: chatSettingsSchema, tags: chatTagsSchema }),
  { nullIsAbsent: true },
);

/** Returns all problems, each prefixed with its path. */
export function checkSettings(value: unknown, path = ""): string[] {
  return findProblems(chatSettingsSchema, value, path);
}

export function checkTitle(value: unknown, path = "title"): string[] {
  return findProblems(chatTitleSchema, value, path);
}

export function checkTags(value: unknown, path = "tags"): string[] {
  return findProblems(chatTagsSchema, value, path);
}

export function checkMessage(value: unknown, path = ""): string[] {
  return findProblems(newMessageSchema, value, path);
}

/** Checks the values of an edit. Whether the chat allows it is checked by `applyEdit`. */
export function checkUserEdit(value: unknown): string[] {
  return findProblems(userEditSchema, value);
}

export function applySettingsPatch(settings: ChatSettings, patch: SettingsPatch): ChatSettings {
  const definedEntries = Object.entries(upgradeSettings(patch)).filter(
    ([, value]) => value !== undefined,
  );
  const mergedEntries = Object.entries({
    ...upgradeSettings(settings),
    ...Object.fromEntries(definedEntries),
  });
  return Object.fromEntries(mergedEntries.filter(([, value]) => value !== null));
}

type SettingsPatch = Extract<UserEdit, { type: "settings" }>["patch"];
