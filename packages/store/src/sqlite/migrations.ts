/*
 * The schema as a list of migrations. The version of a file is the number of migrations that ran. Only ever append to
 * this list.
 */

export const migrations: readonly string[] = [
  `
  CREATE TABLE tasks (
    -- Used as foreign key in other tables; never reused.
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE,
    root INTEGER, -- the number of the root task; NULL for a root task
    parent_task_id TEXT,
    status TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    session_id TEXT,
    created_at TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    head INTEGER NOT NULL, -- root tasks only: the number of the last event
    oldest INTEGER NOT NULL -- root tasks only: the number of the oldest stored event
  );
  CREATE INDEX tasks_of_root ON tasks (root) WHERE root IS NOT NULL;
  CREATE INDEX unfinished_tasks ON tasks (number) WHERE root IS NULL AND ended_at IS NULL;
  CREATE INDEX ended_tasks ON tasks (ended_at) WHERE root IS NULL AND ended_at IS NOT NULL;
  CREATE INDEX tasks_of_session ON tasks (session_id, number) WHERE root IS NULL;

  -- Without a rowid the events of a task are adjacent. Measured with 100,000 events: 59 ms to read and 90 ms to delete,
  -- compared with 63 and 118 ms for a table with a rowid and an index.
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
    in_file INTEGER NOT NULL, -- 1: the bytes are in a file
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

  -- Removed tasks whose events are still to be deleted, in slices that do not block other writes for long.
  CREATE TABLE removed_tasks (number INTEGER PRIMARY KEY);

  CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;
  `,
  `
  -- The data for lists of chats. The content of a chat is in chat_nodes.
  CREATE TABLE chats (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id TEXT NOT NULL UNIQUE,
    stamp INTEGER NOT NULL UNIQUE,
    first_stamp INTEGER NOT NULL, -- at creation
    pinned INTEGER NOT NULL,
    updated INTEGER NOT NULL, -- in milliseconds
    deleted_at TEXT, -- as passed by the caller
    deleted INTEGER, -- deleted_at in milliseconds
    next_node INTEGER NOT NULL,
    next_words INTEGER NOT NULL,
    summary TEXT NOT NULL
  );
  CREATE INDEX chats_as_listed ON chats (pinned DESC, updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX chats_by_change ON chats (updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX deleted_chats ON chats (deleted) WHERE deleted IS NOT NULL;

  -- place: the number of the chat times 2^20 plus the number of the node; node 0 is the header of the chat. So the rows of
  -- a chat are adjacent, and a row of 2 KB takes 2 KB: without a rowid it would take another page.
  CREATE TABLE chat_nodes (
    place INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    node_id TEXT NOT NULL, -- empty for place 0
    stamp INTEGER NOT NULL, -- of the last write
    json TEXT NOT NULL
  );
  CREATE UNIQUE INDEX node_of_chat ON chat_nodes (chat, node_id);

  -- Deleted nodes, for queries of changes since a stamp.
  CREATE TABLE gone_nodes (
    chat INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    PRIMARY KEY (chat, node_id)
  ) WITHOUT ROWID;

  -- number: built like place, never reused. It is the rowid in chat_search.
  CREATE TABLE chat_words (
    number INTEGER PRIMARY KEY,
    place INTEGER NOT NULL,
    version_id TEXT NOT NULL -- empty for a title
  );
  CREATE INDEX words_of_node ON chat_words (place, version_id);

  -- Words are inserted tokenized and normalised, so the tokenizer only splits at spaces.
  CREATE VIRTUAL TABLE chat_search USING fts5 (
    words, begins, content = '', columnsize = 0, tokenize = 'ascii'
  );
  CREATE VIRTUAL TABLE chat_vocabulary USING fts5vocab (chat_search, instance);

  CREATE TABLE chat_tags (
    chat INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (chat, tag)
  ) WITHOUT ROWID;
  CREATE INDEX chats_of_tag ON chat_tags (tag, chat);

  CREATE TABLE running_answers (
    chat INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (chat, node_id, version_id)
  ) WITHOUT ROWID;

  CREATE TABLE chat_replays (
    number INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    version_id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (chat, version_id)
  );

  CREATE TABLE chat_removals (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    removal_id TEXT NOT NULL,
    removed INTEGER NOT NULL, -- in milliseconds
    json TEXT NOT NULL,
    UNIQUE (chat, removal_id)
  );
  CREATE INDEX removals_by_age ON chat_removals (removed);

  CREATE TABLE chat_placeholders (
    number INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    placeholder TEXT NOT NULL,
    value TEXT NOT NULL,
    kind TEXT NOT NULL,
    UNIQUE (chat, value),
    UNIQUE (chat, placeholder)
  );

  CREATE TABLE chat_variables (
    number INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    part TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (chat, call_id, part)
  );

  CREATE TABLE chat_blob_refs (
    chat INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (chat, hash)
  ) WITHOUT ROWID;
  CREATE INDEX chat_refs_of_blob ON chat_blob_refs (hash);

  -- Stamps number all changes of all chats: the last one, and the last one of a removal that was pruned.
  CREATE TABLE chat_stamps (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    head INTEGER NOT NULL,
    oldest INTEGER NOT NULL
  );
  INSERT INTO chat_stamps VALUES (1, 0, 0);

  CREATE TABLE removed_chats (
    stamp INTEGER PRIMARY KEY,
    chat_id TEXT NOT NULL UNIQUE,
    removed INTEGER NOT NULL
  );
  CREATE INDEX removed_chats_by_age ON removed_chats (removed);

  -- Removed chats whose nodes and index entries are still to be deleted, in slices.
  CREATE TABLE removed_chat_numbers (number INTEGER PRIMARY KEY);
  `,
  `
  -- Adds first_words to summaries: the first user message on the chosen path. If it is not among the first eight nodes, it
  -- is added by the next save. SQLite fails on JSON with more than 1,000 levels, as tool data may have, so each value is
  -- validated first and skipped if SQLite cannot parse it.
  UPDATE chats SET summary = json_set(summary, '$.first_words', coalesce((
    WITH RECURSIVE on_path (depth, node_id) AS (
      SELECT 0, ''
      UNION ALL
      SELECT depth + 1, chosen.value
        FROM on_path, chat_nodes AS header,
          json_each(CASE WHEN json_valid(header.json) THEN header.json END, '$.chosen') AS chosen
        WHERE depth < 8 AND header.chat = chats.number AND header.node_id = '' AND chosen.key = on_path.node_id
    ),
    readable (depth, json) AS (
      SELECT depth, CASE WHEN json_valid(node.json) THEN node.json END
        FROM on_path JOIN chat_nodes AS node ON node.chat = chats.number AND node.node_id = on_path.node_id
        WHERE depth > 0
    ),
    said (depth, words) AS (
      SELECT depth, substr(ltrim(version.value ->> '$.text' || char(10) || coalesce((
          SELECT group_concat(value ->> '$.filename', char(10)) FROM json_each(version.value, '$.attachments')
        ), ''), char(9, 10, 13, 32)), 1, 2000)
        FROM readable AS node JOIN json_each(node.json, '$.versions') AS version
        WHERE node.json ->> '$.kind' = 'user' AND version.value ->> '$.version_id' = node.json ->> '$.version'
    ),
    on_one_line (depth, words) AS (
      SELECT depth, replace(replace(replace(words, char(9), ' '), char(10), ' '), char(13), ' ') FROM said
    )
    -- Collapses consecutive blanks with two characters that occur in no text.
    SELECT trim(substr(trim(
        replace(replace(replace(words, ' ', char(31, 30)), char(30, 31), ''), char(31, 30), ' ')
      ), 1, 200)) FROM on_one_line WHERE words <> '' ORDER BY depth LIMIT 1
  ), '')) WHERE json_valid(summary);
  `,
  `
  -- The process that runs a root task, and how many times the task was claimed. An append with another epoch is rejected.
  ALTER TABLE tasks ADD COLUMN holder TEXT;
  ALTER TABLE tasks ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- root tasks only
  ALTER TABLE tasks ADD COLUMN reply_key TEXT;
  ALTER TABLE tasks ADD COLUMN reply_lost INTEGER NOT NULL DEFAULT 0; -- 1: no client receives the output as a reply
  UPDATE tasks SET reply_key = (
    SELECT CASE WHEN json_valid(private) THEN private ->> '$.reply_key' END
      FROM events WHERE events.root = tasks.number AND sequence_number = 0
  ) WHERE root IS NULL AND ended_at IS NULL;
  CREATE INDEX tasks_by_reply_key ON tasks (reply_key, number)
    WHERE reply_key IS NOT NULL AND root IS NULL;

  -- The number of the event that requested the approval; NULL: decided or expired.
  ALTER TABLE approvals ADD COLUMN pending_since INTEGER;
  UPDATE approvals SET pending_since = (
    SELECT max(sequence_number) FROM events WHERE events.root = approvals.root
      AND instr(json, '"type":"task.approval.requested"') > 0
      AND instr(json, '"approval_id":"' || approvals.approval_id || '"') > 0
  ) WHERE root IN (SELECT number FROM tasks WHERE root IS NULL AND ended_at IS NULL) AND NOT EXISTS (
    SELECT 1 FROM events WHERE events.root = approvals.root
      AND (instr(json, '"type":"task.approval.resolved"') > 0 OR instr(json, '"type":"task.approval.expired"') > 0)
      AND instr(json, '"approval_id":"' || approvals.approval_id || '"') > 0
  );
  CREATE INDEX pending_approvals ON approvals (root, pending_since) WHERE pending_since IS NOT NULL;

  -- The leases of the processes that run tasks.
  CREATE TABLE processes (
    process_id TEXT PRIMARY KEY,
    alive_until INTEGER NOT NULL -- in milliseconds
  ) WITHOUT ROWID;

  CREATE TABLE commands (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    command_id TEXT NOT NULL UNIQUE,
    root_task_id TEXT NOT NULL,
    json TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    answer TEXT
  );
  CREATE INDEX unanswered_commands ON commands (number) WHERE answer IS NULL;
  CREATE INDEX commands_by_age ON commands (sent_at);

  -- When each periodic job was last claimed.
  CREATE TABLE jobs (
    name TEXT PRIMARY KEY,
    claimed_at INTEGER NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE lessons (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    upstream TEXT NOT NULL,
    model TEXT NOT NULL,
    digest TEXT NOT NULL,
    learned_at INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (upstream, model, digest)
  );

  CREATE TABLE shared_secrets (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) WITHOUT ROWID;

  CREATE TABLE access_keys (
    key_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE, -- the key itself is not stored
    session_hash TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL, -- all times in milliseconds
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    json TEXT NOT NULL -- scopes, limits and the last characters of the key
  );
  CREATE UNIQUE INDEX access_keys_by_name ON access_keys (name) WHERE revoked_at IS NULL;

  -- What access keys have used in the current minute, day or month.
  CREATE TABLE usage_windows (
    key_id TEXT NOT NULL,
    unit TEXT NOT NULL,
    period TEXT NOT NULL,
    window_start INTEGER NOT NULL, -- in milliseconds
    amount REAL NOT NULL,
    PRIMARY KEY (key_id, unit, period)
  ) WITHOUT ROWID;

  -- Data belongs to the owner of an access key; '' for requests without one.
  ALTER TABLE chats ADD COLUMN owner TEXT NOT NULL DEFAULT '';
  DROP INDEX chats_as_listed;
  DROP INDEX chats_by_change;
  CREATE INDEX chats_as_listed ON chats (owner, pinned DESC, updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX chats_by_change ON chats (owner, updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX chats_by_stamp ON chats (owner, stamp);
  CREATE INDEX tasks_of_owner ON tasks (owner, number) WHERE root IS NULL;
  ALTER TABLE removed_chats ADD COLUMN owner TEXT NOT NULL DEFAULT '';

  CREATE TABLE blob_owners (
    hash TEXT NOT NULL,
    owner TEXT NOT NULL,
    PRIMARY KEY (hash, owner)
  ) WITHOUT ROWID;
  INSERT INTO blob_owners (hash, owner) SELECT hash, '' FROM blobs;

  CREATE TABLE owned_grants (
    owner TEXT NOT NULL,
    session_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    args_hash TEXT NOT NULL, -- empty: any arguments
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (owner, session_id, tool, args_hash)
  ) WITHOUT ROWID;
  INSERT INTO owned_grants SELECT '', session_id, tool, args_hash, granted_at FROM grants;
  DROP TABLE grants;
  ALTER TABLE owned_grants RENAME TO grants;
  `,
  `
  -- Chats without a title in which an answer has ended, until the title is stored or a process claims them.
  CREATE TABLE untitled_chats (
    chat INTEGER PRIMARY KEY,
    since INTEGER NOT NULL -- in milliseconds
  );
  `,
  `
  -- Responses of the Responses API.
  CREATE TABLE responses (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    response_id TEXT NOT NULL,
    previous_id TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- all times in milliseconds
    size INTEGER NOT NULL,
    input TEXT NOT NULL, -- JSON arrays of items
    output TEXT NOT NULL,
    json TEXT NOT NULL, -- the other fields
    run TEXT, -- of a response in the background: what is needed to run it again
    holder TEXT, -- the process that runs it
    held_until INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    head INTEGER NOT NULL DEFAULT -1, -- the number of the last event
    UNIQUE (owner, response_id)
  );
  CREATE INDEX responses_by_previous ON responses (owner, previous_id) WHERE previous_id IS NOT NULL;
  CREATE INDEX responses_by_age ON responses (created_at, number, size);
  CREATE INDEX unfinished_responses ON responses (number) WHERE status IN ('queued', 'in_progress');
  CREATE TABLE response_items (
    owner TEXT NOT NULL,
    item_id TEXT NOT NULL,
    response INTEGER NOT NULL,
    PRIMARY KEY (owner, item_id)
  ) WITHOUT ROWID;
  CREATE INDEX response_items_by_response ON response_items (response);
  CREATE TABLE response_events (
    response INTEGER NOT NULL,
    first INTEGER NOT NULL, -- numbers of events
    last INTEGER NOT NULL,
    events TEXT NOT NULL, -- one per line
    PRIMARY KEY (response, first)
  ) WITHOUT ROWID;
  `,
  `
  CREATE TABLE conversations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- in milliseconds
    metadata TEXT NOT NULL, -- a JSON object
    next INTEGER NOT NULL DEFAULT 0, -- the position of the next item
    UNIQUE (owner, conversation_id)
  );
  CREATE TABLE conversation_items (
    conversation INTEGER NOT NULL,
    position INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (conversation, position),
    UNIQUE (conversation, item_id)
  ) WITHOUT ROWID;
  -- The conversation that a response belongs to, and the position of its first item there.
  ALTER TABLE responses ADD COLUMN conversation_id TEXT;
  ALTER TABLE responses ADD COLUMN conversation_start INTEGER;
  `,
  `
  -- Files of clients of the Responses API.
  CREATE TABLE files (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    file_id TEXT NOT NULL,
    filename TEXT NOT NULL,
    purpose TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL, -- in bytes
    created_at INTEGER NOT NULL, -- in milliseconds, like expires_at
    expires_at INTEGER,
    bytes BLOB NOT NULL,
    UNIQUE (owner, file_id)
  );
  CREATE INDEX files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX files_by_size ON files (size);
  `,
  `
  -- The process that runs the request of a key.
  ALTER TABLE idempotency_keys ADD COLUMN holder TEXT;
  ALTER TABLE idempotency_keys ADD COLUMN held_until INTEGER; -- in milliseconds
  `,
];
