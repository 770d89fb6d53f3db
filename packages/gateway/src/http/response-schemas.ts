import type { TaskView } from "@deltawire/tasks";
import { taskStatuses } from "@deltawire/tasks";
import type {
  ApprovalsReply,
  BlobReply,
  ChangeReply,
  Chat,
  ChatChoices,
  ChatListReply,
  ChatNode,
  ChatReply,
  ChatSearchReply,
  ChatUpdate,
  ChatSummary,
  ChatVariable,
  DecisionReply,
  EditsReply,
  InputReply,
  RemovalSummary,
  RunningAnswer,
  SendReply,
  StopReply,
} from "@deltawire/tasks/chats";
import {
  attachmentSchema,
  chatSettingsSchema,
  contextSnippetSchema,
  integer,
  limitsSchema,
  readonlyArray,
  modelOptionsSchema,
  strictObject,
  optionalFields,
} from "@deltawire/tasks/chats";
import * as v from "valibot";
import { accessKeyLimitsSchema, type AccessKeyReply } from "../security/manage-access-keys.ts";
import { accessScopes } from "../security/access-scopes.ts";

/* Schemas of the API's replies, for the OpenAPI document. The compiler checks them against the types that are sent. */

/** Accepts only a schema whose input type includes every value of `Type`. */
const schemaFor =
  <Type>() =>
  <const Schema extends v.GenericSchema>(
    schema: Type extends v.InferInput<Schema> ? Schema : never,
  ): Schema =>
    schema;

const stringSchema = v.string();
const booleanSchema = v.boolean();
const numberSchema = v.number();
const stringListSchema = readonlyArray(stringSchema);
const nullableStringSchema = v.nullable(stringSchema);
const nonNegativeIntegerSchema = v.pipe(v.number(), v.integer(), v.minValue(0));
const anyObjectSchema = v.pipe(v.unknown(), v.metadata({ type: "object" }));
const dateTimeSchema = v.pipe(stringSchema, v.isoTimestamp());
const withDescription = <const Schema extends v.GenericSchema>(
  schema: Schema,
  description: string,
) => v.pipe(schema, v.description(description));

/** Later versions may add fields. */
const extensibleObject = v.object;

export const errorSchema = extensibleObject({
  error: extensibleObject({
    message: stringSchema,
    type: stringSchema,
    param: nullableStringSchema,
    code: nullableStringSchema,
  }),
});

export const conflictSchema = v.intersect([
  errorSchema,
  extensibleObject(
    optionalFields({ revision: nonNegativeIntegerSchema, stamp: nonNegativeIntegerSchema }),
  ),
]);

export const usageSchema = extensibleObject(
  optionalFields({
    input_tokens: nonNegativeIntegerSchema,
    output_tokens: nonNegativeIntegerSchema,
    total_tokens: nonNegativeIntegerSchema,
  }),
);

/* Tasks; docs/reference/task-protocol.md describes the events. */

export const taskStatusSchema = v.picklist(taskStatuses);

export const expandedArgumentsSchema = withDescription(
  v.union([
    extensibleObject({ text: stringSchema }),
    extensibleObject({
      head: stringSchema,
      tail: stringSchema,
      length: nonNegativeIntegerSchema,
      url: stringSchema,
    }),
  ]),
  "The arguments that would be executed, if those of the call contain {{var:NAME}}: their JSON text or, if that is long, its beginning and end, its length and the URL of the complete text.",
);

export const approvalSchema = extensibleObject({
  approval_id: stringSchema,
  task_id: stringSchema,
  kind: v.picklist(["call", "result", "question", "limit", "reconcile"]),
  choices: readonlyArray(v.picklist(["approve", "deny", "redact", "abort"])),
  status: v.picklist(["pending", "resolved", "expired"]),
  ...optionalFields({
    call_id: stringSchema,
    args_hash: withDescription(stringSchema, "SHA-256 of the arguments that would be executed."),
    expanded_arguments: expandedArgumentsSchema,
    resolution: anyObjectSchema,
    expires_at: stringSchema,
  }),
});

export const taskSchema = schemaFor<TaskView>()(
  extensibleObject({
    task_id: stringSchema,
    status: taskStatusSchema,
    output: readonlyArray(
      extensibleObject({
        type: v.picklist(["reasoning", "tool_call", "tool_result", "message"]),
        id: stringSchema,
      }),
    ),
    usage: usageSchema,
    references: readonlyArray(anyObjectSchema),
    approvals: readonlyArray(approvalSchema),
    ...optionalFields({
      retry: withDescription(
        extensibleObject({
          attempt: withDescription(
            nonNegativeIntegerSchema,
            "Number of attempts that have failed so far.",
          ),
          message: stringSchema,
          retry_in_ms: withDescription(
            numberSchema,
            "Delay before the next attempt, counted from failed_at.",
          ),
          ...optionalFields({ failed_at: stringSchema }),
        }),
        "Present only while a failed model request is being retried.",
      ),
      error: extensibleObject({
        code: stringSchema,
        message: stringSchema,
        retryable: booleanSchema,
      }),
    }),
  }),
);

export const taskListSchema = extensibleObject({
  data: readonlyArray(
    extensibleObject({
      task_id: stringSchema,
      status: taskStatusSchema,
      ...optionalFields({
        agent: stringSchema,
        model: stringSchema,
        session_id: stringSchema,
        created_at: stringSchema,
        updated_at: stringSchema,
        head: v.pipe(numberSchema, v.integer()),
      }),
    }),
  ),
  has_more: booleanSchema,
  next_before: nullableStringSchema,
});

export const inputReplySchema = schemaFor<InputReply>()(
  extensibleObject({ task_id: stringSchema, delivery: v.picklist(["steer", "queue"]) }),
);

export const pendingApprovalsSchema = schemaFor<ApprovalsReply>()(
  extensibleObject({
    data: readonlyArray(
      extensibleObject({
        approval: approvalSchema,
        root_task_id: stringSchema,
        requested_at: dateTimeSchema,
        agent: stringSchema,
        depth: nonNegativeIntegerSchema,
        ...optionalFields({
          call: extensibleObject({ name: stringSchema, arguments: stringSchema }),
          input_schema: withDescription(
            anyObjectSchema,
            "JSON Schema of the call's arguments, as the model receives it.",
          ),
          outcome: withDescription(
            stringSchema,
            "How the tool run ended, for a result that is held for approval.",
          ),
          chat: extensibleObject({
            chat_id: stringSchema,
            title: stringSchema,
            opening_text: withDescription(
              stringSchema,
              "Shown instead of the title if the chat has none.",
            ),
            node_id: stringSchema,
            version_id: stringSchema,
          }),
        }),
      }),
    ),
  }),
);

export const decisionReplySchema = schemaFor<DecisionReply>()(
  extensibleObject({ approval: approvalSchema }),
);

/* Chats. */

const chatInfoFields = {
  chat_id: stringSchema,
  title: stringSchema,
  title_by: v.picklist(["nobody", "model", "user"]),
  created_at: stringSchema,
  updated_at: stringSchema,
  revision: nonNegativeIntegerSchema,
  tags: stringListSchema,
  pinned: booleanSchema,
};

const versionFields = { version_id: stringSchema, created_at: stringSchema };

export const userVersionSchema = extensibleObject({
  ...versionFields,
  text: stringSchema,
  attachments: readonlyArray(attachmentSchema),
  contexts: readonlyArray(contextSnippetSchema),
  ...optionalFields({
    options: modelOptionsSchema,
    follows: withDescription(
      stringSchema,
      "The version of the parent node that was shown when this was written. If another version is shown, this message and everything after it is outdated. Absent if the parent had only one version.",
    ),
  }),
});

const modelTypeSchema = v.picklist(["chat", "image-gen", "image-edit", "audio-stt", "audio-tts"]);

export const answerVersionSchema = extensibleObject({
  ...versionFields,
  by: v.picklist(["model", "user"]),
  status: v.picklist(["running", "completed", "aborted", "error", "timeout"]),
  model_type: modelTypeSchema,
  output: readonlyArray(anyObjectSchema),
  references: readonlyArray(anyObjectSchema),
  notices: stringListSchema,
  ...optionalFields({
    agent: stringSchema,
    model: stringSchema,
    task_id: stringSchema,
    waiting: booleanSchema,
    answers: withDescription(stringSchema, "The version of the user message that this answers."),
    continues: stringSchema,
    masked_with: stringSchema,
    child_references: withDescription(
      readonlyArray(anyObjectSchema),
      "References of sub-agents, each with the task_id that its number belongs to.",
    ),
    inputs: withDescription(
      readonlyArray(anyObjectSchema),
      "Messages sent to the agent while it ran; taken_at is an index into output.",
    ),
    error: extensibleObject({
      phase: v.picklist(["model", "tool", "approval"]),
      code: stringSchema,
      message: stringSchema,
    }),
    usage: usageSchema,
    tree_usage: usageSchema,
    time_ms: numberSchema,
    round: withDescription(nonNegativeIntegerSchema, "Number of requests to the model."),
    executions: withDescription(readonlyArray(anyObjectSchema), "Tool runs."),
    approvals: withDescription(
      readonlyArray(anyObjectSchema),
      "Approval requests, including those of sub-agents, and their decisions.",
    ),
    child_tasks: withDescription(
      v.record(stringSchema, anyObjectSchema),
      "Tasks of sub-agents, by the id of the call that started them.",
    ),
    warnings: withDescription(
      readonlyArray(
        extensibleObject({
          code: stringSchema,
          message: stringSchema,
          count: nonNegativeIntegerSchema,
        }),
      ),
      "Repairs and retries.",
    ),
    model_ms: withDescription(numberSchema, "Time taken by the model, in milliseconds."),
    waited_ms: withDescription(numberSchema, "Time spent waiting for approvals, in milliseconds."),
  }),
});

const nodeFields = {
  node_id: stringSchema,
  parent: nullableStringSchema,
  children: stringListSchema,
  created_at: stringSchema,
  pinned: booleanSchema,
  hidden: booleanSchema,
};

export const chatNodeSchema = schemaFor<ChatNode>()(
  v.variant("kind", [
    extensibleObject({
      kind: v.literal("user"),
      ...nodeFields,
      version: stringSchema,
      versions: readonlyArray(userVersionSchema),
    }),
    extensibleObject({
      kind: v.literal("answer"),
      ...nodeFields,
      version: stringSchema,
      versions: readonlyArray(answerVersionSchema),
    }),
    extensibleObject({ kind: v.literal("separator"), ...nodeFields }),
  ]),
);

const nodesSchema = v.record(stringSchema, chatNodeSchema);
const chatFields = {
  ...chatInfoFields,
  settings: chatSettingsSchema,
  roots: stringListSchema,
  chosen: v.record(stringSchema, stringSchema),
  bookmarks: stringListSchema,
  ...optionalFields({ extra_usage: usageSchema }),
};

export const chatSchema = schemaFor<Chat>()(
  extensibleObject({ ...chatFields, nodes: nodesSchema }),
);

export const chatReplySchema = schemaFor<ChatReply>()(
  extensibleObject({
    chat: chatSchema,
    stamp: nonNegativeIntegerSchema,
    usage: usageSchema,
    ...optionalFields({ deleted_at: stringSchema }),
  }),
);

export const chatSummarySchema = schemaFor<ChatSummary>()(
  extensibleObject({
    ...chatInfoFields,
    messages: nonNegativeIntegerSchema,
    running: nonNegativeIntegerSchema,
    waiting: nonNegativeIntegerSchema,
    opening_text: stringSchema,
    excerpt: stringSchema,
    usage: usageSchema,
    stamp: nonNegativeIntegerSchema,
    ...optionalFields({ deleted_at: stringSchema }),
  }),
);

export const chatListSchema = schemaFor<ChatListReply>()(
  extensibleObject({
    stamp: nonNegativeIntegerSchema,
    data: readonlyArray(chatSummarySchema),
    has_more: booleanSchema,
    next_before: nullableStringSchema,
  }),
);

const textRangeSchema = readonlyArray(nonNegativeIntegerSchema, { min: 2, max: 2 });

/** Strict, so that an empty page of the chat list does not match it too. */
export const chatSearchReplySchema = schemaFor<ChatSearchReply>()(
  strictObject({
    data: readonlyArray(
      extensibleObject({
        chat: chatSummarySchema,
        title_marks: readonlyArray(textRangeSchema),
        hits: readonlyArray(
          extensibleObject({
            node_id: stringSchema,
            version_id: stringSchema,
            text: stringSchema,
            marks: readonlyArray(textRangeSchema),
          }),
        ),
      }),
    ),
  }),
);

const patchFields = {
  from: withDescription(nonNegativeIntegerSchema, "Stamp of the chat before these changes."),
  stamp: nonNegativeIntegerSchema,
  chat: extensibleObject(chatFields),
  nodes: withDescription(nodesSchema, "New and changed nodes."),
  deleted_node_ids: stringListSchema,
};
const changeFields = {
  ...patchFields,
  ...optionalFields({
    node_id: stringSchema,
    version_id: stringSchema,
    removal_ids: stringListSchema,
  }),
};
const updateFields = {
  ...patchFields,
  usage: usageSchema,
  ...optionalFields({ deleted_at: stringSchema }),
};

export const chatUpdateSchema = schemaFor<ChatUpdate>()(extensibleObject(updateFields));
export const changeReplySchema = schemaFor<ChangeReply>()(extensibleObject(changeFields));
export const editsReplySchema = schemaFor<EditsReply>()(
  extensibleObject({
    ...changeFields,
    added: withDescription(
      readonlyArray(
        v.nullable(
          extensibleObject({
            node_id: stringSchema,
            ...optionalFields({ version_id: stringSchema }),
          }),
        ),
      ),
      "What each edit added, in order; null if it added nothing.",
    ),
  }),
);
export const sendReplySchema = schemaFor<SendReply>()(
  extensibleObject({
    ...patchFields,
    node_id: stringSchema,
    version_id: stringSchema,
    task_id: stringSchema,
  }),
);
export const runningAnswerSchema = schemaFor<RunningAnswer>()(
  extensibleObject({
    chat_id: stringSchema,
    node_id: stringSchema,
    version_id: stringSchema,
    task_id: stringSchema,
  }),
);
export const stopReplySchema = schemaFor<StopReply>()(
  extensibleObject({ data: readonlyArray(runningAnswerSchema), ...updateFields }),
);

export const chatTagSchema = extensibleObject({ tag: stringSchema, chats: integer(1) });
export const chatRemovalSchema = schemaFor<RemovalSummary>()(
  extensibleObject({
    removal_id: stringSchema,
    removed_at: stringSchema,
    type: v.picklist(["nodes", "version"]),
    count: nonNegativeIntegerSchema,
    excerpt: stringSchema,
  }),
);
export const chatVariableSchema = schemaFor<ChatVariable>()(
  extensibleObject({
    name: stringSchema,
    call_id: stringSchema,
    of: stringSchema,
    tool: stringSchema,
    length: nonNegativeIntegerSchema,
    url: stringSchema,
    created_at: stringSchema,
  }),
);

export const chatChoicesSchema = schemaFor<ChatChoices>()(
  extensibleObject({
    models: readonlyArray(
      extensibleObject({
        name: stringSchema,
        type: modelTypeSchema,
        images: booleanSchema,
        audio: booleanSchema,
        files: booleanSchema,
        tools: booleanSchema,
        efforts: stringListSchema,
        unsupported_options: withDescription(
          stringListSchema,
          "Options that the model does not support: names, or paths such as text.verbosity.",
        ),
      }),
    ),
    upstreams: withDescription(
      readonlyArray(
        extensibleObject({ name: stringSchema, ...optionalFields({ problem: stringSchema }) }),
      ),
      "`problem`: why its models could not be listed, or why its last request failed.",
    ),
    agents: readonlyArray(
      extensibleObject({ name: stringSchema, description: stringSchema, model: stringSchema }),
    ),
    tool_groups: stringListSchema,
    skills: readonlyArray(
      extensibleObject({
        name: stringSchema,
        description: stringSchema,
        always: booleanSchema,
        ...optionalFields({ when: stringSchema }),
      }),
    ),
    defaults: strictObject({
      ...chatSettingsSchema.entries,
      tool_groups: stringListSchema,
      skills: stringListSchema,
      options: modelOptionsSchema,
      limits: limitsSchema,
      result_approval: v.picklist(["never", "on_error", "always"]),
      turns: nonNegativeIntegerSchema,
      time_zone: stringSchema,
      message_times: booleanSchema,
      titles: booleanSchema,
    }),
  }),
);

export const blobSchema = schemaFor<BlobReply>()(
  extensibleObject({
    url: stringSchema,
    media_type: stringSchema,
    size: nonNegativeIntegerSchema,
    ...optionalFields({ filename: stringSchema }),
  }),
);

export const sessionSchema = strictObject({
  version: stringSchema,
  token_required: booleanSchema,
  signed_in: withDescription(booleanSchema, "Also true if no token is required."),
  ...optionalFields({
    client: withDescription(stringSchema, "Name of the client that the token belongs to."),
  }),
});

const accessKeyFields = {
  id: stringSchema,
  name: stringSchema,
  owner: withDescription(stringSchema, "Whose chats, tasks and files the key can access."),
  scopes: withDescription(stringListSchema, `One or more of ${accessScopes.join(", ")}.`),
  state: v.picklist(["active", "expired", "revoked"]),
  last_characters: withDescription(stringSchema, "The last characters of the key, to identify it."),
  limits: accessKeyLimitsSchema,
  created_at: dateTimeSchema,
  ...optionalFields({
    expires_at: dateTimeSchema,
    revoked_at: dateTimeSchema,
    last_used_at: withDescription(dateTimeSchema, "May lag by up to two minutes."),
  }),
};

export const accessKeySchema = schemaFor<AccessKeyReply>()(strictObject(accessKeyFields));

export const newAccessKeySchema = strictObject({
  ...accessKeyFields,
  key: withDescription(stringSchema, "The complete key. It cannot be retrieved later."),
  ...optionalFields({
    owner_existed: withDescription(
      v.literal(true),
      "The owner has data or had a key: the new key can access this data.",
    ),
  }),
});

/** An object of OpenAI's API, which documents the other fields. */
const createOpenAiSchema = (object: string) =>
  v.looseObject({ id: stringSchema, object: v.literal(object) });

export const storedResponseSchema = createOpenAiSchema("response");

export const conversationSchema = v.object({
  id: stringSchema,
  object: v.literal("conversation"),
  created_at: v.pipe(numberSchema, v.description("In seconds since 1970.")),
  metadata: v.record(stringSchema, stringSchema),
});

export const compactionSchema = createOpenAiSchema("response.compaction");

export const inputTokensSchema = v.object({
  object: v.literal("response.input_tokens"),
  input_tokens: nonNegativeIntegerSchema,
  estimated: v.literal(true),
});

export const fileSchema = createOpenAiSchema("file");

export const deletionSchema = v.object({
  id: stringSchema,
  object: stringSchema,
  deleted: v.literal(true),
});

export const itemListSchema = v.object({
  object: v.literal("list"),
  data: readonlyArray(anyObjectSchema),
  first_id: nullableStringSchema,
  last_id: nullableStringSchema,
  has_more: booleanSchema,
});
