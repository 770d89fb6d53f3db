import type { FoundChat } from "@deltawire/tasks/chats";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import { markedPieces } from "../texts/text-pieces.ts";
import { nameInList } from "../texts/name-of-chat.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { useNow } from "./now.ts";
import { RouteLink } from "./route-link.tsx";
import { Skeleton } from "./read-on.tsx";
import type { SearchState } from "./search.ts";
import { listWords } from "./words.ts";

interface FoundChatsProps {
  state: Exclude<SearchState, { is: "idle" }>;
  tag: string | undefined;
  again: () => void;
  onChosen: (() => void) | undefined;
}

/** What a search gave: chats, and the places in them. */
export function FoundChats({ state, tag, again, onChosen }: FoundChatsProps) {
  const words = useWords(listWords);
  const found = state.is === "failed" ? [] : state.found;
  const nothing =
    tag === undefined ? words.nothingFound(state.query) : words.nothingFoundIn(state.query, tag);
  return (
    <div className="list-scroll" aria-busy={state.is === "searching"}>
      <p className="for-readers" role="status">
        {state.is === "searching" && words.searching}
        {state.is === "found" && (found.length === 0 ? nothing : words.found(found.length))}
      </p>
      {state.is === "failed" && (
        <Empty title={words.failed} text={state.message}>
          <Button small icon="redo" onClick={again}>
            {words.retry}
          </Button>
        </Empty>
      )}
      {state.is === "searching" && found.length === 0 && <Skeleton label={words.searching} />}
      {state.is === "found" && found.length === 0 && (
        <Empty title={nothing} text={words.searchCovers} />
      )}
      <ul className="list-found">
        {found.map((each) => (
          <Found key={each.chat.chat_id} found={each} onChosen={onChosen} />
        ))}
      </ul>
    </div>
  );
}

function Found({ found, onChosen }: { found: FoundChat; onChosen: (() => void) | undefined }) {
  const { chat, title_marks, hits } = found;
  const words = useWords(listWords);
  const format = useFormat();
  const now = useNow();
  const chatId = chat.chat_id;
  return (
    <li className="list-found-chat">
      <RouteLink className="list-found-title" route={{ is: "chat", chatId }} onChosen={onChosen}>
        <span className="list-title" dir="auto">
          {chat.title.trim() === "" ? (
            nameInList(chat) || words.newChat
          ) : (
            <Marked text={chat.title} marks={title_marks} />
          )}
        </span>
        <span className="list-when">{format.when(chat.updated_at, now)}</span>
      </RouteLink>
      {hits.map((hit) => (
        <RouteLink
          key={hit.version_id}
          className="list-hit"
          route={{ is: "chat", chatId, nodeId: hit.node_id }}
          onChosen={onChosen}
        >
          <span dir="auto">
            <Marked text={hit.text} marks={hit.marks} />
          </span>
        </RouteLink>
      ))}
    </li>
  );
}

function Marked({ text, marks }: { text: string; marks: FoundChat["title_marks"] }) {
  let at = 0;
  return markedPieces(text, marks).map((piece) => {
    const key = at;
    at += piece.text.length;
    return piece.marked ? <mark key={key}>{piece.text}</mark> : piece.text;
  });
}
