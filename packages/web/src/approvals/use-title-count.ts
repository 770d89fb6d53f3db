import { useEffect } from "react";
import { usePicked } from "../hooks/use-cell.ts";
import { useOpenChat } from "../hooks/use-open-chat.ts";
import { usePage } from "../hooks/use-page.ts";
import { cell } from "../cell.ts";
import type { ListState, OpenChatState } from "../state/page.ts";
import { nameInList, nameOfChat } from "../texts/name-of-chat.ts";

/** The tab says how many decisions wait, and what it shows. */
export function useTitleCount(): void {
  const page = usePage();
  const count = usePicked(page.approvals.pending, (pending) => pending.length);
  const chatId = usePicked(page.router.route, (route) =>
    "chatId" in route ? route.chatId : undefined,
  );
  const chat = useOpenChat(chatId);
  const shown = usePicked(chat?.state ?? noChat, titleShown);
  const listed = usePicked(page.list.state, (list) => titleInList(list, chatId));
  const title = shown ?? listed;
  useEffect(() => {
    document.title = tabTitle(count, title);
  }, [count, title]);
}

const noChat = cell<OpenChatState>({ is: "missing" });

/** Undefined before the chat is there: the list, which has only the newest, may know it sooner. */
function titleShown(state: OpenChatState): string | undefined {
  return state.is === "ready" ? nameOfChat(state.chat) : undefined;
}

function titleInList(list: ListState, chatId: string | undefined): string {
  if (list.is !== "ready") return "";
  const chat = list.chats.find(({ chat_id }) => chat_id === chatId);
  return chat === undefined ? "" : nameInList(chat);
}

export function tabTitle(count: number, title: string): string {
  const name = title === "" ? "Deltawire" : `${title} · Deltawire`;
  return count === 0 ? name : `(${count}) ${name}`;
}
