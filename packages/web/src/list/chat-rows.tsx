import { useContext, useEffect, useMemo, useRef, useState, type RefObject } from "react";
import type { ChatSummary } from "@deltawire/tasks/chats";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import type { ListState } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useFormat } from "../words/format.ts";
import { LanguageContext, useWords } from "../words/use-words.ts";
import type { Language } from "../words/words.ts";
import { ChatRow, type RowActions } from "./chat-row.tsx";
import { useNow } from "./now.ts";
import { ReadOn, Skeleton, useInSight } from "./read-on.tsx";
import { TagsDialog } from "./tags-dialog.tsx";
import { listWords, type ListWords } from "./words.ts";

interface ChatRowsProps {
  state: ListState;
  tags: readonly string[];
  /** False: nothing came, and it was told. */
  loadMore: () => Promise<boolean>;
  retry: () => void;
  empty: { readonly title: string; readonly text: string };
  onTagged: () => void;
  onChosen: (() => void) | undefined;
}

/** Chats by day. Of thousands only those near to what is seen are drawn. */
export function ChatRows(props: ChatRowsProps) {
  const { state, retry, empty } = props;
  const words = useWords(listWords);
  const hasStoreNotice = usePicked(
    usePage().connection,
    (connection) => connection.is === "lost" && connection.store !== undefined,
  );
  switch (state.is) {
    case "loading":
      return (
        <div className="list-scroll" aria-busy="true">
          <Skeleton label={words.loading} />
        </div>
      );
    case "failed":
      return (
        <div className="list-scroll">
          <Empty title={words.failed} text={hasStoreNotice ? words.noStore : state.message}>
            <Button small icon="redo" onClick={retry}>
              {words.retry}
            </Button>
          </Empty>
        </div>
      );
    case "ready":
      return state.chats.length === 0 ? (
        <div className="list-scroll">
          <Empty {...empty} />
        </div>
      ) : (
        <ReadyRows {...props} chats={state.chats} hasMore={state.hasMore} />
      );
    default:
      return unreachable(state);
  }
}

interface ReadyRowsProps extends Omit<ChatRowsProps, "state" | "retry" | "empty"> {
  chats: readonly ChatSummary[];
  hasMore: boolean;
}

function ReadyRows({ chats, hasMore, tags, loadMore, onTagged, onChosen }: ReadyRowsProps) {
  const page = usePage();
  const words = useWords(listWords);
  const language = useContext(LanguageContext);
  const now = useNow();
  const scroll = useRef<HTMLDivElement>(null);
  const current = usePicked(page.router.route, (route) =>
    "chatId" in route ? route.chatId : undefined,
  );
  const [touched, setTouched] = useState<string>();
  const [renaming, setRenaming] = useState<string>();
  const [tagging, setTagging] = useState<ChatSummary>();
  const groups = useMemo(() => groupChats(chats, now), [chats, now]);
  const active = useMemo(() => {
    const ids = new Set(chats.map(({ chat_id }) => chat_id));
    return [touched, current].find((id) => id !== undefined && ids.has(id)) ?? chats[0]?.chat_id;
  }, [chats, touched, current]);
  const chosen = useRef(onChosen);
  useEffect(() => {
    chosen.current = onChosen;
  });
  const actions = useMemo<RowActions>(
    () => ({
      chosen: () => chosen.current?.(),
      touched: setTouched,
      rename: setRenaming,
      tag: setTagging,
    }),
    [],
  );
  return (
    <div className="list-scroll" ref={scroll}>
      {groups.map((group) => (
        <Group
          key={groupKey(group.of)}
          group={group}
          title={titleOf(group.of, words, language)}
          now={now}
          current={current}
          active={active}
          renaming={renaming}
          actions={actions}
          scroll={scroll}
        />
      ))}
      {hasMore && <ReadOn key={chats.length} scroll={scroll} read={loadMore} />}
      {tagging !== undefined && (
        <TagsDialog
          chat={tagging}
          known={tags}
          onClose={() => setTagging(undefined)}
          onSaved={onTagged}
        />
      )}
    </div>
  );
}

function titleOf(of: GroupName, words: ListWords, language: Language): string {
  switch (of.is) {
    case "pinned":
      return words.pinnedGroup;
    case "today":
      return words.today;
    case "yesterday":
      return words.yesterday;
    case "week":
      return words.week;
    case "month": {
      const months = new Intl.DateTimeFormat(language, { month: "long", year: "numeric" });
      return months.format(new Date(of.year, of.month, 1));
    }
    default:
      return unreachable(of);
  }
}

interface ChunkProps {
  now: Date;
  current: string | undefined;
  /** The one that is reached by Tab. */
  active: string | undefined;
  renaming: string | undefined;
  actions: RowActions;
  scroll: RefObject<HTMLElement | null>;
}

const rowsInChunk = 30;

function Group({ group, title, ...rest }: ChunkProps & { group: ChatGroup; title: string }) {
  const headingId = `list-${groupKey(group.of)}`;
  const { chats } = group;
  const starts = Array.from(
    { length: Math.ceil(chats.length / rowsInChunk) },
    (_, index) => index * rowsInChunk,
  );
  return (
    <section className="list-group">
      <h2 className="list-day" id={headingId}>
        {title}
      </h2>
      <div role="list" aria-labelledby={headingId}>
        {starts.map((start) => (
          <Chunk
            key={start}
            {...rest}
            chats={chats.slice(start, start + rowsInChunk)}
            atOnce={start === 0}
          />
        ))}
      </div>
    </section>
  );
}

/** Rows have one height, so that what is not drawn takes the room that it will need. */
function Chunk({
  chats,
  atOnce,
  scroll,
  now,
  current,
  active,
  renaming,
  actions,
}: ChunkProps & { chats: readonly ChatSummary[]; atOnce: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useInSight(place, scroll, atOnce);
  const format = useFormat();
  const isDrawn = isNear || chats.some(({ chat_id }) => chat_id === active);
  return (
    <div
      ref={place}
      role="presentation"
      className="list-chunk"
      style={{ minHeight: `calc(${chats.length} * var(--list-row))` }}
    >
      {isDrawn &&
        chats.map((chat) => (
          <ChatRow
            key={chat.chat_id}
            chat={chat}
            when={format.when(chat.updated_at, now)}
            isCurrent={chat.chat_id === current}
            isActive={chat.chat_id === active}
            isRenaming={chat.chat_id === renaming}
            actions={actions}
          />
        ))}
    </div>
  );
}

/** A heading of the list, with the chats under it. */
export interface ChatGroup {
  readonly of: GroupName;
  readonly chats: readonly ChatSummary[];
}

export type GroupName =
  | { readonly is: "pinned" | "today" | "yesterday" | "week" }
  /** `month` from 0 on. */
  | { readonly is: "month"; readonly year: number; readonly month: number };

/** Chats in the order in which they come: pinned ones first, then by the day of their last change, as the reader's clock has it. */
export function groupChats(chats: readonly ChatSummary[], now: Date): ChatGroup[] {
  const days = daysBefore(now);
  const groups = new Map<string, { of: GroupName; chats: ChatSummary[] }>();
  for (const chat of chats) {
    const of = chat.pinned ? pinned : nameFor(chat.updated_at, days);
    const key = groupKey(of);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { of, chats: [chat] });
    else group.chats.push(chat);
  }
  return [...groups.values()];
}

export function groupKey(of: GroupName): string {
  return of.is === "month" ? `${of.year}-${of.month}` : of.is;
}

const pinned: GroupName = { is: "pinned" };

interface Days {
  readonly today: number;
  readonly yesterday: number;
  readonly week: number;
}

/** By the calendar: where the clocks change a day has no 24 hours. */
function daysBefore(now: Date): Days {
  const start = (days: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - days).getTime();
  return { today: start(0), yesterday: start(1), week: start(7) };
}

function nameFor(iso: string, { today, yesterday, week }: Days): GroupName {
  const date = new Date(iso);
  const time = date.getTime();
  if (time >= today) return { is: "today" };
  if (time >= yesterday) return { is: "yesterday" };
  if (time >= week) return { is: "week" };
  return { is: "month", year: date.getFullYear(), month: date.getMonth() };
}
