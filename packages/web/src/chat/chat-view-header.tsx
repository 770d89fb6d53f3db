import { useState, type KeyboardEvent } from "react";
import {
  getOpeningText,
  findNode,
  getVersionText,
  type Chat,
  type ChatExportFormat,
} from "@deltawire/tasks/chats";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, useAppStore } from "../hooks/use-app-store.ts";
import { exportChat, listExportOptions } from "../list/export-chat.ts";
import { TagsDialog, useKnownTags } from "../list/tags-dialog.tsx";
import { chatListMessages } from "../list/messages.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Input } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { Tag } from "../ui/indicators.tsx";
import type { OpenChat, OpenChatState } from "../state/app-store.ts";
import { getChatTitle } from "../text/chat-title.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { formatUsage } from "./answer-usage.tsx";
import { copyToClipboard } from "./copy-to-clipboard.ts";
import { LazyChatSettingsDialog } from "./lazy-chat-settings-dialog.tsx";
import type { Thread } from "./thread.ts";
import { VariablesDialog } from "./variables-dialog.tsx";
import { resolveResponder } from "./responder.tsx";
import { chatViewMessages } from "./messages.ts";

interface ChatViewHeaderProps {
  thread: Thread;
  state: Extract<OpenChatState, { status: "ready" }>;
}

type HeaderDialog = "none" | "settings" | "tags" | "title" | "variables";

/** Title, tags, model or agent, usage and menu of a chat. */
export function ChatViewHeader({ thread, state }: ChatViewHeaderProps) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const format = useFormatter();
  const choices = useCell(app.choices);
  const [openDialog, setOpenDialog] = useState<HeaderDialog>("none");
  const close = () => setOpenDialog("none");
  const { chat: openChat } = thread;
  const { chat, usage } = state;
  const { agent, model } = chat.settings;
  const responderName =
    agent ?? model ?? (choices && resolveResponder(chat.settings, choices)?.name) ?? t.defaultModel;
  const usageText = formatUsage(usage, format, t).join(" · ");
  useCommands([
    { id: "chat.rename", title: t.renameChat, group: t.group, run: () => setOpenDialog("title") },
    {
      id: "chat.settings",
      title: t.chatSettings,
      group: t.group,
      keys: "mod+;",
      run: () => setOpenDialog("settings"),
    },
    {
      id: "chat.variables",
      title: t.chatVariables,
      group: t.group,
      run: () => setOpenDialog("variables"),
    },
  ]);
  return (
    <header className="chat-header">
      <ChatTitle
        chat={openChat}
        title={getChatTitle(chat)}
        isEditing={openDialog === "title"}
        onEdit={(isEditing) => setOpenDialog(isEditing ? "title" : "none")}
      />
      {chat.tags.length > 0 && (
        <span className="chat-tags">
          {chat.tags.map((tag) => (
            <Tag key={tag}>
              <span dir="auto">{tag}</span>
            </Tag>
          ))}
        </span>
      )}
      {usageText !== "" && (
        <span className="chat-total-usage" title={t.chatUsage}>
          {usageText}
        </span>
      )}
      <Button
        className="chat-responder"
        kind="ghost"
        small
        title={t.responder(responderName)}
        aria-label={t.responder(responderName)}
        onClick={() => setOpenDialog("settings")}
      >
        <Icon name="settings" small />
        <span>{responderName}</span>
      </Button>
      {chat.bookmarks.length > 0 && (
        <Menu
          label={t.bookmarks}
          icon="book"
          items={buildBookmarkItems(chat, t.bookmark, thread)}
        />
      )}
      <ChatMenu
        thread={thread}
        isPinned={chat.pinned}
        isDeleted={state.deletedAt !== undefined}
        onOpen={setOpenDialog}
      />
      {openDialog === "settings" && <LazyChatSettingsDialog chat={openChat} onClose={close} />}
      {openDialog === "variables" && <VariablesDialog chatId={openChat.chatId} onClose={close} />}
      {openDialog === "tags" && <ChatTagsDialog chat={chat} onClose={close} />}
    </header>
  );
}

interface ChatMenuProps {
  thread: Thread;
  isPinned: boolean;
  isDeleted: boolean;
  onOpen: (dialog: HeaderDialog) => void;
}

function ChatMenu({ thread, isPinned, isDeleted, onOpen }: ChatMenuProps) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const listTexts = useMessages(chatListMessages);
  const { chatId } = thread.chat;
  const save = async (format: ChatExportFormat) => {
    const name = await exportChat(app, chatId, format);
    if (name !== undefined) app.toasts.show({ kind: "info", text: listTexts.exported(name) });
  };
  const deleteChat = async () => {
    if (await app.chatList.remove(chatId)) app.router.navigate({ type: "new" });
  };
  const getLink = () => new URL(formatHashRoute({ type: "chat", chatId }), location.href).href;
  return (
    <Menu
      label={t.chatMenu}
      items={[
        {
          label: t.find,
          icon: "search",
          keys: "mod+f",
          run: () => thread.findRequests.update((count) => count + 1),
        },
        {
          label: t.tree,
          icon: "tree",
          keys: "t",
          run: () => app.router.navigate({ type: "tree", chatId }),
        },
        {
          label: t.settings,
          icon: "settings",
          keys: "mod+;",
          run: () => onOpen("settings"),
        },
        { label: t.variables, icon: "file", run: () => onOpen("variables") },
        { label: t.rename, icon: "edit", run: () => onOpen("title") },
        {
          label: isPinned ? listTexts.unpin : listTexts.pin,
          icon: "pin",
          disabled: isDeleted,
          run: () => void app.chatList.pin(chatId, !isPinned),
        },
        { label: t.tags, icon: "tag", run: () => onOpen("tags") },
        {
          label: t.copyLink,
          icon: "link",
          run: () => void copyToClipboard(getLink(), app.toasts, t),
        },
        "separator",
        ...listExportOptions(listTexts).map(({ format, label }): MenuItem => ({
          label,
          icon: "download",
          run: () => void save(format),
        })),
        "separator",
        {
          label: t.deleteChat,
          icon: "trash",
          danger: true,
          disabled: isDeleted,
          run: () => void deleteChat(),
        },
      ]}
    />
  );
}

function ChatTagsDialog({ chat, onClose }: { chat: Chat; onClose: () => void }) {
  const { knownTags } = useKnownTags();
  return (
    <TagsDialog
      chat={{ ...chat, opening_text: getOpeningText(chat) }}
      allTags={knownTags}
      onClose={onClose}
    />
  );
}

const maxBookmarkLabelLength = 60;

/** Labels are numbered, because two messages may begin with the same text and menu labels must be unique. */
function buildBookmarkItems(chat: Chat, emptyLabel: string, thread: Thread): MenuItem[] {
  return chat.bookmarks.flatMap((nodeId, index): MenuItem[] => {
    const node = findNode(chat, nodeId);
    if (node === undefined) return [];
    const shownVersion =
      node.kind === "separator"
        ? undefined
        : node.versions.find(({ version_id }) => version_id === node.version);
    const text =
      shownVersion === undefined ? "" : getVersionText(shownVersion).trim().replaceAll(/\s+/g, " ");
    const label = `${index + 1}. ${text === "" ? emptyLabel : text.slice(0, maxBookmarkLabelLength)}`;
    return [{ label, icon: "book", run: () => void thread.showNode(nodeId) }];
  });
}

interface ChatTitleProps {
  chat: OpenChat;
  /** The title or provisional title. Empty if there is neither. */
  title: string;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
}

function ChatTitle({ chat, title, isEditing, onEdit }: ChatTitleProps) {
  const t = useMessages(chatViewMessages);
  if (isEditing) return <TitleInput chat={chat} title={title} onDone={() => onEdit(false)} />;
  return (
    <div className="chat-title">
      <h1 className="single-line" dir="auto" title={title}>
        {title === "" ? t.untitled : title}
      </h1>
      <IconButton icon="edit" small label={t.rename} onClick={() => onEdit(true)} />
    </div>
  );
}

interface TitleInputProps {
  chat: OpenChat;
  title: string;
  onDone: () => void;
}

function TitleInput({ chat, title, onDone }: TitleInputProps) {
  const t = useMessages(chatViewMessages);
  const [initialTitle] = useState(title);
  const [text, setText] = useState(initialTitle);
  const save = () => {
    const newTitle = text.trim();
    if (newTitle !== "" && newTitle !== initialTitle)
      void chat.change({ type: "rename", title: newTitle });
    onDone();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") save();
    else if (event.key === "Escape") onDone();
  };
  return (
    <Input
      className="chat-title-field"
      aria-label={t.chatTitle}
      // The user has just opened this field.
      // oxlint-disable-next-line jsx-a11y/no-autofocus
      autoFocus
      dir="auto"
      maxLength={200}
      value={text}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={save}
    />
  );
}
