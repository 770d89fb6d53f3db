import { annotate } from "./markdown/annotator.ts";
import { TaskError } from "./error.ts";
import type { Block, ContentPart, Reference } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { rewriteMarkers, withoutAnnotated } from "./markers.ts";
import { defused, defusedText, wrap, wrapperTag, wrapperText } from "./reference-wrapper.ts";
import { sha256 } from "./sha256.ts";
import type { ToolBlock, ToolOutput, ToolPart } from "./tool-output.ts";

/** A group that a sub-agent's message cites, under the sub-agent's number. */
export interface CitedGroup {
  n: number;
  parts: ContentPart[];
  /** Of its content, by which it is known again. */
  key?: string;
}

interface Group {
  parts: ContentPart[];
  key: string;
}

/** The numbers that a conversation has used before a task. */
export interface EarlierNumbers {
  /** The highest of them; 0 if there are none. The first group of the task gets the next one. */
  readonly last: number;
  /** Those whose groups the model still sees in its history, so that it may cite them. */
  readonly citable: ReadonlySet<number>;
}

const noEarlierNumbers: EarlierNumbers = { last: 0, citable: new Set() };

/**
 * The numbers of one task. A group of a tool's parts and blocks gets the next one, or the one that the same content has
 * already, and is wrapped for the model so that it can cite it.
 */
export class ReferencePool {
  readonly #earlier: EarlierNumbers;
  readonly #groups: Group[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(earlier: EarlierNumbers = noEarlierNumbers) {
    this.#earlier = earlier;
  }

  /** As `toJson` wrote it: all of it, or piece after piece. */
  static fromJson(...pieces: readonly JsonObject[]): ReferencePool {
    return new ReferencePool().restore(...pieces);
  }

  /** Adds the groups that `toJson` wrote. Throws if they do not follow on those that are there. */
  restore(...pieces: readonly JsonObject[]): this {
    for (const piece of pieces) this.#restore(piece);
    return this;
  }

  /** The last number that is used, in this task or before it. */
  get last(): number {
    return this.#earlier.last + this.#groups.length;
  }

  /** True if the model may cite the number: a group of this task, or an earlier one that it still sees. */
  has(n: number): boolean {
    return this.#own(n) !== undefined || this.#earlier.citable.has(n);
  }

  /** What the model saw of a group of this task, without the wrapper. */
  group(n: number): ContentPart[] | undefined {
    return this.#own(n)?.parts;
  }

  /** The groups that a message cites, in the order in which it does. */
  cited(message: string): CitedGroup[] {
    const numbers = new Set<number>();
    for (const { reference_id: n } of annotate(message, (known) => this.has(known)))
      if (this.has(n)) numbers.add(n);
    const cited: CitedGroup[] = [];
    for (const n of numbers) {
      const group = this.#own(n);
      if (group !== undefined) cited.push({ n, ...group });
    }
    return cited;
  }

  /** The output of a tool, numbered and wrapped, with the references that are new. */
  add(
    output: ToolOutput,
    itemId: string,
  ): { content: ContentPart[]; blocks: Block[]; references: Reference[] } {
    const parts = defused(output.message_content);
    const numbers = new Map<string, number>();
    const references: Reference[] = [];
    for (const group of groupsOf(parts, output.block_list)) {
      const content = group.parts.map(bare);
      const key = sha256(JSON.stringify([content, group.blocks.map(bareBlock)]));
      const known = this.#numbers.get(key);
      numbers.set(group.id, known ?? this.#number({ parts: content, key }));
      if (known === undefined)
        references.push({
          reference_id: this.last,
          item_id: itemId,
          block_indexes: group.blockIndexes,
          ...titleAndUrl([...group.blocks, ...group.parts]),
        });
    }
    return {
      content: wrapped(parts, numbers),
      blocks: output.block_list.map((block) => numberedBlock(block, numbers)),
      references,
    };
  }

  /**
   * What a parent's model learns of a sub-agent: the groups that its message cites, under the parent's numbers, then the
   * message with its markers rewritten. A marker that cited nothing is removed: here its number may be another group's.
   *
   * `source` names the child's number even where the child has the group from a child of its own: the child's reference
   * has a `source` too, so that every step can be followed.
   */
  addChild(
    childTaskId: string,
    cited: readonly CitedGroup[],
    message: string,
    itemId: string,
  ): { content: ContentPart[]; references: Reference[] } {
    const content: ContentPart[] = [];
    const references: Reference[] = [];
    const numbers = new Map<number, number>();
    for (const { n, ...group } of cited) {
      const parts = defused(group.parts).map(bare);
      const key = group.key ?? sha256(JSON.stringify([parts, childTaskId, n]));
      const known = this.#numbers.get(key);
      const number = known ?? this.#number({ parts, key });
      numbers.set(n, number);
      content.push(...wrap(number, parts));
      if (known === undefined)
        references.push({
          reference_id: number,
          item_id: itemId,
          block_indexes: [],
          source: { task_id: childTaskId, reference_id: n },
        });
    }
    const text = defusedText(
      rewriteMarkers(message, annotate(message, all), (n) => numbers.get(n)),
    );
    if (text !== "") content.push({ type: "text", text });
    return { content, references };
  }

  /** What a later process needs to go on; with `after` only the groups above that number. */
  toJson(after = 0): JsonObject {
    const own = this.#groups.slice(Math.max(0, after - this.#earlier.last));
    const groups = own.map(({ parts, key }) => ({ key, parts: json(parts) }));
    return { after: Math.max(after, this.#earlier.last), groups };
  }

  #own(n: number): Group | undefined {
    return this.#groups[n - this.#earlier.last - 1];
  }

  #number(group: Group): number {
    this.#groups.push(group);
    this.#numbers.set(group.key, this.last);
    return this.last;
  }

  #restore({ after, groups }: JsonObject): void {
    if (typeof after !== "number" || after > this.last || !Array.isArray(groups))
      throw new TaskError("unreadable", "these are no groups that follow on those before them");
    for (const group of groups.slice(this.last - after) as unknown as Group[])
      this.#number({ key: group.key, parts: group.parts });
  }
}

/** Returns the numbers of the groups in texts that a model was sent. */
export function wrappedNumbers(texts: readonly string[]): Set<number> {
  const numbers = new Set<number>();
  for (const text of texts)
    for (const { groups } of text.matchAll(wrapperText))
      if (groups?.["number"] !== undefined) numbers.add(Number(groups["number"]));
  return numbers;
}

/**
 * Removes the numbers from the texts of a tool's result, for a conversation that uses them for something else: the
 * wrappers, and what a sub-agent cites of the groups that stand here. `[^1]` may also be a piece of a program that the tool
 * has read: within a group, and where no group has the number, it stays.
 */
export function withoutReferences(texts: readonly string[]): string[] {
  const numbers = wrappedNumbers(texts);
  let isInGroup = false;
  const plain = (text: string): string =>
    isInGroup
      ? text
      : rewriteMarkers(text, annotate(text, all), (n) => (numbers.has(n) ? undefined : n));
  return texts.map((text) => {
    let rest = "";
    let at = 0;
    for (const { 0: wrapper, index, groups } of text.matchAll(wrapperText)) {
      rest += plain(text.slice(at, index));
      isInGroup = groups?.["number"] !== undefined;
      at = index + wrapper.length;
    }
    return rest + plain(text.slice(at));
  });
}

const all = (): boolean => true;

/** The text without its `[^n]`; those in code are no markers. */
export function withoutMarkers(text: string): string {
  return withoutAnnotated(text, annotate(text, all));
}

interface TemporaryGroup {
  id: string;
  parts: ToolPart[];
  blocks: ToolBlock[];
  blockIndexes: number[];
}

function groupsOf(parts: readonly ToolPart[], blocks: readonly ToolBlock[]): TemporaryGroup[] {
  const groups = new Map<string, TemporaryGroup>();
  const groupOf = (id: string | number): TemporaryGroup => {
    const key = String(id);
    const group = groups.get(key) ?? { id: key, parts: [], blocks: [], blockIndexes: [] };
    groups.set(key, group);
    return group;
  };
  for (const part of parts) if (part.id !== undefined) groupOf(part.id).parts.push(part);
  for (const [at, block] of blocks.entries()) {
    if (block.id === undefined) continue;
    const group = groupOf(block.id);
    group.blocks.push(block);
    group.blockIndexes.push(at);
  }
  return [...groups.values()];
}

/** A group stands together, where its first part stood. */
function wrapped(parts: readonly ToolPart[], numbers: ReadonlyMap<string, number>): ContentPart[] {
  const content: ContentPart[] = [];
  const wrappedBefore = new Set<string>();
  for (const part of parts) {
    const id = part.id === undefined ? undefined : String(part.id);
    const number = id === undefined ? undefined : numbers.get(id);
    if (id === undefined || number === undefined) {
      content.push(bare(part));
    } else if (!wrappedBefore.has(id)) {
      wrappedBefore.add(id);
      const group = parts.filter((other) => other.id !== undefined && String(other.id) === id);
      content.push(...wrap(number, group.map(bare)));
    }
  }
  return content;
}

/** A tool must not be able to pass its own parts off as the wrapper. */
function bare(part: ToolPart | ContentPart): ContentPart {
  const { id: _id, title: _title, url: _url, tags, ...rest } = part as ToolPart;
  const own = tags?.filter((tag) => tag !== wrapperTag) ?? [];
  return own.length === 0 ? rest : { ...rest, tags: own };
}

function bareBlock(block: ToolBlock): Block {
  const { id: _id, title: _title, url: _url, ...rest } = block;
  return rest;
}

function numberedBlock(block: ToolBlock, numbers: ReadonlyMap<string, number>): Block {
  const id = block.id === undefined ? undefined : numbers.get(String(block.id));
  return id === undefined ? bareBlock(block) : { ...bareBlock(block), id };
}

function titleAndUrl(
  members: readonly { title?: string; url?: string }[],
): Pick<Reference, "title" | "url"> {
  const title = members.find((member) => member.title !== undefined)?.title;
  const url = members.find((member) => member.url !== undefined)?.url;
  return { ...(title === undefined ? {} : { title }), ...(url === undefined ? {} : { url }) };
}

function json(parts: readonly ContentPart[]): JsonValue {
  return parts as unknown as JsonValue;
}
