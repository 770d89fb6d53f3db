import {
  applyEdit,
  currentPath,
  newChat,
  type AnswerEnd,
  type Chat,
  type ChatEdit,
  type ChatNode,
  type Edited,
  type EditWorld,
  type NewAnswer,
  type NewChat,
  type Removal,
} from "@deltawire/tasks/chats";
import type { MessageItem, Usage } from "@deltawire/tasks";

/** A chat as somebody writes it, edit by edit. Ids are `node_1`, `version_2`, …; a second passes with every look at the clock. */
export class WrittenChat {
  chat: Chat;
  readonly world: EditWorld;

  constructor(given: NewChat = {}, world: EditWorld = countingWorld()) {
    this.world = world;
    this.chat = newChat(given, world);
  }

  /** What must be allowed. */
  edit(edit: ChatEdit): Extract<Edited, { ok: true }> {
    const edited = applyEdit(this.chat, edit, this.world);
    if (!edited.ok) throw new Error(`${edit.type} is refused: ${edited.reason}`);
    this.chat = edited.chat;
    return edited;
  }

  /** A delete, and what it took. */
  removed(edit: Extract<ChatEdit, { type: "delete_node" | "delete_version" }>): Removal {
    const { removal } = this.edit(edit);
    if (removal === undefined) throw new Error("nothing was removed");
    return removal;
  }

  /** What must be refused: its code, and the reason. */
  refused(edit: ChatEdit): { code: string; reason: string } {
    const edited = applyEdit(this.chat, edit, this.world);
    if (edited.ok) throw new Error(`${edit.type} is allowed`);
    return { code: edited.code, reason: edited.reason };
  }

  user(parent: string | null, text = "?"): string {
    return this.edit({ type: "add_message", parent, message: { text } }).node_id ?? "";
  }

  answer(parent: string, text = "!", more: Partial<NewAnswer> = {}): string {
    const answer = { ...answerOf(text), ...more };
    return this.edit({ type: "add_answer", parent, answer }).node_id ?? "";
  }

  /** A message and its answer, under a node or at the root. */
  turn(parent: string | null, text: string): [user: string, answer: string] {
    const user = this.user(parent, text);
    return [user, this.answer(user, `re: ${text}`)];
  }

  separator(after: string): string {
    return this.edit({ type: "add_separator", after }).node_id ?? "";
  }

  node(id: string): ChatNode {
    const node = this.chat.nodes[id];
    if (node === undefined) throw new Error(`no ${id}`);
    return node;
  }

  shownVersion(id: string): string {
    const node = this.node(id);
    return node.kind === "separator" ? "" : node.version;
  }
}

export function pathOf(chat: Chat): string[] {
  return currentPath(chat).map(({ node_id }) => node_id);
}

export function versionIds(node: ChatNode): string[] {
  return node.kind === "separator" ? [] : node.versions.map(({ version_id }) => version_id);
}

export function usage(input_tokens: number, cost?: number): Usage {
  return {
    input_tokens,
    output_tokens: 1,
    total_tokens: input_tokens + 1,
    ...(cost === undefined ? {} : { cost }),
  };
}

export function answerOf(text: string): NewAnswer {
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    output: [said(text)],
    references: [],
    notices: [],
  };
}

export const slot: NewAnswer = {
  by: "model",
  status: "running",
  model_type: "chat",
  task_id: "task_1",
  output: [],
  references: [],
  notices: [],
};

export function endOf(status: AnswerEnd["status"], text: string): AnswerEnd {
  return { status, output: [said(text)], references: [] };
}

export function said(text: string): MessageItem {
  return {
    type: "message",
    id: `msg_${text}`,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text }],
  };
}

function countingWorld(): EditWorld {
  let ids = 0;
  let seconds = 0;
  return {
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => `2026-01-02T03:${two(Math.floor((seconds += 1) / 60))}:${two(seconds % 60)}Z`,
  };
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
