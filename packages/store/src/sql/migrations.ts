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
  `
  -- What a list shows of a chat. The chat itself is rows of chat_nodes.
  CREATE TABLE chats (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chat_id TEXT NOT NULL UNIQUE,
    stamp INTEGER NOT NULL UNIQUE,
    first_stamp INTEGER NOT NULL, -- that it was created with
    pinned INTEGER NOT NULL,
    updated INTEGER NOT NULL, -- in milliseconds
    deleted_at TEXT, -- as it was handed in
    deleted INTEGER, -- the same in milliseconds
    next_node INTEGER NOT NULL,
    next_words INTEGER NOT NULL,
    summary TEXT NOT NULL
  );
  CREATE INDEX chats_as_listed ON chats (pinned DESC, updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX chats_by_change ON chats (updated DESC, number DESC) WHERE deleted IS NULL;
  CREATE INDEX deleted_chats ON chats (deleted) WHERE deleted IS NOT NULL;

  -- place: the number of the chat times 2^20, plus that of the node in it; 0 is for what the chat has beside its nodes. So
  -- the rows of a chat lie side by side, and one of 2 KB takes 2 KB: without a rowid it would take a page more.
  CREATE TABLE chat_nodes (
    place INTEGER PRIMARY KEY,
    chat INTEGER NOT NULL,
    node_id TEXT NOT NULL, -- empty for place 0
    stamp INTEGER NOT NULL, -- at which it was written last
    json TEXT NOT NULL
  );
  CREATE UNIQUE INDEX node_of_chat ON chat_nodes (chat, node_id);

  -- Nodes that were deleted and are not there again, for those who ask what has changed since.
  CREATE TABLE gone_nodes (
    chat INTEGER NOT NULL,
    node_id TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    PRIMARY KEY (chat, node_id)
  ) WITHOUT ROWID;

  -- number: made like place, never used again. It is the rowid of the words in chat_search.
  CREATE TABLE chat_words (
    number INTEGER PRIMARY KEY,
    place INTEGER NOT NULL,
    version_id TEXT NOT NULL -- empty for a title
  );
  CREATE INDEX words_of_node ON chat_words (place, version_id);

  -- Words come cut and folded already, so that the tokenizer has nothing to do but to split at spaces.
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

  -- Stamps, in the order of all changes of all chats: the last one, and the last that belonged to a forgotten removal.
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

  -- Chats that are removed already, but for their nodes and words: those go in slices.
  CREATE TABLE removed_chat_numbers (number INTEGER PRIMARY KEY);
  `,
  `
  -- Summaries get first_words: what a person has said first on the chosen path. A chat in which that does not stand among
  -- the first eight nodes gets them when it is saved next. SQLite fails on JSON that is nested more than 1,000 deep, as the
  -- data of a tool may be, so that each is looked at first: what SQLite cannot read is left out.
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
    -- Blanks in a row become one by way of two characters that no text has.
    SELECT trim(substr(trim(
        replace(replace(replace(words, ' ', char(31, 30)), char(30, 31), ''), char(31, 30), ' ')
      ), 1, 200)) FROM on_one_line WHERE words <> '' ORDER BY depth LIMIT 1
  ), '')) WHERE json_valid(summary);
  `,
];
