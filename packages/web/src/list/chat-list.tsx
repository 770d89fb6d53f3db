import { useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import type { ListState } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { createChatPages, withTag } from "./chat-pages.ts";
import { ChatRows } from "./chat-rows.tsx";
import { DeletedChats } from "./deleted-chats.tsx";
import { FoundChats } from "./found-chats.tsx";
import { ImportNotice, useImport } from "./import-file.tsx";
import "./list.css";
import { focusFirstRow } from "./route-link.tsx";
import { searchWith, type Search } from "./search.ts";
import { useTags } from "./tags-dialog.tsx";
import { listWords } from "./words.ts";

interface ChatListProps {
  /** Something was chosen that is shown elsewhere: a list that lies over it can go. */
  onChosen?: (() => void) | undefined;
}

const mostFound = 30;

/** All chats, and what can be done with them from outside. */
export function ChatList({ onChosen }: ChatListProps) {
  const page = usePage();
  const words = useWords(listWords);
  const [shown, setShown] = useState<"chats" | "deleted">("chats");
  const [tag, setTag] = useState<string>();
  const [query, setQuery] = useState("");
  const [isOver, setOver] = useState(false);
  const [search] = useState(() => searchWith(page.client, mostFound));
  const file = useRef<HTMLInputElement>(null);
  const importing = useImport(onChosen);
  const tags = useTags();
  useEffect(() => () => search.close(), [search]);

  const look = (text: string, of: string | undefined) => {
    setShown("chats");
    setQuery(text);
    setTag(of);
    search.look(text, of);
  };
  const startNew = () => {
    page.router.go({ is: "new" });
    onChosen?.();
  };
  const drag = (event: DragEvent, over: boolean) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(over);
  };

  return (
    <div
      className="list"
      data-over={isOver || undefined}
      onDragEnter={(event) => drag(event, true)}
      onDragOver={(event) => drag(event, true)}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        drag(event, false);
        void importing.take([...event.dataTransfer.files]);
      }}
    >
      <div className="list-head">
        <div className="list-actions">
          <Button kind="primary" icon="add" className="list-new" onClick={startNew}>
            {words.newChat}
          </Button>
          <Menu
            label={words.more}
            items={[
              {
                label: words.importChats,
                icon: "upload",
                run: () => file.current?.click(),
              },
              { label: words.deleted, icon: "trash", run: () => setShown("deleted") },
            ]}
          />
        </div>
        <div className="list-search">
          <SearchBox query={query} onQuery={(text) => look(text, tag)} />
          {(tags.all.length > 0 || tag !== undefined) && (
            <span onPointerEnter={tags.read} onFocus={tags.read}>
              <Menu
                label={words.filter}
                icon="tag"
                className={tag === undefined ? undefined : "list-filter-on"}
                items={filterItems(tags.all, tag, words.allChats, (next) => look(query, next))}
              />
            </span>
          )}
        </div>
        {shown === "chats" && tag !== undefined && (
          <span className="tag list-filter">
            <Icon name="tag" small />
            <span className="one-line" dir="auto">
              {tag}
            </span>
            <IconButton
              icon="close"
              small
              label={words.stopFilter(tag)}
              onClick={() => look(query, undefined)}
            />
          </span>
        )}
      </div>
      <ImportNotice importing={importing} />
      {shown === "deleted" ? (
        <DeletedChats onChosen={onChosen} onBack={() => setShown("chats")} />
      ) : (
        <Shown search={search} tag={tag} onChosen={onChosen} onTagged={tags.read} tags={tags.all} />
      )}
      <input
        ref={file}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={(event) => {
          void importing.take([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {isOver && (
        <div className="list-drop" aria-hidden="true">
          <Icon name="upload" />
          {words.dropHere}
        </div>
      )}
    </div>
  );
}

interface ShownProps {
  search: Search;
  tag: string | undefined;
  tags: readonly string[];
  onTagged: () => void;
  onChosen: (() => void) | undefined;
}

function Shown({ search, tag, ...rest }: ShownProps) {
  const state = useCell(search.state);
  if (state.is !== "idle")
    return <FoundChats state={state} tag={tag} again={search.again} onChosen={rest.onChosen} />;
  return tag === undefined ? <AllChats {...rest} /> : <TaggedChats key={tag} tag={tag} {...rest} />;
}

interface SearchBoxProps {
  query: string;
  onQuery: (query: string) => void;
}

function SearchBox({ query, onQuery }: SearchBoxProps) {
  const words = useWords(listWords);
  return (
    <div className="list-search-box" role="search">
      <Icon name="search" />
      <input
        id={searchBoxId}
        className="input"
        type="text"
        inputMode="search"
        enterKeyHint="search"
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        maxLength={200}
        aria-label={words.search}
        placeholder={words.searchHint}
        value={query}
        onChange={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape" && query !== "") onQuery("");
          else if (event.key === "ArrowDown") focusFirstRow(event.currentTarget);
          else return;
          event.preventDefault();
        }}
      />
      {query !== "" && (
        <IconButton
          icon="close"
          small
          label={words.clearSearch}
          onClick={() => {
            onQuery("");
            document.getElementById(searchBoxId)?.focus();
          }}
        />
      )}
    </div>
  );
}

function filterItems(
  tags: readonly string[],
  chosen: string | undefined,
  all: string,
  choose: (tag: string | undefined) => void,
): MenuItem[] {
  return [
    { label: all, checked: chosen === undefined, run: () => choose(undefined) },
    "line",
    ...tags.map((tag) => ({ label: tag, checked: tag === chosen, run: () => choose(tag) })),
  ];
}

interface ChatsProps {
  /** All tags in use, to be suggested. */
  tags: readonly string[];
  onTagged: () => void;
  onChosen: (() => void) | undefined;
}

function AllChats(props: ChatsProps) {
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

function TaggedChats({ tag, ...props }: ChatsProps & { tag: string }) {
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

const searchBoxId = "list-search";

/** `show`: brings the list to where it can be seen, if it is hidden. */
export function useListCommands(show: () => void): void {
  const page = usePage();
  const words = useWords(listWords);
  const startNew = () => page.router.go({ is: "new" });
  useCommands([
    {
      id: "list.new",
      title: words.newChat,
      group: words.chats,
      keys: "mod+shift+o",
      run: startNew,
    },
    {
      id: "list.new-by-letter",
      title: words.newChat,
      group: words.chats,
      keys: "n",
      hidden: true,
      run: startNew,
    },
    {
      id: "list.search",
      title: words.focusSearch,
      group: words.chats,
      keys: "/",
      run: () => {
        show();
        requestAnimationFrame(() => document.getElementById(searchBoxId)?.focus());
      },
    },
  ]);
}
