import { useEffect, useMemo } from "react";
import { usePage, type OpenChat } from "./page.ts";

/** The chat for as long as the component shows it. */
export function useOpenChat(chatId: string): OpenChat {
  const page = usePage();
  const chat = useMemo(() => {
    const found = page.openChat(chatId);
    // React may draw and never show: it is held from the effect on, and until then the page keeps it a while.
    found.release();
    return found;
  }, [page, chatId]);
  useEffect(() => {
    const held = page.openChat(chatId);
    return () => held.release();
  }, [page, chatId]);
  return chat;
}
