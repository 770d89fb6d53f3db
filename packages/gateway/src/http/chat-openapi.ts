import {
  answer,
  bodyOf,
  header,
  integer,
  listOf,
  query,
  ref,
  stream,
  text,
  words,
  yesOrNo,
  type Operation,
} from "./openapi-parts.ts";
import type { RouteName } from "./routes.ts";

/* What the OpenAPI document says of the routes of chats. */

const theChat = answer("The chat.", ref("ChatReply"));
const changed = answer("What it made of the chat.", ref("Changed"));
const conflict = answer(
  "The chat has changed meanwhile: `revision` and `stamp` are what it is at; or it cannot be done as the chat is.",
  {
    allOf: [
      ref("Error"),
      { type: "object", properties: { revision: integer(0), stamp: integer(0) } },
    ],
  },
);
const key = header(
  "Idempotency-Key",
  "The same key with the same body is sent to the model once; with another body it is refused.",
);
const newKey = header(
  "Idempotency-Key",
  "The same key with the same body answers with the same chats; with another body it is refused.",
);
const location = (description: string): object => ({
  Location: { schema: text, description },
});
const newChat = { ...theChat, headers: location("The address of the chat.") };
const sent = {
  ...answer("The answer is on its way, as a task.", ref("Sent")),
  headers: location("The address of the task."),
};

const asking = (body: string): Operation => ({
  parameters: [key],
  body: bodyOf(ref(body)),
  answers: { "201": sent, "409": conflict },
});
const file = (...types: string[]): object => ({
  description: "The file.",
  content: Object.fromEntries(types.map((type) => [type, { schema: text }])),
  headers: { "Content-Disposition": { schema: text, description: "With the name of the file." } },
});

export const chatOperations: ReadonlyMap<RouteName, Operation> = new Map<RouteName, Operation>([
  [
    "chats",
    {
      parameters: [
        query("limit", { ...integer(1), maximum: 100, default: 20 }, "How many."),
        query("before", text, "`next_before` of the page before. Not with `q`."),
        query("tag", text, "Those with this tag."),
        query("deleted", yesOrNo, "`true`: those that are deleted. Not with `q`."),
        query(
          "q",
          { ...text, maxLength: 200 },
          "Those in which a title or a message has all of these words.",
        ),
      ],
      answers: {
        "200": answer(
          "A page, and the stamp to follow the changes from; with `q` what was found.",
          {
            oneOf: [ref("ChatList"), ref("FoundChats")],
          },
        ),
      },
    },
  ],
  [
    "create chat",
    {
      parameters: [newKey],
      body: bodyOf(ref("NewChat"), false),
      answers: { "201": newChat },
    },
  ],
  [
    "chat events",
    {
      parameters: [
        query("after", integer(0), "The stamp of the last change that is known."),
        header("Last-Event-ID", "The same as `after`, and stronger."),
      ],
      answers: {
        "200": stream(
          "`chats.opened`, then `chat.changed` and `chat.removed`, whose `id` is their stamp; `approvals.changed` where something else may wait for people; `chats.reset` where what was missed is not known; `chats.heartbeat` after a silence.",
        ),
      },
    },
  ],
  ["chat choices", { answers: { "200": answer("The choices.", ref("ChatChoices")) } }],
  [
    "import chats",
    {
      parameters: [newKey],
      body: bodyOf({
        description: "A file that was exported as JSON, or OpenAI's messages.",
        type: ["object", "array"],
      }),
      answers: { "201": answer("The chats.", dataOf("ChatSummary")) },
    },
  ],
  [
    "open chat",
    {
      parameters: [
        query(
          "since",
          integer(0),
          "Only what has changed since the chat was at this stamp; the whole chat where that cannot be told.",
        ),
      ],
      answers: {
        "200": answer("The chat; with `since` what has changed.", {
          oneOf: [ref("ChatReply"), ref("ChatSince")],
        }),
      },
    },
  ],
  [
    "delete chat",
    {
      parameters: [query("forever", yesOrNo, "`true`: with no way back.")],
      answers: { "204": { description: "It is deleted, and what ran in it is stopped." } },
    },
  ],
  ["restore chat", { answers: { "200": theChat } }],
  [
    "edit chat",
    {
      body: bodyOf(ref("ChatEdits")),
      answers: {
        "200": answer("What they made of the chat.", ref("EditsMade")),
        "409": conflict,
      },
    },
  ],
  [
    "undo deletion",
    {
      body: bodyOf({
        type: "object",
        required: ["removal_id"],
        properties: { removal_id: text },
        additionalProperties: false,
      }),
      answers: { "200": changed, "409": conflict },
    },
  ],
  ["send message", asking("SendMessage")],
  ["rerun answer", asking("AskAgain")],
  [
    "edit message",
    {
      ...asking("EditMessage"),
      answers: {
        "200": answer("It is written, and no model was asked.", ref("Changed")),
        "201": sent,
        "409": conflict,
      },
    },
  ],
  ["continue answer", asking("AskAgain")],
  [
    "stop answers",
    {
      body: bodyOf(
        { type: "object", properties: { node_id: text }, additionalProperties: false },
        false,
      ),
      answers: {
        "200": answer("Those that were stopped, and what has become of the chat.", ref("Stopped")),
      },
    },
  ],
  [
    "extract chat",
    {
      parameters: [newKey],
      body: bodyOf({
        type: "object",
        required: ["node_id"],
        properties: { node_id: text },
        additionalProperties: false,
      }),
      answers: { "201": newChat },
    },
  ],
  [
    "export chat",
    {
      parameters: [
        query(
          "format",
          { ...words("markdown", "html", "json", "openai", "glued"), default: "markdown" },
          "Only `json` holds everything, and can be imported whole.",
        ),
      ],
      answers: { "200": file("text/markdown", "text/html", "application/json") },
    },
  ],
  ["chat tags", { answers: { "200": answer("The tags.", dataOf("ChatTag")) } }],
  ["chat removals", { answers: { "200": answer("What can be undone.", dataOf("ChatRemoval")) } }],
  ["chat variables", { answers: { "200": answer("The variables.", dataOf("ChatVariable")) } }],
  [
    "keep blob",
    {
      parameters: [query("filename", text, "Tells what it is where Content-Type does not.")],
      body: { required: true, content: { "*/*": { schema: {} } } },
      answers: {
        "201": {
          ...answer("It is kept.", ref("Blob")),
          headers: location("The address of the blob."),
        },
      },
    },
  ],
]);

function dataOf(name: string): Record<string, unknown> {
  return { type: "object", required: ["data"], properties: { data: listOf(ref(name)) } };
}
