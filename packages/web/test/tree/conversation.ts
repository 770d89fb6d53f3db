import { applyEdit, newChat, type Chat, type ChatEdit } from "@deltawire/tasks/chats";
import type { AnswerVersion } from "@deltawire/tasks/chats";

/** A chat that grows as a test says; nodes are `node_1`, `node_2`, … in the order in which they came. */
export class Conversation {
  chat: Chat;
  readonly #counts = new Map<string, number>();
  readonly #world = {
    newId: (prefix: string) => {
      const count = (this.#counts.get(prefix) ?? 0) + 1;
      this.#counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
    now: () => "2026-11-15T08:00:00.000Z",
  };

  constructor() {
    this.chat = newChat({ title: "Weather" }, this.#world);
  }

  edit(edit: ChatEdit): string {
    const edited = applyEdit(this.chat, edit, this.#world);
    if (!edited.ok) throw new Error(edited.reason);
    this.chat = edited.chat;
    return edited.node_id ?? "";
  }

  ask(parent: string | null, text: string): string {
    return this.edit({ type: "add_message", parent, message: { text } });
  }

  answer(parent: string, text: string, more: Partial<AnswerVersion> = {}): string {
    return this.edit({ type: "add_answer", parent, answer: answerOf(text, more) });
  }

  again(nodeId: string, text: string, more: Partial<AnswerVersion> = {}): string {
    const answer = answerOf(text, more);
    return this.edit({ type: "add_answer_version", node_id: nodeId, answer });
  }
}

function answerOf(text: string, more: Partial<AnswerVersion>) {
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    model: "demo/clean",
    output: [
      {
        type: "message",
        id: "item",
        role: "assistant",
        status: "completed",
        block_list: [{ type: "text", text }],
      },
    ],
    references: [],
    notices: [],
    ...more,
  } satisfies Omit<AnswerVersion, "version_id" | "created_at">;
}
