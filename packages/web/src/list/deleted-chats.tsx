import { useEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import type { ChatListState } from "../state/app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import { getListedChatTitle } from "../text/chat-title.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { createPagedChats, type PagedChats } from "./paged-chats.ts";
import { useNow } from "./use-now.ts";
import { LoadMoreTrigger, ChatListSkeleton } from "./load-more.tsx";
import { RouteLink } from "./route-link.tsx";
import { chatListMessages } from "./messages.ts";

interface DeletedChatsProps {
  onSelect: (() => void) | undefined;
  onBack: () => void;
}

/** Deleted chats that can still be restored, most recently changed first. */
export function DeletedChats({ onSelect, onBack }: DeletedChatsProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const pages = useMemo(
    () =>
      createPagedChats((cursor) =>
        app.client.list({
          deleted: true,
          limit: 100,
          ...(cursor === undefined ? {} : { before: cursor }),
        }),
      ),
    [app],
  );
  useEffect(() => {
    void pages.refresh();
    let count = countChats(app.chatList.state.get());
    // The number changes when a chat is deleted or restored, including by another tab or an undo.
    return app.chatList.state.subscribe(() => {
      const newCount = countChats(app.chatList.state.get());
      if (newCount !== count) void pages.refresh();
      count = newCount;
    });
  }, [app, pages]);
  const [chatToDelete, setChatToDelete] = useState<ChatSummary>();
  const scroller = useRef<HTMLDivElement>(null);
  return (
    <>
      <div className="list-deleted-header">
        <IconButton
          icon="back"
          label={t.backToChats}
          // The menu item that opened this view has been unmounted and no longer has the focus.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          onClick={onBack}
        />
        <h2>{t.deleted}</h2>
      </div>
      <div className="list-scroll" ref={scroller}>
        <DeletedChatsContent
          pages={pages}
          scroller={scroller}
          onSelect={onSelect}
          onDeleteForever={setChatToDelete}
        />
      </div>
      {chatToDelete !== undefined && (
        <DeleteForeverDialog
          chat={chatToDelete}
          onClose={() => setChatToDelete(undefined)}
          onDeleted={() => pages.remove(chatToDelete.chat_id)}
        />
      )}
    </>
  );
}

function countChats(list: ChatListState): number {
  return list.status === "ready" ? list.chats.length : 0;
}

interface DeletedChatsContentProps {
  pages: PagedChats;
  scroller: RefObject<HTMLDivElement | null>;
  onSelect: (() => void) | undefined;
  onDeleteForever: (chat: ChatSummary) => void;
}

function DeletedChatsContent({
  pages,
  scroller,
  onSelect,
  onDeleteForever,
}: DeletedChatsContentProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const state = useCell(pages.state);
  const restore = async (chat: ChatSummary) => {
    if (!(await app.chatList.restore(chat.chat_id))) return;
    pages.remove(chat.chat_id);
    const text = t.restored(getListedChatTitle(chat) || t.newChat);
    app.toasts.show({ kind: "info", text });
  };
  if (state.status === "loading") return <ChatListSkeleton label={t.loading} />;
  if (state.status === "failed")
    return (
      <EmptyState title={t.failed} text={formatError(state.message)}>
        <Button small icon="redo" onClick={() => void pages.reload()}>
          {t.retry}
        </Button>
      </EmptyState>
    );
  if (state.chats.length === 0) return <EmptyState title={t.noDeleted} text={t.noDeletedText} />;
  const loadMore = async () => (await app.attempt(() => pages.loadMore())) ?? false;
  return (
    <>
      <ul className="list-deleted">
        {state.chats.map((chat) => (
          <DeletedRow
            key={chat.chat_id}
            chat={chat}
            onSelect={onSelect}
            onRestore={() => void restore(chat)}
            onDeleteForever={() => onDeleteForever(chat)}
          />
        ))}
      </ul>
      {state.hasMore && (
        <LoadMoreTrigger key={state.chats.length} scroller={scroller} loadMore={loadMore} />
      )}
    </>
  );
}

interface DeletedRowProps {
  chat: ChatSummary;
  onSelect: (() => void) | undefined;
  onRestore: () => void;
  onDeleteForever: () => void;
}

function DeletedRow({ chat, onSelect, onRestore, onDeleteForever }: DeletedRowProps) {
  const t = useMessages(chatListMessages);
  const format = useFormatter();
  const now = useNow();
  const name = getListedChatTitle(chat) || t.newChat;
  return (
    <li className="list-row">
      <RouteLink
        className="list-link"
        route={{ type: "chat", chatId: chat.chat_id }}
        onSelect={onSelect}
        onKey={({ key }) => {
          if (key === "Delete") onDeleteForever();
          return key === "Delete";
        }}
      >
        <span className="list-line">
          <span className="list-title" dir="auto">
            {name}
          </span>
        </span>
        <span className="list-line">
          <span className="list-excerpt">
            {t.deletedOn(format.shortDate(chat.deleted_at ?? chat.updated_at, now))}
          </span>
        </span>
      </RouteLink>
      <IconButton icon="undo" small label={t.restoreChat(name)} onClick={onRestore} />
      <IconButton
        icon="trash"
        small
        label={`${t.deleteForever}: ${name}`}
        onClick={onDeleteForever}
      />
    </li>
  );
}

interface DeleteForeverDialogProps {
  chat: ChatSummary;
  onClose: () => void;
  onDeleted: () => void;
}

function DeleteForeverDialog({ chat, onClose, onDeleted }: DeleteForeverDialogProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    const isDeleted = await app.attempt(async () => {
      await app.client.remove(chat.chat_id, { forever: true });
      return true;
    });
    setBusy(false);
    if (isDeleted !== true) return;
    onDeleted();
    onClose();
  };
  return (
    <Dialog
      title={t.deleteForeverTitle(getListedChatTitle(chat) || t.newChat)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t.cancel}</Button>
          <Button kind="danger" busy={isBusy} onClick={() => void remove()}>
            {t.deleteForever}
          </Button>
        </>
      }
    >
      <p>{t.deleteForeverText}</p>
    </Dialog>
  );
}
