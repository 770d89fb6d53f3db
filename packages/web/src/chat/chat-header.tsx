import { useState, type KeyboardEvent } from "react";
import {
  firstWords,
  nodeOf,
  wordsOf,
  type Chat,
  type ChatExportFormat,
} from "@deltawire/tasks/chats";
import { hashOf } from "../browser/route.ts";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, usePage } from "../hooks/use-page.ts";
import { exportChat, exportEntries } from "../list/export-chat.ts";
import { TagsDialog, useTags } from "../list/tags-dialog.tsx";
import { listWords } from "../list/words.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import { Tag } from "../parts/signs.tsx";
import type { OpenChat, OpenChatState } from "../state/page.ts";
import { nameOfChat } from "../texts/name-of-chat.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { usedInShort } from "./answer-usage.tsx";
import { copyText } from "./copy-text.ts";
import { ChatSettingsDialog } from "./lazy-settings-dialog.tsx";
import type { Thread } from "./thread.ts";
import { VariablesDialog } from "./variables-dialog.tsx";
import { answererIn } from "./who-answers.tsx";
import { chatWords } from "./words.ts";

interface ChatHeaderProps {
  thread: Thread;
  state: Extract<OpenChatState, { is: "ready" }>;
}

type Open = "nothing" | "settings" | "tags" | "title" | "variables";

/** What the chat is called, who answers in it, what it has cost, and what can be done with all of it. */
export function ChatHeader({ thread, state }: ChatHeaderProps) {
  const page = usePage();
  const words = useWords(chatWords);
  const format = useFormat();
  const choices = useCell(page.choices);
  const [open, setOpen] = useState<Open>("nothing");
  const close = () => setOpen("nothing");
  const { chat: openChat } = thread;
  const { chat, usage } = state;
  const { agent, model } = chat.settings;
  const who =
    agent ?? model ?? (choices && answererIn(chat.settings, choices)?.name) ?? words.defaultModel;
  const used = usedInShort(usage, format, words).join(" · ");
  useCommands([
    { id: "chat.rename", title: words.rename, group: words.group, run: () => setOpen("title") },
    {
      id: "chat.settings",
      title: words.settings,
      group: words.group,
      keys: "mod+;",
      run: () => setOpen("settings"),
    },
    {
      id: "chat.variables",
      title: words.variables,
      group: words.group,
      run: () => setOpen("variables"),
    },
  ]);
  return (
    <header className="chat-header">
      <ChatTitle
        chat={openChat}
        name={nameOfChat(chat)}
        isEditing={open === "title"}
        onEdit={(isEditing) => setOpen(isEditing ? "title" : "nothing")}
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
      {used !== "" && (
        <span className="chat-used" title={words.usageOfChat}>
          {used}
        </span>
      )}
      <Button
        className="chat-answerer"
        kind="ghost"
        small
        title={words.whoAnswers(who)}
        aria-label={words.whoAnswers(who)}
        onClick={() => setOpen("settings")}
      >
        <Icon name="settings" small />
        <span>{who}</span>
      </Button>
      {chat.bookmarks.length > 0 && (
        <Menu
          label={words.bookmarks}
          icon="book"
          items={bookmarkItems(chat, words.bookmark, thread)}
        />
      )}
      <ChatMenu
        thread={thread}
        isPinned={chat.pinned}
        isDeleted={state.deletedAt !== undefined}
        onOpen={setOpen}
      />
      {open === "settings" && <ChatSettingsDialog chat={openChat} onClose={close} />}
      {open === "variables" && <VariablesDialog chatId={openChat.chatId} onClose={close} />}
      {open === "tags" && <ChatTags chat={chat} onClose={close} />}
    </header>
  );
}

interface ChatMenuProps {
  thread: Thread;
  isPinned: boolean;
  isDeleted: boolean;
  onOpen: (open: Open) => void;
}

function ChatMenu({ thread, isPinned, isDeleted, onOpen }: ChatMenuProps) {
  const page = usePage();
  const words = useWords(chatWords);
  const inList = useWords(listWords);
  const { chatId } = thread.chat;
  const save = async (format: ChatExportFormat) => {
    const name = await exportChat(page, chatId, format);
    if (name !== undefined) page.toasts.show({ kind: "info", text: inList.exported(name) });
  };
  const remove = async () => {
    if (await page.list.remove(chatId)) page.router.go({ is: "new" });
  };
  const link = () => new URL(hashOf({ is: "chat", chatId }), location.href).href;
  return (
    <Menu
      label={words.chatMenu}
      items={[
        {
          label: words.find,
          icon: "search",
          keys: "mod+f",
          run: () => thread.finding.update((asked) => asked + 1),
        },
        {
          label: words.tree,
          icon: "tree",
          keys: "t",
          run: () => page.router.go({ is: "tree", chatId }),
        },
        {
          label: words.settings,
          icon: "settings",
          keys: "mod+;",
          run: () => onOpen("settings"),
        },
        { label: words.variables, icon: "file", run: () => onOpen("variables") },
        { label: words.rename, icon: "edit", run: () => onOpen("title") },
        {
          label: isPinned ? inList.unpin : inList.pin,
          icon: "pin",
          disabled: isDeleted,
          run: () => void page.list.pin(chatId, !isPinned),
        },
        { label: words.tags, icon: "tag", run: () => onOpen("tags") },
        {
          label: words.copyLink,
          icon: "link",
          run: () => void copyText(link(), page.toasts, words),
        },
        "line",
        ...exportEntries(inList).map(({ format, label }): MenuItem => ({
          label,
          icon: "download",
          run: () => void save(format),
        })),
        "line",
        {
          label: words.deleteChat,
          icon: "trash",
          danger: true,
          disabled: isDeleted,
          run: () => void remove(),
        },
      ]}
    />
  );
}

function ChatTags({ chat, onClose }: { chat: Chat; onClose: () => void }) {
  const { all } = useTags();
  return (
    <TagsDialog chat={{ ...chat, first_words: firstWords(chat) }} known={all} onClose={onClose} />
  );
}

const mostOfBookmark = 60;

/** Two may begin with the same words: entries of a menu are told apart by their labels. */
function bookmarkItems(chat: Chat, unnamed: string, thread: Thread): MenuItem[] {
  return chat.bookmarks.flatMap((nodeId, at): MenuItem[] => {
    const node = nodeOf(chat, nodeId);
    if (node === undefined) return [];
    const shown =
      node.kind === "separator"
        ? undefined
        : node.versions.find(({ version_id }) => version_id === node.version);
    const said = shown === undefined ? "" : wordsOf(shown).trim().replaceAll(/\s+/g, " ");
    const label = `${at + 1}. ${said === "" ? unnamed : said.slice(0, mostOfBookmark)}`;
    return [{ label, icon: "book", run: () => void thread.show(nodeId) }];
  });
}

interface ChatTitleProps {
  chat: OpenChat;
  /** Its title, or what it is called until it has one; empty: nothing. */
  name: string;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
}

function ChatTitle({ chat, name, isEditing, onEdit }: ChatTitleProps) {
  const words = useWords(chatWords);
  if (isEditing) return <TitleField chat={chat} name={name} onDone={() => onEdit(false)} />;
  return (
    <div className="chat-title">
      <h1 className="one-line" dir="auto" title={name}>
        {name === "" ? words.untitled : name}
      </h1>
      <IconButton icon="edit" small label={words.rename} onClick={() => onEdit(true)} />
    </div>
  );
}

interface TitleFieldProps {
  chat: OpenChat;
  name: string;
  onDone: () => void;
}

function TitleField({ chat, name, onDone }: TitleFieldProps) {
  const words = useWords(chatWords);
  const [first] = useState(name);
  const [text, setText] = useState(first);
  const save = () => {
    const named = text.trim();
    if (named !== "" && named !== first) void chat.change({ type: "rename", title: named });
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
      aria-label={words.chatTitle}
      // Somebody has just asked to write here.
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
