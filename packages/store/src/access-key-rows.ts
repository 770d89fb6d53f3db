import type { AccessKey, AccessKeyLimits } from "./access-keys.ts";

/** A row of `access_keys`, without its hashes. */
export interface AccessKeyRow {
  key_id: string;
  name: string;
  owner: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  json: string;
}

interface KeyDetails {
  scopes: readonly string[];
  last_characters: string;
  limits: AccessKeyLimits;
}

/** Returns the content of the column `json`. */
export function encodeKeyDetails({ scopes, lastCharacters, limits }: AccessKey): string {
  const details: KeyDetails = { scopes, last_characters: lastCharacters, limits };
  return JSON.stringify(details);
}

export function toAccessKey(row: AccessKeyRow): AccessKey {
  const { scopes, last_characters: lastCharacters, limits } = JSON.parse(row.json) as KeyDetails;
  return {
    id: row.key_id,
    name: row.name,
    owner: row.owner,
    scopes,
    lastCharacters,
    limits,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at }),
    ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at }),
  };
}
