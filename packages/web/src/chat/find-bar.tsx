import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { AnswerVersion, ChatNode } from "@deltawire/tasks/chats";
import { usePage } from "../hooks/use-page.ts";
import { IconButton } from "../parts/button.tsx";
import { Input } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { nextFound, nodesWith } from "./find-in-chat.ts";
import { foundInNode, scrollToPlace } from "./found-places.ts";
import { markCurrent, markFound } from "./mark-found.ts";
import { elementId, type Thread } from "./thread.ts";
import { chatWords } from "./words.ts";

interface FindBarProps {
  thread: Thread;
  path: readonly ChatNode[];
}

/** A message with the words, and which of its places of them. */
interface Current {
  readonly nodeId: string;
  readonly place: number;
}

/** Finds words in the whole chat: the browser itself sees only the messages that are near. */
export function FindBar({ thread, path }: FindBarProps) {
  const page = usePage();
  const words = useWords(chatWords);
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState("");
  const [current, setCurrent] = useState<Current>();
  const search = (what: string) =>
    nodesWith(
      path,
      what,
      ({ task_id = "" }: AnswerVersion) => page.taskTree(task_id).get()?.tasks[task_id]?.output,
    );
  const found = search(query);
  const last = useRef<Current>(undefined);
  useEffect(() => void (last.current = current));
  useEffect(() => {
    const before = document.activeElement;
    return () => {
      markCurrent(undefined);
      focusAgain(before, last.current?.nodeId);
    };
  }, []);
  useEffect(() => {
    const ready = () => {
      if (thread.finding.get() === 0) return;
      field.current?.focus({ preventScroll: true });
      field.current?.select();
    };
    ready();
    return thread.finding.subscribe(ready);
  }, [thread]);
  useEffect(() => (query.trim() === "" ? undefined : markFound(query)), [query]);

  const goTo = async (nodeId: string | undefined, what: string, which: "first" | "last") => {
    markCurrent(undefined);
    setCurrent(nodeId === undefined ? undefined : { nodeId, place: 0 });
    if (nodeId === undefined || !(await thread.show(nodeId, { by: "find" }))) return;
    const places = await placesOf(nodeId, what);
    const place = which === "first" ? 0 : Math.max(0, places.length - 1);
    setCurrent({ nodeId, place });
    showPlace(places[place]);
  };
  const look = (what: string) => {
    setQuery(what);
    const from = { nodeId: current?.nodeId ?? firstInView(), itself: true };
    void goTo(nextFound(path, search(what), from, 1), what, "first");
  };
  const move = (step: 1 | -1) => {
    const node = current && document.getElementById(elementId(current.nodeId));
    const next = current === undefined ? -1 : current.place + step;
    const within = node ? foundInNode(node, query)[next] : undefined;
    if (current !== undefined && within !== undefined) {
      setCurrent({ ...current, place: next });
      return showPlace(within);
    }
    const from = { nodeId: current?.nodeId ?? firstInView(), itself: current === undefined };
    return void goTo(
      nextFound(path, search(query), from, step),
      query,
      step === 1 ? "first" : "last",
    );
  };
  const close = () => thread.finding.set(0);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter") move(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") close();
    // Pressed once more, it is the browser's own.
    else if (event.key === "f" && (event.ctrlKey || event.metaKey)) event.stopPropagation();
  };
  const at = current === undefined ? 0 : found.indexOf(current.nodeId) + 1;
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
      <span
        className="chat-find-count"
        aria-hidden="true"
        title={said}
        data-none={found.length === 0 || undefined}
      >
        {query.trim() === "" ? "" : `${at}/${found.length}`}
      </span>
      <span className="for-readers" role="status">
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
  const { activeElement } = document;
  if (activeElement !== null && activeElement !== document.body) return;
  const node = nodeId === undefined ? null : document.getElementById(elementId(nodeId));
  const scroller = document.querySelector(".chat-scroller");
  const hadIt = before !== document.body && before?.isConnected === true ? before : undefined;
  const next = hadIt ?? node ?? scroller;
  if (next instanceof HTMLElement) next.focus({ preventScroll: true });
}

/** Of a node that is shown: in what is drawn of it, unfolded where it has to be. */
async function placesOf(nodeId: string, query: string): Promise<readonly StaticRange[]> {
  const node = await drawnNode(nodeId);
  if (node === null) return [];
  const places = foundInNode(node, query);
  const folded = node.querySelector<HTMLElement>('[data-folded] button[aria-expanded="false"]');
  if (places.length > 0 || folded === null) return places;
  folded.click();
  await nextFrame();
  return foundInNode(node, query);
}

/** What is far away is drawn by the time it is shown, but for its Markdown, which may come a little later. */
async function drawnNode(nodeId: string): Promise<HTMLElement | null> {
  await nextFrame();
  return document.getElementById(elementId(nodeId));
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => resolve()));
}

function showPlace(place: StaticRange | undefined): void {
  markCurrent(place);
  if (place !== undefined) scrollToPlace(place);
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
