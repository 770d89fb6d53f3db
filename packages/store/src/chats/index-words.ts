import {
  countUnfinished,
  deleteWords,
  endRebuild,
  hasWords,
  insertWords,
  numberOfWords,
  startRebuild,
} from "../sql/chat-search.ts";
import { allNodesAfter, jsonAt, stampAt } from "../sql/chat-nodes.ts";
import { takeWordsNumber } from "../sql/chats.ts";
import type { Connection } from "../sql/connection.ts";
import type { Write } from "./remove-chat.ts";
import { indexedText } from "./search-terms.ts";
import { indexableWords } from "./words-of-node.ts";

/** Words that a change of a chat puts into the index, and those that it takes out. */
export interface ChangedWords {
  /** `stamp`: of the node, when the words were added. */
  readonly added: {
    number: number;
    place: number;
    versionId: string;
    words: string;
    stamp: number;
  }[];
  readonly gone: { number: number; words: string }[];
}

/** What one transaction indexes: 1 MB takes about 70 ms. */
const charactersAtOnce = 300_000;
const rebuiltAtOnce = 20;

/**
 * Brings the index of words up to date with a change: in its transaction, or, if the words are many, in transactions of
 * their own behind it, so that others have their turn. The file counts the updates that are not finished: if the process
 * ends before they are, the index is rebuilt.
 */
export class IndexUpdate {
  readonly #changes: readonly ((db: Connection) => void)[];
  readonly #lengths: readonly number[];
  #next = 0;

  /** In the transaction of the change. */
  constructor(db: Connection, { added, gone }: ChangedWords) {
    this.#changes = [
      ...gone.map((words) => (to: Connection) => takeOut(to, words)),
      ...added.map((words) => (to: Connection) => putIn(to, words)),
    ];
    this.#lengths = [...gone, ...added].map(({ words }) => words.length);
    const length = this.#lengths.reduce((sum, each) => sum + each, 0);
    // A change of so many words is long enough without them.
    if (length <= charactersAtOnce) this.#next = this.#writeFrom(db, 0);
    if (!this.isDone) countUnfinished(db, 1);
  }

  get isDone(): boolean {
    return this.#next >= this.#changes.length;
  }

  /** Writes the rest. The chat may be changed meanwhile. */
  async finish(write: Write): Promise<void> {
    while (!this.isDone)
      // A transaction may be run twice, so it does not count by itself.
      this.#next = await write((db) => {
        const next = this.#writeFrom(db, this.#next);
        if (next >= this.#changes.length) countUnfinished(db, -1);
        return next;
      });
  }

  #writeFrom(db: Connection, from: number): number {
    let at = from;
    for (let left = charactersAtOnce; left > 0 && at < this.#changes.length; at += 1) {
      this.#changes[at]?.(db);
      left -= this.#lengths[at] ?? 0;
    }
    return at;
  }
}

function takeOut(db: Connection, { number, words }: ChangedWords["gone"][number]): void {
  if (hasWords(db, number)) deleteWords(db, number, indexedText(words));
}

function putIn(db: Connection, { words, stamp, ...row }: ChangedWords["added"][number]): void {
  const { place, versionId } = row;
  if (!isStillThere(db, { place, versionId, words, stamp })) return;
  if (numberOfWords(db, place, versionId) !== undefined) return;
  const text = indexedText(words);
  if (text.words !== "") insertWords(db, { ...row, text });
}

function isStillThere(
  db: Connection,
  { place, versionId, words, stamp }: Omit<ChangedWords["added"][number], "number">,
): boolean {
  const now = stampAt(db, place);
  if (now === undefined || now === stamp) return now === stamp;
  return indexableWords(jsonAt(db, place) ?? "{}").get(versionId) === words;
}

/** If an earlier process ended in the middle of an update: indexes all chats anew. */
export async function rebuildIndex(write: Write): Promise<void> {
  if (!(await write(startRebuild))) return;
  let after: number | undefined = -1;
  while (after !== undefined) {
    const from: number = after;
    after = await write((db) => indexSome(db, from));
  }
  await write(endRebuild);
}

/** Returns the last place that was indexed; undefined at the end. */
function indexSome(db: Connection, after: number): number | undefined {
  const nodes = allNodesAfter(db, after, rebuiltAtOnce);
  for (const { place, chat, json } of nodes)
    for (const [versionId, words] of indexableWords(json)) {
      if (numberOfWords(db, place, versionId) !== undefined) continue;
      const text = indexedText(words);
      const number = text.words === "" ? undefined : takeWordsNumber(db, chat);
      if (number !== undefined) insertWords(db, { number, place, versionId, text });
    }
  return nodes.at(-1)?.place;
}
