import { ChatApiError, type ChatClient } from "@deltawire/tasks/chats";
import type { OpenChat } from "../state/page.ts";
import type { SettingsPatch } from "./settings-form.ts";

/**
 * Changes what has changed, all or nothing. Throws what the gateway says against it, with the place of the fault, which is
 * why it is no `chat.change`. A chat that somebody else has touched meanwhile gets it too: only these fields are meant.
 */
export async function saveSettings(
  client: Pick<ChatClient, "edits">,
  chat: Pick<OpenChat, "chatId" | "state" | "readAnew">,
  patch: SettingsPatch,
): Promise<void> {
  const edits = [{ type: "settings", patch }] as const;
  const state = chat.state.get();
  const save = (revision: number) => client.edits(chat.chatId, { revision, edits });
  try {
    await save(state.is === "ready" ? state.chat.revision : 0);
  } catch (error) {
    const now = error instanceof ChatApiError && error.code === "conflict" && error.revision;
    if (typeof now !== "number") throw error;
    await save(now);
  }
  await chat.readAnew();
}
