import type { ChatSettings } from "@deltawire/tasks/chats";
import type { DraftState, AppStore } from "../state/app-store.ts";

/**
 * Creates a chat, sends its first message, opens the chat and returns its id. If the gateway cannot be reached, calls
 * `onUnreachable` instead of showing a toast, and returns undefined. If the connection is lost once the chat exists,
 * opens the chat with the message as its draft. If the gateway rejects the message, deletes the chat and returns undefined.
 */
export async function startChat(
  app: AppStore,
  settings: ChatSettings,
  { text, attachments, contexts, options }: Omit<DraftState, "key">,
  onUnreachable?: () => void,
): Promise<string | undefined> {
  const chatId = await app.createChat(settings, onUnreachable);
  if (chatId === undefined) return undefined;
  const draft = app.getDraft(chatId);
  draft.change({ text, attachments, contexts, options });
  const { key } = draft.get();
  const chat = app.openChat(chatId);
  try {
    const isSent = await draft.whileSending(() => chat.send(draft.get(), null));
    if (isSent || draft.unreachableKey.get() === key) {
      app.router.navigate({ type: "chat", chatId });
      return chatId;
    }
    draft.clear();
    // If this fails, an empty chat remains in the list.
    await app.client.remove(chatId, { forever: true }).catch(() => undefined);
    return undefined;
  } finally {
    chat.release();
  }
}
