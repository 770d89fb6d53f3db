import type { PendingApprovalRef } from "../store.ts";
import type { SqliteConnection } from "./connection.ts";

/* An approval is stored as events of its task. This table finds the task of an approval id, and the pending approvals. */

/** `pendingSince`: the number of the event that requested it. */
export function insertApproval(
  db: SqliteConnection,
  { approvalId, root, pendingSince }: { approvalId: string; root: number; pendingSince: number },
): void {
  db.run(
    `INSERT INTO approvals (approval_id, root, pending_since) VALUES (?, ?, ?)
      ON CONFLICT (approval_id) DO UPDATE SET pending_since = excluded.pending_since
      WHERE approvals.root = excluded.root`,
    approvalId,
    root,
    pendingSince,
  );
}

/** Marks an approval as decided or expired. */
export function settleApproval(db: SqliteConnection, approvalId: string): void {
  db.run("UPDATE approvals SET pending_since = NULL WHERE approval_id = ?", approvalId);
}

/** Returns the pending approvals of unfinished tasks, oldest task first. */
export function listPendingApprovals(db: SqliteConnection): PendingApprovalRef[] {
  return db
    .all<{ approval_id: string; task_id: string; owner: string }>(
      `SELECT approval_id, task_id, owner FROM approvals JOIN tasks ON tasks.number = approvals.root
        WHERE approvals.pending_since IS NOT NULL AND tasks.ended_at IS NULL
        ORDER BY approvals.root, approvals.pending_since`,
    )
    .map(({ approval_id: approvalId, task_id: rootTaskId, owner }) => ({
      approvalId,
      rootTaskId,
      owner,
    }));
}

export function getPendingApprovalsDigest(db: SqliteConnection): string {
  const row = db.get<{ digest: string | null }>(
    `SELECT group_concat(root || '.' || pending_since ORDER BY root, pending_since) AS digest
      FROM approvals WHERE pending_since IS NOT NULL`,
  );
  return row?.digest ?? "";
}

export function findRootTaskByApproval(
  db: SqliteConnection,
  approvalId: string,
): string | undefined {
  return db.get<{ task_id: string }>(
    `SELECT tasks.task_id FROM approvals JOIN tasks ON tasks.number = approvals.root
      WHERE approvals.approval_id = ?`,
    approvalId,
  )?.task_id;
}
