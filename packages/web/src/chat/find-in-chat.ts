import type { MessageItem, OutputItem, RetractedItem } from "@deltawire/tasks";
import {
  answerChain,
  chosenVersion,
  withoutMarks,
  type AnswerVersion,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";

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
 * The nodes in whose words a text is: what people and models have said, as it is read, whatever its case. None for an empty
 * text.
 */
export function foundIn(
  path: readonly ChatNode[],
  query: string,
  liveOutput: LiveOutput = () => undefined,
): FoundNode[] {
  const { text: wanted } = folded(query);
  if (wanted.trim() === "") return [];
  const mayBeWritten = signs.test(query);
  const isIn = (pieces: readonly string[]) => pieces.some((piece) => piece.includes(wanted));
  return path.flatMap((node) => {
    const parts = partsOf(node, liveOutput).map(({ id, said }) => {
      const has = isIn(said.read) || (mayBeWritten && isIn(said.written));
      return { id, has };
    });
    return parts.some(({ has }) => has) ? { nodeId: node.node_id, parts } : [];
  });
}

/** What was typed, as it is read where it was found with the signs of Markdown; undefined where that is no other text. */
export function readWords(query: string): string | undefined {
  const words = signs.test(query) ? withoutSigns(query.trim()) : query;
  return words === query || words.trim() === "" ? undefined : words;
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
  const { text: wanted } = folded(query);
  if (wanted.trim() === "") return [];
  const { text: whole, from } = folded(texts.join(""));
  const starts = textStarts(texts);
  const places: { start: Place; end: Place }[] = [];
  for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + wanted.length)) {
    const last = placeOf(starts, from[at + wanted.length - 1] ?? 0);
    const end = { text: last.text, offset: last.offset + 1 };
    places.push({ start: placeOf(starts, from[at] ?? 0), end });
  }
  return places;
}

/** In small letters, with one blank for many. `from`: where each character comes from. */
function folded(text: string): { text: string; from: number[] } {
  const letters: string[] = [];
  const from: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charAt(at);
    const isBlank = /\s/.test(letter);
    if (isBlank && letters.at(-1) === " ") continue;
    // There are capitals that become two letters: they would move what stands behind.
    const small = letter.toLowerCase();
    letters.push(isBlank ? " " : small.length === 1 ? small : letter);
    from.push(at);
  }
  return { text: letters.join(""), from };
}

/** The same text with the signs of Markdown and as it is read, in pieces that are drawn apart. */
interface Said {
  readonly written: readonly string[];
  readonly read: readonly string[];
}

/** Whoever types one may look for what was written. */
const signs = /[*_`~#>|[\]()\\]/;

interface Part {
  readonly id: string;
  readonly said: Said;
}

function partsOf(node: ChatNode, liveOutput: LiveOutput): Part[] {
  if (node.kind === "separator") return [];
  if (node.kind === "user") {
    const version = chosenVersion(node);
    return [{ id: version.version_id, said: userSaid(version) }];
  }
  return answerChain(node, node.version).flatMap((version) => {
    const live = version.status === "running" ? liveOutput(version) : undefined;
    return (live ?? version.output).flatMap((item) =>
      item.type === "message" ? { id: item.id, said: modelSaid(item) } : [],
    );
  });
}

/** What has been said never changes: looked for letter by letter, a chat is read once. */
const known = new WeakMap<UserVersion | MessageItem, Said>();

/** People write what they mean. */
function userSaid(version: UserVersion): Said {
  const before = known.get(version);
  if (before !== undefined) return before;
  const words = [folded(version.text).text];
  const said = { written: words, read: words };
  known.set(version, said);
  return said;
}

function modelSaid(item: MessageItem): Said {
  const before = known.get(item);
  if (before !== undefined) return before;
  const pieces = item.block_list.flatMap((block) =>
    block.type === "text" ? block.text.split(/\n\s*\n|\|/) : [],
  );
  // In code an entity is what it looks like, elsewhere it is what it stands for.
  const decoded = pieces.filter((piece) => /&[#\w]+;/.test(piece)).map(withoutMarks);
  const said = {
    written: pieces.map((piece) => folded(piece).text),
    read: [...pieces, ...decoded].map((piece) => folded(withoutSigns(piece)).text),
  };
  if (item.status !== "in_progress") known.set(item, said);
  return said;
}

/** Near enough to what is drawn. */
function withoutSigns(markdown: string): string {
  return markdown
    .replaceAll(/\[\^\d+\]/g, "")
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/^[ \t>]*(?:#{1,6}[ \t]+|[-+*][ \t]+)?/gm, "")
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
