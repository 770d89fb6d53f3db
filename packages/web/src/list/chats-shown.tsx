import { useEffect, useMemo } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { ListState } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { createChatPages, withTag } from "./chat-pages.ts";
import { ChatRows } from "./chat-rows.tsx";
import { listWords } from "./words.ts";

interface ChatsProps {
  /** All tags in use, to be suggested. */
  tags: readonly string[];
  onTagged: () => void;
  onChosen: (() => void) | undefined;
}

export function AllChats(props: ChatsProps) {
  const { list } = usePage();
  const words = useWords(listWords);
  return (
    <ChatRows
      {...props}
      state={useCell(list.state)}
      loadMore={() => list.loadMore()}
      retry={() => void list.readAnew()}
      empty={{ title: words.noChats, text: words.noChatsText }}
    />
  );
}

export function TaggedChats({ tag, ...props }: ChatsProps & { tag: string }) {
  const page = usePage();
  const words = useWords(listWords);
  const pages = useMemo(
    () =>
      createChatPages((before) =>
        page.client.list({ tag, limit: 100, ...(before === undefined ? {} : { before }) }),
      ),
    [page, tag],
  );
  useEffect(() => {
    void pages.readAnew();
    return page.list.state.subscribe(dropGone(page.list.state.get, pages.drop));
  }, [page, pages]);
  const read = useCell(pages.state);
  const known = useCell(page.list.state);
  const state = useMemo<ListState>(
    () =>
      read.is === "ready" && known.is === "ready"
        ? { ...read, chats: withTag(tag, read.chats, known.chats) }
        : read,
    [read, known, tag],
  );
  return (
    <ChatRows
      {...props}
      state={state}
      loadMore={async () => (await page.attempt(() => pages.loadMore())) ?? false}
      retry={() => void pages.readAnew()}
      empty={{ title: words.noTagged(tag), text: "" }}
    />
  );
}

/** Tells which chats the page's list no longer has, each time that it changes. */
function dropGone(get: () => ListState, drop: (chatId: string) => void): () => void {
  let before = chatsOf(get());
  return () => {
    const now = chatsOf(get());
    if (now === before) return;
    const there = new Set(now.map(({ chat_id }) => chat_id));
    for (const { chat_id } of before) if (!there.has(chat_id)) drop(chat_id);
    before = now;
  };
}

function chatsOf(state: ListState): readonly ChatSummary[] {
  return state.is === "ready" ? state.chats : [];
}
