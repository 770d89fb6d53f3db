import { assertNever } from "@deltawire/tasks";
import { useContext, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import type { ChatListState } from "../state/app-store.ts";
import { useFormatter } from "../messages/format.ts";
import { LanguageContext, useMessages } from "../messages/use-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import type { Language } from "../messages/define-messages.ts";
import { ChatListRow, type ChatRowActions } from "./chat-list-row.tsx";
import { useNow } from "./use-now.ts";
import { LoadMoreTrigger, ChatListSkeleton, useIsNearViewport } from "./load-more.tsx";
import { TagsDialog } from "./tags-dialog.tsx";
import { chatListMessages, type ChatListMessages } from "./messages.ts";

interface ChatListRowsProps {
  state: ChatListState;
  tags: readonly string[];
  /** If loading fails, shows a toast and resolves to false. */
  loadMore: () => Promise<boolean>;
  retry: () => void;
  empty: { readonly title: string; readonly text: string };
  onTagsChange: () => void;
  onSelect: (() => void) | undefined;
}

/** Chats grouped by day. Only rows near the viewport are rendered. */
export function ChatListRows(props: ChatListRowsProps) {
  const { state, retry, empty } = props;
  const t = useMessages(chatListMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const hasStoreNotice = useCellSelector(
    useAppStore().connection,
    (connection) => connection.status === "lost" && connection.storeProblem !== undefined,
  );
  switch (state.status) {
    case "loading":
      return (
        <div className="list-scroll" aria-busy="true">
          <ChatListSkeleton label={t.loading} />
        </div>
      );
    case "failed":
      return (
        <div className="list-scroll">
          <EmptyState
            title={t.failed}
            text={hasStoreNotice ? t.noStore : formatError(state.message)}
          >
            <Button small icon="redo" onClick={retry}>
              {t.retry}
            </Button>
          </EmptyState>
        </div>
      );
    case "ready":
      return state.chats.length === 0 ? (
        <div className="list-scroll">
          <EmptyState {...empty} />
        </div>
      ) : (
        <GroupedRows {...props} chats={state.chats} hasMore={state.hasMore} />
      );
    default:
      return assertNever(state);
  }
}

interface GroupedRowsProps extends Omit<ChatListRowsProps, "state" | "retry" | "empty"> {
  chats: readonly ChatSummary[];
  hasMore: boolean;
}

function GroupedRows({ chats, hasMore, tags, loadMore, onTagsChange, onSelect }: GroupedRowsProps) {
  const app = useAppStore();
  const t = useMessages(chatListMessages);
  const language = useContext(LanguageContext);
  const now = useNow();
  const scroller = useRef<HTMLDivElement>(null);
  const currentId = useCellSelector(app.router.route, (route) =>
    "chatId" in route ? route.chatId : undefined,
  );
  const [focusedId, setFocusedId] = useState<string>();
  const [renamingId, setRenamingId] = useState<string>();
  const [taggedChat, setTaggedChat] = useState<ChatSummary>();
  const groups = useMemo(() => groupChats(chats, now), [chats, now]);
  const activeId = useMemo(() => {
    const ids = new Set(chats.map(({ chat_id }) => chat_id));
    return (
      [focusedId, currentId].find((id) => id !== undefined && ids.has(id)) ?? chats[0]?.chat_id
    );
  }, [chats, focusedId, currentId]);
  const latestOnSelect = useRef(onSelect);
  useEffect(() => {
    latestOnSelect.current = onSelect;
  });
  const actions = useMemo<ChatRowActions>(
    () => ({
      onSelect: () => latestOnSelect.current?.(),
      onFocus: setFocusedId,
      onRename: setRenamingId,
      onTag: setTaggedChat,
    }),
    [],
  );
  return (
    <div className="list-scroll" ref={scroller}>
      {groups.map((group) => (
        <ChatGroupSection
          key={getGroupKey(group.name)}
          group={group}
          title={formatGroupTitle(group.name, t, language)}
          now={now}
          currentId={currentId}
          activeId={activeId}
          renamingId={renamingId}
          actions={actions}
          scroller={scroller}
        />
      ))}
      {hasMore && <LoadMoreTrigger key={chats.length} scroller={scroller} loadMore={loadMore} />}
      {taggedChat !== undefined && (
        <TagsDialog
          chat={taggedChat}
          allTags={tags}
          onClose={() => setTaggedChat(undefined)}
          onSaved={onTagsChange}
        />
      )}
    </div>
  );
}

function formatGroupTitle(
  groupName: ChatGroupName,
  t: ChatListMessages,
  language: Language,
): string {
  switch (groupName.type) {
    case "pinned":
      return t.pinnedGroup;
    case "today":
      return t.today;
    case "yesterday":
      return t.yesterday;
    case "week":
      return t.week;
    case "month": {
      const months = new Intl.DateTimeFormat(language, { month: "long", year: "numeric" });
      return months.format(new Date(groupName.year, groupName.month, 1));
    }
    default:
      return assertNever(groupName);
  }
}

interface RowChunkProps {
  now: Date;
  currentId: string | undefined;
  /** Id of the chat whose row is in the tab order. */
  activeId: string | undefined;
  renamingId: string | undefined;
  actions: ChatRowActions;
  scroller: RefObject<HTMLElement | null>;
}

const rowsPerChunk = 30;

function ChatGroupSection({
  group,
  title,
  ...rest
}: RowChunkProps & { group: ChatGroup; title: string }) {
  const headingId = `list-${getGroupKey(group.name)}`;
  const { chats } = group;
  const starts = Array.from(
    { length: Math.ceil(chats.length / rowsPerChunk) },
    (_, index) => index * rowsPerChunk,
  );
  return (
    <section className="list-group">
      <h2 className="list-group-heading" id={headingId}>
        {title}
      </h2>
      <div role="list" aria-labelledby={headingId}>
        {starts.map((start) => (
          <RowChunk
            key={start}
            {...rest}
            chats={chats.slice(start, start + rowsPerChunk)}
            isInitiallyNear={start === 0}
          />
        ))}
      </div>
    </section>
  );
}

/** Renders its rows only near the viewport. All rows have the same height, so an empty chunk takes the same space. */
function RowChunk({
  chats,
  isInitiallyNear,
  scroller,
  now,
  currentId,
  activeId,
  renamingId,
  actions,
}: RowChunkProps & { chats: readonly ChatSummary[]; isInitiallyNear: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  const isNear = useIsNearViewport(element, scroller, isInitiallyNear);
  const format = useFormatter();
  const isRendered = isNear || chats.some(({ chat_id }) => chat_id === activeId);
  return (
    <div
      ref={element}
      role="presentation"
      className="list-chunk"
      style={{ minHeight: `calc(${chats.length} * var(--list-row))` }}
    >
      {isRendered &&
        chats.map((chat) => (
          <ChatListRow
            key={chat.chat_id}
            chat={chat}
            lastChanged={format.shortDate(chat.updated_at, now)}
            isCurrent={chat.chat_id === currentId}
            isActive={chat.chat_id === activeId}
            isRenaming={chat.chat_id === renamingId}
            actions={actions}
          />
        ))}
    </div>
  );
}

/** A heading of the list and its chats. */
export interface ChatGroup {
  readonly name: ChatGroupName;
  readonly chats: readonly ChatSummary[];
}

export type ChatGroupName =
  | { readonly type: "pinned" | "today" | "yesterday" | "week" }
  /** `month` starts at 0, as in `Date`. */
  | { readonly type: "month"; readonly year: number; readonly month: number };

/** Groups chats by the local day of their last change, pinned chats first. Keeps the order of the chats. */
export function groupChats(chats: readonly ChatSummary[], now: Date): ChatGroup[] {
  const days = getDayBoundaries(now);
  const groups = new Map<string, { name: ChatGroupName; chats: ChatSummary[] }>();
  for (const chat of chats) {
    const groupName = chat.pinned ? pinnedGroup : toGroupName(chat.updated_at, days);
    const key = getGroupKey(groupName);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { name: groupName, chats: [chat] });
    else group.chats.push(chat);
  }
  return [...groups.values()];
}

export function getGroupKey(groupName: ChatGroupName): string {
  return groupName.type === "month" ? `${groupName.year}-${groupName.month}` : groupName.type;
}

const pinnedGroup: ChatGroupName = { type: "pinned" };

/** When today, yesterday and the last 7 days started, in ms since the epoch. */
interface DayBoundaries {
  readonly today: number;
  readonly yesterday: number;
  readonly week: number;
}

/** Uses calendar days, because a day with a clock change does not have 24 hours. */
function getDayBoundaries(now: Date): DayBoundaries {
  const getStart = (daysAgo: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
  return { today: getStart(0), yesterday: getStart(1), week: getStart(7) };
}

function toGroupName(iso: string, { today, yesterday, week }: DayBoundaries): ChatGroupName {
  const date = new Date(iso);
  const time = date.getTime();
  if (time >= today) return { type: "today" };
  if (time >= yesterday) return { type: "yesterday" };
  if (time >= week) return { type: "week" };
  return { type: "month", year: date.getFullYear(), month: date.getMonth() };
}
