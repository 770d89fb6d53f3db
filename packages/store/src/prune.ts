import type { BlobFiles } from "./blob-files.ts";
import { cleanIndex, deleteUndone, finishRemovals, forgetOldRemoval } from "./chats/remove-chat.ts";
import { startRemoval, type Write } from "./chats/remove-chat.ts";
import { blobPlace, bytesAwaited, bytesInFiles, deleteBlobsOf } from "./sql/blobs.ts";
import { deleteUnusedBlobs, endGraceOfUsedBlobs, type RemovedBlob } from "./sql/blobs.ts";
import type { Connection } from "./sql/connection.ts";
import { shrink, usedBytes } from "./sql/dialect.ts";
import { firstDeletedChat, forgetRemovals } from "./sql/removed-chats.ts";
import {
  deleteGrantsBefore,
  deleteKeysBefore,
  deleteRemovedEvents,
  firstEnded,
  removeTask,
} from "./sql/retention.ts";

export const dayMs = 24 * 60 * 60 * 1000;
const megabyte = 1024 * 1024;
/** A blob is put before the event that refers to it is written: for so long nobody has to refer to it. */
export const blobGraceMs = 60 * 60 * 1000;
/** What one transaction removes: about 5 ms of work, in which nothing else goes on. */
const slice = { events: 2_000, blobs: 100, pages: 250 };

export interface Retention {
  /** Undefined: for ever. */
  keepDays: number | undefined;
  /** Undefined: as much as there is room for. */
  maxMb: number | undefined;
  /** What is deleted can be restored for so long, and the feed tells of what was removed. */
  deletedDays: number;
}

export interface Pruned {
  db: Connection;
  write: Write;
  files: BlobFiles | undefined;
  warn: (message: string) => void;
}

export async function prune(
  store: Pruned,
  { keepDays, maxMb, deletedDays }: Retention,
  now: number,
): Promise<{ tasks: number; blobs: number }> {
  const blobs = new BlobRemoval(store.files, now - blobGraceMs);
  let tasks = 0;
  await store.write((db) => endGraceOfUsedBlobs(db, now));
  await store.write((db) => deleteKeysBefore(db, now - dayMs));
  await finishRemoval(store); // what an earlier process began
  await removeDeletedChats(store, now - deletedDays * dayMs, now);
  await removeUnusedBlobs(store, blobs);
  if (keepDays !== undefined) {
    const oldest = now - keepDays * dayMs;
    while (await removeFirstEnded(store, oldest, blobs)) tasks += 1;
    await store.write((db) => deleteGrantsBefore(db, oldest));
  }
  if (maxMb !== undefined) {
    const isTooMuch = () => removableBytes(store.db, blobs.putBefore) > maxMb * megabyte;
    while (isTooMuch() && (await removeFirstEnded(store, Number.MAX_SAFE_INTEGER, blobs)))
      tasks += 1;
    if (isTooMuch()) warnOfSize(store, maxMb);
  }
  await store.files?.sweep((hash) => blobPlace(store.db, hash) !== undefined, blobs.putBefore);
  while (await store.write((db) => shrink(db, slice.pages)));
  return { tasks, blobs: blobs.count };
}

async function removeDeletedChats({ write }: Pruned, before: number, now: number): Promise<void> {
  const removeFirst = (db: Connection): boolean => {
    const chatId = firstDeletedChat(db, before);
    return chatId !== undefined && startRemoval(db, chatId, now) !== undefined;
  };
  while (await write(removeFirst));
  await finishRemovals(write);
  await deleteUndone(write);
  while (await write((db) => forgetOldRemoval(db, before)));
  await write((db) => forgetRemovals(db, before));
  await cleanIndex(write);
}

export function storedBytes(db: Connection): number {
  return usedBytes(db) + bytesInFiles(db);
}

/** Without what this run may not remove but the next one will: to remove more tasks for it would be too much. */
function removableBytes(db: Connection, putSince: number): number {
  return storedBytes(db) - bytesAwaited(db, putSince);
}

class BlobRemoval {
  count = 0;
  readonly putBefore: number;
  readonly #files: BlobFiles | undefined;

  constructor(files: BlobFiles | undefined, putBefore: number) {
    this.#files = files;
    this.putBefore = putBefore;
  }

  /** When their rows are gone for good. */
  finish(blobs: readonly RemovedBlob[]): void {
    for (const { hash, in_file } of blobs) if (in_file === 1) this.#files?.removeNow(hash);
    this.count += blobs.length;
  }
}

async function removeFirstEnded(
  store: Pruned,
  before: number,
  blobs: BlobRemoval,
): Promise<boolean> {
  const removed = await store.write((db) => {
    const root = firstEnded(db, before);
    if (root === undefined) return undefined;
    removeTask(db, root);
    return deleteBlobsOf(db, root, blobs.putBefore);
  });
  if (removed === undefined) return false;
  blobs.finish(removed);
  await finishRemoval(store);
  return true;
}

async function finishRemoval({ write }: Pruned): Promise<void> {
  while (await write((db) => deleteRemovedEvents(db, slice.events)));
}

async function removeUnusedBlobs({ write }: Pruned, blobs: BlobRemoval): Promise<void> {
  for (;;) {
    const removed = await write((db) => deleteUnusedBlobs(db, blobs.putBefore, slice.blobs));
    blobs.finish(removed);
    if (removed.length < slice.blobs) return;
  }
}

function warnOfSize({ db, warn }: Pruned, maxMb: number): void {
  warn(
    `the store holds ${Math.ceil(storedBytes(db) / megabyte)} MB, more than max_mb = ${maxMb}, and all of it ` +
      "belongs to chats and to tasks that have not ended: end or remove some, or allow more",
  );
}
