import { useEffect } from "react";
import { useCell, usePicked } from "../state/cell.ts";
import { usePage } from "../state/page.ts";

/** The tab says how many decisions wait, and what it shows. */
export function useTitleCount(): void {
  const page = usePage();
  const count = usePicked(page.approvals.pending, (pending) => pending.length);
  const route = useCell(page.router.route);
  const title = usePicked(page.list.state, (list) => {
    if (list.is !== "ready" || !("chatId" in route)) return "";
    return list.chats.find((chat) => chat.chat_id === route.chatId)?.title ?? "";
  });
  useEffect(() => {
    document.title = tabTitle(count, title);
  }, [count, title]);
}

export function tabTitle(count: number, title: string): string {
  const name = title === "" ? "Deltawire" : `${title} · Deltawire`;
  return count === 0 ? name : `(${count}) ${name}`;
}
