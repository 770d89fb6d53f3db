import { memo, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import type { ChatExportFormat, ChatSummary } from "@deltawire/tasks/chats";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Icon } from "../parts/icon.tsx";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import type { Page } from "../state/page.ts";
import { nameInList } from "../texts/name-of-chat.ts";
import { useWords } from "../words/use-words.ts";
import { exportChat, exportEntries } from "./export-chat.ts";
import { focusBeside, RouteLink } from "./route-link.tsx";
import { listWords, type ListWords } from "./words.ts";

export interface RowActions {
  readonly chosen: () => void;
  /** It has the focus: it is the one that Tab comes back to. */
  readonly touched: (chatId: string) => void;
  /** Undefined: no longer. */
  readonly rename: (chatId: string | undefined) => void;
  readonly tag: (chat: ChatSummary) => void;
}

interface ChatRowProps {
  chat: ChatSummary;
  when: string;
  isCurrent: boolean;
  isActive: boolean;
  isRenaming: boolean;
  actions: RowActions;
}

export const ChatRow = memo(function ChatRow({
  chat,
  when,
  isCurrent,
  isActive,
  isRenaming,
  actions,
}: ChatRowProps) {
  const page = usePage();
  const words = useWords(listWords);
  const link = useRef<HTMLAnchorElement>(null);
  const wasRenaming = useRef(false);
  useLayoutEffect(() => {
    if (wasRenaming.current && !isRenaming) link.current?.focus();
    wasRenaming.current = isRenaming;
  }, [isRenaming]);
  const { chat_id: chatId } = chat;
  const isRetrying = usePicked(page.retrying, (ids) => ids.has(chatId));
  const running = isRetrying ? words.retrying : words.running;
  const name = nameInList(chat) || words.newChat;

  const onKey = (event: KeyboardEvent<HTMLElement>): boolean => {
    if (event.key === "F2") actions.rename(chatId);
    else if (event.key === "Delete") {
      focusBeside(event.currentTarget);
      void removeChat(page, chatId);
    } else return false;
    return true;
  };

  return (
    <div
      role="listitem"
      className="list-row"
      data-current={isCurrent || undefined}
      data-active={isActive || undefined}
    >
      {isRenaming ? (
        <RenameField chat={chat} onDone={() => actions.rename(undefined)} />
      ) : (
        <>
          <RouteLink
            ref={link}
            className="list-link"
            route={{ is: "chat", chatId }}
            aria-current={isCurrent ? "page" : undefined}
            tabIndex={isActive ? 0 : -1}
            onFocus={() => actions.touched(chatId)}
            onDoubleClick={() => actions.rename(chatId)}
            onChosen={actions.chosen}
            onKey={onKey}
          >
            <span className="list-line">
              <Sign chat={chat} words={words} running={running} />
              <span className="list-title" dir="auto">
                {name}
              </span>
              {chat.pinned && (
                <span className="list-pin">
                  <Icon name="pin" small />
                  <span className="for-readers">{words.isPinned}</span>
                </span>
              )}
              <span className="list-when">{when}</span>
            </span>
            <span className="list-line">
              <span className="list-excerpt" dir="auto">
                {lastWordsUnderName(chat) ?? <GoesOn chat={chat} words={words} running={running} />}
              </span>
              {chat.tags.length > 0 && (
                <span className="list-tags" dir="auto">
                  {chat.tags.join(" · ")}
                </span>
              )}
            </span>
          </RouteLink>
          <Menu
            label={words.menuOf(name)}
            small
            className="list-menu"
            items={itemsOf(chat, page, words, actions)}
          />
        </>
      )}
    </div>
  );
});

/** Undefined where they are its name already, or there are none. */
function lastWordsUnderName({ title, first_words, excerpt }: ChatSummary): string | undefined {
  if (excerpt === "" || (title.trim() === "" && excerpt === (first_words || excerpt)))
    return undefined;
  return excerpt;
}

interface StateProps {
  chat: ChatSummary;
  words: ListWords;
  /** What is said of a chat with an answer that runs. */
  running: string;
}

/** For the eye, in place of a number of messages; screen readers have it from the sign. */
function GoesOn({ chat, words, running }: StateProps) {
  if (chat.running === 0) return words.messages(chat.messages);
  return <span aria-hidden="true">{chat.waiting > 0 ? words.waits : running}</span>;
}

/** Whether something goes on in it, or waits for a person. */
function Sign({ chat, words, running }: StateProps) {
  if (chat.waiting > 0)
    return (
      <span className="list-sign" data-is="waiting" title={words.waiting(chat.waiting)}>
        <span aria-hidden="true">{chat.waiting}</span>
        <span className="for-readers">{words.waiting(chat.waiting)}. </span>
      </span>
    );
  if (chat.running === 0) return null;
  return (
    <span className="list-sign" data-is="running" title={running}>
      <span className="for-readers">{running}. </span>
    </span>
  );
}

function itemsOf(chat: ChatSummary, page: Page, words: ListWords, actions: RowActions): MenuItem[] {
  const { chat_id: chatId, pinned } = chat;
  return [
    { label: words.rename, icon: "edit", keys: "F2", run: () => actions.rename(chatId) },
    {
      label: pinned ? words.unpin : words.pin,
      icon: "pin",
      run: () => void page.list.pin(chatId, !pinned),
    },
    { label: words.tags, icon: "tag", run: () => actions.tag(chat) },
    "line",
    ...exportEntries(words).map(({ format, label }) => ({
      label,
      icon: "download" as const,
      run: () => void exportWithWord(page, chatId, format, words),
    })),
    "line",
    {
      label: words.delete,
      icon: "trash",
      keys: "Delete",
      danger: true,
      run: () => {
        // The menu has given the focus back to its button, which goes with the row.
        if (document.activeElement !== null) focusBeside(document.activeElement);
        void removeChat(page, chatId);
      },
    },
  ];
}

async function exportWithWord(
  page: Page,
  chatId: string,
  format: ChatExportFormat,
  words: ListWords,
): Promise<void> {
  const name = await exportChat(page, chatId, format);
  if (name !== undefined) page.toasts.show({ kind: "info", text: words.exported(name) });
}

/** Whoever looks at it is taken to the start: what is deleted is not to be written to. */
async function removeChat(page: Page, chatId: string): Promise<void> {
  if (!(await page.list.remove(chatId))) return;
  const route = page.router.route.get();
  if ("chatId" in route && route.chatId === chatId) page.router.go({ is: "new" });
}

function RenameField({ chat, onDone }: { chat: ChatSummary; onDone: () => void }) {
  const page = usePage();
  const words = useWords(listWords);
  const isOver = useRef(false);
  const end = () => {
    if (isOver.current) return false;
    isOver.current = true;
    onDone();
    return true;
  };
  const save = ({ value, defaultValue }: HTMLInputElement) => {
    if (!end()) return;
    const given = value.trim();
    // What was shown may be no title: a name that nobody gave is not to become one.
    if (given !== "" && given !== defaultValue) void page.list.rename(chat.chat_id, given);
  };
  return (
    <input
      className="input list-rename"
      // It was asked for by a key or a menu of this very row.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus
      dir="auto"
      aria-label={words.newName}
      defaultValue={nameInList(chat)}
      maxLength={300}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={(event) => save(event.currentTarget)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") save(event.currentTarget);
        else if (event.key === "Escape") end();
        else return;
        event.preventDefault();
      }}
    />
  );
}
