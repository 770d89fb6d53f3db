import { invalid } from "../parse-body.ts";

/** The longest page of a list. */
export const maxListed = 100;
export const defaultListed = 20;

export function readLimit(query: URLSearchParams): number {
  const limit = query.get("limit") ?? String(defaultListed);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxListed)
    throw invalid("limit", `expected a whole number from 1 to ${maxListed}`);
  return Number(limit);
}

/** A page of a list, and where the next one begins. One more than asked for tells whether there is one. */
export async function pageOf<Listed>(
  limit: number,
  list: (limit: number) => Promise<readonly Listed[]>,
  idOf: (listed: Listed) => string,
): Promise<{ data: readonly Listed[]; has_more: boolean; next_before: string | null }> {
  const found = await list(limit + 1);
  const data = found.slice(0, limit);
  const last = found.length > limit ? data.at(-1) : undefined;
  return {
    data,
    has_more: last !== undefined,
    next_before: last === undefined ? null : idOf(last),
  };
}
