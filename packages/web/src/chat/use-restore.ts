import { usePage } from "../hooks/use-page.ts";
import type { OpenChat } from "../state/page.ts";

/** Takes a deletion of the chat back. */
export function useRestore(chat: OpenChat): () => Promise<void> {
  const { list } = usePage();
  return async () => {
    if (await list.restore(chat.chatId)) await chat.readAnew();
  };
}
