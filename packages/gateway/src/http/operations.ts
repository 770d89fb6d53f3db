import {
  attachment,
  cancelBody,
  chatSettings,
  contextSnippet,
  decisionBody,
  editBody,
  editsBody,
  extractBody,
  integer,
  limits,
  list,
  newChatBody,
  nodeBody,
  personEdit,
  sendBody,
  stopBody,
  taskInput,
  taskInputBody,
  undoBody,
} from "@deltawire/tasks/chats";
import * as v from "valibot";
import { taskRequest } from "../tasks/task-request.ts";
import { uiMessagesBody } from "../tasks/ui-messages/ui-request.ts";
import { defaultListed, maxListed } from "./listed-page.ts";
import * as reply from "./reply-schemas.ts";
import type { RouteName } from "./routes.ts";
import { exportFormats, maxQueryCharacters } from "./serve-chats.ts";
import { signInBody } from "./serve-session.ts";

/* What the OpenAPI document says of each route beside its path and summary. */

export interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly body?: Body;
  /** By status. */
  readonly responses: Readonly<Record<string, Reply>>;
}

interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly schema: v.GenericSchema;
  readonly description: string;
  readonly explode?: boolean;
}

interface Body {
  readonly required: boolean;
  readonly content: Content;
}

interface Reply {
  readonly description: string;
  readonly content?: Content;
  readonly headers?: Readonly<Record<string, { schema: v.GenericSchema; description: string }>>;
}

/** By media type. */
type Content = Readonly<Record<string, { readonly schema: v.GenericSchema }>>;

/** The schemas that have a name in the document. */
export const components: Readonly<Record<string, v.GenericSchema>> = {
  Error: reply.error,
  TaskStatus: reply.taskStatus,
  TaskRequest: taskRequest,
  TaskInput: taskInput,
  Limits: limits,
  Usage: reply.usage,
  UiMessages: uiMessagesBody,
  Task: reply.task,
  TaskList: reply.taskList,
  Approval: reply.approval,
  ExpandedArguments: reply.expandedArguments,
  PendingApprovals: reply.pendingApprovals,
  Decision: decisionBody,
  Decided: reply.decided,
  ChatSettings: chatSettings,
  NewChat: newChatBody,
  Attachment: attachment,
  ContextSnippet: contextSnippet,
  UserVersion: reply.userVersion,
  AnswerVersion: reply.answerVersion,
  ChatNode: reply.chatNode,
  Chat: reply.chat,
  ChatReply: reply.chatReply,
  ChatSummary: reply.chatSummary,
  ChatList: reply.chatList,
  FoundChats: reply.foundChats,
  ChatEdit: personEdit,
  ChatEdits: editsBody,
  SendMessage: sendBody,
  AskAgain: nodeBody,
  EditMessage: editBody,
  ChatSince: reply.chatSince,
  Changed: reply.changed,
  EditsMade: reply.editsMade,
  Sent: reply.sent,
  Stopped: reply.stopped,
  RunningAnswer: reply.runningAnswer,
  ChatTag: reply.chatTag,
  ChatRemoval: reply.chatRemoval,
  ChatVariable: reply.chatVariable,
  ChatChoices: reply.chatChoices,
  Blob: reply.blob,
  Session: reply.session,
};

const text = v.string();
const whether = v.boolean();
const limit = query(
  "limit",
  v.pipe(integer(1), v.maxValue(maxListed), v.metadata({ default: defaultListed })),
  "How many.",
);
const before = (more = "") => query("before", text, `\`next_before\` of the page before.${more}`);
const replayAll = (description: string) => query("replay", v.literal("all"), description);
const replay = replayAll(
  "`all`: every event, however far behind, and never a snapshot instead of them.",
);
const idempotencyKey = (description: string) => header("Idempotency-Key", description);
const chatKey = idempotencyKey(
  "The same key with the same body answers with the same chats; with another body it is refused.",
);

const theTask = json("The task.", reply.task);
const theChat = json("The chat.", reply.chatReply);
const newChat = { ...theChat, ...location("The address of the chat.") };
const conflict = json(
  "The chat has changed meanwhile: `revision` and `stamp` are what it is at; or it cannot be done as the chat is.",
  reply.conflict,
);
const sent = {
  ...json("The answer is on its way, as a task.", reply.sent),
  ...location("The address of the task."),
};
const nothingMore = {
  description: "To a client that came back with Last-Event-ID: there is nothing more, ever.",
};

const asksModel = (body: v.GenericSchema): Operation => ({
  parameters: [
    idempotencyKey(
      "The same key with the same body is sent to the model once; with another body it is refused.",
    ),
  ],
  body: jsonBody(body),
  responses: { "201": sent, "409": conflict },
});

/** Bodies below `/v1` are OpenAI's, and are described there. */
const openAiBody = v.object({ model: v.pipe(text, v.description("A name of GET /v1/models.")) });
const openAi: Operation = {
  body: jsonBody(openAiBody),
  responses: { "200": { description: "The reply; events where a stream was asked for." } },
};
const openAiForm: Operation = {
  ...openAi,
  body: { required: true, content: { "multipart/form-data": { schema: openAiBody } } },
};
const plain: Operation = { responses: { "200": { description: "The reply." } } };

export const operations: Readonly<Record<RouteName, Operation>> = {
  responses: openAi,
  chat: openAi,
  models: plain,
  model: plain,
  embeddings: openAi,
  "image generations": openAi,
  "image edits": openAiForm,
  transcriptions: openAiForm,
  translations: openAiForm,
  speech: openAi,

  "start task": {
    parameters: [
      idempotencyKey(
        "The same key with the same body answers with the same task; with another body it is refused.",
      ),
    ],
    body: jsonBody(taskRequest),
    responses: {
      "200": stream("With `Accept: text/event-stream`: its events from the first on."),
      "201": { ...theTask, ...location("The address of the task.") },
    },
  },
  tasks: {
    parameters: [
      limit,
      before(),
      query("session_id", text, "Those of one session."),
      query("status", reply.taskStatus, "Those with one status."),
    ],
    responses: { "200": json("A page.", reply.taskList) },
  },
  task: {
    parameters: [
      query(
        "include",
        list(v.picklist(["task", "content"])),
        "`task` adds what it was asked, of whom and within which limits, what all of it cost, and why it ended. `content` adds what the model said and received to messages and results, also of a task that was created without it. Both: `task,content`, or the parameter twice.",
      ),
    ],
    responses: { "200": theTask },
  },
  "task events": {
    parameters: [
      query(
        "after",
        v.pipe(v.number(), v.integer(), v.minValue(-1)),
        "The number of the last event that is known; -1 for none. Without it the stream begins with a snapshot.",
      ),
      replay,
      header("Last-Event-ID", "The same as `after`, and stronger."),
    ],
    responses: { "200": stream("Events; their `id` is their number."), "204": nothingMore },
  },
  "cancel task": { body: jsonBody(cancelBody, false), responses: { "200": theTask } },
  "task input": {
    parameters: [
      idempotencyKey(
        "The same key with the same body is delivered once, also when the task has ended since; with another body it is refused.",
      ),
    ],
    body: jsonBody(taskInputBody),
    responses: { "200": json("The task will receive it.", reply.inputReply) },
  },
  approvals: { responses: { "200": json("What is to be decided.", reply.pendingApprovals) } },
  "decide approval": {
    parameters: [
      idempotencyKey(
        "The same decision with the same key is answered with 200 again, also after a restart. Without a key that holds for the same decision of the same client.",
      ),
    ],
    body: jsonBody(decisionBody),
    responses: {
      "200": json("It is decided.", reply.decided),
      "409": json(
        "Somebody else was first; `approval` has the decision that holds.",
        v.intersect([reply.error, reply.decided]),
      ),
    },
  },
  events: {
    parameters: [
      {
        ...query("task", list(text), "`TASK:NUMBER`, or `TASK` for one that begins anew."),
        explode: true,
      },
      query(
        "chats",
        text,
        "The stamp of the last change of chats that is known, or nothing to begin now. With it the stream has no end, and a task that is not there is refused in it.",
      ),
      replay,
      header("Last-Event-ID", "The `id` of the last event: `chats:7,A:12,B:0`."),
    ],
    responses: {
      "200": stream("Events of all; their `id` is where the reader stands in each of them."),
      "204": nothingMore,
    },
  },
  "ui messages": {
    parameters: [
      query("agent", text, "The agent that answers, where the body does not name one."),
      query("model", text, "Or the model that answers."),
    ],
    body: jsonBody(uiMessagesBody),
    responses: { "200": stream("The `ai` SDK's UI message stream, version 1.") },
  },
  "resume ui messages": {
    parameters: [replayAll("`all`: the chat's newest task also when it has ended.")],
    responses: {
      "200": stream("The `ai` SDK's UI message stream, version 1, from its first chunk."),
      "204": { description: "No task of this chat is under way." },
    },
  },
  blob: {
    responses: {
      "200": { description: "The bytes.", content: anyBytes() },
      "206": { description: "Those that `Range` asks for.", content: anyBytes() },
      "416": { description: "There are none there." },
    },
  },

  chats: {
    parameters: [
      limit,
      before(" Not with `q`."),
      query("tag", text, "Those with this tag."),
      query("deleted", whether, "`true`: those that are deleted. Not with `q`."),
      query(
        "q",
        v.pipe(text, v.maxLength(maxQueryCharacters)),
        "Those in which a title or a message has all of these words.",
      ),
    ],
    responses: {
      "200": json(
        "A page, and the stamp to follow the changes from; with `q` what was found.",
        v.union([reply.chatList, reply.foundChats]),
      ),
    },
  },
  "create chat": {
    parameters: [chatKey],
    body: jsonBody(newChatBody, false),
    responses: { "201": newChat },
  },
  "chat events": {
    parameters: [
      query("after", integer(0), "The stamp of the last change that is known."),
      header("Last-Event-ID", "The same as `after`, and stronger."),
    ],
    responses: {
      "200": stream(
        "`chats.opened`, then `chat.changed` and `chat.removed`, whose `id` is their stamp; `approvals.changed` where something else may wait for people; `chats.reset` where what was missed is not known; `chats.heartbeat` after a silence.",
      ),
    },
  },
  "chat choices": { responses: { "200": json("The choices.", reply.chatChoices) } },
  "chat tags": { responses: { "200": jsonData("The tags.", reply.chatTag) } },
  "import chats": {
    parameters: [chatKey],
    body: jsonBody(
      v.pipe(
        v.unknown(),
        v.metadata({
          type: ["object", "array"],
          description: "A file that was exported as JSON, or OpenAI's messages.",
        }),
      ),
    ),
    responses: { "201": jsonData("The chats.", reply.chatSummary) },
  },
  "open chat": {
    parameters: [
      query(
        "since",
        integer(0),
        "Only what has changed since the chat was at this stamp; the whole chat where that cannot be told.",
      ),
    ],
    responses: {
      "200": json(
        "The chat; with `since` what has changed.",
        v.union([reply.chatReply, reply.chatSince]),
      ),
    },
  },
  "delete chat": {
    parameters: [query("forever", whether, "`true`: with no way back.")],
    responses: { "204": { description: "It is deleted, and what ran in it is stopped." } },
  },
  "restore chat": { responses: { "200": theChat } },
  "edit chat": {
    body: jsonBody(editsBody),
    responses: { "200": json("What they made of the chat.", reply.editsMade), "409": conflict },
  },
  "undo deletion": {
    body: jsonBody(undoBody),
    responses: { "200": json("What it made of the chat.", reply.changed), "409": conflict },
  },
  "send message": asksModel(sendBody),
  "rerun answer": asksModel(nodeBody),
  "edit message": {
    ...asksModel(editBody),
    responses: {
      "200": json("It is written, and no model was asked.", reply.changed),
      "201": sent,
      "409": conflict,
    },
  },
  "continue answer": asksModel(nodeBody),
  "stop answers": {
    body: jsonBody(stopBody, false),
    responses: {
      "200": json("Those that were stopped, and what has become of the chat.", reply.stopped),
    },
  },
  "extract chat": {
    parameters: [chatKey],
    body: jsonBody(extractBody),
    responses: { "201": newChat },
  },
  "export chat": {
    parameters: [
      query(
        "format",
        v.pipe(v.picklist(exportFormats), v.metadata({ default: "markdown" })),
        "Only `json` holds everything, and can be imported whole.",
      ),
    ],
    responses: {
      "200": {
        description: "The file.",
        content: {
          "text/markdown": { schema: text },
          "text/html": { schema: text },
          "application/json": { schema: text },
        },
        headers: {
          "Content-Disposition": { schema: text, description: "With the name of the file." },
        },
      },
    },
  },
  "chat removals": { responses: { "200": jsonData("What can be undone.", reply.chatRemoval) } },
  "chat variables": { responses: { "200": jsonData("The variables.", reply.chatVariable) } },
  "keep blob": {
    parameters: [query("filename", text, "Tells what it is where Content-Type does not.")],
    body: { required: true, content: anyBytes() },
    responses: {
      "201": { ...json("It is kept.", reply.blob), ...location("The address of the blob.") },
    },
  },

  upstreams: plain,
  codex: plain,
  lessons: plain,
  "forget lessons": plain,
  health: plain,
  ready: plain,
  openapi: plain,
  session: { responses: { "200": json("How this browser stands.", reply.session) } },
  "sign in": {
    body: jsonBody(signInBody),
    responses: {
      "200": json("The session; the cookie is in `set-cookie`.", reply.session),
      "400": json("No JSON, or not of this form.", reply.error),
      "401": json("`missing_token`: the token is none of this gateway's.", reply.error),
      "413": json("The body is too large.", reply.error),
      "429": json("Too many wrong tokens from this address; see `retry-after`.", reply.error),
    },
  },
  "sign out": { responses: { "200": json("The cookie is cleared.", reply.session) } },
  home: {
    responses: { "200": { description: "The page.", content: { "text/html": { schema: text } } } },
  },
  "page asset": {
    responses: {
      "200": { description: "The file.", content: anyBytes() },
      "404": json("The page has no such file.", reply.error),
    },
  },
};

function query(name: string, schema: v.GenericSchema, description: string): Parameter {
  return { name, in: "query", schema, description };
}

function header(name: string, description: string): Parameter {
  return { name, in: "header", schema: v.string(), description };
}

function jsonBody(schema: v.GenericSchema, required = true): Body {
  return { required, content: { "application/json": { schema } } };
}

function json(description: string, schema: v.GenericSchema): Reply {
  return { description, content: { "application/json": { schema } } };
}

function jsonData(description: string, item: v.GenericSchema): Reply {
  return json(description, v.object({ data: list(item) }));
}

function stream(description: string): Reply {
  return { description, content: { "text/event-stream": { schema: v.string() } } };
}

function location(description: string): Pick<Reply, "headers"> {
  return { headers: { Location: { schema: v.string(), description } } };
}

function anyBytes(): Content {
  return { "*/*": { schema: v.unknown() } };
}
