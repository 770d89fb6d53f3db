import {
  attachmentSchema,
  cancelBody,
  chatSettingsSchema,
  contextSnippetSchema,
  decisionBody,
  editBody,
  editsBody,
  extractBody,
  integer,
  limitsSchema,
  readonlyArray,
  newChatBody,
  nodeBody,
  userEditSchema,
  sendBody,
  stopBody,
  taskInputSchema,
  taskInputBody,
  undoBody,
} from "@deltawire/tasks/chats";
import * as v from "valibot";
import { newAccessKeyBody } from "../security/manage-access-keys.ts";
import { taskRequestSchema } from "../tasks/task-request.ts";
import { uiMessagesBodySchema } from "../tasks/ui-messages/ui-request.ts";
import { defaultPageSize, maxPageSize } from "./pagination.ts";
import * as reply from "./response-schemas.ts";
import type { RouteName } from "./routes.ts";
import {
  conversationUpdateBody,
  newConversationBody,
  newItemsBody,
} from "./serve-conversations.ts";
import { exportFormats, maxQueryCharacters } from "./serve-chats.ts";
import { signInBodySchema } from "./serve-session.ts";

/* Parameters, bodies and responses of each route for the OpenAPI document. Paths and summaries are in routes.ts. */

export interface OpenApiOperation {
  readonly parameters?: readonly OperationParameter[];
  readonly body?: OperationBody;
  /** By status. */
  readonly responses: Readonly<Record<string, OperationResponse>>;
}

interface OperationParameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly schema: v.GenericSchema;
  readonly description: string;
  readonly explode?: boolean;
}

interface OperationBody {
  readonly required: boolean;
  readonly content: MediaTypeContent;
}

interface OperationResponse {
  readonly description: string;
  readonly content?: MediaTypeContent;
  readonly headers?: Readonly<Record<string, { schema: v.GenericSchema; description: string }>>;
}

/** By media type. */
type MediaTypeContent = Readonly<Record<string, { readonly schema: v.GenericSchema }>>;

/** The schemas that have a name in the document. */
export const componentSchemas: Readonly<Record<string, v.GenericSchema>> = {
  Error: reply.errorSchema,
  TaskStatus: reply.taskStatusSchema,
  TaskRequest: taskRequestSchema,
  TaskInput: taskInputSchema,
  Limits: limitsSchema,
  Usage: reply.usageSchema,
  UiMessages: uiMessagesBodySchema,
  Task: reply.taskSchema,
  TaskList: reply.taskListSchema,
  Approval: reply.approvalSchema,
  ExpandedArguments: reply.expandedArgumentsSchema,
  PendingApprovals: reply.pendingApprovalsSchema,
  Decision: decisionBody,
  DecisionReply: reply.decisionReplySchema,
  ChatSettings: chatSettingsSchema,
  NewChat: newChatBody,
  Attachment: attachmentSchema,
  ContextSnippet: contextSnippetSchema,
  UserVersion: reply.userVersionSchema,
  AnswerVersion: reply.answerVersionSchema,
  ChatNode: reply.chatNodeSchema,
  Chat: reply.chatSchema,
  ChatReply: reply.chatReplySchema,
  ChatSummary: reply.chatSummarySchema,
  ChatList: reply.chatListSchema,
  ChatSearchResults: reply.chatSearchReplySchema,
  ChatEdit: userEditSchema,
  ChatEdits: editsBody,
  SendMessage: sendBody,
  NodeRequest: nodeBody,
  EditMessage: editBody,
  ChatUpdate: reply.chatUpdateSchema,
  ChangeReply: reply.changeReplySchema,
  EditsReply: reply.editsReplySchema,
  SendReply: reply.sendReplySchema,
  StopReply: reply.stopReplySchema,
  RunningAnswer: reply.runningAnswerSchema,
  ChatTag: reply.chatTagSchema,
  ChatRemoval: reply.chatRemovalSchema,
  ChatVariable: reply.chatVariableSchema,
  ChatChoices: reply.chatChoicesSchema,
  Blob: reply.blobSchema,
  Session: reply.sessionSchema,
  NewAccessKey: newAccessKeyBody,
  AccessKey: reply.accessKeySchema,
};

const stringSchema = v.string();
const booleanSchema = v.boolean();
const nonNegativeInteger = v.pipe(v.number(), v.integer(), v.minValue(0));
const limitParameter = createQueryParameter(
  "limit",
  v.pipe(integer(1), v.maxValue(maxPageSize), v.metadata({ default: defaultPageSize })),
  "Maximum number of results.",
);
const createBeforeParameter = (note = "") =>
  createQueryParameter("before", stringSchema, `\`next_before\` of the previous page.${note}`);
const createReplayParameter = (description: string) =>
  createQueryParameter("replay", v.literal("all"), description);
const replayParameter = createReplayParameter(
  "`all`: sends every past event instead of a snapshot.",
);
const createIdempotencyKeyHeader = (description: string) =>
  createHeaderParameter("Idempotency-Key", description);
const chatIdempotencyKeyHeader = createIdempotencyKeyHeader(
  "A repeated request with the same key and body returns the same chats. The same key with another body is rejected.",
);

const taskResponse = createJsonResponse("The task.", reply.taskSchema);
const chatResponse = createJsonResponse("The chat.", reply.chatReplySchema);
const newChatResponse = { ...chatResponse, ...createLocationHeader("URL of the chat.") };
const conflictResponse = createJsonResponse(
  "The chat has changed (`revision` and `stamp` are the current ones), or its current state does not allow this.",
  reply.conflictSchema,
);
const sendResponse = {
  ...createJsonResponse("The answer has started as a task.", reply.sendReplySchema),
  ...createLocationHeader("URL of the task."),
};
const noMoreEventsResponse = {
  description: "For a client that reconnected with Last-Event-ID: the stream has ended.",
};

const createAnswerOperation = (body: v.GenericSchema): OpenApiOperation => ({
  parameters: [
    createIdempotencyKeyHeader(
      "A repeated request with the same key and body is sent to the model only once. The same key with another body is rejected.",
    ),
  ],
  body: createJsonBody(body),
  responses: { "201": sendResponse, "409": conflictResponse },
});

/** Bodies below `/v1` are those of OpenAI's API, which documents the other fields. */
const openAiBody = v.object({
  model: v.pipe(stringSchema, v.description("A model name from GET /v1/models.")),
});
const openAiJsonOperation: OpenApiOperation = {
  body: createJsonBody(openAiBody),
  responses: { "200": { description: "The reply, or server-sent events with `stream: true`." } },
};
const openAiFormOperation: OpenApiOperation = {
  ...openAiJsonOperation,
  body: { required: true, content: { "multipart/form-data": { schema: openAiBody } } },
};
const includeParameter: OperationParameter = {
  ...createQueryParameter(
    "include",
    readonlyArray(stringSchema),
    "Accepted for clients of OpenAI. It changes nothing: all that the model returned is included.",
  ),
  explode: true,
};
const itemListOperation: OpenApiOperation = {
  parameters: [
    limitParameter,
    createQueryParameter("after", stringSchema, "The id of the last item of the previous page."),
    createQueryParameter(
      "order",
      v.pipe(v.picklist(["asc", "desc"]), v.metadata({ default: "desc" })),
      "`desc`: newest first.",
    ),
    includeParameter,
  ],
  responses: { "200": createJsonResponse("A page of items.", reply.itemListSchema) },
};
const fileResponse = createJsonResponse("The file.", reply.fileSchema);
const conversationResponse = createJsonResponse("The conversation.", reply.conversationSchema);
const plainOperation: OpenApiOperation = { responses: { "200": { description: "The reply." } } };

export const operations: Readonly<Record<RouteName, OpenApiOperation>> = {
  responses: {
    ...openAiJsonOperation,
    parameters: [
      createIdempotencyKeyHeader(
        "A repeated request with the same key and body returns the stored response. The same key with another body is rejected.",
      ),
    ],
  },
  "compact response": {
    body: createJsonBody(openAiBody),
    responses: {
      "200": createJsonResponse("The compacted conversation.", reply.compactionSchema),
    },
  },
  "input tokens": {
    body: createJsonBody(openAiBody),
    responses: { "200": createJsonResponse("The estimate.", reply.inputTokensSchema) },
  },
  response: {
    parameters: [
      includeParameter,
      createQueryParameter("stream", booleanSchema, "`true`: streams the events instead."),
      createQueryParameter(
        "starting_after",
        nonNegativeInteger,
        "With `stream`: the `sequence_number` of the last event that the client has.",
      ),
    ],
    responses: {
      "200": createJsonResponse("The response, or its events.", reply.storedResponseSchema),
    },
  },
  "cancel response": {
    responses: { "200": createJsonResponse("The response.", reply.storedResponseSchema) },
  },
  "delete response": {
    responses: { "200": createJsonResponse("It is deleted.", reply.deletionSchema) },
  },
  "input items": itemListOperation,
  "create conversation": {
    parameters: [
      createIdempotencyKeyHeader(
        "A repeated request with the same key and body returns the same conversation. The same key with another body is rejected.",
      ),
    ],
    body: createJsonBody(newConversationBody, false),
    responses: { "200": conversationResponse },
  },
  conversation: { responses: { "200": conversationResponse } },
  "update conversation": {
    body: createJsonBody(conversationUpdateBody),
    responses: { "200": conversationResponse },
  },
  "delete conversation": {
    responses: { "200": createJsonResponse("It is deleted.", reply.deletionSchema) },
  },
  "conversation items": itemListOperation,
  "add conversation items": {
    body: createJsonBody(newItemsBody),
    responses: { "200": createJsonResponse("The new items.", reply.itemListSchema) },
  },
  "conversation item": {
    responses: { "200": createJsonResponse("The item.", v.looseObject({ id: stringSchema })) },
  },
  "delete conversation item": { responses: { "200": conversationResponse } },
  "upload file": {
    body: {
      required: true,
      content: {
        "multipart/form-data": { schema: v.object({ file: v.unknown(), purpose: stringSchema }) },
      },
    },
    responses: { "200": fileResponse },
  },
  files: {
    parameters: [
      ...(itemListOperation.parameters ?? []).filter(({ name }) => name !== "include"),
      createQueryParameter("purpose", stringSchema, "Only files with this purpose."),
    ],
    responses: { "200": createJsonResponse("A page of files.", reply.itemListSchema) },
  },
  file: { responses: { "200": fileResponse } },
  "delete file": {
    responses: { "200": createJsonResponse("It is deleted.", reply.deletionSchema) },
  },
  "file content": {
    responses: { "200": { description: "The bytes.", content: createBinaryContent() } },
  },
  chat: openAiJsonOperation,
  messages: openAiJsonOperation,
  "count tokens": openAiJsonOperation,
  models: plainOperation,
  model: plainOperation,
  embeddings: openAiJsonOperation,
  "image generations": openAiJsonOperation,
  "image edits": openAiFormOperation,
  transcriptions: openAiFormOperation,
  translations: openAiFormOperation,
  speech: openAiJsonOperation,

  "start task": {
    parameters: [
      createIdempotencyKeyHeader(
        "A repeated request with the same key and body returns the same task. The same key with another body is rejected.",
      ),
    ],
    body: createJsonBody(taskRequestSchema),
    responses: {
      "200": createEventStreamResponse("With `Accept: text/event-stream`: all events of the task."),
      "201": { ...taskResponse, ...createLocationHeader("URL of the task.") },
    },
  },
  tasks: {
    parameters: [
      limitParameter,
      createBeforeParameter(),
      createQueryParameter("session_id", stringSchema, "Only tasks of this session."),
      createQueryParameter("status", reply.taskStatusSchema, "Only tasks with this status."),
    ],
    responses: { "200": createJsonResponse("A page of tasks.", reply.taskListSchema) },
  },
  task: {
    parameters: [
      createQueryParameter(
        "include",
        readonlyArray(v.picklist(["task", "content"])),
        "`task` adds the request with agent and limits, the total usage, and why the task ended. `content` adds the text of messages and tool results, even for a task that was created without content. For both, send `task,content` or repeat the parameter.",
      ),
    ],
    responses: { "200": taskResponse },
  },
  "task events": {
    parameters: [
      createQueryParameter(
        "after",
        v.pipe(v.number(), v.integer(), v.minValue(-1)),
        "Number of the last event that the client has; -1 for none. Without it the stream starts with a snapshot.",
      ),
      replayParameter,
      createHeaderParameter("Last-Event-ID", "Same as `after`; takes precedence over it."),
    ],
    responses: {
      "200": createEventStreamResponse("Events; the `id` of each is its number."),
      "204": noMoreEventsResponse,
    },
  },
  "cancel task": { body: createJsonBody(cancelBody, false), responses: { "200": taskResponse } },
  "task input": {
    parameters: [
      createIdempotencyKeyHeader(
        "A repeated request with the same key and body is delivered only once, even if the task has ended since. The same key with another body is rejected.",
      ),
    ],
    body: createJsonBody(taskInputBody),
    responses: {
      "200": createJsonResponse("The input will be sent to the model.", reply.inputReplySchema),
    },
  },
  approvals: {
    responses: {
      "200": createJsonResponse("The pending approvals.", reply.pendingApprovalsSchema),
    },
  },
  "decide approval": {
    parameters: [
      createIdempotencyKeyHeader(
        "Repeating the same decision with the same key returns 200 again, even after a restart. Without a key, this applies only to the same client.",
      ),
    ],
    body: createJsonBody(decisionBody),
    responses: {
      "200": createJsonResponse("The decision was recorded.", reply.decisionReplySchema),
      "409": createJsonResponse(
        "Already decided; `approval` has the decision that applies.",
        v.intersect([reply.errorSchema, reply.decisionReplySchema]),
      ),
    },
  },
  events: {
    parameters: [
      {
        ...createQueryParameter(
          "task",
          readonlyArray(stringSchema),
          "`TASK:NUMBER` to continue after an event, or `TASK` to start with a snapshot.",
        ),
        explode: true,
      },
      createQueryParameter(
        "chats",
        stringSchema,
        "Stamp of the last chat change that the client has, or empty to start now. With this parameter the stream never ends, and an unknown task is reported in the stream.",
      ),
      replayParameter,
      createHeaderParameter(
        "Last-Event-ID",
        "The `id` of the last event, for example `chats:7,A:12,B:0`.",
      ),
    ],
    responses: {
      "200": createEventStreamResponse(
        "The events of all requested streams; the `id` of each event contains the position in every stream.",
      ),
      "204": noMoreEventsResponse,
    },
  },
  "ui messages": {
    parameters: [
      createQueryParameter(
        "agent",
        stringSchema,
        "The agent that answers, if the body does not name one.",
      ),
      createQueryParameter("model", stringSchema, "The model that answers, if there is no agent."),
    ],
    body: createJsonBody(uiMessagesBodySchema),
    responses: { "200": createEventStreamResponse("The `ai` SDK's UI message stream, version 1.") },
  },
  "resume ui messages": {
    parameters: [
      createReplayParameter("`all`: returns the newest task of the chat even if it has ended."),
    ],
    responses: {
      "200": createEventStreamResponse(
        "The `ai` SDK's UI message stream, version 1, from its first chunk.",
      ),
      "204": { description: "No task of this chat is running." },
    },
  },
  blob: {
    responses: {
      "200": { description: "The bytes.", content: createBinaryContent() },
      "206": { description: "The bytes of the requested `Range`.", content: createBinaryContent() },
      "416": { description: "The range is outside of the blob." },
    },
  },

  chats: {
    parameters: [
      limitParameter,
      createBeforeParameter(" Not with `q`."),
      createQueryParameter("tag", stringSchema, "Only chats with this tag."),
      createQueryParameter("deleted", booleanSchema, "`true`: only deleted chats. Not with `q`."),
      createQueryParameter(
        "q",
        v.pipe(stringSchema, v.maxLength(maxQueryCharacters)),
        "Only chats whose title or one of whose messages contains all of these words.",
      ),
    ],
    responses: {
      "200": createJsonResponse(
        "A page of chats and the stamp to follow changes from; with `q` the search results.",
        v.union([reply.chatListSchema, reply.chatSearchReplySchema]),
      ),
    },
  },
  "create chat": {
    parameters: [chatIdempotencyKeyHeader],
    body: createJsonBody(newChatBody, false),
    responses: { "201": newChatResponse },
  },
  "chat events": {
    parameters: [
      createQueryParameter("after", integer(0), "Stamp of the last change that the client has."),
      createHeaderParameter("Last-Event-ID", "Same as `after`; takes precedence over it."),
    ],
    responses: {
      "200": createEventStreamResponse(
        "`chats.opened`, then `chat.changed` and `chat.removed`, whose `id` is their stamp; `approvals.changed` when the pending approvals may have changed; `chats.reset` when missed changes are no longer available; `chats.heartbeat` when nothing else was sent for a while.",
      ),
    },
  },
  "chat choices": {
    responses: { "200": createJsonResponse("The choices.", reply.chatChoicesSchema) },
  },
  "chat tags": { responses: { "200": createJsonListResponse("The tags.", reply.chatTagSchema) } },
  "import chats": {
    parameters: [chatIdempotencyKeyHeader],
    body: createJsonBody(
      v.pipe(
        v.unknown(),
        v.metadata({
          type: ["object", "array"],
          description: "A chat exported as JSON, or OpenAI messages.",
        }),
      ),
    ),
    responses: { "201": createJsonListResponse("The chats.", reply.chatSummarySchema) },
  },
  "open chat": {
    parameters: [
      createQueryParameter(
        "since",
        integer(0),
        "Returns only the changes since this stamp, or the complete chat if they are no longer available.",
      ),
    ],
    responses: {
      "200": createJsonResponse(
        "The chat; with `since` its changes.",
        v.union([reply.chatReplySchema, reply.chatUpdateSchema]),
      ),
    },
  },
  "delete chat": {
    parameters: [createQueryParameter("forever", booleanSchema, "`true`: deletes permanently.")],
    responses: {
      "204": { description: "The chat is deleted and its running answers are stopped." },
    },
  },
  "restore chat": { responses: { "200": chatResponse } },
  "edit chat": {
    body: createJsonBody(editsBody),
    responses: {
      "200": createJsonResponse("The changes of the chat.", reply.editsReplySchema),
      "409": conflictResponse,
    },
  },
  "undo deletion": {
    body: createJsonBody(undoBody),
    responses: {
      "200": createJsonResponse("The changes of the chat.", reply.changeReplySchema),
      "409": conflictResponse,
    },
  },
  "send message": createAnswerOperation(sendBody),
  "rerun answer": createAnswerOperation(nodeBody),
  "edit message": {
    ...createAnswerOperation(editBody),
    responses: {
      "200": createJsonResponse("Saved without a request to a model.", reply.changeReplySchema),
      "201": sendResponse,
      "409": conflictResponse,
    },
  },
  "continue answer": createAnswerOperation(nodeBody),
  "stop answers": {
    body: createJsonBody(stopBody, false),
    responses: {
      "200": createJsonResponse(
        "The stopped answers and the changes of the chat.",
        reply.stopReplySchema,
      ),
    },
  },
  "extract chat": {
    parameters: [chatIdempotencyKeyHeader],
    body: createJsonBody(extractBody),
    responses: { "201": newChatResponse },
  },
  "export chat": {
    parameters: [
      createQueryParameter(
        "format",
        v.pipe(v.picklist(exportFormats), v.metadata({ default: "markdown" })),
        "Only `json` contains everything and can be imported without loss.",
      ),
    ],
    responses: {
      "200": {
        description: "The file.",
        content: {
          "text/markdown": { schema: stringSchema },
          "text/html": { schema: stringSchema },
          "application/json": { schema: stringSchema },
        },
        headers: {
          "Content-Disposition": {
            schema: stringSchema,
            description: "Contains the file name.",
          },
        },
      },
    },
  },
  "chat removals": {
    responses: {
      "200": createJsonListResponse("The deletions that can be undone.", reply.chatRemovalSchema),
    },
  },
  "chat variables": {
    responses: { "200": createJsonListResponse("The variables.", reply.chatVariableSchema) },
  },
  "upload blob": {
    parameters: [
      createQueryParameter(
        "filename",
        stringSchema,
        "Used to detect the media type if Content-Type is generic.",
      ),
    ],
    body: { required: true, content: createBinaryContent() },
    responses: {
      "201": {
        ...createJsonResponse("The blob is stored.", reply.blobSchema),
        ...createLocationHeader("URL of the blob."),
      },
    },
  },

  upstreams: plainOperation,
  connect: plainOperation,
  lessons: plainOperation,
  "forget lessons": plainOperation,
  keys: { responses: { "200": createJsonListResponse("The keys.", reply.accessKeySchema) } },
  "create key": {
    body: createJsonBody(newAccessKeyBody),
    responses: {
      "201": createJsonResponse("The key is stored.", reply.newAccessKeySchema),
      "409": createJsonResponse("`key_name_taken`: the name is in use.", reply.errorSchema),
    },
  },
  "revoke key": {
    parameters: [
      createQueryParameter("forever", booleanSchema, "Removes a key that has been revoked."),
    ],
    responses: {
      "200": createJsonResponse("The revoked key.", reply.accessKeySchema),
      "204": { description: "The key is removed." },
      "404": createJsonResponse("Key not found.", reply.errorSchema),
      "409": createJsonResponse("The key has not been revoked.", reply.errorSchema),
    },
  },
  health: plainOperation,
  ready: plainOperation,
  openapi: plainOperation,
  session: {
    responses: { "200": createJsonResponse("The session of this browser.", reply.sessionSchema) },
  },
  "sign in": {
    body: createJsonBody(signInBodySchema),
    responses: {
      "200": createJsonResponse("The session; the cookie is in `set-cookie`.", reply.sessionSchema),
      "400": createJsonResponse(
        "Not valid JSON, or it does not match the schema.",
        reply.errorSchema,
      ),
      "401": createJsonResponse(
        "`missing_token`: the token is not configured, or the access key is not valid.",
        reply.errorSchema,
      ),
      "413": createJsonResponse("The body is too large.", reply.errorSchema),
      "429": createJsonResponse(
        "Too many wrong tokens from this address; see `retry-after`.",
        reply.errorSchema,
      ),
    },
  },
  "sign out": {
    responses: { "200": createJsonResponse("The cookie is cleared.", reply.sessionSchema) },
  },
  home: {
    responses: {
      "200": { description: "The page.", content: { "text/html": { schema: stringSchema } } },
    },
  },
  "page asset": {
    responses: {
      "200": { description: "The file.", content: createBinaryContent() },
      "404": createJsonResponse("File not found.", reply.errorSchema),
    },
  },
};

function createQueryParameter(
  name: string,
  schema: v.GenericSchema,
  description: string,
): OperationParameter {
  return { name, in: "query", schema, description };
}

function createHeaderParameter(name: string, description: string): OperationParameter {
  return { name, in: "header", schema: v.string(), description };
}

function createJsonBody(schema: v.GenericSchema, required = true): OperationBody {
  return { required, content: { "application/json": { schema } } };
}

function createJsonResponse(description: string, schema: v.GenericSchema): OperationResponse {
  return { description, content: { "application/json": { schema } } };
}

function createJsonListResponse(description: string, item: v.GenericSchema): OperationResponse {
  return createJsonResponse(description, v.object({ data: readonlyArray(item) }));
}

function createEventStreamResponse(description: string): OperationResponse {
  return { description, content: { "text/event-stream": { schema: v.string() } } };
}

function createLocationHeader(description: string): Pick<OperationResponse, "headers"> {
  return { headers: { Location: { schema: v.string(), description } } };
}

function createBinaryContent(): MediaTypeContent {
  return { "*/*": { schema: v.unknown() } };
}
