import {
  measureResponse,
  sortChain,
  type NewResponse,
  type ResponseEvents,
  type ResponseLease,
  type ResponseProgress,
  type ResponseRun,
  type ResponseTurn,
  type StoredResponse,
} from "../response-store.ts";
import { addConversationItems } from "./conversations.ts";
import type { SqliteConnection } from "./connection.ts";

interface TurnRow {
  response_id: string;
  previous_id: string | null;
  conversation_id: string | null;
  conversation_start: number | null;
  status: string;
  input: string;
  output: string;
}

interface ResponseRow extends TurnRow {
  number: number;
  owner: string;
  created_at: number;
  json: string;
  run: string | null;
  head: number;
  cancel_requested: number;
}

const isUnfinished = "status IN ('queued', 'in_progress')";

/** Replaces a response with the same id. Call it in a transaction. */
export function saveResponse(db: SqliteConnection, response: NewResponse, now: number): void {
  const { owner, responseId, run, itemIds, conversation, conversationItems = [] } = response;
  deleteResponse(db, owner, responseId);
  const { lastId: number } = db.run(
    `INSERT INTO responses (owner, response_id, previous_id, status, created_at, size, input, output, json, run, holder, held_until, head, conversation_id, conversation_start)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    owner,
    responseId,
    response.previousResponseId ?? null,
    response.status,
    response.createdAt,
    measureResponse(response),
    response.input,
    response.output,
    response.json,
    run?.json ?? null,
    run?.holder ?? null,
    run === undefined ? null : now + run.ttlMs,
    (run?.events.length ?? 0) - 1,
    conversation?.conversationId ?? null,
    conversation?.start ?? null,
  );
  insertItemIds(db, owner, number, itemIds);
  if (conversation !== undefined && conversationItems.length > 0)
    addConversationItems(db, owner, conversation.conversationId, conversationItems);
  if (run !== undefined) insertEvents(db, number, { first: 0, events: run.events });
}

export function getResponse(
  db: SqliteConnection,
  owner: string,
  responseId: string,
): StoredResponse | undefined {
  const row = getRow(db, owner, responseId);
  return row && toResponse(row);
}

export function listResponseChain(
  db: SqliteConnection,
  owner: string,
  responseId: string,
): ResponseTurn[] {
  // UNION instead of UNION ALL: an upstream may repeat its ids, so that a chain could refer to itself.
  const rows = db.all<TurnRow>(
    `WITH RECURSIVE chain (number, previous_id) AS (
          SELECT number, previous_id FROM responses WHERE owner = ?1 AND response_id = ?2
          UNION
          SELECT responses.number, responses.previous_id FROM chain
            JOIN responses ON responses.owner = ?1 AND responses.response_id = chain.previous_id
        )
        SELECT response_id, responses.previous_id, conversation_id, conversation_start, status, input, output FROM chain JOIN responses USING (number)`,
    owner,
    responseId,
  );
  return sortChain(rows.map(toTurn), responseId);
}

export function findResponsesWithItems(
  db: SqliteConnection,
  owner: string,
  itemIds: readonly string[],
): ResponseTurn[] {
  return db
    .all<TurnRow>(
      `SELECT response_id, previous_id, conversation_id, conversation_start, status, input, output FROM responses WHERE number IN (
          SELECT response FROM response_items WHERE owner = ? AND item_id IN (SELECT value FROM json_each(?))
        ) ORDER BY number`,
      owner,
      JSON.stringify(itemIds),
    )
    .map(toTurn);
}

/** Returns false if there is no such response. Call it in a transaction. */
export function deleteResponse(db: SqliteConnection, owner: string, responseId: string): boolean {
  const row = db.get<{ number: number }>(
    "SELECT number FROM responses WHERE owner = ? AND response_id = ?",
    owner,
    responseId,
  );
  if (row !== undefined) deleteByNumber(db, row.number);
  return row !== undefined;
}

/** Deletes at most `limit` responses, oldest first. Returns the number of deleted ones. Call it in a transaction. */
export function deleteOldestResponses(
  db: SqliteConnection,
  limits: { createdBefore: number; maxBytes: number; limit: number },
): number {
  let excess = getResponseBytes(db) - limits.maxBytes;
  // The newest turn of a chain comes first: a response whose history is incomplete could not be continued.
  const candidates = db.all<{ number: number; size: number; created_at: number }>(
    `SELECT number, size, created_at FROM responses WHERE ${excess > 0 ? "1" : "created_at < ?1"} AND NOT (${isUnfinished})
      AND NOT EXISTS (SELECT 1 FROM responses AS later
        WHERE later.owner = responses.owner AND later.previous_id = responses.response_id AND later.number <> responses.number)
      ORDER BY created_at, number LIMIT ?2`,
    limits.createdBefore,
    limits.limit,
  );
  let count = 0;
  for (const { number, size, created_at } of candidates) {
    if (excess <= 0 && created_at >= limits.createdBefore) break;
    deleteByNumber(db, number);
    excess -= size;
    count += 1;
  }
  return count;
}

export function getResponseBytes(db: SqliteConnection): number {
  return (
    db.get<{ size: number }>("SELECT coalesce(sum(size), 0) AS size FROM responses")?.size ?? 0
  );
}

/** Returns undefined if the process does not hold the response. Call it in a transaction. */
export function appendResponseEvents(
  db: SqliteConnection,
  { owner, responseId, holder, first, events, state }: ResponseProgress,
): { isCancelRequested: boolean } | undefined {
  const row = db.get<Pick<ResponseRow, "number" | "cancel_requested" | "head" | "conversation_id">>(
    `SELECT number, cancel_requested, head, conversation_id FROM responses
      WHERE owner = ? AND response_id = ? AND holder = ? AND ${isUnfinished}`,
    owner,
    responseId,
    holder,
  );
  if (row === undefined || row.head !== first - 1) return undefined;
  insertEvents(db, row.number, { first, events });
  const size = events.reduce((sum, event) => sum + event.length + 1, 0);
  db.run(
    "UPDATE responses SET head = ?, size = size + ? WHERE number = ?",
    first + events.length - 1,
    size,
    row.number,
  );
  if (state !== undefined) {
    db.run(
      `UPDATE responses SET status = ?1, output = ?2, json = ?3, size = size + length(?2) + length(?3) - length(output) - length(json)
        WHERE number = ?4`,
      state.status,
      state.output,
      state.json,
      row.number,
    );
    db.run(
      `UPDATE responses SET holder = NULL, held_until = NULL, run = NULL WHERE number = ? AND NOT (${isUnfinished})`,
      row.number,
    );
    insertItemIds(db, owner, row.number, state.itemIds);
    if (row.conversation_id !== null && state.conversationItems !== undefined)
      addConversationItems(db, owner, row.conversation_id, state.conversationItems);
  }
  return { isCancelRequested: row.cancel_requested === 1 };
}

export function listResponseEvents(
  db: SqliteConnection,
  owner: string,
  responseId: string,
  options: { after: number; limit: number },
): ResponseEvents[] {
  const rows = db.all<{ first: number; events: string; total: number }>(
    `SELECT first, events, total FROM (
        SELECT first, events, sum(length(events)) OVER (ORDER BY first) AS total FROM response_events
          WHERE last > ? AND response = (SELECT number FROM responses WHERE owner = ? AND response_id = ?)
          ORDER BY first LIMIT 1000
      ) WHERE total - length(events) < ?`,
    options.after,
    owner,
    responseId,
    options.limit,
  );
  return rows.map(({ first, events }) => ({ first, events: events.split("\n") }));
}

export function requestResponseCancel(
  db: SqliteConnection,
  owner: string,
  responseId: string,
): boolean {
  const { changes } = db.run(
    `UPDATE responses SET cancel_requested = 1 WHERE owner = ? AND response_id = ? AND ${isUnfinished}`,
    owner,
    responseId,
  );
  return changes > 0;
}

export function renewResponseLeases(
  db: SqliteConnection,
  { holder, ttlMs }: ResponseLease,
  now: number,
): { owner: string; responseId: string; isCancelRequested: boolean }[] {
  return db
    .all<ResponseRow>(
      `UPDATE responses SET held_until = ? WHERE holder = ? AND ${isUnfinished} RETURNING owner, response_id, cancel_requested`,
      now + ttlMs,
      holder,
    )
    .map(({ owner, response_id, cancel_requested }) => ({
      owner,
      responseId: response_id,
      isCancelRequested: cancel_requested === 1,
    }));
}

export function claimResponses(
  db: SqliteConnection,
  { holder, ttlMs, all, limit }: ResponseLease & { all: boolean; limit: number },
  now: number,
): ResponseRun[] {
  return db
    .all<ResponseRow>(
      `UPDATE responses SET holder = ?1, held_until = ?2 WHERE number IN (
          SELECT number FROM responses WHERE ${isUnfinished} AND holder IS NOT ?1 AND (?3 OR coalesce(held_until, 0) < ?4)
            ORDER BY number LIMIT ?5
        ) RETURNING *`,
      holder,
      now + ttlMs,
      all ? 1 : 0,
      now,
      limit,
    )
    .toSorted((a, b) => a.number - b.number)
    .map((row) => ({
      ...toResponse(row),
      run: row.run ?? "{}",
      head: row.head,
      isCancelRequested: row.cancel_requested === 1,
    }));
}

function getRow(db: SqliteConnection, owner: string, responseId: string): ResponseRow | undefined {
  return db.get<ResponseRow>(
    "SELECT * FROM responses WHERE owner = ? AND response_id = ?",
    owner,
    responseId,
  );
}

function insertItemIds(
  db: SqliteConnection,
  owner: string,
  response: number,
  itemIds: readonly string[],
): void {
  for (const itemId of itemIds)
    db.run(
      `INSERT INTO response_items (owner, item_id, response) VALUES (?, ?, ?)
        ON CONFLICT (owner, item_id) DO UPDATE SET response = excluded.response`,
      owner,
      itemId,
      response,
    );
}

function insertEvents(db: SqliteConnection, response: number, batch: ResponseEvents): void {
  const { first, events } = batch;
  if (events.length === 0) return;
  db.run(
    "INSERT INTO response_events (response, first, last, events) VALUES (?, ?, ?, ?)",
    response,
    first,
    first + events.length - 1,
    events.join("\n"),
  );
}

function deleteByNumber(db: SqliteConnection, number: number): void {
  db.run("DELETE FROM response_items WHERE response = ?", number);
  db.run("DELETE FROM response_events WHERE response = ?", number);
  db.run("DELETE FROM responses WHERE number = ?", number);
}

function toTurn(row: TurnRow): ResponseTurn {
  const { previous_id, conversation_id, conversation_start, status, input, output } = row;
  return {
    responseId: row.response_id,
    ...(previous_id === null ? {} : { previousResponseId: previous_id }),
    ...(conversation_id === null
      ? {}
      : {
          conversation: {
            conversationId: conversation_id,
            start: conversation_start ?? 0,
          },
        }),
    status,
    input,
    output,
  };
}

function toResponse(row: ResponseRow): StoredResponse {
  return { ...toTurn(row), owner: row.owner, createdAt: row.created_at, json: row.json };
}
