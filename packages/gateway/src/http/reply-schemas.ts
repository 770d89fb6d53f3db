import type { TaskView } from "@deltawire/tasks";
import { taskStatuses } from "@deltawire/tasks";
import type {
  ApprovalsReply,
  BlobReply,
  ChangedReply,
  Chat,
  ChatChoices,
  ChatListReply,
  ChatNode,
  ChatReply,
  ChatSearchReply,
  ChatSince,
  ChatSummary,
  ChatVariable,
  DecidedReply,
  EditsReply,
  InputReply,
  RemovalSummary,
  RunningAnswer,
  SentReply,
  StoppedReply,
} from "@deltawire/tasks/chats";
import {
  attachment,
  chatSettings,
  contextSnippet,
  integer,
  limits,
  list,
  modelOptions,
  object,
  optionalFields,
} from "@deltawire/tasks/chats";
import * as v from "valibot";

/* What the API answers with, for the OpenAPI document. The compiler checks each against the type that is sent. */

/** Takes a schema that every value of `Type` fits, as far as types can tell. */
const describes =
  <Type>() =>
  <const Schema extends v.GenericSchema>(
    schema: Type extends v.InferInput<Schema> ? Schema : never,
  ): Schema =>
    schema;

const text = v.string();
const flag = v.boolean();
const number = v.number();
const texts = list(text);
const textOrNull = v.nullable(text);
const natural = v.pipe(v.number(), v.integer(), v.minValue(0));
const anything = v.pipe(v.unknown(), v.metadata({ type: "object" }));
const dateTime = v.pipe(text, v.isoTimestamp());
const described = <const Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(schema, v.description(description));

/** Later versions may add fields. */
const open = v.object;

export const error = open({
  error: open({ message: text, type: text, param: textOrNull, code: textOrNull }),
});

export const conflict = v.intersect([
  error,
  open(optionalFields({ revision: natural, stamp: natural })),
]);

export const usage = open(
  optionalFields({ input_tokens: natural, output_tokens: natural, total_tokens: natural }),
);

/* Of tasks; docs/task-protocol.md has the events. */

export const taskStatus = v.picklist(taskStatuses);

export const expandedArguments = described(
  v.union([open({ text }), open({ head: text, tail: text, length: natural, url: text })]),
  "The arguments that would be executed, where the call has {{var:NAME}} in them: their JSON text, or of a long one the beginning and the end, its length and the blob with all of it.",
);

export const approval = open({
  approval_id: text,
  task_id: text,
  kind: v.picklist(["call", "result", "question", "limit", "reconcile"]),
  choices: list(v.picklist(["approve", "deny", "redact", "abort"])),
  status: v.picklist(["pending", "resolved", "expired"]),
  ...optionalFields({
    call_id: text,
    args_hash: described(text, "SHA-256 of the arguments that would be executed."),
    expanded_arguments: expandedArguments,
    resolution: anything,
    expires_at: text,
  }),
});

export const task = describes<TaskView>()(
  open({
    task_id: text,
    status: taskStatus,
    output: list(
      open({ type: v.picklist(["reasoning", "tool_call", "tool_result", "message"]), id: text }),
    ),
    usage,
    references: list(anything),
    approvals: list(approval),
    ...optionalFields({
      retry: described(
        open({
          attempt: described(natural, "How many attempts have failed so far."),
          message: text,
          retry_in_ms: described(number, "Counted from failed_at."),
          ...optionalFields({ failed_at: text }),
        }),
        "Only while the model is asked again after a failure.",
      ),
      error: open({ code: text, message: text, retryable: flag }),
    }),
  }),
);

export const taskList = open({
  data: list(
    open({
      task_id: text,
      status: taskStatus,
      ...optionalFields({
        agent: text,
        model: text,
        session_id: text,
        created_at: text,
        updated_at: text,
        head: v.pipe(number, v.integer()),
      }),
    }),
  ),
  has_more: flag,
  next_before: textOrNull,
});

export const inputReply = describes<InputReply>()(
  open({ task_id: text, delivery: v.picklist(["steer", "queue"]) }),
);

export const pendingApprovals = describes<ApprovalsReply>()(
  open({
    data: list(
      open({
        approval,
        root_task_id: text,
        requested_at: dateTime,
        agent: text,
        depth: natural,
        ...optionalFields({
          call: open({ name: text, arguments: text }),
          input_schema: described(
            anything,
            "Of the arguments of a call: a JSON Schema, as the model receives it.",
          ),
          outcome: described(text, "Of a result that is held: what its run came to."),
          chat: open({
            chat_id: text,
            title: text,
            first_words: described(text, "What names a chat that has no title."),
            node_id: text,
            version_id: text,
          }),
        }),
      }),
    ),
  }),
);

export const decided = describes<DecidedReply>()(open({ approval }));

/* Of chats. */

const chatInfo = {
  chat_id: text,
  title: text,
  title_by: v.picklist(["nobody", "model", "user"]),
  created_at: text,
  updated_at: text,
  revision: natural,
  tags: texts,
  pinned: flag,
};

const ofVersion = { version_id: text, created_at: text };

export const userVersion = open({
  ...ofVersion,
  text,
  attachments: list(attachment),
  contexts: list(contextSnippet),
  ...optionalFields({
    options: modelOptions,
    follows: described(
      text,
      "The version of the node above that was shown when this was written. Where another one is shown, this and what follows is outdated. Absent: that node had only one.",
    ),
  }),
});

const modelType = v.picklist(["chat", "image-gen", "image-edit", "audio-stt", "audio-tts"]);

export const answerVersion = open({
  ...ofVersion,
  by: v.picklist(["model", "user"]),
  status: v.picklist(["running", "completed", "aborted", "error", "timeout"]),
  model_type: modelType,
  output: list(anything),
  references: list(anything),
  notices: texts,
  ...optionalFields({
    agent: text,
    model: text,
    task_id: text,
    waiting: flag,
    answers: described(text, "The version of its message that it answers."),
    continues: text,
    masked_with: text,
    child_references: described(
      list(anything),
      "Those of sub-agents, each with the task_id whose number it is.",
    ),
    inputs: described(
      list(anything),
      "What was said while it ran; taken_at is an index of output.",
    ),
    error: open({ phase: v.picklist(["model", "tool", "approval"]), code: text, message: text }),
    usage,
    tree_usage: usage,
    time_ms: number,
    round: described(natural, "How often its model was asked."),
    executions: described(list(anything), "The runs of its tools."),
    approvals: described(
      list(anything),
      "What people were asked, also by sub-agents, and what they decided.",
    ),
    child_tasks: described(
      v.record(text, anything),
      "The tasks of sub-agents, by the call that asked them.",
    ),
    warnings: described(
      list(open({ code: text, message: text, count: natural })),
      "What was mended or asked for again on the way.",
    ),
    model_ms: described(number, "How long its model answered."),
    waited_ms: described(number, "How long it waited for people."),
  }),
});

const ofNode = {
  node_id: text,
  parent: textOrNull,
  children: texts,
  created_at: text,
  pinned: flag,
  hidden: flag,
};

export const chatNode = describes<ChatNode>()(
  v.variant("kind", [
    open({ kind: v.literal("user"), ...ofNode, version: text, versions: list(userVersion) }),
    open({ kind: v.literal("answer"), ...ofNode, version: text, versions: list(answerVersion) }),
    open({ kind: v.literal("separator"), ...ofNode }),
  ]),
);

const nodes = v.record(text, chatNode);
const wholeChat = {
  ...chatInfo,
  settings: chatSettings,
  roots: texts,
  chosen: v.record(text, text),
  bookmarks: texts,
  ...optionalFields({ extra_usage: usage }),
};

export const chat = describes<Chat>()(open({ ...wholeChat, nodes }));

export const chatReply = describes<ChatReply>()(
  open({ chat, stamp: natural, usage, ...optionalFields({ deleted_at: text }) }),
);

export const chatSummary = describes<ChatSummary>()(
  open({
    ...chatInfo,
    messages: natural,
    running: natural,
    waiting: natural,
    first_words: text,
    excerpt: text,
    usage,
    stamp: natural,
    ...optionalFields({ deleted_at: text }),
  }),
);

export const chatList = describes<ChatListReply>()(
  open({ stamp: natural, data: list(chatSummary), has_more: flag, next_before: textOrNull }),
);

const range = list(natural, { min: 2, max: 2 });

/** Closed, so that an empty page of the list is not this as well. */
export const foundChats = describes<ChatSearchReply>()(
  object({
    data: list(
      open({
        chat: chatSummary,
        title_marks: list(range),
        hits: list(open({ node_id: text, version_id: text, text, marks: list(range) })),
      }),
    ),
  }),
);

const patch = {
  from: described(natural, "The stamp of the chat that was changed."),
  stamp: natural,
  chat: open(wholeChat),
  nodes: described(nodes, "Those that are new or other than they were."),
  gone: texts,
};
const changes = {
  ...patch,
  ...optionalFields({ node_id: text, version_id: text, removal_ids: texts }),
};
const since = { ...patch, usage, ...optionalFields({ deleted_at: text }) };

export const chatSince = describes<ChatSince>()(open(since));
export const changed = describes<ChangedReply>()(open(changes));
export const editsMade = describes<EditsReply>()(
  open({
    ...changes,
    added: described(
      list(v.nullable(open({ node_id: text, ...optionalFields({ version_id: text }) }))),
      "By each edit, in order.",
    ),
  }),
);
export const sent = describes<SentReply>()(
  open({ ...patch, node_id: text, version_id: text, task_id: text }),
);
export const runningAnswer = describes<RunningAnswer>()(
  open({ chat_id: text, node_id: text, version_id: text, task_id: text }),
);
export const stopped = describes<StoppedReply>()(open({ data: list(runningAnswer), ...since }));

export const chatTag = open({ tag: text, chats: integer(1) });
export const chatRemoval = describes<RemovalSummary>()(
  open({
    removal_id: text,
    removed_at: text,
    what: v.picklist(["nodes", "version"]),
    count: natural,
    excerpt: text,
  }),
);
export const chatVariable = describes<ChatVariable>()(
  open({
    name: text,
    call_id: text,
    of: text,
    tool: text,
    length: natural,
    url: text,
    created_at: text,
  }),
);

export const chatChoices = describes<ChatChoices>()(
  open({
    models: list(
      open({
        name: text,
        type: modelType,
        images: flag,
        audio: flag,
        files: flag,
        tools: flag,
        efforts: texts,
        refuses: described(
          texts,
          "Options that it does not take: names, or paths such as text.verbosity.",
        ),
      }),
    ),
    upstreams: described(
      list(open({ name: text, ...optionalFields({ problem: text }) })),
      "`problem`: why it has listed no models, or why its last request failed.",
    ),
    agents: list(open({ name: text, description: text, model: text })),
    tool_groups: texts,
    skills: list(
      open({ name: text, description: text, always: flag, ...optionalFields({ when: text }) }),
    ),
    defaults: object({
      ...chatSettings.entries,
      tool_groups: texts,
      skills: texts,
      options: modelOptions,
      limits,
      results: v.picklist(["never", "on error", "always"]),
      turns: natural,
      time_zone: text,
      exact_time: flag,
      titles: flag,
    }),
  }),
);

export const blob = describes<BlobReply>()(
  open({ url: text, media_type: text, size: natural, ...optionalFields({ filename: text }) }),
);

export const session = object({
  version: text,
  token_required: flag,
  signed_in: described(flag, "True as well where no token is asked for."),
  ...optionalFields({ client: described(text, "Whose token it is.") }),
});
