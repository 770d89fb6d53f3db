import { blobPath, findBlobHashes } from "@deltawire/tasks";
import { deleteTaskBlobRefs, endChatBlobsGrace } from "./blobs.ts";
import { deleteRemoval, unmarkRemovalUndone, findUndoneRemoval } from "./chat-side-data.ts";
import { deleteOldestRemoval, deleteReplay, filterVersionsWithReplay } from "./chat-side-data.ts";
import {
  requestIndexMerge,
  deleteIndexEntry,
  mergeIndexPages,
  listIndexSources,
} from "./search-index.ts";
import { getChatRow, incrementStamp } from "./chats.ts";
import type { SqliteConnection } from "./connection.ts";
import { withSecureDelete } from "./pragmas.ts";
import { deleteRemovedSideData, deleteRemovedNodes } from "./erase-chat-rows.ts";
import { findRemovedChat, isChatRemoved, removeChatRow } from "./erase-chat-rows.ts";
import { deleteRemovedEvents, listEndedTasks, removeTask } from "./prune-queries.ts";
import { buildIndexedText } from "../chats/tokenize.ts";
import { deleteUnusedBlobRefs, findUnusedVersions } from "./unused-references.ts";
import { findVersionText, listVersionIds } from "../chats/node-text.ts";

/** Runs the work in a separate transaction. */
export type WriteTransaction = <Result>(work: (db: SqliteConnection) => Result) => Promise<Result>;

/** Rows or pages per transaction: about 5 ms of work. */
const sliceSizes = { texts: 20, nodes: 200, sideData: 20, pages: 64, events: 1000 };

/** Makes a chat and the ended tasks of its answers unreachable. Returns the chat's number. Call it in a transaction. */
export function startChatRemoval(
  db: SqliteConnection,
  chatId: string,
  now: number,
): number | undefined {
  const row = getChatRow(db, chatId);
  if (row === undefined) return undefined;
  const { number, owner } = row;
  const stamp = incrementStamp(db);
  endChatBlobsGrace(db, number, now);
  withSecureDelete(db, () => {
    removeChatRow(db, { number, chatId, owner, stamp, now });
    for (const root of listEndedTasks(db, owner, chatId)) {
      removeTask(db, root);
      deleteTaskBlobRefs(db, root);
    }
  });
  return number;
}

/** Deletes the remaining data of one or all removed chats. */
export async function finishChatRemovals(
  write: WriteTransaction,
  chatNumber?: number,
): Promise<void> {
  const findNext = (db: SqliteConnection) =>
    chatNumber === undefined
      ? findRemovedChat(db)
      : isChatRemoved(db, chatNumber)
        ? chatNumber
        : undefined;
  const removeNextSlice = (db: SqliteConnection): boolean => {
    const number = findNext(db);
    if (number !== undefined) withSecureDelete(db, () => removeSlice(db, number));
    return number !== undefined;
  };
  while (await write(removeNextSlice));
  const removeEvents = (db: SqliteConnection): boolean =>
    withSecureDelete(db, () => deleteRemovedEvents(db, sliceSizes.events));
  while (await write(removeEvents));
}

function removeSlice(db: SqliteConnection, number: number): void {
  const texts = listIndexSources(db, number, sliceSizes.texts);
  if (texts.length === 0 && !deleteRemovedSideData(db, number, sliceSizes.sideData))
    deleteRemovedNodes(db, number, sliceSizes.nodes);
  for (const { number: entryNumber, json, version_id } of texts)
    deleteIndexEntry(db, entryNumber, buildIndexedText(findVersionText(json, version_id) ?? ""));
  requestIndexMerge(db);
}

/** Overwrites deleted data in the search index. */
export async function mergeSearchIndex(write: WriteTransaction): Promise<void> {
  let isFirst = true;
  const mergeSome = (db: SqliteConnection) =>
    withSecureDelete(db, () => mergeIndexPages(db, sliceSizes.pages, isFirst));
  while (await write(mergeSome)) isFirst = false;
}

/**
 * Deletes the oldest removal if it is expired. It can then no longer be undone. Returns true if there may be more. Call it in a
 * transaction.
 */
export function deleteExpiredRemoval(db: SqliteConnection, removedBefore: number): boolean {
  const expired = withSecureDelete(db, () => deleteOldestRemoval(db, removedBefore));
  if (expired === undefined) return false;
  const { chat, removal } = expired;
  requestIndexMerge(db);
  const versions = filterVersionsWithReplay(db, chat, listVersionIds(removal));
  const unusedVersions = findUnusedVersions(db, chat, new Set(versions));
  const deletedReplays = withSecureDelete(db, () =>
    unusedVersions.map((id) => deleteReplay(db, chat, id) ?? ""),
  );
  deleteUnusedBlobRefs(
    db,
    chat,
    new Set([JSON.stringify(removal), ...deletedReplays].flatMap(findBlobHashes)),
  );
  return true;
}

/** Deletes removals that were undone, one per transaction. */
export async function deleteUndoneRemovals(write: WriteTransaction): Promise<void> {
  const deleteOne = (db: SqliteConnection): boolean => {
    const undone = findUndoneRemoval(db);
    if (undone === undefined) return false;
    const { chat, removalId } = undone;
    const json = withSecureDelete(db, () => deleteRemoval(db, chat, removalId, blobPath));
    unmarkRemovalUndone(db, removalId);
    deleteUnusedBlobRefs(db, chat, new Set(findBlobHashes(json ?? "")));
    return true;
  };
  while (await write(deleteOne));
}
