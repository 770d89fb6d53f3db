import { useEffect, useMemo } from "react";
import type { OpenChat } from "../state/page.ts";
import { usePage } from "./use-page.ts";

/** The chat for as long as the component shows it. */
export function useOpenChat(chatId: string): OpenChat;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined;
export function useOpenChat(chatId: string | undefined): OpenChat | undefined {
  const page = usePage();
  const chat = useMemo(() => {
    if (chatId === undefined) return undefined;
    const found = page.openChat(chatId);
    // React may draw and never show: it is held from the effect on, and until then the page keeps it a while.
    found.release();
    return found;
  }, [page, chatId]);
  useEffect(() => {
    if (chatId === undefined) return undefined;
    const held = page.openChat(chatId);
    return () => held.release();
  }, [page, chatId]);
  return chat;
}
