import {
  addUnfinishedUpdates,
  deleteIndexEntry,
  endIndexRebuild,
  hasIndexEntry,
  insertIndexEntry,
  findIndexEntryNumber,
  startIndexRebuild,
} from "./search-index.ts";
import { listNodesAfter, getNodeJson, getNodeStamp } from "./chat-nodes.ts";
import { allocateIndexNumber } from "./chats.ts";
import type { SqliteConnection } from "./connection.ts";
import type { WriteTransaction } from "./erase-chat.ts";
import { buildIndexedText } from "../chats/tokenize.ts";
import { getIndexableTexts } from "../chats/node-text.ts";

/** The text that a change of a chat adds to and removes from the index. */
export interface IndexChanges {
  /** `stamp` is that of the node when the text was added. */
  readonly added: {
    number: number;
    place: number;
    versionId: string;
    text: string;
    stamp: number;
  }[];
  readonly removed: { number: number; text: string }[];
}

/** Characters to index per transaction: 1 MB takes about 70 ms. */
const charactersPerTransaction = 300_000;
const nodesPerTransaction = 20;

/**
 * Updates the search index after a change: in the same transaction, or for long text in separate ones after it, so
 * that other writes are not blocked. The database counts unfinished updates. If the process ends before they finish,
 * the index is rebuilt.
 */
export class SearchIndexUpdate {
  readonly #changes: readonly ((db: SqliteConnection) => void)[];
  readonly #lengths: readonly number[];
  #next = 0;

  /** Call it in the transaction of the change. */
  constructor(db: SqliteConnection, { added, removed }: IndexChanges) {
    this.#changes = [
      ...removed.map((entry) => (connection: SqliteConnection) => removeEntry(connection, entry)),
      ...added.map((entry) => (connection: SqliteConnection) => addEntry(connection, entry)),
    ];
    this.#lengths = [...removed, ...added].map(({ text }) => text.length);
    const length = this.#lengths.reduce((sum, textLength) => sum + textLength, 0);
    // A transaction with more text is long enough without the index.
    if (length <= charactersPerTransaction) this.#next = this.#writeFrom(db, 0);
    if (!this.isDone) addUnfinishedUpdates(db, 1);
  }

  get isDone(): boolean {
    return this.#next >= this.#changes.length;
  }

  /** Writes the remaining changes in separate transactions. The chat may change meanwhile. */
  async finish(write: WriteTransaction): Promise<void> {
    while (!this.isDone)
      // The transaction may be retried, so the state is set after it.
      this.#next = await write((db) => {
        const next = this.#writeFrom(db, this.#next);
        if (next >= this.#changes.length) addUnfinishedUpdates(db, -1);
        return next;
      });
  }

  #writeFrom(db: SqliteConnection, from: number): number {
    let index = from;
    for (
      let remainingCharacters = charactersPerTransaction;
      remainingCharacters > 0 && index < this.#changes.length;
      index += 1
    ) {
      this.#changes[index]?.(db);
      remainingCharacters -= this.#lengths[index] ?? 0;
    }
    return index;
  }
}

function removeEntry(
  db: SqliteConnection,
  { number, text }: IndexChanges["removed"][number],
): void {
  if (hasIndexEntry(db, number)) deleteIndexEntry(db, number, buildIndexedText(text));
}

function addEntry(
  db: SqliteConnection,
  { text, stamp, ...row }: IndexChanges["added"][number],
): void {
  const { place, versionId } = row;
  if (!isCurrent(db, { place, versionId, text, stamp })) return;
  if (findIndexEntryNumber(db, place, versionId) !== undefined) return;
  const indexedText = buildIndexedText(text);
  if (indexedText.words !== "") insertIndexEntry(db, { ...row, text: indexedText });
}

function isCurrent(
  db: SqliteConnection,
  { place, versionId, text, stamp }: Omit<IndexChanges["added"][number], "number">,
): boolean {
  const currentStamp = getNodeStamp(db, place);
  if (currentStamp === undefined || currentStamp === stamp) return currentStamp === stamp;
  return getIndexableTexts(getNodeJson(db, place) ?? "{}").get(versionId) === text;
}

/** Rebuilds the index of all chats if an earlier process did not finish an update. */
export async function rebuildSearchIndex(write: WriteTransaction): Promise<void> {
  if (!(await write(startIndexRebuild))) return;
  let after: number | undefined = -1;
  while (after !== undefined) {
    const from: number = after;
    after = await write((db) => indexNextNodes(db, from));
  }
  await write(endIndexRebuild);
}

/** Returns the last indexed place, or undefined at the end. */
function indexNextNodes(db: SqliteConnection, after: number): number | undefined {
  const nodes = listNodesAfter(db, after, nodesPerTransaction);
  for (const { place, chat, json } of nodes)
    for (const [versionId, text] of getIndexableTexts(json)) {
      if (findIndexEntryNumber(db, place, versionId) !== undefined) continue;
      const indexedText = buildIndexedText(text);
      const number = indexedText.words === "" ? undefined : allocateIndexNumber(db, chat);
      if (number !== undefined)
        insertIndexEntry(db, { number, place, versionId, text: indexedText });
    }
  return nodes.at(-1)?.place;
}
