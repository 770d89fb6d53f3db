import type { MessageItem, OutputItem, RetractedItem } from "@deltawire/tasks";
import {
  answerChain,
  chosenVersion,
  type AnswerVersion,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";
import { whenIdle } from "../browser/frames.ts";
import type { ReadMarkdown } from "../markdown/markdown.tsx";
import { once } from "../once.ts";

/** What an answer says that is being written: its version has nothing of it yet. */
export type LiveOutput = (
  version: AnswerVersion,
) => readonly (OutputItem | RetractedItem)[] | undefined;

/** A node in whose words a text is. */
export interface FoundNode {
  readonly nodeId: string;
  /** All that is said in it, in order: an answer says something between its calls as well. */
  readonly parts: readonly FoundPart[];
}

export interface FoundPart {
  /** Of the item; what a person has said is one part, with the id of its version. */
  readonly id: string;
  /** Whether the text is in this one. */
  readonly has: boolean;
}

/**
 * The nodes in whose words a text is: what people and models have said, as it is drawn, whatever its case. None for an empty
 * text.
 */
export function foundIn(
  path: readonly ChatNode[],
  query: string,
  read: ReadMarkdown,
  liveOutput: LiveOutput = () => undefined,
): FoundNode[] {
  const wanted = folded(query);
  if (wanted.trim() === "") return [];
  const mayBeWritten = signs.test(query);
  return path.flatMap((node) => {
    const parts = partsOf(node, read, liveOutput).map(({ id, drawn, written }) => {
      const has = drawn.includes(wanted) || (mayBeWritten && written().includes(wanted));
      return { id, has };
    });
    return parts.some(({ has }) => has) ? { nodeId: node.node_id, parts } : [];
  });
}

/** So that it is found in at once: what has been said is read when it is looked through for the first time. */
export function readAhead(node: ChatNode, read: ReadMarkdown): void {
  partsOf(node, read, () => undefined);
}

/** What was typed, as it is drawn where it was found with the signs of Markdown; undefined where that is no other text. */
export function readWords(query: string, read: ReadMarkdown): string | undefined {
  if (!signs.test(query)) return undefined;
  const typed = query.trim();
  const uncited = typed.replaceAll(/\[\^\d+\]/g, "");
  const drawn = read({ text: uncited }, true).join(" ");
  const words = drawn === uncited ? withoutLoneSigns(uncited) : drawn;
  return words === typed || words.trim() === "" ? undefined : words;
}

/** The next one on the path, from a node on; behind the last comes the first. `itself`: that node may be the one. */
export function nextFound(
  path: readonly ChatNode[],
  found: readonly string[],
  from: { readonly nodeId: string | undefined; readonly itself: boolean },
  step: 1 | -1,
): string | undefined {
  const wanted = new Set(found);
  const ids = path.map(idOf).filter((id) => wanted.has(id) || id === from.nodeId);
  const at = from.nodeId === undefined ? -1 : ids.indexOf(from.nodeId);
  if (at === -1) return step === 1 ? found[0] : found.at(-1);
  const first = from.itself ? at : at + step;
  return ids
    .map((_, nth) => ids.at((first + nth * step) % ids.length))
    .find((id) => id !== undefined && wanted.has(id));
}

/** Where something begins or ends: in which text, and at which of its characters. */
interface Place {
  readonly text: number;
  readonly offset: number;
}

/** All places of a text in texts that stand one after the other in a line; it may go on from one to the next. */
export function placesIn(
  texts: readonly string[],
  query: string,
): { readonly start: Place; readonly end: Place }[] {
  const wanted = folded(query);
  if (wanted.trim() === "") return [];
  const joined = texts.join("");
  const whole = folded(joined);
  const from = keptIn(joined);
  const starts = textStarts(texts);
  const places: { start: Place; end: Place }[] = [];
  for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + wanted.length)) {
    const last = placeOf(starts, from[at + wanted.length - 1] ?? 0);
    const end = { text: last.text, offset: last.offset + 1 };
    places.push({ start: placeOf(starts, from[at] ?? 0), end });
  }
  return places;
}

/** In small letters, with one blank for many. */
function folded(text: string): string {
  return smallLetters(text).replaceAll(/[^\S ]\s*| \s+/g, " ");
}

/** Each letter by itself: how one is written small depends neither on its neighbours nor moves what stands behind it. */
function smallLetters(text: string): string {
  const small = text.toLowerCase();
  if (small.length === text.length && !text.includes("Σ")) return small;
  return Array.from(text, (letter) => {
    const one = letter.toLowerCase();
    return one.length === letter.length ? one : letter;
  }).join("");
}

/** Of each character that is left when a text is folded: where it comes from. */
function keptIn(text: string): number[] {
  const from = Array.from({ length: text.length }, (_, at) => at);
  if (!/\s\s/.test(text)) return from;
  return from.filter((at) => !(blank.test(text.charAt(at)) && blank.test(text.charAt(at - 1))));
}

const blank = /\s/;

/** Whoever types one may look for what was written. */
const signs = /[*_`~#>|[\]()\\$^]|&#?\w+;|^\s*(?:[-+]|\d+[.)])\s/;

/** Something that was said, in pieces that are drawn apart. */
interface Part {
  readonly id: string;
  readonly drawn: string;
  /** With the signs of Markdown. */
  readonly written: () => string;
}

function partsOf(node: ChatNode, read: ReadMarkdown, liveOutput: LiveOutput): Part[] {
  if (node.kind === "separator") return [];
  if (node.kind === "user") return [userPart(chosenVersion(node))];
  return answerChain(node, node.version).flatMap((version) => {
    const live = version.status === "running" ? liveOutput(version) : undefined;
    return (live ?? version.output).flatMap((item) => {
      if (item.type !== "message") return [];
      return item.status === "in_progress" ? modelPart(item, read) : knownParts(read)(item);
    });
  });
}

/** People write what they mean. What has been said never changes: looked for letter by letter, a chat is read once. */
const userPart = once(({ version_id, text }: UserVersion): Part => {
  const words = folded(text);
  return { id: version_id, drawn: words, written: () => words };
});

const knownParts = once((read: ReadMarkdown) => once((item: MessageItem) => modelPart(item, read)));

function modelPart(item: MessageItem, read: ReadMarkdown): Part {
  const last = item.block_list.at(-1);
  const drawn = item.block_list.flatMap((block) =>
    block.type === "text" ? read(block, item.status === "in_progress" && block === last) : [],
  );
  let written: string | undefined;
  return {
    id: item.id,
    drawn: foldedPieces(drawn),
    written: () => (written ??= writtenIn(item)),
  };
}

/** As one text, in which nothing is found that goes on from one piece to the next: no text has this character. */
function foldedPieces(pieces: readonly string[]): string {
  return folded(pieces.join("\u{FFFF}"));
}

function writtenIn({ block_list }: MessageItem): string {
  const texts = block_list.flatMap((block) => (block.type === "text" ? block.text : []));
  return foldedPieces(texts.flatMap((text) => text.split(/\n\s*\n|\|/)));
}

/** For those that have no other half in what was typed. */
function withoutLoneSigns(typed: string): string {
  return typed
    .replaceAll(/[*`~\\]/g, "")
    .replaceAll(/(^|[^\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])/gu, "$1");
}

function textStarts(texts: readonly string[]): number[] {
  let start = 0;
  return texts.map(({ length }) => {
    start += length;
    return start - length;
  });
}

/** In the last text that begins there or before. */
function placeOf(starts: readonly number[], at: number): Place {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { text: low, offset: at - (starts[low] ?? 0) };
}

function idOf({ node_id }: ChatNode): string {
  return node_id;
}

/** At a quarter of the speed still short. */
const atOnceMs = 4;

/** Before a letter is typed, from the end on, which is what people see. What it returns ends that. */
export function readAllAhead(path: readonly ChatNode[], read: ReadMarkdown): () => void {
  let left = path.length;
  const some = () => {
    const until = performance.now() + atOnceMs;
    while (left > 0 && performance.now() < until) {
      left -= 1;
      const node = path[left];
      if (node !== undefined) readAhead(node, read);
    }
    if (left > 0) stop = whenIdle(some);
  };
  let stop = whenIdle(some);
  return () => stop();
}
