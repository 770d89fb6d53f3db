import { useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useCommands, useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import type { ChatListState } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { createPagedChats, mergeTaggedChats } from "./paged-chats.ts";
import { ChatListRows } from "./chat-list-rows.tsx";
import { DeletedChats } from "./deleted-chats.tsx";
import { SearchResults } from "./search-results.tsx";
import { ImportNotice, useChatImport } from "./import-chats.tsx";
import "./list.css";
import { focusFirstRow } from "./route-link.tsx";
import { createGatewaySearch, type ChatSearch } from "./chat-search.ts";
import { useKnownTags } from "./tags-dialog.tsx";
import { chatListMessages } from "./messages.ts";

interface ChatListProps {
  /** Called when a chat is opened, for example to close the drawer. */
  onSelect?: (() => void) | undefined;
}

const maxSearchResults = 30;

/** The list of chats with search, tag filter, import and deleted chats. */
export function ChatList({ onSelect }: ChatListProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const [view, setView] = useState<"chats" | "deleted">("chats");
  const [tag, setTag] = useState<string>();
  const [query, setQuery] = useState("");
  const [isDragOver, setDragOver] = useState(false);
  const [search] = useState(() => createGatewaySearch(app.client, maxSearchResults));
  const fileInput = useRef<HTMLInputElement>(null);
  const chatImport = useChatImport(onSelect);
  const { knownTags, reloadTags } = useKnownTags();
  useEffect(() => () => search.close(), [search]);

  const updateSearch = (text: string, nextTag: string | undefined) => {
    setView("chats");
    setQuery(text);
    setTag(nextTag);
    search.setQuery(text, nextTag);
  };
  const startNew = () => {
    app.router.navigate({ type: "new" });
    onSelect?.();
  };
  const handleDrag = (event: DragEvent, isOver: boolean) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setDragOver(isOver);
  };

  return (
    <div
      className="list"
      data-drag-over={isDragOver || undefined}
      onDragEnter={(event) => handleDrag(event, true)}
      onDragOver={(event) => handleDrag(event, true)}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragOver(false);
      }}
      onDrop={(event) => {
        handleDrag(event, false);
        void chatImport.importFiles([...event.dataTransfer.files]);
      }}
    >
      <div className="list-header">
        <div className="list-actions">
          <Button kind="primary" icon="add" className="list-new" onClick={startNew}>
            {t.newChat}
          </Button>
          <Menu
            label={t.more}
            items={[
              {
                label: t.importChats,
                icon: "upload",
                run: () => fileInput.current?.click(),
              },
              { label: t.deleted, icon: "trash", run: () => setView("deleted") },
            ]}
          />
        </div>
        <div className="list-search">
          <SearchInput query={query} onQueryChange={(text) => updateSearch(text, tag)} />
          {(knownTags.length > 0 || tag !== undefined) && (
            <span onPointerEnter={reloadTags} onFocus={reloadTags}>
              <Menu
                label={t.filter}
                icon="tag"
                className={tag === undefined ? undefined : "list-filter-on"}
                items={buildFilterItems(knownTags, tag, t.allChats, (next) =>
                  updateSearch(query, next),
                )}
              />
            </span>
          )}
        </div>
        {view === "chats" && tag !== undefined && (
          <span className="tag list-filter">
            <Icon name="tag" small />
            <span className="single-line" dir="auto">
              {tag}
            </span>
            <IconButton
              icon="close"
              small
              label={t.clearFilter(tag)}
              onClick={() => updateSearch(query, undefined)}
            />
          </span>
        )}
      </div>
      <ImportNotice chatImport={chatImport} />
      {view === "deleted" ? (
        <DeletedChats onSelect={onSelect} onBack={() => setView("chats")} />
      ) : (
        <ChatListContent
          search={search}
          tag={tag}
          onSelect={onSelect}
          onTagsChange={reloadTags}
          tags={knownTags}
        />
      )}
      <input
        ref={fileInput}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={(event) => {
          void chatImport.importFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      {isDragOver && (
        <div className="list-drop" aria-hidden="true">
          <Icon name="upload" />
          {t.dropHere}
        </div>
      )}
    </div>
  );
}

interface ChatListContentProps {
  search: ChatSearch;
  tag: string | undefined;
  tags: readonly string[];
  onTagsChange: () => void;
  onSelect: (() => void) | undefined;
}

function ChatListContent({ search, tag, ...rest }: ChatListContentProps) {
  const state = useCell(search.state);
  if (state.status !== "idle")
    return (
      <SearchResults state={state} tag={tag} onRetry={search.retry} onSelect={rest.onSelect} />
    );
  return tag === undefined ? <AllChats {...rest} /> : <TaggedChats key={tag} tag={tag} {...rest} />;
}

interface SearchInputProps {
  query: string;
  onQueryChange: (query: string) => void;
}

function SearchInput({ query, onQueryChange }: SearchInputProps) {
  const t = useMessages(chatListMessages);
  return (
    <div className="list-search-box" role="search">
      <Icon name="search" />
      <input
        id={searchInputId}
        className="input"
        type="text"
        inputMode="search"
        enterKeyHint="search"
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        maxLength={200}
        aria-label={t.search}
        placeholder={t.searchHint}
        value={query}
        onChange={(event) => onQueryChange(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape" && query !== "") onQueryChange("");
          else if (event.key === "ArrowDown") focusFirstRow(event.currentTarget);
          else return;
          event.preventDefault();
        }}
      />
      {query !== "" && (
        <IconButton
          icon="close"
          small
          label={t.clearSearch}
          onClick={() => {
            onQueryChange("");
            document.getElementById(searchInputId)?.focus();
          }}
        />
      )}
    </div>
  );
}

function buildFilterItems(
  tags: readonly string[],
  selectedTag: string | undefined,
  allLabel: string,
  choose: (tag: string | undefined) => void,
): MenuItem[] {
  return [
    { label: allLabel, checked: selectedTag === undefined, run: () => choose(undefined) },
    "separator",
    ...tags.map((tag) => ({ label: tag, checked: tag === selectedTag, run: () => choose(tag) })),
  ];
}

interface ChatSourceProps {
  /** All tags in use, as suggestions. */
  tags: readonly string[];
  onTagsChange: () => void;
  onSelect: (() => void) | undefined;
}

function AllChats(props: ChatSourceProps) {
  const { chatList } = useAppStore();
  const t = useMessages(chatListMessages);
  return (
    <ChatListRows
      {...props}
      state={useCell(chatList.state)}
      loadMore={() => chatList.loadMore()}
      retry={() => void chatList.reload()}
      empty={{ title: t.noChats, text: t.noChatsText }}
    />
  );
}

function TaggedChats({ tag, ...props }: ChatSourceProps & { tag: string }) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const pages = useMemo(
    () =>
      createPagedChats((cursor) =>
        app.client.list({
          tag,
          limit: 100,
          ...(cursor === undefined ? {} : { before: cursor }),
        }),
      ),
    [app, tag],
  );
  useEffect(() => {
    void pages.reload();
    return app.chatList.state.subscribe(
      createRemovalListener(app.chatList.state.get, pages.remove),
    );
  }, [app, pages]);
  const taggedState = useCell(pages.state);
  const mainState = useCell(app.chatList.state);
  const state = useMemo<ChatListState>(
    () =>
      taggedState.status === "ready" && mainState.status === "ready"
        ? { ...taggedState, chats: mergeTaggedChats(tag, taggedState.chats, mainState.chats) }
        : taggedState,
    [taggedState, mainState, tag],
  );
  return (
    <ChatListRows
      {...props}
      state={state}
      loadMore={async () => (await app.attempt(() => pages.loadMore())) ?? false}
      retry={() => void pages.reload()}
      empty={{ title: t.noTagged(tag), text: "" }}
    />
  );
}

/** Returns a listener that calls `onRemoved` for each chat that was removed from the list since the last call. */
function createRemovalListener(
  getState: () => ChatListState,
  onRemoved: (chatId: string) => void,
): () => void {
  let previous = getChats(getState());
  return () => {
    const current = getChats(getState());
    if (current === previous) return;
    const remainingIds = new Set(current.map(({ chat_id }) => chat_id));
    for (const { chat_id } of previous) if (!remainingIds.has(chat_id)) onRemoved(chat_id);
    previous = current;
  };
}

function getChats(state: ChatListState): readonly ChatSummary[] {
  return state.status === "ready" ? state.chats : [];
}

const searchInputId = "list-search";

/** Registers the keyboard commands of the chat list. `show` makes the list visible if it is hidden. */
export function useChatListCommands(show: () => void): void {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const startNew = () => app.router.navigate({ type: "new" });
  useCommands([
    {
      id: "list.new",
      title: t.newChat,
      group: t.chats,
      keys: "mod+shift+o",
      run: startNew,
    },
    {
      id: "list.new-by-letter",
      title: t.newChat,
      group: t.chats,
      keys: "n",
      hidden: true,
      run: startNew,
    },
    {
      id: "list.search",
      title: t.focusSearch,
      group: t.chats,
      keys: "/",
      run: () => {
        show();
        requestAnimationFrame(() => document.getElementById(searchInputId)?.focus());
      },
    },
  ]);
}
