import assert from "node:assert/strict";
import { applyEdit, lastNodeOnPath, createChat } from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatEdit,
  EditEnvironment,
  StoredChat,
  NewAnswer,
  Removal,
} from "@deltawire/tasks/chats";
import type { Store } from "@deltawire/store";

const startTime = Date.now();

/** Builds chats with real edits, which are one second apart. Ids are consecutive. */
export class ChatBuilder {
  readonly #store: Store;
  #ids = 0;
  #seconds = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  readonly editEnvironment: EditEnvironment = {
    newId: (prefix) => `${prefix}_${++this.#ids}`,
    now: () => new Date(startTime + 1000 * ++this.#seconds).toISOString(),
  };

  /** Builds a chat with alternating messages: "user", "answer", "user", … */
  build(title: string, ...texts: string[]): Chat {
    let chat = createChat({ title }, this.editEnvironment);
    for (const [index, text] of texts.entries()) chat = this.addText(chat, text, index % 2 === 1);
    return chat;
  }

  /** Builds a chat and stores it. */
  async create(title: string, ...texts: string[]): Promise<StoredChat> {
    const chat = this.build(title, ...texts);
    await this.#store.createChats([{ chat }]);
    return this.open(chat.chat_id);
  }

  /** Reads a stored chat. Fails if it does not exist. */
  async open(chatId: string): Promise<StoredChat> {
    const stored = await this.#store.getChat(chatId);
    assert.ok(stored !== undefined, `${chatId} exists`);
    return stored;
  }

  /** Applies an edit without saving the chat. Fails if it is rejected. */
  edit(chat: Chat, edit: ChatEdit): { chat: Chat; node: string; removals: Removal[] } {
    const editResult = applyEdit(chat, edit, this.editEnvironment);
    assert.ok(
      editResult.ok,
      `${edit.type} was rejected: ${editResult.ok ? "" : editResult.reason}`,
    );
    const { removal, node_id: node = "" } = editResult;
    return { chat: editResult.chat, node, removals: removal === undefined ? [] : [removal] };
  }

  addText(chat: Chat, text: string, isAnswer = false): Chat {
    const parent = getLastNodeId(chat);
    if (!isAnswer || parent === null)
      return this.edit(chat, { type: "add_message", parent, message: { text } }).chat;
    return this.edit(chat, { type: "add_answer", parent, answer: createAnswer(text) }).chat;
  }

  /** Applies an edit and saves the chat. Fails on a conflict. */
  async saveEdit(stored: StoredChat, edit: ChatEdit): Promise<StoredChat> {
    const { chat, removals } = this.edit(stored.chat, edit);
    return this.saveChat(stored, chat, removals);
  }

  async saveChat(
    stored: StoredChat,
    chat: Chat,
    removals: readonly Removal[] = [],
  ): Promise<StoredChat> {
    const saved = await this.#store.saveChat(stored, chat, { removals });
    assert.ok(saved !== "conflict", "unexpected conflict");
    return saved;
  }
}

export function createAnswer(text: string, overrides: Partial<NewAnswer> = {}): NewAnswer {
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
    ...overrides,
  };
}

export function getLastNodeId(chat: Chat): string | null {
  return lastNodeOnPath(chat)?.node_id ?? null;
}

/** Returns the titles of the chats that a query finds. */
export async function searchTitles(store: Store, query: string, tag?: string): Promise<string[]> {
  const options = { owner: "", limit: 100, ...(tag === undefined ? {} : { tag }) };
  return (await store.searchChats(query, options)).map(({ chat }) => chat.title);
}
