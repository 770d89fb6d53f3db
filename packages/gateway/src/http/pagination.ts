import { invalidRequest } from "../parse-body.ts";

export const maxPageSize = 100;
export const defaultPageSize = 20;

/** Reads `?limit=`. Throws a GatewayError (400) unless it is an integer from 1 to `maxPageSize`. */
export function parseLimit(query: URLSearchParams): number {
  const limit = query.get("limit") ?? String(defaultPageSize);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxPageSize)
    throw invalidRequest("limit", `expected an integer from 1 to ${maxPageSize}`);
  return Number(limit);
}

/** Returns one page and the cursor of the next. Fetches one row more than `limit` to find out whether there is a next page. */
export async function paginate<Row>(
  limit: number,
  fetchRows: (limit: number) => Promise<readonly Row[]>,
  getId: (row: Row) => string,
): Promise<{ data: readonly Row[]; has_more: boolean; next_before: string | null }> {
  const rows = await fetchRows(limit + 1);
  const data = rows.slice(0, limit);
  const lastRow = rows.length > limit ? data.at(-1) : undefined;
  return {
    data,
    has_more: lastRow !== undefined,
    next_before: lastRow === undefined ? null : getId(lastRow),
  };
}
