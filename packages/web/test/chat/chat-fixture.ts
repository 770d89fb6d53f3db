import { createChat, type AnswerVersion, type Chat } from "@deltawire/tasks/chats";
import { applyEdits, type ChatEdit, type EditEnvironment } from "@deltawire/tasks/chats";

/** Builds a chat from edits. Its ids are numbered: node_1, version_1, … */
export function buildChat(...edits: readonly ChatEdit[]): Chat {
  const environment = createCountingEnvironment();
  let chat = createChat({}, environment);
  for (const edit of edits) {
    const edited = applyEdits(chat, [edit], environment);
    if (!edited.ok) throw new Error(edited.reason);
    chat = edited.chat;
  }
  return chat;
}

export const completedAnswer: Omit<AnswerVersion, "version_id" | "created_at"> = {
  by: "model",
  status: "completed",
  model_type: "chat",
  model: "demo/clean",
  output: [],
  references: [],
  notices: [],
};

export function createMessageOutput(text: string): AnswerVersion["output"] {
  return [
    {
      type: "message",
      id: "message_1",
      role: "assistant",
      block_list: [{ type: "text", text }],
    },
  ];
}

function createCountingEnvironment(): EditEnvironment {
  const counts = new Map<string, number>();
  return {
    newId(prefix) {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
    now: () => "2026-01-01T00:00:00.000Z",
  };
}
