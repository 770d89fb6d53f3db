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
import { decodeText, type PostgresConnection } from "./connection.ts";

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
const leaseEnd = (parameter: string) =>
  `statement_timestamp() + ${parameter} * interval '1 millisecond'`;

/** Replaces a response with the same id. Call it in a transaction. */
export async function saveResponse(db: PostgresConnection, response: NewResponse): Promise<void> {
  const { owner, responseId, run, itemIds, conversation, conversationItems = [] } = response;
  const deleted = deleteResponse(db, owner, responseId);
  const inserted = db.get<{ number: number }>(
    `INSERT INTO responses (owner, response_id, previous_id, status, created_at, size, input, output, json, run, holder, held_until, head, conversation_id, conversation_start)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${leaseEnd("$12::bigint")}, $13, $14, $15) RETURNING number`,
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
    run?.ttlMs ?? null,
    (run?.events.length ?? 0) - 1,
    conversation?.conversationId ?? null,
    conversation?.start ?? null,
  );
  const [, row] = await Promise.all([deleted, inserted]);
  if (row === undefined) return;
  await insertItemIds(db, owner, row.number, itemIds);
  if (conversation !== undefined && conversationItems.length > 0)
    await addConversationItems(db, owner, conversation.conversationId, conversationItems);
  if (run !== undefined) await insertEvents(db, row.number, { first: 0, events: run.events });
}

export async function getResponse(
  db: PostgresConnection,
  owner: string,
  responseId: string,
): Promise<StoredResponse | undefined> {
  const row = await db.get<ResponseRow>(
    "SELECT * FROM responses WHERE owner = $1 AND response_id = $2",
    owner,
    responseId,
  );
  return row && toResponse(row);
}

export async function listResponseChain(
  db: PostgresConnection,
  owner: string,
  responseId: string,
): Promise<ResponseTurn[]> {
  // UNION instead of UNION ALL: an upstream may repeat its ids, so that a chain could refer to itself.
  const rows = await db.all<TurnRow>(
    `WITH RECURSIVE chain (number, previous_id) AS (
        SELECT number, previous_id FROM responses WHERE owner = $1 AND response_id = $2
        UNION
        SELECT responses.number, responses.previous_id FROM chain
          JOIN responses ON responses.owner = $1 AND responses.response_id = chain.previous_id
      )
      SELECT response_id, responses.previous_id, conversation_id, conversation_start, status, input, output FROM chain JOIN responses USING (number)`,
    owner,
    responseId,
  );
  return sortChain(rows.map(toTurn), responseId);
}

export async function findResponsesWithItems(
  db: PostgresConnection,
  owner: string,
  itemIds: readonly string[],
): Promise<ResponseTurn[]> {
  const rows = await db.all<TurnRow>(
    `SELECT response_id, previous_id, conversation_id, conversation_start, status, input, output FROM responses WHERE number IN (
        SELECT response FROM response_items WHERE owner = $1 AND item_id = ANY ($2::text[])
      ) ORDER BY number`,
    owner,
    itemIds,
  );
  return rows.map(toTurn);
}

/** Returns false if there is no such response. Call it in a transaction. */
export async function deleteResponse(
  db: PostgresConnection,
  owner: string,
  responseId: string,
): Promise<boolean> {
  const count = await db.run(
    `WITH deleted AS (DELETE FROM responses WHERE owner = $1 AND response_id = $2 RETURNING number),
      items AS (DELETE FROM response_items WHERE response IN (SELECT number FROM deleted)),
      events AS (DELETE FROM response_events WHERE response IN (SELECT number FROM deleted))
      SELECT number FROM deleted`,
    owner,
    responseId,
  );
  return count > 0;
}

/** Deletes at most `limit` responses, oldest first. Returns the number of deleted ones. Call it in a transaction. */
export async function deleteOldestResponses(
  db: PostgresConnection,
  limits: { createdBefore: number; maxBytes: number; limit: number },
): Promise<number> {
  let excess = (await getResponseBytes(db)) - limits.maxBytes;
  // The newest turn of a chain comes first: a response whose history is incomplete could not be continued.
  const candidates = await db.all<{ number: number; size: number; created_at: number }>(
    `SELECT number, size, created_at FROM responses WHERE ($3 OR created_at < $1) AND NOT (${isUnfinished})
      AND NOT EXISTS (SELECT 1 FROM responses AS later
        WHERE later.owner = responses.owner AND later.previous_id = responses.response_id AND later.number <> responses.number)
      ORDER BY created_at, number LIMIT $2 FOR UPDATE SKIP LOCKED`,
    Math.floor(limits.createdBefore),
    limits.limit,
    excess > 0,
  );
  const numbers: number[] = [];
  for (const { number, size, created_at } of candidates) {
    if (excess <= 0 && created_at >= limits.createdBefore) break;
    numbers.push(number);
    excess -= size;
  }
  for (const [table, column] of [
    ["response_items", "response"],
    ["response_events", "response"],
    ["responses", "number"],
  ])
    await db.run(`DELETE FROM ${table} WHERE ${column} = ANY ($1::bigint[])`, numbers.map(String));
  return numbers.length;
}

export async function getResponseBytes(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ size: number }>(
    "SELECT coalesce(sum(size), 0)::bigint AS size FROM responses",
  );
  return row?.size ?? 0;
}

/** Returns undefined if the process does not hold the response. Call it in a transaction. */
export async function appendResponseEvents(
  db: PostgresConnection,
  { owner, responseId, holder, first, events, state }: ResponseProgress,
): Promise<{ isCancelRequested: boolean } | undefined> {
  const size = events.reduce((sum, event) => sum + event.length + 1, 0);
  const row = await db.get<{
    number: number;
    cancel_requested: number;
    conversation_id: string | null;
  }>(
    `UPDATE responses SET head = $4 + $5 - 1, size = size + $6
      WHERE owner = $1 AND response_id = $2 AND holder = $3 AND head = $4 - 1 AND ${isUnfinished}
      RETURNING number, cancel_requested, conversation_id`,
    owner,
    responseId,
    holder,
    first,
    events.length,
    size,
  );
  if (row === undefined) return undefined;
  await insertEvents(db, row.number, { first, events });
  if (state !== undefined) {
    const hasEnded = state.status !== "queued" && state.status !== "in_progress";
    await db.run(
      `UPDATE responses SET status = $2, output = $3, json = $4,
          size = size + length($3) + length($4) - length(output) - length(json),
          holder = CASE WHEN $5 THEN NULL ELSE holder END, held_until = CASE WHEN $5 THEN NULL ELSE held_until END,
          run = CASE WHEN $5 THEN NULL ELSE run END
        WHERE number = $1`,
      row.number,
      state.status,
      state.output,
      state.json,
      hasEnded,
    );
    await insertItemIds(db, owner, row.number, state.itemIds);
    if (row.conversation_id !== null && state.conversationItems !== undefined)
      await addConversationItems(
        db,
        owner,
        decodeText(row.conversation_id),
        state.conversationItems,
      );
  }
  return { isCancelRequested: row.cancel_requested === 1 };
}

export async function listResponseEvents(
  db: PostgresConnection,
  owner: string,
  responseId: string,
  options: { after: number; limit: number },
): Promise<ResponseEvents[]> {
  const rows = await db.all<{ first: number; events: string }>(
    `SELECT first, events FROM (
        SELECT first, events, sum(length(events)) OVER (ORDER BY first) AS total FROM response_events
          WHERE last > $1 AND response = (SELECT number FROM responses WHERE owner = $2 AND response_id = $3)
          ORDER BY first LIMIT 1000
      ) AS batches WHERE total - length(events) < $4 ORDER BY first`,
    options.after,
    owner,
    responseId,
    options.limit,
  );
  return rows.map(({ first, events }) => ({ first, events: events.split("\n") }));
}

export async function requestResponseCancel(
  db: PostgresConnection,
  owner: string,
  responseId: string,
): Promise<boolean> {
  const count = await db.run(
    `UPDATE responses SET cancel_requested = 1 WHERE owner = $1 AND response_id = $2 AND ${isUnfinished}`,
    owner,
    responseId,
  );
  return count > 0;
}

export async function renewResponseLeases(
  db: PostgresConnection,
  { holder, ttlMs }: ResponseLease,
): Promise<{ owner: string; responseId: string; isCancelRequested: boolean }[]> {
  const rows = await db.all<ResponseRow>(
    `UPDATE responses SET held_until = ${leaseEnd("$1::bigint")} WHERE holder = $2 AND ${isUnfinished}
      RETURNING owner, response_id, cancel_requested`,
    ttlMs,
    holder,
  );
  return rows.map(({ owner, response_id, cancel_requested }) => ({
    owner: decodeText(owner),
    responseId: decodeText(response_id),
    isCancelRequested: cancel_requested === 1,
  }));
}

export async function claimResponses(
  db: PostgresConnection,
  { holder, ttlMs, all, limit }: ResponseLease & { all: boolean; limit: number },
): Promise<ResponseRun[]> {
  const rows = await db.all<ResponseRow>(
    `WITH free AS (
        SELECT number FROM responses WHERE ${isUnfinished} AND holder IS DISTINCT FROM $1
          AND ($3 OR held_until IS NULL OR held_until < statement_timestamp())
          ORDER BY number LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED
      )
      UPDATE responses SET holder = $1, held_until = ${leaseEnd("$2::bigint")}
        FROM free WHERE responses.number = free.number RETURNING responses.*`,
    holder,
    ttlMs,
    all,
    limit,
  );
  return rows
    .toSorted((a, b) => a.number - b.number)
    .map((row) => ({
      ...toResponse(row),
      run: row.run ?? "{}",
      head: row.head,
      isCancelRequested: row.cancel_requested === 1,
    }));
}

async function insertItemIds(
  db: PostgresConnection,
  owner: string,
  response: number,
  itemIds: readonly string[],
): Promise<void> {
  if (itemIds.length === 0) return;
  // Sorted, so that two transactions lock rows in the same order.
  await db.run(
    `INSERT INTO response_items (owner, item_id, response)
      SELECT $1, item_id, $2 FROM unnest($3::text[]) AS ids (item_id)
      ON CONFLICT (owner, item_id) DO UPDATE SET response = excluded.response`,
    owner,
    response,
    [...new Set(itemIds)].toSorted(),
  );
}

async function insertEvents(
  db: PostgresConnection,
  response: number,
  { first, events }: ResponseEvents,
): Promise<void> {
  if (events.length === 0) return;
  await db.run(
    "INSERT INTO response_events (response, first, last, events) VALUES ($1, $2, $3, $4)",
    response,
    first,
    first + events.length - 1,
    events.join("\n"),
  );
}

function toTurn(row: TurnRow): ResponseTurn {
  const { previous_id, conversation_id, conversation_start, status, input, output } = row;
  return {
    responseId: decodeText(row.response_id),
    ...(previous_id === null ? {} : { previousResponseId: decodeText(previous_id) }),
    ...(conversation_id === null
      ? {}
      : {
          conversation: {
            conversationId: decodeText(conversation_id),
            start: conversation_start ?? 0,
          },
        }),
    status,
    input,
    output,
  };
}

function toResponse(row: ResponseRow): StoredResponse {
  const owner = decodeText(row.owner);
  return { ...toTurn(row), owner, createdAt: row.created_at, json: row.json };
}
