import { useEffect, useId, useState, type KeyboardEvent } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { searchWith } from "../list/search.ts";
import { listWords } from "../list/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Keys } from "../parts/keys.tsx";
import { nameInList } from "../texts/name-of-chat.ts";
import { useWords } from "../words/use-words.ts";
import { appWords } from "./words.ts";

const mostChats = 20;

/** Every command and every chat, by a few letters of its name. */
export function Palette({ onClose }: { onClose: () => void }) {
  const page = usePage();
  const words = useWords(appWords);
  const inList = useWords(listWords);
  const commands = useCell(page.commands.all);
  const list = useCell(page.list.state);
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const [search] = useState(() => searchWith(page.client, mostChats));
  const searched = useCell(search.state);
  useEffect(() => () => search.close(), [search]);
  const id = useId();
  const loaded = list.is !== "ready" || query === "" ? [] : list.chats;
  const toCommand = ({ chat_id: chatId, ...chat }: ChatSummary) => ({
    id: chatId,
    title: nameInList(chat) || inList.newChat,
    group: words.chats,
    keys: undefined,
    run: () => page.router.go({ is: "chat", chatId }),
  });
  const offered = [
    ...commands.filter(
      ({ hidden, onlyFound }) => hidden !== true && (onlyFound !== true || query !== ""),
    ),
    ...loaded.map(toCommand),
  ];
  const byName = found(query, offered);
  // The list has only the latest chats: the gateway searches all of them, and what was said in them.
  const searchedChats = "found" in searched ? searched.found.map(({ chat }) => chat) : [];
  const shown = [
    ...byName,
    ...searchedChats
      .filter((chat) => !byName.some((one) => one.id === chat.chat_id))
      .map(toCommand),
  ];
  const nothing = {
    searching: inList.searching,
    failed: inList.failed,
    idle: words.nothingFound(query),
    found: words.nothingFound(query),
  }[searched.is];
  const at = Math.min(chosen, shown.length - 1);
  const run = (which: number) => {
    const command = shown[which];
    if (command === undefined) return;
    onClose();
    // The dialog gives the focus back first.
    setTimeout(() => command.run(), 0);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setChosen((at + step + shown.length) % Math.max(shown.length, 1));
    else if (event.key === "Enter") run(at);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog atTop title={words.palette} onClose={onClose}>
      <input
        className="input"
        data-first
        role="combobox"
        aria-label={words.paletteHint}
        placeholder={words.paletteHint}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={shown.length === 0 ? undefined : `${id}-${at}`}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          search.look(event.currentTarget.value, undefined);
          setChosen(0);
        }}
        onKeyDown={onKey}
      />
      <div id={id} className="app-palette" role="listbox" aria-label={words.palette}>
        {shown.map((command, which) => (
          // The keys are those of the field above, which keeps the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={command.id}
            id={`${id}-${which}`}
            ref={which === at ? scrollHere : undefined}
            role="option"
            tabIndex={-1}
            aria-selected={which === at}
            className="app-palette-entry"
            onClick={() => run(which)}
          >
            <span dir="auto">{command.title}</span>
            <small>{command.group}</small>
            {command.keys !== undefined && <Keys keys={command.keys} />}
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className="app-quiet">{nothing}</p>}
    </Dialog>
  );
}

function scrollHere(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

interface Findable {
  readonly title: string;
  readonly group: string;
  readonly words?: string | undefined;
}

const most = 50;

/** Those in which every word of the query is found, the ones whose title begins with it first. */
export function found<Entry extends Findable>(query: string, entries: readonly Entry[]): Entry[] {
  const asked = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (asked.length === 0) return entries.slice(0, most);
  const ranked = entries.flatMap((entry) => {
    const title = entry.title.toLowerCase();
    const all = `${title} ${entry.group} ${entry.words ?? ""}`.toLowerCase();
    if (!asked.every((word) => all.includes(word))) return [];
    const [first = ""] = asked;
    const rank = title.startsWith(first) ? 0 : title.includes(first) ? 1 : 2;
    return [{ entry, rank }];
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, most)
    .map(({ entry }) => entry);
}
