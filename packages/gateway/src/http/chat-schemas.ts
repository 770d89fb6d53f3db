import { mostEdits } from "../chats/chat-bodies.ts";
import { integer, listOf, part, ref, text, words, yesOrNo, type Schema } from "./openapi-parts.ts";

/* What the OpenAPI document says of chats. */

const anything: Schema = { type: "object" };
const textOrNull: Schema = { type: ["string", "null"] };
const options: Schema = {
  type: "object",
  description: "Parameters by their names in the Responses API; null takes one out.",
};
const range: Schema = { ...listOf(integer(0)), minItems: 2, maxItems: 2 };
const kinds = ["chat", "image-gen", "image-edit", "audio-stt", "audio-tts"];
const revision: Schema = {
  ...integer(0),
  description: "Only if the chat is still at it; else the answer is 409.",
};
const choice = {
  agent: { ...text, description: "Who answers this once; or the model that does." },
  model: text,
  revision,
};
const message = {
  text,
  attachments: listOf(ref("Attachment")),
  contexts: listOf(ref("ContextSnippet")),
  options,
};
const ofNode = {
  node_id: text,
  parent: textOrNull,
  children: listOf(text),
  created_at: text,
  pinned: yesOrNo,
  hidden: yesOrNo,
};
const settings: Record<string, Schema> = {
  agent: text,
  model: text,
  instructions: text,
  tool_groups: listOf(text),
  skills: listOf(text),
  options,
  limits: ref("Limits"),
  results: {
    ...words("never", "on error", "always"),
    description: "When a person is asked before the model gets a tool's result.",
  },
  turns: { ...integer(0), description: "How many turns the model is told; 0: all." },
  privacy: {
    type: "object",
    required: ["enabled", "fields"],
    properties: {
      enabled: yesOrNo,
      fields: listOf({
        type: "object",
        required: ["kind"],
        properties: {
          kind: words("email", "phone", "card", "key", "password", "id", "name", "text", "pattern"),
          value: text,
          pattern: text,
          label: text,
        },
        additionalProperties: false,
      }),
    },
    additionalProperties: false,
  },
  time_zone: text,
  exact_time: yesOrNo,
  title_model: text,
};
const chat = {
  chat_id: text,
  title: text,
  title_by: words("nobody", "model", "user"),
  created_at: text,
  updated_at: text,
  revision: integer(0),
  tags: listOf(text),
  pinned: yesOrNo,
};
const wholeChat = {
  ...chat,
  settings: ref("ChatSettings"),
  roots: listOf(text),
  chosen: { type: "object", additionalProperties: text },
  bookmarks: listOf(text),
  extra_usage: ref("Usage"),
};
const nodes: Schema = { type: "object", additionalProperties: ref("ChatNode") };
const patch = {
  from: { ...integer(0), description: "The stamp of the chat that was changed." },
  stamp: integer(0),
  chat: shape(wholeChat, ["extra_usage"]),
  nodes: { ...nodes, description: "Those that are new or other than they were." },
  gone: listOf(text),
};
const changed = { ...patch, node_id: text, version_id: text, removal_ids: listOf(text) };
const notAlways = ["node_id", "version_id", "removal_ids"];
const since = { ...patch, usage: ref("Usage"), deleted_at: text };

export const chatSchemas: Record<string, Schema> = {
  ChatSettings: { type: "object", properties: settings, additionalProperties: false },
  NewChat: {
    type: "object",
    properties: { title: text, settings: ref("ChatSettings"), tags: listOf(text) },
    additionalProperties: false,
  },
  Attachment: closed(
    {
      kind: words("image", "audio", "file"),
      url: { ...text, description: "Of a blob, or with https:, http: or data:." },
      filename: text,
      media_type: text,
      size: integer(0),
    },
    ["filename", "media_type", "size"],
  ),
  ContextSnippet: closed(
    { kind: words("file", "selection", "page", "text"), title: text, text, url: text },
    ["url"],
  ),
  UserVersion: shape(
    {
      version_id: text,
      created_at: text,
      ...message,
      follows: {
        ...text,
        description:
          "The version of the node above that was shown when this was written. Where another one is shown, this and what follows is outdated. Absent: that node had only one.",
      },
    },
    ["options", "follows"],
  ),
  AnswerVersion: shape(
    {
      version_id: text,
      created_at: text,
      by: words("model", "user"),
      status: words("running", "completed", "aborted", "error", "timeout"),
      model_type: words(...kinds),
      output: listOf(anything),
      references: listOf(anything),
      notices: listOf(text),
      agent: text,
      model: text,
      task_id: text,
      waiting: yesOrNo,
      answers: { ...text, description: "The version of its message that it answers." },
      continues: text,
      masked_with: text,
      child_references: {
        ...listOf(anything),
        description: "Those of sub-agents, each with the task_id whose number it is.",
      },
      inputs: {
        ...listOf(anything),
        description: "What was said while it ran; taken_at is an index of output.",
      },
      error: shape({ phase: words("model", "tool", "approval"), code: text, message: text }),
      usage: ref("Usage"),
      tree_usage: ref("Usage"),
      time_ms: { type: "number" },
      round: { ...integer(0), description: "How often its model was asked." },
      executions: { ...listOf(anything), description: "The runs of its tools." },
      approvals: {
        ...listOf(anything),
        description: "What people were asked, also by sub-agents, and what they decided.",
      },
      child_tasks: {
        type: "object",
        additionalProperties: anything,
        description: "The tasks of sub-agents, by the call that asked them.",
      },
      warnings: {
        ...listOf(shape({ code: text, message: text, count: integer(1) })),
        description: "What was mended or asked for again on the way.",
      },
      model_ms: { type: "number", description: "How long its model answered." },
      waited_ms: { type: "number", description: "How long it waited for people." },
    },
    [
      "agent",
      "model",
      "task_id",
      "waiting",
      "answers",
      "continues",
      "masked_with",
      "child_references",
      "inputs",
      "error",
      "usage",
      "tree_usage",
      "time_ms",
      "round",
      "executions",
      "approvals",
      "child_tasks",
      "warnings",
      "model_ms",
      "waited_ms",
    ],
  ),
  ChatNode: {
    oneOf: [
      shape({
        kind: { const: "user" },
        ...ofNode,
        version: text,
        versions: listOf(ref("UserVersion")),
      }),
      shape({
        kind: { const: "answer" },
        ...ofNode,
        version: text,
        versions: listOf(ref("AnswerVersion")),
      }),
      shape({ kind: { const: "separator" }, ...ofNode }),
    ],
  },
  Chat: shape({ ...wholeChat, nodes }, ["extra_usage"]),
  ChatReply: shape(
    { chat: ref("Chat"), stamp: integer(0), usage: ref("Usage"), deleted_at: text },
    ["deleted_at"],
  ),
  ChatSummary: shape(
    {
      ...chat,
      messages: integer(0),
      running: integer(0),
      waiting: integer(0),
      first_words: text,
      excerpt: text,
      usage: ref("Usage"),
      stamp: integer(0),
      deleted_at: text,
    },
    ["deleted_at"],
  ),
  ChatList: shape({
    stamp: integer(0),
    data: listOf(ref("ChatSummary")),
    has_more: yesOrNo,
    next_before: textOrNull,
  }),
  // Closed, so that an empty page of the list is not this as well.
  FoundChats: closed({
    data: listOf(
      shape({
        chat: ref("ChatSummary"),
        title_marks: listOf(range),
        hits: listOf(shape({ node_id: text, version_id: text, text, marks: listOf(range) })),
      }),
    ),
  }),
  ChatEdit: {
    oneOf: [
      part("rename", { title: text }),
      part("tag", { tags: listOf(text) }),
      part("pin_chat", { value: yesOrNo }),
      part("settings", {
        patch: { type: "object", description: "Of ChatSettings by field; null takes one out." },
      }),
      part("choose_branch", { node_id: text }),
      part("choose_version", { node_id: text, version_id: text }),
      part("pin", { node_id: text, value: yesOrNo }),
      part("hide", { node_id: text, value: yesOrNo }),
      part("bookmark", { node_id: text, value: yesOrNo }),
      part("add_separator", { after: text }),
      part("delete_node", { node_id: text, children: words("delete", "keep") }),
      part("delete_version", { node_id: text, version_id: text }),
    ],
  },
  ChatEdits: closed({
    revision,
    edits: { ...listOf(ref("ChatEdit")), minItems: 1, maxItems: mostEdits },
  }),
  SendMessage: closed(
    {
      ...message,
      ...choice,
      parent: { ...textOrNull, description: "Absent: at the end of the path. Null: a new root." },
    },
    ["attachments", "contexts", "options", "parent", ...Object.keys(choice)],
  ),
  AskAgain: closed({ node_id: text, options, ...choice }, ["options", ...Object.keys(choice)]),
  EditMessage: closed(
    {
      node_id: text,
      as: { ...words("version", "branch"), default: "version" },
      send: { ...yesOrNo, default: true },
      ...message,
      ...choice,
    },
    ["as", "send", "attachments", "contexts", "options", ...Object.keys(choice)],
  ),
  ChatSince: shape(since, ["deleted_at"]),
  Changed: shape(changed, notAlways),
  EditsMade: shape(
    {
      ...changed,
      added: {
        ...listOf({
          oneOf: [shape({ node_id: text, version_id: text }, ["version_id"]), { type: "null" }],
        }),
        description: "By each edit, in order.",
      },
    },
    notAlways,
  ),
  Sent: shape({ ...patch, node_id: text, version_id: text, task_id: text }),
  Stopped: shape({ data: listOf(ref("RunningAnswer")), ...since }, ["deleted_at"]),
  RunningAnswer: shape({ chat_id: text, node_id: text, version_id: text, task_id: text }),
  ChatTag: shape({ tag: text, chats: integer(1) }),
  ChatRemoval: shape({
    removal_id: text,
    removed_at: text,
    what: words("nodes", "version"),
    count: integer(1),
    excerpt: text,
  }),
  ChatVariable: shape({
    name: text,
    call_id: text,
    of: text,
    tool: text,
    length: integer(0),
    url: text,
    created_at: text,
  }),
  ChatChoices: shape({
    models: listOf(
      shape({
        name: text,
        type: words(...kinds),
        images: yesOrNo,
        audio: yesOrNo,
        files: yesOrNo,
        tools: yesOrNo,
        efforts: listOf(text),
        refuses: {
          ...listOf(text),
          description: "Options that it does not take: names, or paths such as text.verbosity.",
        },
      }),
    ),
    upstreams: {
      ...listOf(shape({ name: text, problem: text }, ["problem"])),
      description: "`problem`: why it has listed no models, or why its last request failed.",
    },
    agents: listOf(shape({ name: text, description: text, model: text })),
    tool_groups: listOf(text),
    skills: listOf(shape({ name: text, description: text, always: yesOrNo, when: text }, ["when"])),
    defaults: closed({ ...settings, titles: yesOrNo }, [
      "agent",
      "model",
      "instructions",
      "privacy",
      "title_model",
    ]),
  }),
  Blob: shape({ url: text, media_type: text, size: integer(1), filename: text }, ["filename"]),
};

/** An object whose fields are all there but for those that need not be. */
function shape(properties: Record<string, Schema>, maybe: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !maybe.includes(name));
  return { type: "object", required, properties };
}

/** The same with no other fields. */
function closed(properties: Record<string, Schema>, maybe?: readonly string[]): Schema {
  return { ...shape(properties, maybe), additionalProperties: false };
}
