import { createHash } from "node:crypto";
import type {
  AnswerVersion,
  Chat,
  FileBlob,
  ImportEnvironment,
  NewAnswer,
} from "@deltawire/tasks/chats";
import type { JsonObject, OutputItem, TaskState } from "@deltawire/tasks";
import { ChatBuilder } from "../chat-builder.ts";

/** Creates an environment with consecutive ids and a constant time. */
export function createSampleEnvironment(from = "a"): ImportEnvironment {
  let lastId = 0;
  return {
    newId: (prefix) => `${prefix}_${from}${(lastId += 1)}`,
    now: () => "2026-03-01T10:00:00.000Z",
    hashBlob: (base64) => createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex"),
  };
}

function createBlob(text: string, media_type: string): { hash: string; blob: FileBlob } {
  const base64 = Buffer.from(text).toString("base64");
  return { hash: createSampleEnvironment().hashBlob(base64), blob: { media_type, base64 } };
}

/** An image of a red dot. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";
export const dot = {
  hash: createSampleEnvironment().hashBlob(png),
  blob: { media_type: "image/png", base64: png },
} as const;
export const audio = createBlob("RIFF no real sound", "audio/wav");
export const longValue = createBlob("a long value", "text/plain");

/** Returns a blob of the sample chat. */
export function findSampleBlob(hash: string): FileBlob | undefined {
  return [dot, audio, longValue].find((one) => one.hash === hash)?.blob;
}

export function blobUrl(hash: string): string {
  return `/api/blobs/${hash}`;
}

/** Builds a completed answer. */
export function answer(
  output: AnswerVersion["output"],
  overrides: Partial<NewAnswer> = {},
): NewAnswer {
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    model: "demo-1",
    output,
    references: [],
    notices: [],
    ...overrides,
  };
}

/** Builds a message item. */
export function text(content: string, id = "msg_1"): OutputItem {
  return {
    type: "message",
    id,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text: content }],
  };
}

/** Builds a tool call and its result. */
export function call(name: string, args: string, result: string, id = "call_1"): OutputItem[] {
  return [
    {
      type: "tool_call",
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: args,
      status: "completed",
      outcome: "completed",
    },
    {
      type: "tool_result",
      id: `out_${id}`,
      call_id: id,
      status: "completed",
      outcome: "completed",
      block_list: [{ type: "text", text: result, id: 1 }],
    },
  ];
}

/** Creates a chat with contexts, attachments, calls, a sub-agent, references, reasoning, an error and another branch. */
export function createSampleChat(): Chat {
  const builder = new ChatBuilder(
    { title: "A sample", settings: { instructions: "Be brief." }, tags: ["test"] },
    createSampleEnvironment(),
  );
  const prompt = builder.edit({
    type: "add_message",
    parent: null,
    message: {
      text: "What is in this *picture*?",
      attachments: [
        { kind: "image", url: blobUrl(dot.hash), filename: "dot.png", media_type: "image/png" },
        { kind: "audio", url: blobUrl(audio.hash), filename: "a.wav", media_type: "audio/wav" },
      ],
      contexts: [{ kind: "file", title: "notes.md", text: "```js\nlet a;\n```" }],
    },
  }).node_id as string;
  const firstAnswer = builder.addAnswer(prompt, "", researchAnswer);
  const nextMessage = builder.addMessage(builder.addSeparator(firstAnswer), "Go on");
  const failed = builder.addAnswer(nextMessage, "", {
    ...answer([]),
    status: "error",
    error: { phase: "model", code: "timeout", message: "no byte for 30 s" },
  });
  builder.edit({ type: "add_answer_version", node_id: failed, answer: answer([text("Gone on.")]) });
  builder.addMessage(null, "Another beginning");
  builder.edit({ type: "choose_branch", node_id: failed });
  builder.edit({ type: "bookmark", node_id: firstAnswer, value: true });
  return builder.chat;
}

/** Creates the completed task of a sub-agent. */
export function createChildTask(
  parent: string,
  taskId: string,
  output: TaskState["output"],
  overrides: Partial<TaskState> = {},
): TaskState {
  return {
    task_id: taskId,
    info: {
      root_task_id: "task_1",
      parent_task_id: parent,
      parent_call_id: taskId,
      attempt: 1,
      depth: 1,
      agent: "helper",
      model: "demo-1",
      status: "created",
      limits: {},
      created_at: "2026-03-01T10:00:00.000Z",
      protocol_version: "1.0",
    },
    status: "completed",
    output,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    round: 1,
    round_done: true,
    round_started_at_index: 0,
    epoch: 0,
    executions: [],
    inputs: [],
    ...overrides,
  };
}

const researchAnswer = answer(
  [
    {
      type: "reasoning",
      id: "rs_1",
      status: "completed",
      summary: [{ type: "text", text: "I should look." }],
    },
    text("Let me look.", "msg_0"),
    ...call("search", '{"q":"red dot"}', "A result with ```` four ticks"),
    {
      type: "tool_call",
      id: "fc_2",
      call_id: "task_child",
      name: "helper",
      arguments: "{}",
      child_task_ids: ["task_child"],
    },
    {
      type: "tool_result",
      id: "out_2",
      call_id: "task_child",
      outcome: "completed",
      block_list: [],
    },
    text("A red dot [^1], not `[^1]`.", "msg_2"),
  ],
  {
    task_id: "task_1",
    child_tasks: {
      task_child: createChildTask("task_1", "task_child", [
        text("The helper says red.", "msg_child"),
      ]),
    },
    references: [
      {
        reference_id: 1,
        item_id: "out_call_1",
        block_indexes: [0],
        title: "Dots",
        url: "https://example.com/dots",
      },
    ],
    inputs: [
      {
        item: {
          type: "message",
          id: "in_1",
          role: "user",
          content: [{ type: "text", text: "Look at the color." }],
        },
        delivery: "steer",
        taken_at: 4,
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    time_ms: 1200,
    notices: ["The audio was left out: this model does not support audio."],
  },
);

/** Returns the replay of the first answer, by version id. */
export function createSampleReplays(chat: Chat): Record<string, JsonObject[]> {
  const node = Object.values(chat.nodes).find(({ kind }) => kind === "answer");
  if (node?.kind !== "answer") return {};
  return {
    [node.version]: [
      { type: "reasoning", id: "rs_1", encrypted_content: "x", summary: [] },
      { type: "function_call", call_id: "call_1", name: "search", arguments: '{"q":"red dot"}' },
      {
        type: "function_call_output",
        call_id: "call_1",
        output: [
          { type: "input_text", text: "what the model saw" },
          { type: "input_image", image_url: blobUrl(dot.hash) },
        ],
      },
      { type: "message", role: "user", content: [{ type: "input_text", text: "Faster." }] },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "A red dot." }],
      },
    ],
  };
}
