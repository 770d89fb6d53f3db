import type { BlobFiles } from "./blob-files.ts";
import {
  mergeSearchIndex,
  deleteUndoneRemovals,
  finishChatRemovals,
  deleteExpiredRemoval,
} from "./erase-chat.ts";
import { startChatRemoval, type WriteTransaction } from "./erase-chat.ts";
import { getBlobLocation, sumGraceBytes, sumFileBytes, deleteTaskBlobs } from "./blobs.ts";
import { deleteUnusedBlobs, endUsedBlobsGrace, type RemovedBlob } from "./blobs.ts";
import type { SqliteConnection } from "./connection.ts";
import { blobGraceMs, dayMs, megabyte, type RetentionOptions } from "../retention-options.ts";
import { vacuumIncrementally, getUsedBytes } from "./pragmas.ts";
import { findFirstDeletedChat, deleteRemovedChatMarksBefore } from "./erase-chat-rows.ts";
import {
  deleteGrantsBefore,
  deleteIdempotencyKeysBefore,
  deleteRemovedEvents,
  findFirstEndedTask,
  removeTask,
} from "./prune-queries.ts";

/** Rows or pages per transaction: about 5 ms of work, which blocks everything else. */
const sliceSizes = { events: 2_000, blobs: 100, pages: 250 };

export interface PruneTarget {
  db: SqliteConnection;
  write: WriteTransaction;
  blobFiles: BlobFiles | undefined;
  warn: (message: string) => void;
}

export async function prune(
  store: PruneTarget,
  { retentionDays, maxMb, deletedDays }: RetentionOptions,
  now: number,
): Promise<{ tasks: number; blobs: number }> {
  const blobs = new BlobRemoval(store.blobFiles, now - blobGraceMs);
  let tasks = 0;
  await store.write((db) => endUsedBlobsGrace(db, now));
  await store.write((db) => deleteIdempotencyKeysBefore(db, now - dayMs));
  await deleteRemovedTaskEvents(store); // left by an earlier process
  await removeDeletedChats(store, now - deletedDays * dayMs, now);
  await removeUnusedBlobs(store, blobs);
  if (retentionDays !== undefined) {
    const oldest = now - retentionDays * dayMs;
    while (await removeFirstEndedTask(store, oldest, blobs)) tasks += 1;
    await store.write((db) => deleteGrantsBefore(db, oldest));
  }
  if (maxMb !== undefined) {
    const isTooLarge = () => getRemovableBytes(store.db, blobs.storedBefore) > maxMb * megabyte;
    while (isTooLarge() && (await removeFirstEndedTask(store, Number.MAX_SAFE_INTEGER, blobs)))
      tasks += 1;
    if (isTooLarge()) warnAboutSize(store, maxMb);
  }
  await store.blobFiles?.sweep(
    (hash) => getBlobLocation(store.db, hash) !== undefined,
    blobs.storedBefore,
  );
  while (await store.write((db) => vacuumIncrementally(db, sliceSizes.pages)));
  return { tasks, blobs: blobs.count };
}

async function removeDeletedChats(
  { write }: PruneTarget,
  deletedBefore: number,
  now: number,
): Promise<void> {
  const removeFirst = (db: SqliteConnection): boolean => {
    const chatId = findFirstDeletedChat(db, deletedBefore);
    return chatId !== undefined && startChatRemoval(db, chatId, now) !== undefined;
  };
  while (await write(removeFirst));
  await finishChatRemovals(write);
  await deleteUndoneRemovals(write);
  while (await write((db) => deleteExpiredRemoval(db, deletedBefore)));
  await write((db) => deleteRemovedChatMarksBefore(db, deletedBefore));
  await mergeSearchIndex(write);
}

export function getStoredBytes(db: SqliteConnection): number {
  return getUsedBytes(db) + sumFileBytes(db);
}

/** Excludes unused blobs that only the next run may remove, so that no more tasks than necessary are removed. */
function getRemovableBytes(db: SqliteConnection, storedSince: number): number {
  return getStoredBytes(db) - sumGraceBytes(db, storedSince);
}

class BlobRemoval {
  /** Number of deleted blobs. */
  count = 0;
  /** Only blobs that were stored before this time may be deleted. In milliseconds. */
  readonly storedBefore: number;
  readonly #files: BlobFiles | undefined;

  constructor(files: BlobFiles | undefined, storedBefore: number) {
    this.#files = files;
    this.storedBefore = storedBefore;
  }

  /** Deletes the files. Call it after the transaction that deleted the rows. */
  finish(blobs: readonly RemovedBlob[]): void {
    for (const { hash, in_file } of blobs) if (in_file === 1) this.#files?.removeSync(hash);
    this.count += blobs.length;
  }
}

async function removeFirstEndedTask(
  store: PruneTarget,
  endedBefore: number,
  blobs: BlobRemoval,
): Promise<boolean> {
  const removedBlobs = await store.write((db) => {
    const root = findFirstEndedTask(db, endedBefore);
    if (root === undefined) return undefined;
    removeTask(db, root);
    return deleteTaskBlobs(db, root, blobs.storedBefore);
  });
  if (removedBlobs === undefined) return false;
  blobs.finish(removedBlobs);
  await deleteRemovedTaskEvents(store);
  return true;
}

async function deleteRemovedTaskEvents({ write }: PruneTarget): Promise<void> {
  while (await write((db) => deleteRemovedEvents(db, sliceSizes.events)));
}

async function removeUnusedBlobs({ write }: PruneTarget, blobs: BlobRemoval): Promise<void> {
  for (;;) {
    const removedBlobs = await write((db) =>
      deleteUnusedBlobs(db, blobs.storedBefore, sliceSizes.blobs),
    );
    blobs.finish(removedBlobs);
    if (removedBlobs.length < sliceSizes.blobs) return;
  }
}

function warnAboutSize({ db, warn }: PruneTarget, maxMb: number): void {
  warn(
    `the store uses ${Math.ceil(getStoredBytes(db) / megabyte)} MB, more than max_mb = ${maxMb}, but contains only ` +
      "chats and unfinished tasks: end or remove some, or increase max_mb",
  );
}
