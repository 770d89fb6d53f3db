import { taskStatuses } from "@deltawire/tasks";
import {
  answer,
  bodyOf,
  header,
  listOf,
  part,
  query,
  ref,
  stream,
  text,
  words,
  type Operation,
  type Schema,
} from "./openapi-parts.ts";
import type { RouteName } from "./routes.ts";

/* What the OpenAPI document says of the routes of tasks. docs/task-protocol.md has the events. */

const theTask = answer("The task.", ref("Task"));
const replay = query(
  "replay",
  words("all"),
  "`all`: every event, however far behind, and never a snapshot instead of them.",
);
const nothingMore = {
  description: "To a client that came back with Last-Event-ID: there is nothing more, ever.",
};

export const taskOperations: ReadonlyMap<RouteName, Operation> = new Map<RouteName, Operation>([
  [
    "start task",
    {
      parameters: [
        header(
          "Idempotency-Key",
          "The same key with the same body answers with the same task; with another body it is refused.",
        ),
      ],
      body: bodyOf(ref("TaskRequest")),
      answers: {
        "200": stream("With `Accept: text/event-stream`: its events from the first on."),
        "201": {
          ...theTask,
          headers: { Location: { schema: text, description: "The address of the task." } },
        },
      },
    },
  ],
  [
    "tasks",
    {
      parameters: [
        query("limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }, "How many."),
        query("before", text, "`next_before` of the page before."),
        query("session_id", text, "Those of one session."),
        query("status", ref("TaskStatus"), "Those with one status."),
      ],
      answers: { "200": answer("A page.", ref("TaskList")) },
    },
  ],
  [
    "task",
    {
      parameters: [
        query(
          "include",
          { type: "array", items: words("task", "content") },
          "`task` adds what it was asked, of whom and within which limits, what all of it cost, and why it ended. `content` adds what the model said and received to messages and results, also of a task that was created without it. Both: `task,content`, or the parameter twice.",
        ),
      ],
      answers: { "200": theTask },
    },
  ],
  [
    "task events",
    {
      parameters: [
        query(
          "after",
          { type: "integer", minimum: -1 },
          "The number of the last event that is known; -1 for none. Without it the stream begins with a snapshot.",
        ),
        replay,
        header("Last-Event-ID", "The same as `after`, and stronger."),
      ],
      answers: { "200": stream("Events; their `id` is their number."), "204": nothingMore },
    },
  ],
  [
    "cancel task",
    {
      body: bodyOf({ type: "object", properties: { reason: text } }, false),
      answers: { "200": theTask },
    },
  ],
  [
    "task input",
    {
      parameters: [
        header(
          "Idempotency-Key",
          "The same key with the same body is told once, also when the task has ended since; with another body it is refused.",
        ),
      ],
      body: bodyOf({
        type: "object",
        required: ["input"],
        properties: { input: ref("TaskInput"), delivery: words("steer", "queue") },
      }),
      answers: {
        "200": answer("It is taken up.", {
          type: "object",
          properties: { task_id: text, delivery: words("steer", "queue") },
        }),
      },
    },
  ],
  ["approvals", { answers: { "200": answer("What is to be decided.", ref("PendingApprovals")) } }],
  [
    "decide approval",
    {
      parameters: [
        header(
          "Idempotency-Key",
          "The same decision with the same key is answered with 200 again, also after a restart. Without a key that holds for the same decision of the same client.",
        ),
      ],
      body: bodyOf(ref("Decision")),
      answers: {
        "200": answer("It is decided.", ref("Decided")),
        "409": answer("Somebody else was first; `approval` has the decision that holds.", {
          allOf: [ref("Error"), ref("Decided")],
        }),
      },
    },
  ],
  [
    "events",
    {
      parameters: [
        {
          ...query("task", listOf(text), "`TASK:NUMBER`, or `TASK` for one that begins anew."),
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
      answers: {
        "200": stream("Events of all; their `id` is where the reader stands in each of them."),
        "204": nothingMore,
      },
    },
  ],
  [
    "ui messages",
    {
      parameters: [
        query("agent", text, "Who answers, where the body does not say it."),
        query("model", text, "Or the model that answers."),
      ],
      body: bodyOf(ref("UiMessages")),
      answers: { "200": stream("The `ai` SDK's UI message stream, version 1.") },
    },
  ],
  [
    "resume ui messages",
    {
      parameters: [
        query("replay", words("all"), "`all`: the chat's newest task also when it has ended."),
      ],
      answers: {
        "200": stream("The `ai` SDK's UI message stream, version 1, from its first chunk."),
        "204": { description: "No task of this chat is under way." },
      },
    },
  ],
  [
    "blob",
    {
      answers: {
        "200": { description: "The bytes.", content: { "*/*": { schema: {} } } },
        "206": {
          description: "Those that `Range` asks for.",
          content: { "*/*": { schema: {} } },
        },
        "416": { description: "There are none there." },
      },
    },
  ],
]);

const url: Schema = { type: "object", required: ["url"], properties: { url: text } };

const status = words(...taskStatuses);

export const taskSchemas: Record<string, Schema> = {
  TaskStatus: status,
  TaskRequest: {
    type: "object",
    required: ["input"],
    oneOf: [{ required: ["agent"] }, { required: ["model"] }],
    properties: {
      agent: { ...text, description: "The name of an agent." },
      model: { ...text, description: "A name of GET /v1/models." },
      input: ref("TaskInput"),
      instructions: text,
      tool_groups: listOf(text),
      session_id: text,
      limits: ref("Limits"),
      options: {
        type: "object",
        description:
          "Parameters for the model, by their names on the Responses wire, over those of the agent; null takes one out.",
      },
      include: listOf(words("content")),
    },
    additionalProperties: false,
  },
  Limits: {
    type: "object",
    properties: {
      rounds: { type: "integer", minimum: 1 },
      tokens: { type: "integer", minimum: 1 },
      cost: { type: "number", exclusiveMinimum: 0 },
      seconds: { type: "number", exclusiveMinimum: 0 },
      depth: { type: "integer", minimum: 0 },
    },
    additionalProperties: false,
  },
  Usage: {
    type: "object",
    properties: {
      input_tokens: { type: "integer" },
      output_tokens: { type: "integer" },
      total_tokens: { type: "integer" },
    },
  },
  UiMessages: {
    type: "object",
    required: ["messages"],
    properties: {
      id: { ...text, description: "The chat's; its tasks have it as `session_id`." },
      messages: { ...listOf({ type: "object" }), minItems: 1 },
      trigger: text,
      messageId: text,
      agent: text,
      model: text,
      instructions: text,
      tool_groups: listOf(text),
      limits: { type: "object" },
    },
  },
  TaskInput: {
    oneOf: [text, { ...listOf(ref("TaskPart")), minItems: 1 }],
  },
  TaskPart: {
    oneOf: [
      part("text", { text }),
      part("image_url", { image_url: url }),
      part("audio_url", { audio_url: url }),
      part("file_url", { file_url: url }, { filename: text, media_type: text }),
    ],
  },
  Task: {
    type: "object",
    required: ["task_id", "status", "output", "usage", "references", "approvals"],
    properties: {
      task_id: text,
      status: ref("TaskStatus"),
      output: listOf({
        type: "object",
        required: ["type", "id"],
        properties: { type: words("reasoning", "tool_call", "tool_result", "message"), id: text },
      }),
      usage: ref("Usage"),
      references: listOf({ type: "object" }),
      approvals: listOf(ref("Approval")),
      retry: {
        type: "object",
        description: "Only while the model is asked again after a failure.",
        required: ["attempt", "message", "retry_in_ms"],
        properties: {
          attempt: { type: "integer", description: "How many attempts have failed so far." },
          message: text,
          retry_in_ms: { type: "number", description: "Counted from failed_at." },
          failed_at: text,
        },
      },
      error: {
        type: "object",
        required: ["code", "message", "retryable"],
        properties: { code: text, message: text, retryable: { type: "boolean" } },
      },
    },
  },
  TaskList: {
    type: "object",
    required: ["data", "has_more", "next_before"],
    properties: {
      data: listOf({
        type: "object",
        required: ["task_id", "status"],
        properties: {
          task_id: text,
          status: ref("TaskStatus"),
          agent: text,
          model: text,
          session_id: text,
          created_at: text,
          updated_at: text,
          head: { type: "integer" },
        },
      }),
      has_more: { type: "boolean" },
      next_before: { type: ["string", "null"] },
    },
  },
  Approval: {
    type: "object",
    required: ["approval_id", "task_id", "kind", "choices", "status"],
    properties: {
      approval_id: text,
      task_id: text,
      kind: words("call", "result", "question", "limit", "reconcile"),
      call_id: text,
      args_hash: { ...text, description: "SHA-256 of the arguments that would be executed." },
      expanded_arguments: ref("ExpandedArguments"),
      choices: listOf(words("approve", "deny", "redact", "abort")),
      status: words("pending", "resolved", "expired"),
      resolution: { type: "object" },
      expires_at: text,
    },
  },
  ExpandedArguments: {
    description:
      "The arguments that would be executed, where the call has {{var:NAME}} in them: their JSON text, or of a long one the beginning and the end, its length and the blob with all of it.",
    anyOf: [
      { type: "object", required: ["text"], properties: { text } },
      {
        type: "object",
        required: ["head", "tail", "length", "url"],
        properties: { head: text, tail: text, length: { type: "integer" }, url: text },
      },
    ],
  },
  PendingApprovals: {
    type: "object",
    required: ["data"],
    properties: { data: listOf(ref("PendingApproval")) },
  },
  PendingApproval: {
    type: "object",
    required: ["approval", "root_task_id", "requested_at", "agent", "depth"],
    properties: {
      approval: ref("Approval"),
      root_task_id: text,
      requested_at: { type: "string", format: "date-time" },
      agent: text,
      depth: { type: "integer", minimum: 0 },
      call: {
        type: "object",
        required: ["name", "arguments"],
        properties: { name: text, arguments: text },
      },
      input_schema: {
        type: "object",
        description: "Of the arguments of a call: a JSON Schema, as the model is told it.",
      },
      outcome: { ...text, description: "Of a result that is held: what its run came to." },
      chat: {
        type: "object",
        required: ["chat_id", "title", "first_words", "node_id", "version_id"],
        properties: {
          chat_id: text,
          title: text,
          first_words: { ...text, description: "What names a chat that has no title." },
          node_id: text,
          version_id: text,
        },
      },
    },
  },
  Decision: {
    type: "object",
    required: ["decision"],
    properties: {
      decision: words("approve", "deny", "redact", "abort"),
      arguments: {
        type: ["string", "object"],
        description: "To be run instead of the model's: JSON text, or the object.",
      },
      reason: text,
      scope: words("once", "session"),
      any_arguments: { type: "boolean" },
      replacement: { ...text, description: "What the model is told instead of a result." },
    },
    additionalProperties: false,
  },
  Decided: { type: "object", required: ["approval"], properties: { approval: ref("Approval") } },
};
