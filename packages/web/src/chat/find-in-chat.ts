import type { MessageItem, OutputItem, RetractedItem } from "@deltawire/tasks";
import {
  getAnswerChain,
  getChosenVersion,
  type AnswerVersion,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";
import { runWhenIdle } from "../browser/frame-scheduler.ts";
import type { MarkdownToTextPieces } from "../markdown/markdown.tsx";
import { memoizeByObject } from "../memoize.ts";

/** Returns the output of a running answer, which is not stored in its version yet. */
export type GetLiveOutput = (
  version: AnswerVersion,
) => readonly (OutputItem | RetractedItem)[] | undefined;

/** A node with a match. */
export interface NodeMatch {
  readonly nodeId: string;
  /** All messages of the node, in order. An answer can have several, between its tool calls. */
  readonly parts: readonly PartMatch[];
}

export interface PartMatch {
  /** The id of the message item. A user message is a single part with the id of its version. */
  readonly id: string;
  /** True if the query occurs in this part. */
  readonly isMatch: boolean;
}

/**
 * Returns the nodes whose messages contain the query. Compares rendered text, case-insensitively. Returns no nodes for an
 * empty query.
 */
export function findInChat(
  path: readonly ChatNode[],
  query: string,
  toText: MarkdownToTextPieces,
  getLiveOutput: GetLiveOutput = () => undefined,
): NodeMatch[] {
  const normalizedQuery = normalizeText(query);
  if (normalizedQuery.trim() === "") return [];
  const mayMatchSource = markupPattern.test(query);
  return path.flatMap((node) => {
    const parts = getSearchableParts(node, toText, getLiveOutput).map(
      ({ id, rendered, source }) => {
        const isMatch =
          rendered.includes(normalizedQuery) ||
          (mayMatchSource && source().includes(normalizedQuery));
        return { id, isMatch };
      },
    );
    return parts.some(({ isMatch }) => isMatch) ? { nodeId: node.node_id, parts } : [];
  });
}

/** Prepares and caches the searchable text of a node, so that the first search is fast. */
export function indexNode(node: ChatNode, toText: MarkdownToTextPieces): void {
  getSearchableParts(node, toText, () => undefined);
}

/** Returns the rendered text of a query that contains Markdown. Undefined if rendering does not change the query. */
export function toRenderedQuery(query: string, toText: MarkdownToTextPieces): string | undefined {
  if (!markupPattern.test(query)) return undefined;
  const trimmed = query.trim();
  const withoutCitations = trimmed.replaceAll(/\[\^\d+\]/g, "");
  const rendered = toText({ text: withoutCitations }, true).join(" ");
  const result = rendered === withoutCitations ? stripUnpairedMarkup(withoutCitations) : rendered;
  return result === trimmed || result.trim() === "" ? undefined : result;
}

/** Returns the next match on the path, wrapping around. With `includeStart`, the start node itself counts. */
export function findNextMatch(
  path: readonly ChatNode[],
  matchingIds: readonly string[],
  start: { readonly nodeId: string | undefined; readonly includeStart: boolean },
  step: 1 | -1,
): string | undefined {
  const matching = new Set(matchingIds);
  const ids = path.map(getNodeId).filter((id) => matching.has(id) || id === start.nodeId);
  const startIndex = start.nodeId === undefined ? -1 : ids.indexOf(start.nodeId);
  if (startIndex === -1) return step === 1 ? matchingIds[0] : matchingIds.at(-1);
  const firstIndex = start.includeStart ? startIndex : startIndex + step;
  return ids
    .map((_, distance) => ids.at((firstIndex + distance * step) % ids.length))
    .find((id) => id !== undefined && matching.has(id));
}

interface TextPosition {
  /** Index of the text. */
  readonly text: number;
  /** Offset in this text, in UTF-16 code units. */
  readonly offset: number;
}

/** Finds all occurrences of a query in consecutive strings of one line. A match can span several of them. */
export function findTextRanges(
  texts: readonly string[],
  query: string,
): { readonly start: TextPosition; readonly end: TextPosition }[] {
  const normalizedQuery = normalizeText(query);
  if (normalizedQuery.trim() === "") return [];
  const joinedText = texts.join("");
  const normalized = normalizeText(joinedText);
  const offsets = getNormalizedOffsets(joinedText);
  const starts = getTextOffsets(texts);
  const ranges: { start: TextPosition; end: TextPosition }[] = [];
  for (
    let index = normalized.indexOf(normalizedQuery);
    index !== -1;
    index = normalized.indexOf(normalizedQuery, index + normalizedQuery.length)
  ) {
    const lastCharacter = toTextPosition(starts, offsets[index + normalizedQuery.length - 1] ?? 0);
    const end = { text: lastCharacter.text, offset: lastCharacter.offset + 1 };
    ranges.push({ start: toTextPosition(starts, offsets[index] ?? 0), end });
  }
  return ranges;
}

/** Lower case, with runs of whitespace collapsed to one space. */
function normalizeText(text: string): string {
  return toLowerCaseSameLength(text).replaceAll(/[^\S ]\s*| \s+/g, " ");
}

/** Lower-cases each character on its own, as "Σ" depends on its neighbors, and only if its length does not change. */
function toLowerCaseSameLength(text: string): string {
  const lowerCase = text.toLowerCase();
  if (lowerCase.length === text.length && !text.includes("Σ")) return lowerCase;
  return Array.from(text, (character) => {
    const lower = character.toLowerCase();
    return lower.length === character.length ? lower : character;
  }).join("");
}

/** Returns the original offset of each character of the normalized text. */
function getNormalizedOffsets(text: string): number[] {
  const offsets = Array.from({ length: text.length }, (_, offset) => offset);
  if (!/\s\s/.test(text)) return offsets;
  return offsets.filter(
    (offset) => !(whitespace.test(text.charAt(offset)) && whitespace.test(text.charAt(offset - 1))),
  );
}

const whitespace = /\s/;

/** Queries with one of these are also searched in the Markdown source. */
const markupPattern = /[*_`~#>|[\]()\\$^]|&#?\w+;|^\s*(?:[-+]|\d+[.)])\s/;

/** Normalized text of a message. Pieces that are rendered as separate lines are joined by U+FFFF. */
interface SearchablePart {
  readonly id: string;
  readonly rendered: string;
  /** The Markdown source. */
  readonly source: () => string;
}

function getSearchableParts(
  node: ChatNode,
  toText: MarkdownToTextPieces,
  getLiveOutput: GetLiveOutput,
): SearchablePart[] {
  if (node.kind === "separator") return [];
  if (node.kind === "user") return [toUserPart(getChosenVersion(node))];
  return getAnswerChain(node, node.version).flatMap((version) => {
    const liveOutput = version.status === "running" ? getLiveOutput(version) : undefined;
    return (liveOutput ?? version.output).flatMap((item) => {
      if (item.type !== "message") return [];
      return item.status === "in_progress"
        ? toModelPart(item, toText)
        : getCachedModelPart(toText)(item);
    });
  });
}

/** User messages are plain text. Cached, as versions never change and each keystroke searches again. */
const toUserPart = memoizeByObject(({ version_id, text }: UserVersion): SearchablePart => {
  const normalized = normalizeText(text);
  return { id: version_id, rendered: normalized, source: () => normalized };
});

const getCachedModelPart = memoizeByObject((toText: MarkdownToTextPieces) =>
  memoizeByObject((item: MessageItem) => toModelPart(item, toText)),
);

function toModelPart(item: MessageItem, toText: MarkdownToTextPieces): SearchablePart {
  const lastBlock = item.block_list.at(-1);
  const rendered = item.block_list.flatMap((block) =>
    block.type === "text"
      ? toText(block, item.status === "in_progress" && block === lastBlock)
      : [],
  );
  let source: string | undefined;
  return {
    id: item.id,
    rendered: normalizePieces(rendered),
    source: () => (source ??= getMarkdownSource(item)),
  };
}

/** Joins pieces with a noncharacter, so that no match spans two pieces. */
function normalizePieces(pieces: readonly string[]): string {
  return normalizeText(pieces.join("\u{FFFF}"));
}

function getMarkdownSource({ block_list }: MessageItem): string {
  const texts = block_list.flatMap((block) => (block.type === "text" ? block.text : []));
  return normalizePieces(texts.flatMap((text) => text.split(/\n\s*\n|\|/)));
}

/** Removes markup characters whose counterpart is not part of the query. */
function stripUnpairedMarkup(query: string): string {
  return query
    .replaceAll(/[*`~\\]/g, "")
    .replaceAll(/(^|[^\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])/gu, "$1");
}

function getTextOffsets(texts: readonly string[]): number[] {
  let start = 0;
  return texts.map(({ length }) => {
    start += length;
    return start - length;
  });
}

/** Finds the last text that starts at or before the offset, by binary search. */
function toTextPosition(starts: readonly number[], offset: number): TextPosition {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { text: low, offset: offset - (starts[low] ?? 0) };
}

function getNodeId({ node_id }: ChatNode): string {
  return node_id;
}

/** Duration of a batch. Short enough to go unnoticed even on a device that is four times slower. */
const indexBatchMs = 4;

/** Indexes a chat in idle time, from its end, which is usually visible. Returns a function that cancels it. */
export function indexWhenIdle(path: readonly ChatNode[], toText: MarkdownToTextPieces): () => void {
  let remainingCount = path.length;
  const indexBatch = () => {
    const deadline = performance.now() + indexBatchMs;
    while (remainingCount > 0 && performance.now() < deadline) {
      remainingCount -= 1;
      const node = path[remainingCount];
      if (node !== undefined) indexNode(node, toText);
    }
    if (remainingCount > 0) cancel = runWhenIdle(indexBatch);
  };
  let cancel = runWhenIdle(indexBatch);
  return () => cancel();
}
