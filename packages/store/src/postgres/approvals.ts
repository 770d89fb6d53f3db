import type { PendingApprovalRef } from "../store.ts";
import { decodeText, type PostgresConnection } from "./connection.ts";

/* An approval is stored as events of its task. This table finds the task of an approval id, and the pending approvals. */

export interface ApprovalRow {
  approvalId: string;
  root: number;
  /** The number of the event that requested it. Null: decided or expired. */
  pendingSince: number | null;
}

/** The ids must be different. */
export async function insertApprovals(
  db: PostgresConnection,
  approvals: readonly ApprovalRow[],
): Promise<void> {
  await db.run(
    `INSERT INTO approvals (approval_id, root, pending_since)
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[])
      ON CONFLICT (approval_id) DO UPDATE SET pending_since = excluded.pending_since
      WHERE approvals.root = excluded.root`,
    approvals.map(({ approvalId }) => approvalId),
    approvals.map(({ root }) => root),
    approvals.map(({ pendingSince }) => pendingSince),
  );
}

/** Marks approvals as decided or expired. */
export async function settleApprovals(
  db: PostgresConnection,
  approvalIds: readonly string[],
): Promise<void> {
  await db.run(
    "UPDATE approvals SET pending_since = NULL WHERE approval_id = ANY($1::text[])",
    approvalIds,
  );
}

/** Returns the pending approvals of unfinished tasks, oldest task first. */
export async function listPendingApprovals(db: PostgresConnection): Promise<PendingApprovalRef[]> {
  const rows = await db.all<{ approval_id: string; task_id: string; owner: string }>(
    `SELECT approval_id, task_id, owner FROM approvals JOIN tasks ON tasks.number = approvals.root
      WHERE approvals.pending_since IS NOT NULL AND tasks.ended_at IS NULL
      ORDER BY approvals.root, approvals.pending_since`,
  );
  return rows.map(({ approval_id: approvalId, task_id: rootTaskId, owner }) => ({
    approvalId,
    rootTaskId,
    owner: decodeText(owner),
  }));
}

/** Reads only the index of pending approvals, and returns one row. */
export async function getPendingApprovalsDigest(db: PostgresConnection): Promise<string> {
  const row = await db.get<{ digest: string }>(
    `SELECT concat(count(*), ' ', bit_xor(hashint8extended(root, pending_since))) AS digest
      FROM approvals WHERE pending_since IS NOT NULL`,
  );
  return row?.digest ?? "";
}

export async function findRootTaskByApproval(
  db: PostgresConnection,
  approvalId: string,
): Promise<string | undefined> {
  const row = await db.get<{ task_id: string }>(
    `SELECT tasks.task_id FROM approvals JOIN tasks ON tasks.number = approvals.root
      WHERE approvals.approval_id = $1`,
    approvalId,
  );
  return row?.task_id;
}
