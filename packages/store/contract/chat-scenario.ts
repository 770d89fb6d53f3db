import assert from "node:assert/strict";
import { applyEdit, lastOnPath, newChat } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatEdit,
  EditWorld,
  KeptChat,
  NewAnswer,
  Removal,
} from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";

const start = Date.now();

/** Chats by real edits, a second apart, with ids that count. */
export class ChatStage {
  readonly #store: Store;
  #ids = 0;
  #seconds = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  readonly world: EditWorld = {
    newId: (prefix) => `${prefix}_${++this.#ids}`,
    now: () => new Date(start + 1000 * ++this.#seconds).toISOString(),
  };

  /** With messages, each the answer's user's next one: "user", "answer", "user", … */
  chat(title: string, ...said: string[]): Chat {
    let chat = newChat({ title }, this.world);
    for (const [at, text] of said.entries()) chat = this.said(chat, text, at % 2 === 1);
    return chat;
  }

  async create(title: string, ...said: string[]): Promise<KeptChat> {
    const chat = this.chat(title, ...said);
    await this.#store.createChats([{ chat }]);
    return this.open(chat.chat_id);
  }

  async open(chatId: string): Promise<KeptChat> {
    const kept = await this.#store.chat(chatId);
    assert.ok(kept !== undefined, `${chatId} is there`);
    return kept;
  }

  edit(chat: Chat, edit: ChatEdit): { chat: Chat; node: string; removals: Removal[] } {
    const edited = applyEdit(chat, edit, this.world);
    assert.ok(edited.ok, `${edit.type} is no good: ${edited.ok ? "" : edited.reason}`);
    const { removal, node_id: node = "" } = edited;
    return { chat: edited.chat, node, removals: removal === undefined ? [] : [removal] };
  }

  said(chat: Chat, text: string, isAnswer = false): Chat {
    const parent = lastNode(chat);
    if (!isAnswer || parent === null)
      return this.edit(chat, { type: "add_message", parent, message: { text } }).chat;
    return this.edit(chat, { type: "add_answer", parent, answer: answer(text) }).chat;
  }

  /** The chat must be as it was. */
  async save(kept: KeptChat, edit: ChatEdit): Promise<KeptChat> {
    const { chat, removals } = this.edit(kept.chat, edit);
    return this.saved(kept, chat, removals);
  }

  async saved(kept: KeptChat, chat: Chat, removals: readonly Removal[] = []): Promise<KeptChat> {
    const saved = await this.#store.saveChat(kept, chat, { removals });
    assert.ok(saved !== "conflict", "nobody else has changed it");
    return saved;
  }
}

export function answer(text: string, more: Partial<NewAnswer> = {}): NewAnswer {
  const id = "item";
  const output = [
    {
      type: "message" as const,
      id,
      role: "assistant" as const,
      block_list: [{ type: "text" as const, text }],
    },
  ];
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    output,
    references: [],
    notices: [],
    ...more,
  };
}

export function lastNode(chat: Chat): string | null {
  return lastOnPath(chat)?.node_id ?? null;
}

/** Titles of what a query finds. */
export async function found(store: Store, query: string, tag?: string): Promise<string[]> {
  const options = { limit: 100, ...(tag === undefined ? {} : { tag }) };
  return (await store.searchChats(query, options)).map(({ chat }) => chat.title);
}
