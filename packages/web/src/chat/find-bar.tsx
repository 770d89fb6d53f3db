import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { AnswerVersion, ChatNode } from "@deltawire/tasks/chats";
import { useAppStore } from "../hooks/use-app-store.ts";
import { useMarkdownToTextPieces } from "../markdown/lazy-markdown.tsx";
import type { MarkdownToTextPieces } from "../markdown/markdown.tsx";
import { IconButton } from "../ui/button.tsx";
import { Input } from "../ui/field.tsx";
import { hasNoFocusedElement } from "../ui/focus.ts";
import { useMessages } from "../messages/use-messages.ts";
import { findInChat, indexWhenIdle, toRenderedQuery, type NodeMatch } from "./find-in-chat.ts";
import { highlightMatches, type HighlightQuery } from "./search-highlights.ts";
import { getNodeElementId, type Thread } from "./thread.ts";
import { createMatchNavigator } from "./match-navigator.ts";
import { chatViewMessages } from "./messages.ts";

interface FindBarProps {
  thread: Thread;
  path: readonly ChatNode[];
}

/** Searches the complete chat; the browser's own search finds only mounted messages. */
export function FindBar({ thread, path }: FindBarProps) {
  const app = useAppStore();
  const t = useMessages(chatViewMessages);
  const toText = useMarkdownToTextPieces();
  const input = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [currentId, setCurrentId] = useState<string>();
  const [matchNavigator] = useState(() => createMatchNavigator(thread, setCurrentId));
  const search = (text: string) =>
    findInChat(
      path,
      text,
      toText,
      ({ task_id = "" }: AnswerVersion) => app.taskTree(task_id).get()?.tasks[task_id]?.output,
    );
  const matches = search(query);
  const latest = useRef({ currentId, matches });
  useEffect(() => void (latest.current = { currentId, matches }));
  useEffect(() => {
    const previousFocus = document.activeElement;
    return () => {
      matchNavigator.close();
      restoreFocus(previousFocus, latest.current.currentId);
    };
  }, [matchNavigator]);
  useEffect(() => {
    const focusInput = () => {
      if (thread.findRequests.get() === 0) return;
      input.current?.focus({ preventScroll: true });
      input.current?.select();
    };
    focusInput();
    return thread.findRequests.subscribe(focusInput);
  }, [thread]);
  useEffect(() => indexWhenIdle(path, toText), [path, toText]);
  useEffect(() => {
    if (query.trim() === "") return undefined;
    return highlightMatches(toHighlightQuery(query, toText, () => latest.current.matches));
  }, [query, toText]);

  const toMatchSearch = (text: string) => {
    const results = search(text);
    return {
      path,
      matches: results,
      highlightQuery: toHighlightQuery(text, toText, () => results),
    };
  };
  const updateQuery = (text: string) => {
    setQuery(text);
    matchNavigator.search(toMatchSearch(text));
  };
  const move = (step: 1 | -1) => matchNavigator.step(toMatchSearch(query), step);
  const close = () => thread.findRequests.set(0);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") close();
    // A second Ctrl+F opens the browser's own search.
    else if (event.key === "f" && (event.ctrlKey || event.metaKey)) event.stopPropagation();
  };
  const currentNumber = matches.findIndex(({ nodeId }) => nodeId === currentId) + 1;
  const status =
    matches.length === 0 ? t.noMatches : t.matchPosition(currentNumber, matches.length);
  return (
    <search className="chat-find">
      <Input
        ref={input}
        type="search"
        dir="auto"
        aria-label={t.find}
        placeholder={t.find}
        value={query}
        onChange={({ currentTarget }) => updateQuery(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span className="chat-find-count" role="status" data-none={matches.length === 0 || undefined}>
        {query.trim() === "" ? "" : status}
      </span>
      <IconButton
        icon="up"
        small
        label={t.findPrevious}
        onClick={() => move(-1)}
        disabled={matches.length === 0}
      />
      <IconButton
        icon="down"
        small
        label={t.findNext}
        onClick={() => move(1)}
        disabled={matches.length === 0}
      />
      <IconButton icon="close" small label={t.close} onClick={close} />
    </search>
  );
}

/** Focuses the previous element, unless something else has the focus. If it was removed, focuses the current match or the list. */
function restoreFocus(previous: Element | null, nodeId: string | undefined): void {
  if (!hasNoFocusedElement()) return;
  const node = nodeId === undefined ? null : document.getElementById(getNodeElementId(nodeId));
  const scroller = document.querySelector(".chat-scroller");
  const restorableFocus =
    previous !== document.body && previous?.isConnected === true ? previous : undefined;
  const target = restorableFocus ?? node ?? scroller;
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}

/** `getMatches` is called each time, because elements may mount, and answers grow, after the query has been entered. */
function toHighlightQuery(
  query: string,
  toText: MarkdownToTextPieces,
  getMatches: () => readonly NodeMatch[],
): HighlightQuery {
  return {
    query,
    renderedQuery: toRenderedQuery(query, toText),
    isMatchingPart: (partId) =>
      getMatches().some(({ parts }) => parts.some(({ id, isMatch }) => isMatch && id === partId)),
  };
}
