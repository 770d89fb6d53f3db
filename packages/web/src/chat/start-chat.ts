import type { ChatSettings } from "@deltawire/tasks/chats";
import type { DraftState, Page } from "../state/page.ts";

/**
 * Makes a chat and sends its first message. Answers with whether there is a chat: the message is its draft then, until the
 * gateway has it, so that nothing is lost whichever of the two fails. `onUnreachable`: in place of a toast, if there is none.
 */
export async function startChat(
  page: Page,
  settings: ChatSettings,
  { text, attachments, contexts, options }: Omit<DraftState, "key">,
  onUnreachable?: () => void,
): Promise<boolean> {
  const chatId = await page.newChat(settings, onUnreachable);
  if (chatId === undefined) return false;
  const draft = page.draft(chatId);
  draft.change({ text, attachments, contexts, options });
  const chat = page.openChat(chatId);
  void draft.whileSending(() => chat.send(draft.get(), null)).finally(() => chat.release());
  return true;
}
