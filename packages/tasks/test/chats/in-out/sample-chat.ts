import { createHash } from "node:crypto";
import type { AnswerVersion, Chat, FileBlob, ImportWorld, NewAnswer } from "@deltawire/tasks/chats";
import type { JsonObject, OutputItem, TaskState } from "@deltawire/tasks";
import { WrittenChat } from "../written-chat.ts";

/** Ids that count up, and a clock that stands. */
export function sampleWorld(from = "a"): ImportWorld {
  let last = 0;
  return {
    newId: (prefix) => `${prefix}_${from}${(last += 1)}`,
    now: () => "2026-03-01T10:00:00.000Z",
    blobHash: (base64) => createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex"),
  };
}

function blobOf(text: string, media_type: string): { hash: string; blob: FileBlob } {
  const base64 = Buffer.from(text).toString("base64");
  return { hash: sampleWorld().blobHash(base64), blob: { media_type, base64 } };
}

/** A red dot. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";
export const dot = {
  hash: sampleWorld().blobHash(png),
  blob: { media_type: "image/png", base64: png },
} as const;
export const sound = blobOf("RIFF no real sound", "audio/wav");
export const kept = blobOf("a long value", "text/plain");

export function sampleBlobs(hash: string): FileBlob | undefined {
  return [dot, sound, kept].find((one) => one.hash === hash)?.blob;
}

export function blobUrl(hash: string): string {
  return `/api/blobs/${hash}`;
}

export function answer(output: AnswerVersion["output"], more: Partial<NewAnswer> = {}): NewAnswer {
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    model: "demo-1",
    output,
    references: [],
    notices: [],
    ...more,
  };
}

export function text(words: string, id = "msg_1"): OutputItem {
  return {
    type: "message",
    id,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text: words }],
  };
}

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

/** One of everything: contexts, attachments, calls, a sub-agent, references, reasoning, an error, a branch. */
export function sampleChat(): Chat {
  const written = new WrittenChat(
    { title: "A sample", settings: { instructions: "Be brief." }, tags: ["test"] },
    sampleWorld(),
  );
  const asked = written.edit({
    type: "add_message",
    parent: null,
    message: {
      text: "What is in this *picture*?",
      attachments: [
        { kind: "image", url: blobUrl(dot.hash), filename: "dot.png", media_type: "image/png" },
        { kind: "audio", url: blobUrl(sound.hash), filename: "a.wav", media_type: "audio/wav" },
      ],
      contexts: [{ kind: "file", title: "notes.md", text: "```js\nlet a;\n```" }],
    },
  }).node_id as string;
  const found = written.answer(asked, "", researched);
  const more = written.user(written.separator(found), "Go on");
  const failed = written.answer(more, "", {
    ...answer([]),
    status: "error",
    error: { phase: "model", code: "timeout", message: "no byte for 30 s" },
  });
  written.edit({ type: "add_answer_version", node_id: failed, answer: answer([text("Gone on.")]) });
  written.user(null, "Another beginning");
  written.edit({ type: "choose_branch", node_id: failed });
  written.edit({ type: "bookmark", node_id: found, value: true });
  return written.chat;
}

/** The task of a sub-agent that has ended. */
export function childTask(
  parent: string,
  taskId: string,
  output: TaskState["output"],
  more: Partial<TaskState> = {},
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
    ...more,
  };
}

const researched = answer(
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
      task_child: childTask("task_1", "task_child", [text("The helper says red.", "msg_child")]),
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
          content: [{ type: "text", text: "Look at the colour." }],
        },
        delivery: "steer",
        taken_at: 4,
      },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    time_ms: 1200,
    notices: ["The sound was left out: this model hears nothing."],
  },
);

/** What a model is told of its first answer. */
export function sampleReplays(chat: Chat): Record<string, JsonObject[]> {
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
