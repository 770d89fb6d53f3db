import type { PostgresConnection } from "./connection.ts";

/*
 * Times that decide when something expires are those of the server, because the clocks of the processes may differ.
 */

/** The time of the server in milliseconds, as an SQL expression. */
export const serverTimeSql = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Returns the time of the server in milliseconds. */
export async function getServerTime(db: PostgresConnection): Promise<number> {
  const row = await db.get<{ now: number }>(`SELECT ${serverTimeSql} AS now`);
  if (row === undefined) throw new Error("SELECT returned no row");
  return row.now;
}
