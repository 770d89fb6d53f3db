import * as v from "valibot";
import {
  integer,
  issuePath,
  jsonObject,
  jsonText,
  list,
  object,
  optionalFields,
  patchFields,
  stringOr,
  text,
  wellFormed,
  words,
} from "./schema.ts";
import { attachment, messageFields, modelOptions, newChat, personEdit } from "./chat-schemas.ts";

/*
 * The bodies of `/api/chats…`, and what else a chat client sends. Clients have the types, a gateway parses the bodies and
 * describes them in its OpenAPI document. A field that is null is absent, unless null means something.
 */

const nullIsAbsent = { nullIsAbsent: true };

/** Of an agent, a model, a node, … */
export const resourceName = words(300);
const reason = v.pipe(v.string(), v.maxLength(10_000));
const revision = v.pipe(
  integer(0),
  v.description("Only if the chat is still at it; else the answer is 409."),
);

/** Nothing else may be fetched or shown: `file:` would read this machine, `javascript:` run in a page. */
const webAddress = v.pipe(
  v.string(),
  v.check(
    (url) => /^(?:https?:\/\/|data:|\/api\/blobs\/[\da-f]{64}$)/i.test(url),
    "must be an address with https:, http: or data:, or a blob's",
  ),
);

const message = {
  ...messageFields,
  ...optionalFields({
    attachments: list(
      object({
        ...attachment.entries,
        url: webAddress,
        ...optionalFields({ filename: text(1000), media_type: text(1000) }),
      }),
      { max: 1000 },
    ),
  }),
};

const choice = optionalFields({
  agent: v.pipe(resourceName, v.description("The agent that answers this once.")),
  model: v.pipe(resourceName, v.description("Or the model that answers this once.")),
  revision,
});

interface Choice {
  readonly agent?: string;
  readonly model?: string;
}

/** An action that refuses both an agent and a model. */
const oneResponder = <Body extends Choice>() =>
  v.rawCheck<Body>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    if (input.agent === undefined || input.model === undefined) return;
    addIssue({
      message: "expected one of agent and model, not both",
      path: issuePath(input, "model"),
    });
  });

/** `POST /api/chats` */
export type NewChatBody = v.InferInput<typeof newChatBody>;
export const newChatBody = newChat;

/** `POST /api/chats/{chat}/edits`. All or none. The revision is that of the chat as the person saw it. */
export type EditsBody = v.InferInput<typeof editsBody>;
export const editsBody = object({ revision, edits: list(personEdit, { min: 1, max: 1000 }) });

/** `POST /api/chats/{chat}/send` */
export type SendBody = v.InferInput<typeof sendBody>;
export const sendBody = v.pipe(
  object(
    {
      ...message,
      ...choice,
      ...patchFields({
        parent: v.pipe(
          resourceName,
          v.description("Absent: at the end of the path. Null: a new root."),
        ),
      }),
    },
    nullIsAbsent,
  ),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { value: input } = dataset;
    const { text, attachments = [], contexts = [] } = input;
    if (text.trim() !== "" || attachments.length > 0 || contexts.length > 0) return;
    addIssue({
      message: "must have words, or something beside them",
      path: issuePath(input, "text"),
    });
  }),
  oneResponder(),
);

/** Who answers this once, and how, over what the chat says. */
export type AnswerChoiceBody = Omit<NodeBody, "node_id">;

/** `POST /api/chats/{chat}/rerun` and `/continue` */
export type NodeBody = v.InferInput<typeof nodeBody>;
export const nodeBody = v.pipe(
  object(
    { node_id: resourceName, ...optionalFields({ options: modelOptions }), ...choice },
    nullIsAbsent,
  ),
  oneResponder(),
);

/** `POST /api/chats/{chat}/edit` */
export type EditBody = v.InferInput<typeof editBody>;
export const editBody = v.pipe(
  object(
    {
      node_id: resourceName,
      as: v.exactOptional(v.picklist(["version", "branch"]), "version"),
      send: v.exactOptional(
        v.pipe(
          v.boolean(),
          v.description("Of a user's message: whether the model is asked again."),
        ),
        true,
      ),
      ...message,
      ...choice,
    },
    nullIsAbsent,
  ),
  oneResponder(),
);

/** `POST /api/chats/{chat}/undo`, `/extract` and `/stop` (without a node: all that run). */
export type UndoBody = v.InferInput<typeof undoBody>;
export const undoBody = object({ removal_id: resourceName });
export type ExtractBody = v.InferInput<typeof extractBody>;
export const extractBody = object({ node_id: resourceName });
export type StopBody = v.InferInput<typeof stopBody>;
export const stopBody = object(optionalFields({ node_id: resourceName }), nullIsAbsent);

/** Of the words that a task is given: of its input, and of what the model gets instead of a tool's result. */
const maxTextCharacters = 10_000_000;

const linked = object({ url: webAddress });

/** What a task is asked to do. */
export const taskInput = stringOr(
  v.pipe(
    v.string(),
    v.maxLength(maxTextCharacters),
    v.regex(/\S/, "must say what to do, got no text"),
    wellFormed,
  ),
  list(
    v.variant("type", [
      object({ type: v.literal("text"), text: text(maxTextCharacters) }),
      object({ type: v.literal("image_url"), image_url: linked }),
      object({ type: v.literal("audio_url"), audio_url: linked }),
      object(
        {
          type: v.literal("file_url"),
          file_url: linked,
          ...optionalFields({ filename: resourceName, media_type: resourceName }),
        },
        nullIsAbsent,
      ),
    ]),
    { min: 1 },
  ),
  "must be a string or an array of parts",
);

/** `POST /api/tasks/{task}/input` */
export type TaskInputBody = v.InferOutput<typeof taskInputBody>;
export const taskInputBody = object(
  { input: taskInput, delivery: v.exactOptional(v.picklist(["steer", "queue"]), "steer") },
  nullIsAbsent,
);

/** `POST /api/tasks/{task}/cancel` */
export const cancelBody = object(optionalFields({ reason }), nullIsAbsent);

/** `POST /api/approvals/{approval}`: what a person decides for a task that waits. */
export type DecisionBody = v.InferInput<typeof decisionBody>;
export const decisionBody = object(
  {
    decision: v.picklist(["approve", "deny", "redact", "abort"]),
    ...optionalFields({
      arguments: v.pipe(
        stringOr(jsonText, jsonObject, "must be an object or its JSON text"),
        v.description("To be run instead of the model's: as they are, or as JSON text."),
      ),
      reason,
      scope: v.pipe(
        v.picklist(["once", "session"]),
        v.description("Absent: the widest that the approval offers."),
      ),
      any_arguments: v.boolean(),
      replacement: v.pipe(
        v.string(),
        v.maxLength(maxTextCharacters),
        v.description("What the model receives instead of a result."),
      ),
    }),
  },
  nullIsAbsent,
);
