import type { Client, ClientConfig, CustomTypesConfig, QueryResultRow } from "pg";

export type SqlValue = string | number | bigint | boolean | Uint8Array | null | readonly SqlValue[];

/** How long to wait for a new connection, in milliseconds. */
const connectTimeoutMs = 10_000;

/**
 * Settings of every session. The server drops a connection whose machine lost its power or network after about ten seconds; by
 * default it would hold the lock for hours.
 */
const sessionSettings = {
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "10000",
  idle_in_transaction_session_timeout: "30000",
};

/** How long to wait for a reply of the server, in milliseconds. */
const defaultReplyTimeoutMs = 60_000;

/**
 * Returns the options of a client or pool. `options` of the URL are applied first, so that they cannot replace the schema.
 * `replyTimeoutMs`: 0 for no limit. Waiting for a lock is limited to half of it.
 */
export function buildClientConfig(
  url: string,
  schema: string,
  {
    settings = {},
    replyTimeoutMs = defaultReplyTimeoutMs,
  }: { settings?: Readonly<Record<string, string>>; replyTimeoutMs?: number } = {},
): ClientConfig {
  const parsed = new URL(url);
  const ownOptions = parsed.searchParams.get("options") ?? "";
  parsed.searchParams.delete("options");
  const lockTimeoutMs = Math.round(
    (replyTimeoutMs === 0 ? defaultReplyTimeoutMs : replyTimeoutMs) / 2,
  );
  const limits = { lock_timeout: `${lockTimeoutMs}` };
  const allSettings = { ...sessionSettings, ...limits, ...settings, search_path: schema };
  const options = Object.entries(allSettings).map(([name, value]) => `-c ${name}=${value}`);
  return {
    connectionString: parsed.href,
    options: [ownOptions, ...options].join(" ").trim(),
    application_name: "deltawire",
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    query_timeout: replyTimeoutMs,
  };
}

/** Runs statements on one connection. */
export interface PostgresConnection {
  /** Returns all rows. */
  all<Row extends QueryResultRow>(sql: string, ...values: SqlValue[]): Promise<Row[]>;
  /** Returns the first row. */
  get<Row extends QueryResultRow>(sql: string, ...values: SqlValue[]): Promise<Row | undefined>;
  /** Returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): Promise<number>;
}

/**
 * Wraps a client. Statements are prepared once per connection, and those that are sent without awaiting the previous
 * result share a network round trip.
 */
export function wrapClient(client: Pick<Client, "query">): PostgresConnection {
  const query = (sql: string, values: readonly SqlValue[]) =>
    client.query({ name: getStatementName(sql), text: sql, values: values.map(toParameter) });
  return {
    all: async <Row extends QueryResultRow>(sql: string, ...values: SqlValue[]) =>
      (await query(sql, values)).rows as Row[],
    get: async <Row extends QueryResultRow>(sql: string, ...values: SqlValue[]) =>
      (await query(sql, values)).rows[0] as Row | undefined,
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
  };
}

const bigintOid = 20;

type GetTypeParser = CustomTypesConfig["getTypeParser"];

/** Parses BIGINT as a number: all numbers of the store are below 2^53. Other types as `pg` does. */
export function createTypes(defaults: CustomTypesConfig): CustomTypesConfig {
  return {
    getTypeParser: ((oid: number, format?: "text" | "binary") =>
      oid === bigintOid ? Number : defaults.getTypeParser(oid, format)) as GetTypeParser,
  };
}

const statementNames = new Map<string, string>();

function getStatementName(sql: string): string {
  let name = statementNames.get(sql);
  if (name === undefined) {
    name = `deltawire_${statementNames.size}`;
    statementNames.set(sql, name);
  }
  return name;
}

/** Stands for U+0000, which PostgreSQL cannot store. A private character that no text is expected to contain. */
const nulSubstitute = "\u{F0000}";

function toParameter(value: SqlValue): unknown {
  if (typeof value === "string") return encodeText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length);
  return Array.isArray(value) ? value.map(toParameter) : value;
}

function encodeText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", nulSubstitute) : text;
}

/** Restores U+0000 in stored text. JSON does not need it, because it escapes U+0000. */
export function decodeText(text: string): string {
  return text.includes(nulSubstitute) ? text.replaceAll(nulSubstitute, "\0") : text;
}
