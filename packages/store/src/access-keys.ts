/** Limits of an access key; a missing one does not apply. Costs are in the currency of the prices. */
export interface AccessKeyLimits {
  requestsPerMinute?: number;
  tokensPerDay?: number;
  costPerDay?: number;
  costPerMonth?: number;
}

/** A key that clients send as their token. The store contains only its hash. All times are in milliseconds since the epoch. */
export interface AccessKey {
  readonly id: string;
  /** Unique among the keys that have not been revoked. */
  readonly name: string;
  /** Whose data requests with this key can access. */
  readonly owner: string;
  /** What the key may be used for. */
  readonly scopes: readonly string[];
  /** The last characters of the key, so that users can identify it. */
  readonly lastCharacters: string;
  readonly limits: AccessKeyLimits;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly revokedAt?: number;
  /** May lag by up to a minute. */
  readonly lastUsedAt?: number;
}

export interface NewAccessKey extends Omit<AccessKey, "revokedAt" | "lastUsedAt"> {
  readonly keyHash: string;
  /** The hash of the cookie value that represents the key. */
  readonly sessionHash: string;
}

export type UsageUnit = "requests" | "tokens" | "cost";

/** Calendar periods in UTC. */
export type UsagePeriod = "minute" | "day" | "month";

/** What an access key has used. */
export interface UsageAmount {
  readonly keyId: string;
  readonly unit: UsageUnit;
  readonly period: UsagePeriod;
  readonly amount: number;
}

/** What an access key has used in the current period, in all processes. */
export interface UsageTotal extends UsageAmount {
  /** The start of the period, in milliseconds since the epoch. */
  readonly windowStart: number;
}

export interface AccessKeyStore {
  /** Returns the time of the store in milliseconds. It decides whether a key has expired. */
  getTime(): Promise<number>;
  /** Stores a key. Returns false if a key with this name exists and has not been revoked. */
  createAccessKey(key: NewAccessKey): Promise<boolean>;
  /** Returns all keys, oldest first, including revoked and expired ones. */
  listAccessKeys(): Promise<AccessKey[]>;
  /** Returns the keys whose key hash or session hash is in `hashes`, and whether the store has any keys. */
  findAccessKeys(
    hashes: readonly string[],
  ): Promise<{ matches: { hash: string; key: AccessKey }[]; hasKeys: boolean }>;
  /** Revokes a key unless it is already revoked. Returns false if it does not exist. */
  revokeAccessKey(keyId: string, revokedAt: number): Promise<boolean>;
  /** Removes a revoked key and its usage. Returns false if there is no revoked key with this id. */
  removeAccessKey(keyId: string): Promise<boolean>;
  /** Stores the time of the last use of keys, unless the stored one is less than a minute older. */
  touchAccessKeys(keyIds: readonly string[], usedAt: number): Promise<void>;
  /**
   * Adds the amounts to those of the current periods, by the clock of the store, and returns the sums and the time of the
   * store. An amount may be 0. No combination of key, unit and period may occur twice.
   */
  addUsage(amounts: readonly UsageAmount[]): Promise<{ totals: UsageTotal[]; now: number }>;
}
