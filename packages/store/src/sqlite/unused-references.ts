import { findBlobHashes } from "@deltawire/tasks";
import { deleteChatBlobRef } from "./blobs.ts";
import type { SqliteConnection } from "./connection.ts";

/* Finds unused data of a chat. Each row is read once for all ids. */

/** Deletes the rows that link a chat to blobs it no longer references. */
export function deleteUnusedBlobRefs(
  db: SqliteConnection,
  chat: number,
  hashes: ReadonlySet<string>,
): void {
  const tables = ["chat_nodes", "chat_replays", "chat_removals", "chat_variables"] as const;
  for (const hash of findUnreferenced(db, chat, tables, hashes, findBlobHashes))
    deleteChatBlobRef(db, chat, hash);
}

/** Returns the versions that are neither in the chat nor in a removal that can be undone. */
export function findUnusedVersions(
  db: SqliteConnection,
  chat: number,
  versionIds: ReadonlySet<string>,
): string[] {
  const tables = ["chat_nodes", "chat_removals"] as const;
  return [...findUnreferenced(db, chat, tables, versionIds, findVersionIds)];
}

type ChatTable = "chat_nodes" | "chat_replays" | "chat_removals" | "chat_variables";

function findUnreferenced(
  db: SqliteConnection,
  chat: number,
  tables: readonly ChatTable[],
  ids: ReadonlySet<string>,
  findIds: (json: string) => Iterable<string>,
): Set<string> {
  const unreferenced = new Set(ids);
  for (const table of tables) {
    if (unreferenced.size === 0) break;
    // Rows are loaded one by one, since together they may be large.
    const rows = db.all<{ row: number }>(`SELECT rowid AS row FROM ${table} WHERE chat = ?`, chat);
    for (const { row } of rows) {
      const entry = db.get<{ json: string }>(`SELECT json FROM ${table} WHERE rowid = ?`, row);
      for (const id of findIds(entry?.json ?? "")) unreferenced.delete(id);
    }
  }
  return unreferenced;
}

function findVersionIds(json: string): Iterable<string> {
  return Array.from(json.matchAll(versionIdPattern), ([, id = ""]) => id);
}

const versionIdPattern = /"(?:version_id|version|answers|continues)":"([^"\\]+)"/g;
