import {
  applyEdit,
  currentPath,
  createChat,
  type AnswerEnd,
  type Chat,
  type ChatEdit,
  type ChatNode,
  type EditResult,
  type EditEnvironment,
  type NewAnswer,
  type NewChatInput,
  type Removal,
} from "@deltawire/tasks/chats";
import type { MessageItem, Usage } from "@deltawire/tasks";

/** Builds a chat edit by edit. Ids are `node_1`, `version_2`, …; each call of `now` returns a time one second later. */
export class ChatBuilder {
  chat: Chat;
  readonly environment: EditEnvironment;

  constructor(
    input: NewChatInput = {},
    environment: EditEnvironment = createCountingEnvironment(),
  ) {
    this.environment = environment;
    this.chat = createChat(input, environment);
  }

  /** Applies an edit. Throws if it is rejected. */
  edit(edit: ChatEdit): Extract<EditResult, { ok: true }> {
    const result = applyEdit(this.chat, edit, this.environment);
    if (!result.ok) throw new Error(`${edit.type} was rejected: ${result.reason}`);
    this.chat = result.chat;
    return result;
  }

  /** Applies a deletion and returns its removal. */
  deleteAndGetRemoval(
    edit: Extract<ChatEdit, { type: "delete_node" | "delete_version" }>,
  ): Removal {
    const { removal } = this.edit(edit);
    if (removal === undefined) throw new Error("nothing was removed");
    return removal;
  }

  /** Returns the code and reason of a rejected edit. Throws if it is accepted. */
  expectRejection(edit: ChatEdit): { code: string; reason: string } {
    const result = applyEdit(this.chat, edit, this.environment);
    if (result.ok) throw new Error(`${edit.type} was not rejected`);
    return { code: result.code, reason: result.reason };
  }

  /** Adds a user message and returns its node id, like the following methods. */
  addMessage(parent: string | null, text = "?"): string {
    return this.edit({ type: "add_message", parent, message: { text } }).node_id ?? "";
  }

  addAnswer(parent: string, text = "!", overrides: Partial<NewAnswer> = {}): string {
    const answer = { ...buildAnswer(text), ...overrides };
    return this.edit({ type: "add_answer", parent, answer }).node_id ?? "";
  }

  /** Adds a message and its answer below a node or as a root. */
  addTurn(parent: string | null, text: string): [user: string, answer: string] {
    const user = this.addMessage(parent, text);
    return [user, this.addAnswer(user, `re: ${text}`)];
  }

  addSeparator(after: string): string {
    return this.edit({ type: "add_separator", after }).node_id ?? "";
  }

  getNode(id: string): ChatNode {
    const node = this.chat.nodes[id];
    if (node === undefined) throw new Error(`the chat has no node ${id}`);
    return node;
  }

  getChosenVersionId(id: string): string {
    const node = this.getNode(id);
    return node.kind === "separator" ? "" : node.version;
  }
}

export function getPathIds(chat: Chat): string[] {
  return currentPath(chat).map(({ node_id }) => node_id);
}

export function getVersionIds(node: ChatNode): string[] {
  return node.kind === "separator" ? [] : node.versions.map(({ version_id }) => version_id);
}

export function buildUsage(input_tokens: number, cost?: number): Usage {
  return {
    input_tokens,
    output_tokens: 1,
    total_tokens: input_tokens + 1,
    ...(cost === undefined ? {} : { cost }),
  };
}

export function buildAnswer(text: string): NewAnswer {
  return {
    by: "model",
    status: "completed",
    model_type: "chat",
    output: [textMessage(text)],
    references: [],
    notices: [],
  };
}

export const runningAnswer: NewAnswer = {
  by: "model",
  status: "running",
  model_type: "chat",
  task_id: "task_1",
  output: [],
  references: [],
  notices: [],
};

export function buildEnd(status: AnswerEnd["status"], text: string): AnswerEnd {
  return { status, output: [textMessage(text)], references: [] };
}

export function textMessage(text: string): MessageItem {
  return {
    type: "message",
    id: `msg_${text}`,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text }],
  };
}

function createCountingEnvironment(): EditEnvironment {
  let ids = 0;
  let seconds = 0;
  return {
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    now: () => `2026-01-02T03:${pad(Math.floor((seconds += 1) / 60))}:${pad(seconds % 60)}Z`,
  };
}

function pad(n: number): string {
  return String(n).padStart(2, "0");
}
