import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { AnswerVersion, ChatNode } from "@deltawire/tasks/chats";
import { usePage } from "../hooks/use-page.ts";
import { useReadMarkdown } from "../markdown/lazy-markdown.tsx";
import type { ReadMarkdown } from "../markdown/markdown.tsx";
import { IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import { nobodyHasFocus } from "../parts/focus.ts";
import { useWords } from "../words/use-words.ts";
import { foundIn, readAllAhead, readWords, type FoundNode } from "./find-in-chat.ts";
import { markFound, type Wanted } from "./found-places.ts";
import { elementId, type Thread } from "./thread.ts";
import { createWalk } from "./walk-found.ts";
import { chatWords } from "./words.ts";

interface FindBarProps {
  thread: Thread;
  path: readonly ChatNode[];
}

/** Finds words in the whole chat: the browser itself sees only the messages that are near. */
export function FindBar({ thread, path }: FindBarProps) {
  const page = usePage();
  const words = useWords(chatWords);
  const read = useReadMarkdown();
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [currentId, setCurrentId] = useState<string>();
  const [walk] = useState(() => createWalk(thread, setCurrentId));
  const search = (what: string) =>
    foundIn(
      path,
      what,
      read,
      ({ task_id = "" }: AnswerVersion) => page.taskTree(task_id).get()?.tasks[task_id]?.output,
    );
  const found = search(query);
  const last = useRef({ currentId, found });
  useEffect(() => void (last.current = { currentId, found }));
  useEffect(() => {
    const before = document.activeElement;
    return () => {
      walk.end();
      focusAgain(before, last.current.currentId);
    };
  }, [walk]);
  useEffect(() => {
    const ready = () => {
      if (thread.finding.get() === 0) return;
      field.current?.focus({ preventScroll: true });
      field.current?.select();
    };
    ready();
    return thread.finding.subscribe(ready);
  }, [thread]);
  useEffect(() => readAllAhead(path, read), [path, read]);
  useEffect(() => {
    if (query.trim() === "") return undefined;
    return markFound(wantedBy(query, read, () => last.current.found));
  }, [query, read]);

  const searched = (what: string) => {
    const all = search(what);
    return { path, found: all, wanted: wantedBy(what, read, () => all) };
  };
  const look = (what: string) => {
    setQuery(what);
    walk.look(searched(what));
  };
  const move = (step: 1 | -1) => walk.move(searched(query), step);
  const close = () => thread.finding.set(0);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") close();
    // Pressed once more, it is the browser's own.
    else if (event.key === "f" && (event.ctrlKey || event.metaKey)) event.stopPropagation();
  };
  const at = found.findIndex(({ nodeId }) => nodeId === currentId) + 1;
  const said = found.length === 0 ? words.findNothing : words.findAt(at, found.length);
  return (
    <search className="chat-find">
      <Input
        ref={field}
        type="search"
        dir="auto"
        aria-label={words.find}
        placeholder={words.find}
        value={query}
        onChange={({ currentTarget }) => look(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span className="chat-find-count" role="status" data-none={found.length === 0 || undefined}>
        {query.trim() === "" ? "" : said}
      </span>
      <IconButton
        icon="up"
        small
        label={words.findPrevious}
        onClick={() => move(-1)}
        disabled={found.length === 0}
      />
      <IconButton
        icon="down"
        small
        label={words.findNext}
        onClick={() => move(1)}
        disabled={found.length === 0}
      />
      <IconButton icon="close" small label={words.close} onClick={close} />
    </search>
  );
}

/** Whoever had the focus gets it back, if nobody has taken it since; if that is gone, what was found has it. */
function focusAgain(before: Element | null, nodeId: string | undefined): void {
  if (!nobodyHasFocus()) return;
  const node = nodeId === undefined ? null : document.getElementById(elementId(nodeId));
  const scroller = document.querySelector(".chat-scroller");
  const hadIt = before !== document.body && before?.isConnected === true ? before : undefined;
  const next = hadIt ?? node ?? scroller;
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/** `found`: asked when something is marked, which may be later. */
function wantedBy(query: string, read: ReadMarkdown, found: () => readonly FoundNode[]): Wanted {
  return {
    typed: query,
    read: readWords(query, read),
    isFoundIn: (partId) =>
      found().some(({ parts }) => parts.some(({ id, has }) => has && id === partId)),
  };
}
