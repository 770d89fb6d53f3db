/*
 * The schema, as the steps that lead to it. A file's version is the number of steps that it has seen: what stands here is
 * only ever added to.
 */

export const migrations: readonly string[] = [
  `
  CREATE TABLE tasks (
    -- Short for the keys of the other tables, and never used again for another task.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE,
    root INTEGER, -- the number of its root task; NULL for a root task itself
    parent_task_id TEXT,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    session_id TEXT,
    created_at TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    head INTEGER NOT NULL, -- of a root task: the number of its last event
    oldest INTEGER NOT NULL -- of a root task: the number of the first event that is still here
  );
  CREATE INDEX tasks_of_root ON tasks (root) WHERE root IS NOT NULL;
  CREATE INDEX unfinished_tasks ON tasks (number) WHERE root IS NULL AND ended_at IS NULL;
  CREATE INDEX ended_tasks ON tasks (ended_at) WHERE root IS NULL AND ended_at IS NOT NULL;
  CREATE INDEX tasks_of_session ON tasks (session_id, number) WHERE root IS NULL;

  -- Without a rowid a task's events lie side by side. Measured with 100,000 of them: read in 59 ms and removed in 90,
  -- where a table with a rowid and an index takes 63 and 118.
  CREATE TABLE events (
    root INTEGER NOT NULL,
    sequence_number INTEGER NOT NULL,
    json TEXT NOT NULL,
    private TEXT,
    PRIMARY KEY (root, sequence_number)
  ) WITHOUT ROWID;

  CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    root INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX approvals_of_root ON approvals (root);

  CREATE TABLE snapshots (
    root INTEGER PRIMARY KEY,
    as_of INTEGER NOT NULL,
    json TEXT NOT NULL
  );

  CREATE TABLE grants (
    session_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    args_hash TEXT NOT NULL, -- empty: any arguments
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, tool, args_hash)
  ) WITHOUT ROWID;

  CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    in_file INTEGER NOT NULL, -- 1: the bytes are in a file of their own
    bytes BLOB,
    put_at INTEGER NOT NULL
  );
  CREATE INDEX blobs_in_files ON blobs (size) WHERE in_file = 1;
  CREATE INDEX blobs_by_age ON blobs (put_at);

  CREATE TABLE blob_refs (
    root INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (root, hash)
  ) WITHOUT ROWID;
  CREATE INDEX refs_of_blob ON blob_refs (hash);

  CREATE TABLE idempotency_keys (
    key TEXT PRIMARY KEY,
    body_hash TEXT NOT NULL,
    root_task_id TEXT NOT NULL,
    kept_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX keys_of_task ON idempotency_keys (root_task_id);
  CREATE INDEX keys_by_age ON idempotency_keys (kept_at);

  -- Tasks that are removed already, but for their events: those go in slices, so that nothing waits long.
  CREATE TABLE removed_tasks (number INTEGER PRIMARY KEY);

  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;
  `,
];
