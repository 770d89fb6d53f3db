import fc from "fast-check";
import {
  applyEdit,
  createChat,
  type AnswerStatus,
  type Attachment,
  type Chat,
  type ChatEdit,
  type ContextSnippet,
  type NewAnswer,
} from "@deltawire/tasks/chats";
import type { Block, JsonValue, OutputItem } from "@deltawire/tasks";
import { blobUrl, dot, longValue, createSampleEnvironment, audio } from "./sample-chat.ts";

/* Random chats that are created by edits, with texts that contain the syntax of the export formats. */

const specialText = fc.constantFrom(
  "",
  "[^1]",
  "```",
  "````md\n```",
  "<script>alert(1)</script>",
  "</details>",
  '"><img src=x onerror=alert(1)>',
  "[a](javascript:alert(1))",
  "**bold** `code`",
  "- a\n  - b\n\n1. c",
  "中文\u{1F600}",
  '<context kind="file" title="a">\nb\n</context>',
  "__proto__",
  "\n\n",
);
const anyText = fc
  .array(fc.oneof(specialText, fc.string({ unit: "grapheme", maxLength: 12 })), { maxLength: 4 })
  .map((parts) => parts.join(" "));

const anyUrl = fc.constantFrom(
  blobUrl(dot.hash),
  blobUrl(audio.hash),
  blobUrl(longValue.hash),
  blobUrl("0".repeat(64)),
  "https://example.com/a?b=c&d=(e)",
);

const anyAttachment: fc.Arbitrary<Attachment> = fc.record(
  {
    kind: fc.constantFrom("image", "audio", "file"),
    url: anyUrl,
    filename: anyText,
    media_type: fc.constantFrom("image/png", "text/plain"),
    size: fc.nat(),
  },
  { requiredKeys: ["kind", "url"] },
);

const anyContext: fc.Arbitrary<ContextSnippet> = fc.record(
  {
    kind: fc.constantFrom("file", "selection", "page", "text"),
    title: anyText,
    text: anyText,
    url: anyUrl,
  },
  { requiredKeys: ["kind", "title", "text"] },
);

const anyMessage = fc.record({
  text: anyText,
  attachments: fc.array(anyAttachment, { maxLength: 2 }),
  contexts: fc.array(anyContext, { maxLength: 2 }),
});

const anyData = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;
const anyBlock: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: anyText }),
  fc.record({ type: fc.constant("image" as const), image_url: fc.record({ url: anyUrl }) }),
  fc.record({ type: fc.constant("data" as const), data: anyData }),
);

const anyRound = fc.record({
  reasoning: anyText,
  answer: anyText,
  calls: fc.array(
    fc.record({
      name: fc.constantFrom("search", "read"),
      args: fc.constantFrom("", "{}", '{"q":"`"}'),
      blocks: fc.array(anyBlock, { maxLength: 2 }),
      hasResult: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
});

let lastItemId = 0;
const anyOutput: fc.Arbitrary<OutputItem[]> = fc.array(anyRound, { maxLength: 3 }).map((rounds) =>
  rounds.flatMap(({ reasoning, answer, calls }): OutputItem[] => {
    const id = (prefix: string) => `${prefix}_${(lastItemId += 1)}`;
    const ids = calls.map(() => id("call"));
    return [
      {
        type: "reasoning",
        id: id("rs"),
        summary: [{ type: "text", text: reasoning }],
        // Reasoning that an earlier release stored has no duration.
        ...(reasoning.length % 2 === 0 ? {} : { duration_ms: reasoning.length }),
      },
      {
        type: "message",
        id: id("msg"),
        role: "assistant",
        block_list: [{ type: "text", text: answer }],
      },
      ...calls.map(({ name, args }, index): OutputItem => ({
        type: "tool_call",
        id: id("fc"),
        call_id: ids[index] ?? "",
        name,
        arguments: args,
      })),
      ...calls.flatMap(({ blocks, hasResult }, index): OutputItem[] =>
        hasResult
          ? [{ type: "tool_result", id: id("out"), call_id: ids[index] ?? "", block_list: blocks }]
          : [],
      ),
    ];
  }),
);

const anyAnswer: fc.Arbitrary<NewAnswer> = fc
  .record({
    output: anyOutput,
    status: fc.constantFrom<AnswerStatus>("completed", "completed", "aborted", "error", "timeout"),
    references: fc.array(fc.record({ title: anyText, url: anyUrl }), { maxLength: 2 }),
    notices: fc.array(anyText, { maxLength: 1 }),
  })
  .map(({ references, ...rest }) => ({
    by: "model",
    model_type: "chat",
    model: "demo-1",
    answers: "version_1",
    ...rest,
    references: references.map((one, index) => ({
      ...one,
      reference_id: index + 1,
      item_id: "out_1",
      block_indexes: [],
    })),
  }));

/** `at` selects the existing node that the edit changes. Rejected edits are skipped. */
const anyStep = fc.record({
  at: fc.nat(),
  createEdit: fc.oneof(
    anyMessage.map((message) => (id: string): ChatEdit => ({
      type: "add_message",
      parent: id,
      message,
    })),
    anyMessage.map((message) => (): ChatEdit => ({ type: "add_message", parent: null, message })),
    anyAnswer.map((answer) => (id: string): ChatEdit => ({
      type: "add_answer",
      parent: id,
      answer,
    })),
    anyAnswer.map((answer) => (id: string): ChatEdit => ({
      type: "add_answer",
      parent: id,
      answer,
    })),
    anyAnswer.map((answer) => (id: string): ChatEdit => ({
      type: "add_answer_version",
      node_id: id,
      answer,
    })),
    anyMessage.map((message) => (id: string): ChatEdit => ({
      type: "add_message_version",
      node_id: id,
      message,
    })),
    fc.constantFrom(
      (id: string): ChatEdit => ({ type: "add_separator", after: id }),
      (id: string): ChatEdit => ({ type: "hide", node_id: id, value: true }),
      (id: string): ChatEdit => ({ type: "bookmark", node_id: id, value: true }),
      (id: string): ChatEdit => ({ type: "choose_branch", node_id: id }),
      (id: string): ChatEdit => ({ type: "delete_node", node_id: id, children: "delete" }),
    ),
  ),
});
export type Step = { at: number; createEdit: (id: string) => ChatEdit };

export const anySteps: fc.Arbitrary<Step[]> = fc.array(anyStep, { maxLength: 25 });

export const anyChat: fc.Arbitrary<Chat> = fc
  .record({ steps: anySteps, instructions: anyText, title: anyText })
  .map(({ steps, instructions, title }) => {
    const environment = createSampleEnvironment();
    const titleField = title.trim() === "" ? {} : { title };
    return applySteps(
      createChat({ ...titleField, settings: { instructions } }, environment),
      steps,
      environment,
    );
  });

export function applySteps(
  start: Chat,
  steps: readonly Step[],
  environment = createSampleEnvironment(),
): Chat {
  let chat = start;
  for (const { at, createEdit } of steps) {
    // Select among the last nodes, so that chats become deep and not only wide.
    const ids = Object.keys(chat.nodes).slice(-6);
    const edited = applyEdit(
      chat,
      createEdit(ids[at % Math.max(ids.length, 1)] ?? ""),
      environment,
    );
    if (edited.ok) ({ chat } = edited);
  }
  return chat;
}
