import { findBlobHashes } from "@deltawire/tasks";
import { listVersionIds } from "../chats/node-text.ts";
import { blobGraceMs, dayMs, megabyte, type RetentionOptions } from "../retention-options.ts";
import {
  deleteTaskBlobs,
  deleteUnusedBlobs,
  deleteUnusedChatBlobRefs,
  endUsedBlobsGrace,
  sumGraceBytes,
} from "./blobs.ts";
import { deleteOldestRemoval, deleteUnusedReplays } from "./chat-side-data.ts";
import type { PostgresConnection } from "./connection.ts";
import {
  deleteRemovedChatMarksBefore,
  findFirstDeletedChat,
  removeChat,
} from "./erase-chat-rows.ts";
import {
  deleteGrantsBefore,
  deleteIdempotencyKeysBefore,
  deleteTask,
  findFirstEndedTask,
  sumContentBytes,
} from "./prune-queries.ts";

/** Runs the work in a separate transaction. */
export type RunTransaction = <Result>(
  work: (db: PostgresConnection) => Promise<Result>,
) => Promise<Result>;

const blobsPerTransaction = 100;

export async function prune(
  transaction: RunTransaction,
  { retentionDays, maxMb, deletedDays }: RetentionOptions,
  now: number,
  warn: (message: string) => void,
): Promise<{ tasks: number; blobs: number }> {
  const storedBefore = Math.floor(now - blobGraceMs);
  const removed = { tasks: 0, blobs: 0 };
  /** Returns the number of bytes that were removed. Undefined if there is no such task. */
  const removeFirstEndedTask = async (endedBefore: number): Promise<number | undefined> => {
    const sizes = await transaction(async (db) => {
      const root = await findFirstEndedTask(db, endedBefore);
      if (root === undefined) return undefined;
      const blobs = await deleteTaskBlobs(db, root, storedBefore);
      return { events: await deleteTask(db, root), blobs };
    });
    if (sizes === undefined) return undefined;
    removed.tasks += 1;
    removed.blobs += sizes.blobs.length;
    return sizes.blobs.reduce((sum, size) => sum + size, sizes.events);
  };
  await transaction((db) => endUsedBlobsGrace(db, now));
  await transaction((db) => deleteIdempotencyKeysBefore(db, now - dayMs));
  await removeDeletedChats(transaction, Math.floor(now - deletedDays * dayMs), now);
  for (let count = blobsPerTransaction; count >= blobsPerTransaction;) {
    count = await transaction((db) => deleteUnusedBlobs(db, storedBefore, blobsPerTransaction));
    removed.blobs += count;
  }
  if (retentionDays !== undefined) {
    const oldest = Math.floor(now - retentionDays * dayMs);
    while ((await removeFirstEndedTask(oldest)) !== undefined);
    await transaction((db) => deleteGrantsBefore(db, oldest));
  }
  if (maxMb !== undefined) {
    // Measures the content, because deleted rows take space until they are vacuumed, and tables rarely shrink.
    const measureExcess = () =>
      transaction(async (db) => {
        const bytes = (await sumContentBytes(db)) - (await sumGraceBytes(db, storedBefore));
        return bytes - maxMb * megabyte;
      });
    let excess = await measureExcess();
    while (excess > 0) {
      const bytes = await removeFirstEndedTask(Number.MAX_SAFE_INTEGER);
      if (bytes === undefined) break;
      excess -= bytes;
    }
    if (excess > 0)
      warn(
        `the store is ${Math.ceil(excess / megabyte)} MB over max_mb = ${maxMb}, but contains only chats and unfinished ` +
          "tasks; end or remove some, or increase max_mb",
      );
  }
  return removed;
}

async function removeDeletedChats(
  transaction: RunTransaction,
  before: number,
  now: number,
): Promise<void> {
  const removeFirst = async (db: PostgresConnection): Promise<boolean> => {
    const chatId = await findFirstDeletedChat(db, before);
    return chatId !== undefined && (await removeChat(db, chatId, now));
  };
  while (await transaction(removeFirst));
  while (await transaction((db) => deleteExpiredRemoval(db, before)));
  await transaction((db) => deleteRemovedChatMarksBefore(db, before));
}

/** Deletes the oldest expired removal, which can then no longer be undone. Returns true if there may be more. */
async function deleteExpiredRemoval(db: PostgresConnection, before: number): Promise<boolean> {
  const expired = await deleteOldestRemoval(db, before);
  if (expired === undefined) return false;
  const { chat, removal, json } = expired;
  const replays = await deleteUnusedReplays(db, chat, listVersionIds(removal));
  await deleteUnusedChatBlobRefs(db, chat, new Set([json, ...replays].flatMap(findBlobHashes)));
  return true;
}
