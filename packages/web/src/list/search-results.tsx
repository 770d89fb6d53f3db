import type { ChatSearchResult } from "@deltawire/tasks/chats";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import { splitByMarks } from "../text/split-text.ts";
import { getListedChatTitle } from "../text/chat-title.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { useNow } from "./use-now.ts";
import { RouteLink } from "./route-link.tsx";
import { ChatListSkeleton } from "./load-more.tsx";
import type { ChatSearchState } from "./chat-search.ts";
import { chatListMessages } from "./messages.ts";

interface SearchResultsProps {
  state: Exclude<ChatSearchState, { status: "idle" }>;
  tag: string | undefined;
  onRetry: () => void;
  onSelect: (() => void) | undefined;
}

/** The chats that match a search, with the matching messages. */
export function SearchResults({ state, tag, onRetry, onSelect }: SearchResultsProps) {
  const t = useMessages(chatListMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const results = state.status === "failed" ? [] : state.results;
  const emptyText =
    tag === undefined ? t.nothingFound(state.query) : t.nothingFoundIn(state.query, tag);
  return (
    <div className="list-scroll" aria-busy={state.status === "searching"}>
      <p className="visually-hidden" role="status">
        {state.status === "searching" && t.searching}
        {state.status === "ready" &&
          (results.length === 0 ? emptyText : t.resultCount(results.length))}
      </p>
      {state.status === "failed" && (
        <EmptyState title={t.searchFailed} text={formatError(state.message)}>
          <Button small icon="redo" onClick={onRetry}>
            {t.retry}
          </Button>
        </EmptyState>
      )}
      {state.status === "searching" && results.length === 0 && (
        <ChatListSkeleton label={t.searching} />
      )}
      {state.status === "ready" && results.length === 0 && (
        <EmptyState title={emptyText} text={t.searchCovers} />
      )}
      <ul className="list-results">
        {results.map((result) => (
          <SearchResult key={result.chat.chat_id} result={result} onSelect={onSelect} />
        ))}
      </ul>
    </div>
  );
}

function SearchResult({
  result,
  onSelect,
}: {
  result: ChatSearchResult;
  onSelect: (() => void) | undefined;
}) {
  const { chat, title_marks, hits } = result;
  const t = useMessages(chatListMessages);
  const format = useFormatter();
  const now = useNow();
  const chatId = chat.chat_id;
  return (
    <li className="list-result">
      <RouteLink className="list-result-title" route={{ type: "chat", chatId }} onSelect={onSelect}>
        <span className="list-title" dir="auto">
          {chat.title.trim() === "" ? (
            getListedChatTitle(chat) || t.newChat
          ) : (
            <HighlightedText text={chat.title} marks={title_marks} />
          )}
        </span>
        <span className="list-timestamp">{format.shortDate(chat.updated_at, now)}</span>
      </RouteLink>
      {hits.map((hit) => (
        <RouteLink
          key={hit.version_id}
          className="list-hit"
          route={{ type: "chat", chatId, nodeId: hit.node_id }}
          onSelect={onSelect}
        >
          <span dir="auto">
            <HighlightedText text={hit.text} marks={hit.marks} />
          </span>
        </RouteLink>
      ))}
    </li>
  );
}

function HighlightedText({
  text,
  marks,
}: {
  text: string;
  marks: ChatSearchResult["title_marks"];
}) {
  let offset = 0;
  return splitByMarks(text, marks).map((piece) => {
    const key = offset;
    offset += piece.text.length;
    return piece.isMarked ? <mark key={key}>{piece.text}</mark> : piece.text;
  });
}
