import { useEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { ListState } from "../state/page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Empty } from "../parts/signs.tsx";
import { nameInList } from "../texts/name-of-chat.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { createChatPages, type ChatPages } from "./chat-pages.ts";
import { useNow } from "./now.ts";
import { ReadOn, Skeleton } from "./read-on.tsx";
import { RouteLink } from "./route-link.tsx";
import { listWords } from "./words.ts";

interface DeletedChatsProps {
  onChosen: (() => void) | undefined;
  onBack: () => void;
}

/** Chats that can still be brought back, the last deleted first as far as they were changed by it. */
export function DeletedChats({ onChosen, onBack }: DeletedChatsProps) {
  const page = usePage();
  const words = useWords(listWords);
  const pages = useMemo(
    () =>
      createChatPages((before) =>
        page.client.list({
          deleted: true,
          limit: 100,
          ...(before === undefined ? {} : { before }),
        }),
      ),
    [page],
  );
  useEffect(() => {
    void pages.refresh();
    let known = countIn(page.list.state.get());
    // One more or one less is there when another tab, or an undo, has deleted or restored something.
    return page.list.state.subscribe(() => {
      const now = countIn(page.list.state.get());
      if (now !== known) void pages.refresh();
      known = now;
    });
  }, [page, pages]);
  const [doomed, setDoomed] = useState<ChatSummary>();
  const scroll = useRef<HTMLDivElement>(null);
  return (
    <>
      <div className="list-back">
        <IconButton
          icon="back"
          label={words.backToChats}
          // What was pressed to come here is gone.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          onClick={onBack}
        />
        <h2>{words.deleted}</h2>
      </div>
      <div className="list-scroll" ref={scroll}>
        <Deleted pages={pages} scroll={scroll} onChosen={onChosen} onDoom={setDoomed} />
      </div>
      {doomed !== undefined && (
        <ForGood
          chat={doomed}
          onClose={() => setDoomed(undefined)}
          onGone={() => pages.drop(doomed.chat_id)}
        />
      )}
    </>
  );
}

function countIn(list: ListState): number {
  return list.is === "ready" ? list.chats.length : 0;
}

interface DeletedProps {
  pages: ChatPages;
  scroll: RefObject<HTMLDivElement | null>;
  onChosen: (() => void) | undefined;
  onDoom: (chat: ChatSummary) => void;
}

function Deleted({ pages, scroll, onChosen, onDoom }: DeletedProps) {
  const page = usePage();
  const words = useWords(listWords);
  const state = useCell(pages.state);
  const restore = async (chat: ChatSummary) => {
    if (!(await page.list.restore(chat.chat_id))) return;
    pages.drop(chat.chat_id);
    const text = words.restored(nameInList(chat) || words.newChat);
    page.toasts.show({ kind: "info", text });
  };
  if (state.is === "loading") return <Skeleton label={words.loading} />;
  if (state.is === "failed")
    return (
      <Empty title={words.failed} text={state.message}>
        <Button small icon="redo" onClick={() => void pages.readAnew()}>
          {words.retry}
        </Button>
      </Empty>
    );
  if (state.chats.length === 0) return <Empty title={words.noDeleted} text={words.noDeletedText} />;
  const readOn = async () => (await page.attempt(() => pages.loadMore())) ?? false;
  return (
    <>
      <ul className="list-deleted">
        {state.chats.map((chat) => (
          <DeletedRow
            key={chat.chat_id}
            chat={chat}
            onChosen={onChosen}
            onRestore={() => void restore(chat)}
            onDoom={() => onDoom(chat)}
          />
        ))}
      </ul>
      {state.hasMore && <ReadOn key={state.chats.length} scroll={scroll} read={readOn} />}
    </>
  );
}

interface DeletedRowProps {
  chat: ChatSummary;
  onChosen: (() => void) | undefined;
  onRestore: () => void;
  onDoom: () => void;
}

function DeletedRow({ chat, onChosen, onRestore, onDoom }: DeletedRowProps) {
  const words = useWords(listWords);
  const format = useFormat();
  const now = useNow();
  const name = nameInList(chat) || words.newChat;
  return (
    <li className="list-row">
      <RouteLink
        className="list-link"
        route={{ is: "chat", chatId: chat.chat_id }}
        onChosen={onChosen}
        onKey={({ key }) => {
          if (key === "Delete") onDoom();
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
            {words.deletedWhen(format.when(chat.deleted_at ?? chat.updated_at, now))}
          </span>
        </span>
      </RouteLink>
      <IconButton icon="undo" small label={words.restoreOf(name)} onClick={onRestore} />
      <IconButton icon="trash" small label={`${words.forGood}: ${name}`} onClick={onDoom} />
    </li>
  );
}

interface ForGoodProps {
  chat: ChatSummary;
  onClose: () => void;
  onGone: () => void;
}

function ForGood({ chat, onClose, onGone }: ForGoodProps) {
  const page = usePage();
  const words = useWords(listWords);
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    const isGone = await page.attempt(async () => {
      await page.client.remove(chat.chat_id, { forever: true });
      return true;
    });
    setBusy(false);
    if (isGone !== true) return;
    onGone();
    onClose();
  };
  return (
    <Dialog
      title={words.forGoodOf(nameInList(chat) || words.newChat)}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button kind="danger" busy={isBusy} onClick={() => void remove()}>
            {words.forGood}
          </Button>
        </>
      }
    >
      <p>{words.forGoodText}</p>
    </Dialog>
  );
}
