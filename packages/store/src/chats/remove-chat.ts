import type { Removal } from "@deltawire/tasks/chats";
import { blobPath, blobsIn } from "@deltawire/tasks";
import { deleteBlobRefsOf, endGraceOfChatBlobs } from "../sql/blobs.ts";
import { deleteRemoval, deleteUndoneMark, nextUndone } from "../sql/chat-belongings.ts";
import { takeOldRemoval, takeReplay, versionsWithReplay } from "../sql/chat-belongings.ts";
import { askForMerge, deleteWords, mergeIndex, wordsOfChat } from "../sql/chat-search.ts";
import { chatRow, nextStamp } from "../sql/chats.ts";
import type { Connection } from "../sql/connection.ts";
import { overwriting } from "../sql/dialect.ts";
import { deleteRemovedBelongings, deleteRemovedNodes } from "../sql/removed-chats.ts";
import { firstRemovedChat, isChatRemoved, removeChatRow } from "../sql/removed-chats.ts";
import { deleteRemovedEvents, endedTasksOf, removeTask } from "../sql/retention.ts";
import { indexedText } from "./search-terms.ts";
import { deleteUnusedBlobRefs, unusedVersions } from "./still-used.ts";
import { indexedWords } from "./words-of-node.ts";

/** In a transaction of its own, between the others. */
export type Write = <Result>(work: (db: Connection) => Result) => Promise<Result>;

/** What one transaction removes: about 5 ms of work. */
const slice = { texts: 20, nodes: 200, belongings: 20, pages: 64, events: 1000 };

/** In a transaction: nobody finds it any more, nor the tasks that have answered in it. Answers with its number. */
export function startRemoval(db: Connection, chatId: string, now: number): number | undefined {
  const number = chatRow(db, chatId)?.number;
  if (number === undefined) return undefined;
  const stamp = nextStamp(db);
  endGraceOfChatBlobs(db, number, now);
  overwriting(db, () => {
    removeChatRow(db, { number, chatId, stamp, now });
    for (const root of endedTasksOf(db, chatId)) {
      removeTask(db, root);
      deleteBlobRefsOf(db, root);
    }
  });
  return number;
}

/** What is left of removed chats: of one, or of all. */
export async function finishRemovals(write: Write, only?: number): Promise<void> {
  const next = (db: Connection) =>
    only === undefined ? firstRemovedChat(db) : isChatRemoved(db, only) ? only : undefined;
  const removeSome = (db: Connection): boolean => {
    const number = next(db);
    if (number !== undefined) overwriting(db, () => removeSlice(db, number));
    return number !== undefined;
  };
  while (await write(removeSome));
  const removeEvents = (db: Connection): boolean =>
    overwriting(db, () => deleteRemovedEvents(db, slice.events));
  while (await write(removeEvents));
}

function removeSlice(db: Connection, number: number): void {
  const texts = wordsOfChat(db, number, slice.texts);
  if (texts.length === 0 && !deleteRemovedBelongings(db, number, slice.belongings))
    deleteRemovedNodes(db, number, slice.nodes);
  for (const { number: words, json, version_id } of texts)
    deleteWords(db, words, indexedText(indexedWords(json, version_id) ?? ""));
  askForMerge(db);
}

/** Writes over what the index of words still holds of what was deleted. */
export async function cleanIndex(write: Write): Promise<void> {
  let isFirst = true;
  const mergeSome = (db: Connection) => overwriting(db, () => mergeIndex(db, slice.pages, isFirst));
  while (await write(mergeSome)) isFirst = false;
}

/** In a transaction: what was deleted within a chat can be put back no more. Answers whether there may be more. */
export function forgetOldRemoval(db: Connection, before: number): boolean {
  const taken = overwriting(db, () => takeOldRemoval(db, before));
  if (taken === undefined) return false;
  const { chat, removal } = taken;
  askForMerge(db);
  const versions = versionsWithReplay(db, chat, versionsOf(removal));
  const unused = unusedVersions(db, chat, new Set(versions));
  const gone = overwriting(db, () => unused.map((id) => takeReplay(db, chat, id) ?? ""));
  deleteUnusedBlobRefs(db, chat, new Set([JSON.stringify(removal), ...gone].flatMap(blobsIn)));
  return true;
}

/** Deletes removals that were undone, each in a transaction of its own. */
export async function deleteUndone(write: Write): Promise<void> {
  const deleteOne = (db: Connection): boolean => {
    const undone = nextUndone(db);
    if (undone === undefined) return false;
    const { chat, removalId } = undone;
    const json = overwriting(db, () => deleteRemoval(db, chat, removalId, blobPath));
    deleteUndoneMark(db, removalId);
    deleteUnusedBlobRefs(db, chat, new Set(blobsIn(json ?? "")));
    return true;
  };
  while (await write(deleteOne));
}

function versionsOf(removal: Removal): string[] {
  if (removal.what === "version") return [removal.version.version_id];
  return removal.nodes.flatMap((node) =>
    node.kind === "separator" ? [] : node.versions.map(({ version_id }) => version_id),
  );
}
