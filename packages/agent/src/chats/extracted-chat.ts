import { extractSubtree } from "@deltawire/tasks/chats";
import type { Chat, ChatStore, ChatToCreate, EditWorld } from "@deltawire/tasks/chats";
import { ChatError } from "./chat-error.ts";

/** A part of a chat as a chat of its own, with what belongs to that part and nothing else: it may be shared without the rest. */
export async function extractedChat(
  from: Chat,
  nodeId: string,
  store: Pick<ChatStore, "replays" | "variables">,
  world: EditWorld,
): Promise<ChatToCreate> {
  const extracted = extractSubtree(from, nodeId, world);
  if (!extracted.ok) throw new ChatError(extracted.code, extracted.reason);
  const { chat } = extracted;
  const versions = new Set(
    Object.values(chat.nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions.map(({ version_id }) => version_id) : [],
    ),
  );
  const kept = Object.entries(await store.replays(from.chat_id));
  const replays = Object.fromEntries(kept.filter(([id]) => versions.has(id)));
  const within = JSON.stringify([chat.nodes, replays]);
  const variables = (await store.variables(from.chat_id)).filter(({ call_id, name }) =>
    [call_id, `{{var:${name}}}`].some((word) => within.includes(word)),
  );
  return { chat, replays, variables };
}
