import type { ChatSettings } from "@deltawire/tasks/chats";
import type { DraftState, Page } from "../state/page.ts";

/**
 * Makes a chat, sends its first message and goes there. Returns its id; undefined if there is no chat then: the gateway could not be reached
 * (`onUnreachable`, in place of a toast), or it refused the message, and an empty chat is not left behind. A message that got
 * lost between the two is the draft of the new chat.
 */
export async function startChat(
  page: Page,
  settings: ChatSettings,
  { text, attachments, contexts, options }: Omit<DraftState, "key">,
  onUnreachable?: () => void,
): Promise<string | undefined> {
  const chatId = await page.createChat(settings, onUnreachable);
  if (chatId === undefined) return undefined;
  const draft = page.draft(chatId);
  draft.change({ text, attachments, contexts, options });
  const { key } = draft.get();
  const chat = page.openChat(chatId);
  try {
    const isSent = await draft.whileSending(() => chat.send(draft.get(), null));
    if (isSent || draft.unreached.get() === key) {
      page.router.go({ is: "chat", chatId });
      return chatId;
    }
    draft.clear();
    // If that fails there is one empty chat more in the list.
    await page.client.remove(chatId, { forever: true }).catch(() => undefined);
    return undefined;
  } finally {
    chat.release();
  }
}
