import { memo, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import type { ChatExportFormat, ChatSummary } from "@deltawire/tasks/chats";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import type { AppStore } from "../state/app-store.ts";
import { getListedChatTitle } from "../text/chat-title.ts";
import { useMessages } from "../messages/use-messages.ts";
import { exportChat, listExportOptions } from "./export-chat.ts";
import { focusAdjacentRow, RouteLink } from "./route-link.tsx";
import { chatListMessages, type ChatListMessages } from "./messages.ts";

export interface ChatRowActions {
  readonly onSelect: () => void;
  /** Called when the row receives the focus, so that Tab returns to it. */
  readonly onFocus: (chatId: string) => void;
  /** Starts renaming a chat. Undefined ends renaming. */
  readonly onRename: (chatId: string | undefined) => void;
  readonly onTag: (chat: ChatSummary) => void;
}

interface ChatListRowProps {
  chat: ChatSummary;
  lastChanged: string;
  isCurrent: boolean;
  isActive: boolean;
  isRenaming: boolean;
  actions: ChatRowActions;
}

export const ChatListRow = memo(function ChatListRow({
  chat,
  lastChanged,
  isCurrent,
  isActive,
  isRenaming,
  actions,
}: ChatListRowProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const link = useRef<HTMLAnchorElement>(null);
  const wasRenaming = useRef(false);
  useLayoutEffect(() => {
    if (wasRenaming.current && !isRenaming) link.current?.focus();
    wasRenaming.current = isRenaming;
  }, [isRenaming]);
  const { chat_id: chatId } = chat;
  const isRetrying = useCellSelector(app.retryingChatIds, (ids) => ids.has(chatId));
  const runningLabel = isRetrying ? t.retrying : t.running;
  const name = getListedChatTitle(chat) || t.newChat;

  const onKey = (event: KeyboardEvent<HTMLElement>): boolean => {
    if (event.key === "F2") actions.onRename(chatId);
    else if (event.key === "Delete") {
      focusAdjacentRow(event.currentTarget);
      void deleteChat(app, chatId);
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
        <RenameInput chat={chat} onDone={() => actions.onRename(undefined)} />
      ) : (
        <>
          <RouteLink
            ref={link}
            className="list-link"
            route={{ type: "chat", chatId }}
            aria-current={isCurrent ? "page" : undefined}
            tabIndex={isActive ? 0 : -1}
            onFocus={() => actions.onFocus(chatId)}
            onDoubleClick={() => actions.onRename(chatId)}
            onSelect={actions.onSelect}
            onKey={onKey}
          >
            <span className="list-line">
              <ActivityBadge chat={chat} messages={t} runningLabel={runningLabel} />
              <span className="list-title" dir="auto">
                {name}
              </span>
              {chat.pinned && (
                <span className="list-pin">
                  <Icon name="pin" small />
                  <span className="visually-hidden">{t.isPinned}</span>
                </span>
              )}
              <span className="list-timestamp">{lastChanged}</span>
            </span>
            <span className="list-line">
              <span className="list-excerpt" dir="auto">
                {getExcerptUnlessTitle(chat) ?? (
                  <ActivityText chat={chat} messages={t} runningLabel={runningLabel} />
                )}
              </span>
              {chat.tags.length > 0 && (
                <span className="list-tags" dir="auto">
                  {chat.tags.join(" · ")}
                </span>
              )}
            </span>
          </RouteLink>
          <Menu
            label={t.menuLabel(name)}
            small
            className="list-menu"
            items={buildRowMenu(chat, app, t, actions)}
          />
        </>
      )}
    </div>
  );
});

/** Returns undefined if there is no excerpt or the row already shows it as its title. */
function getExcerptUnlessTitle({ title, opening_text, excerpt }: ChatSummary): string | undefined {
  if (excerpt === "" || (title.trim() === "" && excerpt === (opening_text || excerpt)))
    return undefined;
  return excerpt;
}

interface ChatActivityProps {
  chat: ChatSummary;
  messages: ChatListMessages;
  /** Label of a running answer. */
  runningLabel: string;
}

/** The number of messages, or the state of a running answer. Screen readers read the state in `ActivityBadge` instead. */
function ActivityText({ chat, messages: t, runningLabel }: ChatActivityProps) {
  if (chat.running === 0) return t.messages(chat.messages);
  return <span aria-hidden="true">{chat.waiting > 0 ? t.waitingForYou : runningLabel}</span>;
}

/** Marks a chat with a running answer or with approvals that are waiting for the user. */
function ActivityBadge({ chat, messages: t, runningLabel }: ChatActivityProps) {
  if (chat.waiting > 0)
    return (
      <span className="list-activity" data-state="waiting" title={t.waiting(chat.waiting)}>
        <span aria-hidden="true">{chat.waiting}</span>
        <span className="visually-hidden">{t.activity(t.waiting(chat.waiting))}</span>
      </span>
    );
  if (chat.running === 0) return null;
  return (
    <span className="list-activity" data-state="running" title={runningLabel}>
      <span className="visually-hidden">{t.activity(runningLabel)}</span>
    </span>
  );
}

function buildRowMenu(
  chat: ChatSummary,
  app: AppStore,
  t: ChatListMessages,
  actions: ChatRowActions,
): MenuItem[] {
  const { chat_id: chatId, pinned } = chat;
  return [
    { label: t.rename, icon: "edit", keys: "F2", run: () => actions.onRename(chatId) },
    {
      label: pinned ? t.unpin : t.pin,
      icon: "pin",
      run: () => void app.chatList.pin(chatId, !pinned),
    },
    { label: t.tags, icon: "tag", run: () => actions.onTag(chat) },
    "separator",
    ...listExportOptions(t).map(({ format, label }) => ({
      label,
      icon: "download" as const,
      run: () => void exportWithToast(app, chatId, format, t),
    })),
    "separator",
    {
      label: t.delete,
      icon: "trash",
      keys: "Delete",
      danger: true,
      run: () => {
        // The menu has returned the focus to its button, which disappears with the row.
        if (document.activeElement !== null) focusAdjacentRow(document.activeElement);
        void deleteChat(app, chatId);
      },
    },
  ];
}

async function exportWithToast(
  app: AppStore,
  chatId: string,
  format: ChatExportFormat,
  t: ChatListMessages,
): Promise<void> {
  const name = await exportChat(app, chatId, format);
  if (name !== undefined) app.toasts.show({ kind: "info", text: t.exported(name) });
}

/** Deletes a chat. If it is open, goes to the start page. */
async function deleteChat(app: AppStore, chatId: string): Promise<void> {
  if (!(await app.chatList.remove(chatId))) return;
  const route = app.router.route.get();
  if ("chatId" in route && route.chatId === chatId) app.router.navigate({ type: "new" });
}

function RenameInput({ chat, onDone }: { chat: ChatSummary; onDone: () => void }) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const isFinished = useRef(false);
  const end = () => {
    if (isFinished.current) return false;
    isFinished.current = true;
    onDone();
    return true;
  };
  const save = ({ value, defaultValue }: HTMLInputElement) => {
    if (!end()) return;
    const newTitle = value.trim();
    // The default may be derived from the first message and must not become the title.
    if (newTitle !== "" && newTitle !== defaultValue)
      void app.chatList.rename(chat.chat_id, newTitle);
  };
  return (
    <input
      className="input list-rename"
      // The user has just opened it from this row.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus
      dir="auto"
      aria-label={t.newTitle}
      defaultValue={getListedChatTitle(chat)}
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
