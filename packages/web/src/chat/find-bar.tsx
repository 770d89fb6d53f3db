import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { ChatNode } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { nextFound, nodesWith } from "./find-in-chat.ts";
import { markFound, scrollToFound } from "./mark-found.ts";
import { elementId, type Thread } from "./thread.ts";
import { chatWords } from "./words.ts";

interface FindBarProps {
  thread: Thread;
  path: readonly ChatNode[];
}

/** Finds words in the whole chat: the browser itself sees only the messages that are near. */
export function FindBar({ thread, path }: FindBarProps) {
  const isOpen = useCell(thread.finding);
  return isOpen ? <OpenBar thread={thread} path={path} /> : null;
}

function OpenBar({ thread, path }: FindBarProps) {
  const words = useWords(chatWords);
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [current, setCurrent] = useState<string>();
  const found = useMemo(() => nodesWith(path, query), [path, query]);
  useEffect(() => focusForAWhile(field.current), []);
  useEffect(() => (query.trim() === "" ? undefined : markFound(query)), [query]);

  const go = (to: string | undefined, what = query) => {
    setCurrent(to);
    if (to !== undefined) void showFound(thread, to, what);
  };
  const look = (what: string) => {
    setQuery(what);
    const from = { nodeId: current ?? firstInView(), itself: true };
    go(nextFound(path, nodesWith(path, what), from, 1), what);
  };
  const move = (step: 1 | -1) => {
    const itself = current === undefined;
    go(nextFound(path, found, { nodeId: current ?? firstInView(), itself }, step));
  };
  const close = () => thread.finding.set(false);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") close();
    // Pressed once more, it is the browser's own.
    else if (event.key === "f" && (event.ctrlKey || event.metaKey)) event.stopPropagation();
  };
  const at = current === undefined ? 0 : found.indexOf(current) + 1;
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
      <span className="chat-find-count" role="status">
        {query.trim() === ""
          ? ""
          : found.length === 0
            ? words.findNothing
            : words.findAt(at, found.length)}
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
      <IconButton icon="close" small label={words.findClose} onClick={close} />
    </search>
  );
}

/** Whoever had the focus gets it back, if nobody else has taken it. */
function focusForAWhile(field: HTMLInputElement | null): () => void {
  const before = document.activeElement;
  field?.focus({ preventScroll: true });
  return () => {
    const { activeElement } = document;
    const isFree = activeElement === null || activeElement === document.body;
    if (isFree && before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
}

async function showFound(thread: Thread, nodeId: string, query: string): Promise<void> {
  if (!(await thread.show(nodeId))) return;
  // It is drawn by now, and held at the top: what was found may be further below.
  requestAnimationFrame(() => {
    const node = document.getElementById(elementId(nodeId));
    if (node !== null) scrollToFound(node, query);
  });
}

/** The node at the top of what is seen. */
function firstInView(): string | undefined {
  const scroller = document.querySelector(".chat-scroller");
  if (scroller === null) return undefined;
  const { top } = scroller.getBoundingClientRect();
  const seen = [...scroller.querySelectorAll("[data-node]")].find(
    (node) => node.getBoundingClientRect().bottom > top,
  );
  return seen?.getAttribute("data-node") ?? undefined;
}
