import { useEffect, useId, useState, type KeyboardEvent } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { createGatewaySearch } from "../list/chat-search.ts";
import { chatListMessages } from "../list/messages.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ShortcutKeys } from "../ui/keyboard-shortcut.tsx";
import { getListedChatTitle } from "../text/chat-title.ts";
import { useMessages } from "../messages/use-messages.ts";
import { appMessages } from "./messages.ts";

/** Maximum number of chats returned by the gateway's search. */
const maxSearchedChats = 20;

/** Searches commands, and chats by title and messages. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const app = useAppStore();
  const t = useMessages(appMessages);
  const listTexts = useMessages(chatListMessages);
  const commands = useCell(app.commands.all);
  const listState = useCell(app.chatList.state);
  const [query, setQuery] = useState("");
  const [selectedIndex, setSelectedIndex] = useState(0);
  const [search] = useState(() => createGatewaySearch(app.client, maxSearchedChats));
  const searchState = useCell(search.state);
  useEffect(() => () => search.close(), [search]);
  const id = useId();
  const loadedChats = listState.status !== "ready" || query === "" ? [] : listState.chats;
  const toEntry = ({ chat_id: chatId, ...chat }: ChatSummary) => ({
    id: chatId,
    title: getListedChatTitle(chat) || listTexts.newChat,
    group: t.chats,
    keys: undefined,
    run: () => app.router.navigate({ type: "chat", chatId }),
  });
  const candidates = [
    ...commands.filter(
      ({ hidden, isSearchOnly }) => hidden !== true && (isSearchOnly !== true || query !== ""),
    ),
    ...loadedChats.map(toEntry),
  ];
  const nameMatches = filterEntries(query, candidates);
  // The list has only the latest chats. The gateway searches all chats and their messages.
  const searchedChats = "results" in searchState ? searchState.results.map(({ chat }) => chat) : [];
  const entries = [
    ...nameMatches,
    ...searchedChats
      .filter((chat) => !nameMatches.some(({ id }) => id === chat.chat_id))
      .map(toEntry),
  ];
  const emptyText = {
    searching: listTexts.searching,
    failed: listTexts.failed,
    idle: t.nothingFound(query),
    ready: t.nothingFound(query),
  }[searchState.status];
  const activeIndex = Math.min(selectedIndex, entries.length - 1);
  const run = (index: number) => {
    const entry = entries[index];
    if (entry === undefined) return;
    onClose();
    // Waits until the dialog has restored the focus.
    setTimeout(() => entry.run(), 0);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined)
      setSelectedIndex((activeIndex + step + entries.length) % Math.max(entries.length, 1));
    else if (event.key === "Enter") run(activeIndex);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog alignTop title={t.palette} onClose={onClose}>
      <input
        className="input"
        data-autofocus
        role="combobox"
        aria-label={t.paletteHint}
        placeholder={t.paletteHint}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries.length === 0 ? undefined : `${id}-${activeIndex}`}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          search.setQuery(event.currentTarget.value, undefined);
          setSelectedIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} className="app-palette" role="listbox" aria-label={t.palette}>
        {entries.map((entry, index) => (
          // The input above keeps the focus and handles the keys.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={entry.id}
            id={`${id}-${index}`}
            ref={index === activeIndex ? scrollToNearest : undefined}
            role="option"
            tabIndex={-1}
            aria-selected={index === activeIndex}
            className="app-palette-entry"
            onClick={() => run(index)}
          >
            <span dir="auto">{entry.title}</span>
            <small>{entry.group}</small>
            {entry.keys !== undefined && <ShortcutKeys keys={entry.keys} />}
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="app-muted">{emptyText}</p>}
    </Dialog>
  );
}

function scrollToNearest(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

interface SearchableEntry {
  readonly title: string;
  readonly group: string;
  readonly keywords?: string | undefined;
}

const maxEntries = 50;

/** Returns the entries that contain every word of the query. Titles that start with the first word come first. */
export function filterEntries<Entry extends SearchableEntry>(
  query: string,
  entries: readonly Entry[],
): Entry[] {
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (terms.length === 0) return entries.slice(0, maxEntries);
  const ranked = entries.flatMap((entry) => {
    const title = entry.title.toLowerCase();
    const searchable = `${title} ${entry.group} ${entry.keywords ?? ""}`.toLowerCase();
    if (!terms.every((term) => searchable.includes(term))) return [];
    const [first = ""] = terms;
    const rank = title.startsWith(first) ? 0 : title.includes(first) ? 1 : 2;
    return [{ entry, rank }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, maxEntries)
    .map(({ entry }) => entry);
}
