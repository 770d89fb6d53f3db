import { newChat, type AnswerVersion, type Chat } from "@deltawire/tasks/chats";
import { applyEdits, type ChatEdit, type EditWorld } from "@deltawire/tasks/chats";

/** A chat as a list of edits makes it; ids are counted: node_1, version_1, … */
export function chatAfter(...edits: readonly ChatEdit[]): Chat {
  const world = countingWorld();
  let chat = newChat({}, world);
  for (const edit of edits) {
    const edited = applyEdits(chat, [edit], world);
    if (!edited.ok) throw new Error(edited.reason);
    chat = edited.chat;
  }
  return chat;
}

export const answered: Omit<AnswerVersion, "version_id" | "created_at"> = {
  by: "model",
  status: "completed",
  model_type: "chat",
  model: "demo/clean",
  output: [],
  references: [],
  notices: [],
};

export function saying(text: string): AnswerVersion["output"] {
  return [
    {
      type: "message",
      id: "message_1",
      role: "assistant",
      block_list: [{ type: "text", text }],
    },
  ];
}

function countingWorld(): EditWorld {
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
