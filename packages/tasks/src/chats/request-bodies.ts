import * as v from "valibot";
import {
  integer,
  issuePath,
  jsonObject,
  jsonString,
  readonlyArray,
  strictObject,
  optionalFields,
  patchFields,
  stringOrOther,
  boundedText,
  wellFormed,
  nonBlankText,
} from "./schema-builders.ts";
import {
  attachmentSchema,
  messageFields,
  modelOptionsSchema,
  newChatSchema,
  userEditSchema,
} from "./chat-schemas.ts";

/*
 * The request bodies of `/api/chats…` and of the other routes that chat clients use. Clients import the types; the gateway
 * validates the bodies and describes them in its OpenAPI document. A null field counts as absent unless its schema allows null.
 */

const objectOptions = { nullIsAbsent: true };

/** Name or id of an agent, a model, a node, … */
export const resourceName = nonBlankText(300);
const reasonSchema = v.pipe(v.string(), v.maxLength(10_000));
const revisionSchema = v.pipe(
  integer(0),
  v.description(
    "The expected revision of the chat. If the chat has a different one, the response is 409.",
  ),
);

/** A URL that may be fetched and shown. A `file:` URL would read files of the server, a `javascript:` URL would run in a page. */
const webUrl = v.pipe(
  v.string(),
  v.check(
    (url) => /^(?:https?:\/\/|data:|\/api\/blobs\/[\da-f]{64}$)/i.test(url),
    "must be an https:, http: or data: URL, or the URL of a blob",
  ),
);

const messageBodyFields = {
  ...messageFields,
  ...optionalFields({
    attachments: readonlyArray(
      strictObject({
        ...attachmentSchema.entries,
        url: webUrl,
        ...optionalFields({ filename: boundedText(1000), media_type: boundedText(1000) }),
      }),
      { max: 1000 },
    ),
  }),
};

const responderFields = optionalFields({
  agent: v.pipe(resourceName, v.description("The agent for this answer only.")),
  model: v.pipe(
    resourceName,
    v.description("The model for this answer only, instead of an agent."),
  ),
  revision: revisionSchema,
});

interface ResponderChoice {
  readonly agent?: string;
  readonly model?: string;
}

/** Rejects a body with both an agent and a model. */
const checkSingleResponder = <Body extends ResponderChoice>() =>
  v.rawCheck<Body>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    if (input.agent === undefined || input.model === undefined) return;
    addIssue({
      message: "expected either agent or model, not both",
      path: issuePath(input, "model"),
    });
  });

/** `POST /api/chats` */
export type NewChatBody = v.InferInput<typeof newChatBody>;
export const newChatBody = newChatSchema;

/** `POST /api/chats/{chat}/edits`. All edits are applied, or none. `revision`: the revision that the user saw. */
export type EditsBody = v.InferInput<typeof editsBody>;
export const editsBody = strictObject({
  revision: revisionSchema,
  edits: readonlyArray(userEditSchema, { min: 1, max: 1000 }),
});

/** `POST /api/chats/{chat}/send` */
export type SendBody = v.InferInput<typeof sendBody>;
export const sendBody = v.pipe(
  strictObject(
    {
      ...messageBodyFields,
      ...responderFields,
      ...patchFields({
        parent: v.pipe(
          resourceName,
          v.description("Absent: the end of the current path. Null: a new root."),
        ),
      }),
    },
    objectOptions,
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const { text, attachments = [], contexts = [] } = input;
    if (text.trim() !== "" || attachments.length > 0 || contexts.length > 0) return;
    addIssue({
      message: "must not be empty without attachments or contexts",
      path: issuePath(input, "text"),
    });
  }),
  checkSingleResponder(),
);

/** Overrides the agent, model and options of the chat for one answer. */
export type AnswerChoiceBody = Omit<NodeBody, "node_id">;

/** `POST /api/chats/{chat}/rerun` and `/continue` */
export type NodeBody = v.InferInput<typeof nodeBody>;
export const nodeBody = v.pipe(
  strictObject(
    {
      node_id: resourceName,
      ...optionalFields({ options: modelOptionsSchema }),
      ...responderFields,
    },
    objectOptions,
  ),
  checkSingleResponder(),
);

/** `POST /api/chats/{chat}/edit-message` */
export type EditBody = v.InferInput<typeof editBody>;
export const editBody = v.pipe(
  strictObject(
    {
      node_id: resourceName,
      as: v.exactOptional(v.picklist(["version", "branch"]), "version"),
      send: v.exactOptional(
        v.pipe(v.boolean(), v.description("For a user message: whether to generate a new answer.")),
        true,
      ),
      ...messageBodyFields,
      ...responderFields,
    },
    objectOptions,
  ),
  checkSingleResponder(),
);

/** `POST /api/chats/{chat}/undo`, `/extract` and `/stop` (without a node: all running answers). */
export type UndoBody = v.InferInput<typeof undoBody>;
export const undoBody = strictObject({ removal_id: resourceName });
export type ExtractBody = v.InferInput<typeof extractBody>;
export const extractBody = strictObject({ node_id: resourceName });
export type StopBody = v.InferInput<typeof stopBody>;
export const stopBody = strictObject(optionalFields({ node_id: resourceName }), objectOptions);

/** Limit for the input of a task, and for the replacement of a tool result. */
const maxTextCharacters = 10_000_000;

const urlObject = strictObject({ url: webUrl });

/** The input of a task. */
export const taskInputSchema = stringOrOther(
  v.pipe(
    v.string(),
    v.maxLength(maxTextCharacters),
    v.regex(/\S/, "must not be empty"),
    wellFormed,
  ),
  readonlyArray(
    v.variant("type", [
      strictObject({ type: v.literal("text"), text: boundedText(maxTextCharacters) }),
      strictObject({ type: v.literal("image_url"), image_url: urlObject }),
      strictObject({ type: v.literal("audio_url"), audio_url: urlObject }),
      strictObject(
        {
          type: v.literal("file_url"),
          file_url: urlObject,
          ...optionalFields({ filename: resourceName, media_type: resourceName }),
        },
        objectOptions,
      ),
    ]),
    { min: 1 },
  ),
  "must be a string or an array of parts",
);

/** `POST /api/tasks/{task}/input` */
export type TaskInputBody = v.InferOutput<typeof taskInputBody>;
export const taskInputBody = strictObject(
  { input: taskInputSchema, delivery: v.exactOptional(v.picklist(["steer", "queue"]), "steer") },
  objectOptions,
);

/** `POST /api/tasks/{task}/cancel` */
export const cancelBody = strictObject(optionalFields({ reason: reasonSchema }), objectOptions);

/** `POST /api/approvals/{approval}`: the decision of a user. */
export type DecisionBody = v.InferInput<typeof decisionBody>;
export const decisionBody = strictObject(
  {
    decision: v.picklist(["approve", "deny", "redact", "abort"]),
    ...optionalFields({
      arguments: v.pipe(
        stringOrOther(jsonString, jsonObject, "must be an object or its JSON text"),
        v.description("Replace the arguments of the model: an object, or its JSON text."),
      ),
      reason: reasonSchema,
      scope: v.pipe(
        v.picklist(["once", "session"]),
        v.description("Absent: the widest scope that the approval offers."),
      ),
      any_arguments: v.boolean(),
      replacement: v.pipe(
        v.string(),
        v.maxLength(maxTextCharacters),
        v.description("What the model receives instead of the result."),
      ),
    }),
  },
  objectOptions,
);
