import { blobsIn } from "@deltawire/tasks";
import { deleteChatBlobRef } from "../sql/blobs.ts";
import type { Connection } from "../sql/connection.ts";

/*
 * What of a chat nothing refers to any more. Each row is read once for all ids, instead of once for each id.
 */

/** Deletes the references of a chat to blobs that nothing in it mentions. */
export function deleteUnusedBlobRefs(
  db: Connection,
  chat: number,
  hashes: ReadonlySet<string>,
): void {
  const tables = ["chat_nodes", "chat_replays", "chat_removals", "chat_variables"] as const;
  for (const hash of withoutMentioned(db, chat, tables, hashes, blobsIn))
    deleteChatBlobRef(db, chat, hash);
}

/** Returns the versions that are neither in the chat nor can be put back. */
export function unusedVersions(
  db: Connection,
  chat: number,
  versionIds: ReadonlySet<string>,
): string[] {
  const tables = ["chat_nodes", "chat_removals"] as const;
  return [...withoutMentioned(db, chat, tables, versionIds, versionsIn)];
}

type Table = "chat_nodes" | "chat_replays" | "chat_removals" | "chat_variables";

function withoutMentioned(
  db: Connection,
  chat: number,
  tables: readonly Table[],
  ids: ReadonlySet<string>,
  idsIn: (json: string) => Iterable<string>,
): Set<string> {
  const rest = new Set(ids);
  for (const table of tables) {
    if (rest.size === 0) break;
    // One by one: together they may be large.
    const rows = db.all<{ row: number }>(`SELECT rowid AS row FROM ${table} WHERE chat = ?`, chat);
    for (const { row } of rows) {
      const found = db.get<{ json: string }>(`SELECT json FROM ${table} WHERE rowid = ?`, row);
      for (const id of idsIn(found?.json ?? "")) rest.delete(id);
    }
  }
  return rest;
}

function versionsIn(json: string): Iterable<string> {
  return Array.from(json.matchAll(versionFields), ([, id = ""]) => id);
}

const versionFields = /"(?:version_id|version|answers|continues)":"([^"\\]+)"/g;
