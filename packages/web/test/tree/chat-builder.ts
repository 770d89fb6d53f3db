import { applyEdit, createChat, type Chat, type ChatEdit } from "@deltawire/tasks/chats";
import type { AnswerVersion } from "@deltawire/tasks/chats";

/** Builds a chat step by step. Node ids are `node_1`, `node_2`, … in order of creation. */
export class ChatBuilder {
  chat: Chat;
  readonly #counts = new Map<string, number>();
  readonly #environment = {
    newId: (prefix: string) => {
      const count = (this.#counts.get(prefix) ?? 0) + 1;
      this.#counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
    now: () => "2026-11-15T08:00:00.000Z",
  };

  constructor() {
    this.chat = createChat({ title: "Weather" }, this.#environment);
  }

  edit(edit: ChatEdit): string {
    const edited = applyEdit(this.chat, edit, this.#environment);
    if (!edited.ok) throw new Error(edited.reason);
    this.chat = edited.chat;
    return edited.node_id ?? "";
  }

  addMessage(parent: string | null, text: string): string {
    return this.edit({ type: "add_message", parent, message: { text } });
  }

  addAnswer(parent: string, text: string, overrides: Partial<AnswerVersion> = {}): string {
    return this.edit({ type: "add_answer", parent, answer: createAnswer(text, overrides) });
  }

  addAnswerVersion(nodeId: string, text: string, overrides: Partial<AnswerVersion> = {}): string {
    const answer = createAnswer(text, overrides);
    return this.edit({ type: "add_answer_version", node_id: nodeId, answer });
  }
}

function createAnswer(text: string, overrides: Partial<AnswerVersion>) {
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
    ...overrides,
  } satisfies Omit<AnswerVersion, "version_id" | "created_at">;
}
