import { annotateCitations } from "./markdown/citation-annotator.ts";
import { TaskError } from "./error.ts";
import type { Block, ContentPart, Reference } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { rewriteMarkers, removeAnnotatedMarkers } from "./rewrite-citation-markers.ts";
import {
  escapeWrapperTags,
  escapeWrapperTagsInText,
  wrapReference,
  wrapperTag,
  wrapperPattern,
} from "./reference-wrapper.ts";
import { sha256 } from "./sha256.ts";
import type { ToolBlock, ToolOutput, ToolPart } from "./tool-output.ts";

/** A group that the message of a sub-agent cites, with the number that it has in the sub-agent. */
export interface CitedGroup {
  n: number;
  parts: ContentPart[];
  /** Hash of the content, to find equal groups. */
  key?: string;
}

interface ReferenceGroup {
  parts: ContentPart[];
  key: string;
}

/** The reference numbers that a conversation used before a task. */
export interface EarlierReferences {
  /** The highest used number; 0 if there is none. The first group of the task gets the next number. */
  readonly lastNumber: number;
  /** Numbers whose groups are still in the history of the model, so that it may cite them. */
  readonly citable: ReadonlySet<number>;
}

const noEarlierReferences: EarlierReferences = { lastNumber: 0, citable: new Set() };

/**
 * Numbers the groups that a model can cite in one task. A group of parts and blocks gets the next number, or that
 * of an earlier group with equal content, and is wrapped for the model.
 */
export class ReferencePool {
  readonly #earlier: EarlierReferences;
  readonly #groups: ReferenceGroup[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(earlier: EarlierReferences = noEarlierReferences) {
    this.#earlier = earlier;
  }

  /** Restores a pool from the output of `toJson`, in one or several pieces. */
  static fromJson(...pieces: readonly JsonObject[]): ReferencePool {
    return new ReferencePool().restore(...pieces);
  }

  /** Adds groups from `toJson`. Throws if groups before them are missing. */
  restore(...pieces: readonly JsonObject[]): this {
    for (const piece of pieces) this.#restorePiece(piece);
    return this;
  }

  /** The last used number, in this task or before it. */
  get lastNumber(): number {
    return this.#earlier.lastNumber + this.#groups.length;
  }

  /** True if the model may cite the number: of a group of this task, or of an earlier group that is still in its history. */
  has(n: number): boolean {
    return this.#findGroup(n) !== undefined || this.#earlier.citable.has(n);
  }

  /** Returns the parts of a group of this task that the model received, without the wrapper. */
  getGroup(n: number): ContentPart[] | undefined {
    return this.#findGroup(n)?.parts;
  }

  /** Returns the groups that a message cites, in order. */
  findCitedGroups(message: string): CitedGroup[] {
    const numbers = new Set<number>();
    for (const { reference_id: n } of annotateCitations(message, (knownNumber) =>
      this.has(knownNumber),
    ))
      if (this.has(n)) numbers.add(n);
    const citedGroups: CitedGroup[] = [];
    for (const n of numbers) {
      const group = this.#findGroup(n);
      if (group !== undefined) citedGroups.push({ n, ...group });
    }
    return citedGroups;
  }

  /** Numbers and wraps the output of a tool. `references`: those of new groups. */
  add(
    output: ToolOutput,
    itemId: string,
  ): { content: ContentPart[]; blocks: Block[]; references: Reference[] } {
    const parts = escapeWrapperTags(output.message_content);
    const numbers = new Map<string, number>();
    const references: Reference[] = [];
    for (const group of groupToolOutput(parts, output.block_list)) {
      const content = group.parts.map(toBarePart);
      const key = sha256(JSON.stringify([content, group.blocks.map(toBareBlock)]));
      const knownNumber = this.#numbers.get(key);
      numbers.set(group.id, knownNumber ?? this.#addGroup({ parts: content, key }));
      if (knownNumber === undefined)
        references.push({
          reference_id: this.lastNumber,
          item_id: itemId,
          block_indexes: group.blockIndexes,
          ...findTitleAndUrl([...group.blocks, ...group.parts]),
        });
    }
    return {
      content: wrapGroups(parts, numbers),
      blocks: output.block_list.map((block) => toNumberedBlock(block, numbers)),
      references,
    };
  }

  /**
   * Returns what the model of the parent receives from a sub-agent: the groups that its message cites, under the numbers of the
   * parent, then the message with renumbered markers. Markers without a group are removed: in the parent, their numbers may
   * belong to other groups.
   *
   * `source` always has the number that the group has in the direct child. If the child received the group from one of its own
   * sub-agents, the child's reference has a `source` too.
   */
  addChild(
    childTaskId: string,
    citedGroups: readonly CitedGroup[],
    message: string,
    itemId: string,
  ): { content: ContentPart[]; references: Reference[] } {
    const content: ContentPart[] = [];
    const references: Reference[] = [];
    const numbers = new Map<number, number>();
    for (const { n, ...group } of citedGroups) {
      const parts = escapeWrapperTags(group.parts).map(toBarePart);
      const key = group.key ?? sha256(JSON.stringify([parts, childTaskId, n]));
      const knownNumber = this.#numbers.get(key);
      const number = knownNumber ?? this.#addGroup({ parts, key });
      numbers.set(n, number);
      content.push(...wrapReference(number, parts));
      if (knownNumber === undefined)
        references.push({
          reference_id: number,
          item_id: itemId,
          block_indexes: [],
          source: { task_id: childTaskId, reference_id: n },
        });
    }
    const text = escapeWrapperTagsInText(
      rewriteMarkers(message, annotateCitations(message, isAnyNumber), (n) => numbers.get(n)),
    );
    if (text !== "") content.push({ type: "text", text });
    return { content, references };
  }

  /** Returns the groups for `fromJson` or `restore`; with `after`, only those with higher numbers. */
  toJson(after = 0): JsonObject {
    const newGroups = this.#groups.slice(Math.max(0, after - this.#earlier.lastNumber));
    const groups = newGroups.map(({ parts, key }) => ({ key, parts: toJsonValue(parts) }));
    return { after: Math.max(after, this.#earlier.lastNumber), groups };
  }

  #findGroup(n: number): ReferenceGroup | undefined {
    return this.#groups[n - this.#earlier.lastNumber - 1];
  }

  #addGroup(group: ReferenceGroup): number {
    this.#groups.push(group);
    this.#numbers.set(group.key, this.lastNumber);
    return this.lastNumber;
  }

  #restorePiece({ after, groups }: JsonObject): void {
    if (typeof after !== "number" || after > this.lastNumber || !Array.isArray(groups))
      throw new TaskError("unreadable", "the reference groups do not continue the earlier ones");
    for (const group of groups.slice(this.lastNumber - after) as unknown as ReferenceGroup[])
      this.#addGroup({ key: group.key, parts: group.parts });
  }
}

/** Returns the numbers of the groups in text that was sent to a model. */
export function findWrappedNumbers(texts: readonly string[]): Set<number> {
  const numbers = new Set<number>();
  for (const text of texts)
    for (const { groups } of text.matchAll(wrapperPattern))
      if (groups?.["number"] !== undefined) numbers.add(Number(groups["number"]));
  return numbers;
}

/**
 * Removes the wrappers from the text of a tool result, and the markers of a sub-agent for the wrapped groups, so that another
 * conversation can use the numbers. Markers inside a group or with other numbers stay: they may be part of a file that the tool
 * read.
 */
export function removeReferences(texts: readonly string[]): string[] {
  const numbers = findWrappedNumbers(texts);
  let isInGroup = false;
  const stripText = (text: string): string =>
    isInGroup
      ? text
      : rewriteMarkers(text, annotateCitations(text, isAnyNumber), (n) =>
          numbers.has(n) ? undefined : n,
        );
  return texts.map((text) => {
    let rest = "";
    let position = 0;
    for (const { 0: wrapper, index, groups } of text.matchAll(wrapperPattern)) {
      rest += stripText(text.slice(position, index));
      isInGroup = groups?.["number"] !== undefined;
      position = index + wrapper.length;
    }
    return rest + stripText(text.slice(position));
  });
}

const isAnyNumber = (): boolean => true;

/** Returns the text without `[^n]` markers. Code is not changed. */
export function removeMarkers(text: string): string {
  return removeAnnotatedMarkers(text, annotateCitations(text, isAnyNumber));
}

interface ToolOutputGroup {
  id: string;
  parts: ToolPart[];
  blocks: ToolBlock[];
  blockIndexes: number[];
}

function groupToolOutput(
  parts: readonly ToolPart[],
  blocks: readonly ToolBlock[],
): ToolOutputGroup[] {
  const groups = new Map<string, ToolOutputGroup>();
  const getOrCreateGroup = (id: string | number): ToolOutputGroup => {
    const key = String(id);
    const group = groups.get(key) ?? { id: key, parts: [], blocks: [], blockIndexes: [] };
    groups.set(key, group);
    return group;
  };
  for (const part of parts) if (part.id !== undefined) getOrCreateGroup(part.id).parts.push(part);
  for (const [index, block] of blocks.entries()) {
    if (block.id === undefined) continue;
    const group = getOrCreateGroup(block.id);
    group.blocks.push(block);
    group.blockIndexes.push(index);
  }
  return [...groups.values()];
}

/** Moves all parts of a group to the position of the first one. */
function wrapGroups(
  parts: readonly ToolPart[],
  numbers: ReadonlyMap<string, number>,
): ContentPart[] {
  const content: ContentPart[] = [];
  const wrappedIds = new Set<string>();
  for (const part of parts) {
    const id = part.id === undefined ? undefined : String(part.id);
    const number = id === undefined ? undefined : numbers.get(id);
    if (id === undefined || number === undefined) {
      content.push(toBarePart(part));
    } else if (!wrappedIds.has(id)) {
      wrappedIds.add(id);
      const group = parts.filter((other) => other.id !== undefined && String(other.id) === id);
      content.push(...wrapReference(number, group.map(toBarePart)));
    }
  }
  return content;
}

/** Removes the fields of the group, and the tag of the wrapper so that a tool cannot forge a wrapper. */
function toBarePart(part: ToolPart | ContentPart): ContentPart {
  const { id: _id, title: _title, url: _url, tags, ...rest } = part as ToolPart;
  const otherTags = tags?.filter((tag) => tag !== wrapperTag) ?? [];
  return otherTags.length === 0 ? rest : { ...rest, tags: otherTags };
}

function toBareBlock(block: ToolBlock): Block {
  const { id: _id, title: _title, url: _url, ...rest } = block;
  return rest;
}

function toNumberedBlock(block: ToolBlock, numbers: ReadonlyMap<string, number>): Block {
  const id = block.id === undefined ? undefined : numbers.get(String(block.id));
  return id === undefined ? toBareBlock(block) : { ...toBareBlock(block), id };
}

function findTitleAndUrl(
  members: readonly { title?: string; url?: string }[],
): Pick<Reference, "title" | "url"> {
  const title = members.find((member) => member.title !== undefined)?.title;
  const url = members.find((member) => member.url !== undefined)?.url;
  return { ...(title === undefined ? {} : { title }), ...(url === undefined ? {} : { url }) };
}

function toJsonValue(parts: readonly ContentPart[]): JsonValue {
  return parts as unknown as JsonValue;
}
