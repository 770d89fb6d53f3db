import { StoreClock } from "@deltawire/agent/basics";
import type { AccessKey, AccessKeyStore } from "@deltawire/store";
import { CoalescedCall } from "./coalesced-call.ts";

/** Maximum time for which a cached key is used without checking the store, so that revocations take effect in all processes. */
const maxAgeMs = 4000;
const refreshMs = 2000;
/** How long a key that has been verified is accepted while the store cannot be reached. */
const unreachableGraceMs = 60_000;
/** Keys that have not been used for longer are removed from the cache. */
const retentionMs = 60_000;
const maxCachedKeys = 10_000;
const maxUnknownHashes = 1000;
/** Minimum time between two updates of the stored time of last use of a key. */
const touchIntervalMs = 60_000;

export type AccessKeyState = "active" | "expired" | "revoked";

export function getAccessKeyState(
  { expiresAt, revokedAt }: Pick<AccessKey, "expiresAt" | "revokedAt">,
  now: number,
): AccessKeyState {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "active";
}

export interface AccessKeysOptions {
  /** Throws while the store cannot be opened. */
  getStore: () => AccessKeyStore;
  /**
   * Returns whether the store contains keys, while `getStore` throws. Rejects if that is unknown. Undefined: the last
   * result of a lookup applies.
   */
  hasKeysInClosedStore?: (() => Promise<boolean>) | undefined;
  /** Called when keys are found where there were none before. `wasKnown`: false if that was unknown, as at the start. */
  onFirstKey?: ((options: { wasKnown: boolean }) => void) | undefined;
  /** Returns the time in milliseconds; default `Date.now`. */
  now?: () => number;
}

interface CachedKey {
  readonly key: AccessKey;
  readonly checkedAt: number;
  usedAt: number;
}

/** `key`: undefined if it was removed; active if it could not be checked for a minute. */
type KeyWatcher = (key: AccessKey | undefined) => void;

interface IdWatcher {
  readonly listKeyIds: () => ReadonlySet<string>;
  readonly onInvalid: (keyId: string, key: AccessKey | undefined) => void;
}

/**
 * Finds the access keys of requests. Keys in use are cached, and read again every two seconds with one statement. Unknown hashes
 * that are looked up at the same time share a statement too, so that guessing keys costs the database little.
 */
export class AccessKeys {
  readonly #getStore: () => AccessKeyStore;
  readonly #hasKeysInClosedStore: (() => Promise<boolean>) | undefined;
  readonly #onFirstKey: AccessKeysOptions["onFirstKey"];
  readonly #now: () => number;
  readonly #clock: StoreClock;
  readonly #cachedKeys = new Map<string, CachedKey>();
  /** Hashes without a key, and when that was checked. */
  readonly #unknownHashes = new Map<string, number>();
  readonly #watchers = new Map<string, Set<KeyWatcher>>();
  #problem: unknown;
  readonly #idWatchers = new Set<IdWatcher>();
  readonly #usedIds = new Set<string>();
  readonly #touchedAt = new Map<string, number>();
  readonly #lookup = new CoalescedCall(() => this.#lookUpPending());
  readonly #listing = new CoalescedCall(() => this.#list());
  #pendingHashes = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #refresh: Promise<void> | undefined;
  #hasKeys: boolean | undefined;
  /** True if the last lookup failed. */
  #isUnreachable = false;
  #keysById: { keys: ReadonlyMap<string, AccessKey>; readAt: number } | undefined;

  constructor({ getStore, hasKeysInClosedStore, onFirstKey, now = Date.now }: AccessKeysOptions) {
    this.#getStore = getStore;
    this.#hasKeysInClosedStore = hasKeysInClosedStore;
    this.#onFirstKey = onFirstKey;
    this.#now = now;
    this.#clock = new StoreClock({ getTime: () => getStore().getTime() }, now);
  }

  /** Returns the store's time, with which the expiry of keys must be compared. */
  getTime(): number {
    return this.#clock.now();
  }

  /**
   * True if the store contains keys, even if all of them are expired or revoked. May lag by up to two seconds. Undefined while
   * that is unknown: then requests without a token must be rejected.
   */
  get hasKeys(): boolean | undefined {
    return this.#hasKeys;
  }

  /** Checks whether there are keys, and starts to refresh those in use. */
  async start(): Promise<void> {
    await this.refresh();
    this.#scheduleRefresh();
  }

  /** Why keys could not be read most recently. Undefined if they could. */
  get problem(): unknown {
    return this.#problem;
  }

  /** Stops refreshing. Call `flush` before the store is closed. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Stores the times of last use that have not been stored yet. */
  async flush(): Promise<void> {
    await this.#refresh;
    await this.#storeUses().catch(() => undefined);
  }

  /**
   * Returns the key with this key hash or session hash, even if it is expired or revoked. Returns a cached key synchronously.
   * Rejects with a StoreError if the store cannot be reached, unless the key was checked less than a minute ago.
   */
  find(hash: string): AccessKey | undefined | Promise<AccessKey | undefined> {
    const now = this.#now();
    const cached = this.#cachedKeys.get(hash);
    // While the store cannot be reached, `refresh` tries again, so that requests need not wait for it.
    const maxCachedAgeMs = this.#isUnreachable ? unreachableGraceMs : maxAgeMs;
    if (cached !== undefined && now - cached.checkedAt < maxCachedAgeMs) return this.#use(cached);
    const unknownAt = this.#unknownHashes.get(hash);
    if (unknownAt !== undefined && now - unknownAt < maxAgeMs) return undefined;
    return this.#load(hash);
  }

  /**
   * Returns the key with this id, at most four seconds old. Undefined if it has been removed. Throws a StoreError if the store
   * cannot be reached.
   */
  async get(keyId: string): Promise<AccessKey | undefined> {
    const listing = this.#keysById;
    const age = this.#now() - (listing?.readAt ?? -Infinity);
    const key = listing?.keys.get(keyId);
    // An unknown key may have been created since.
    if (key !== undefined && age < maxAgeMs) return key;
    try {
      await this.#listing.call();
    } catch (error) {
      if (key === undefined || age > unreachableGraceMs) throw error;
    }
    return this.#keysById?.keys.get(keyId);
  }

  /**
   * Calls `onInvalid` with the key once it is revoked or expires, undefined if it was removed. Returns a function that stops
   * watching.
   */
  watch(hash: string, onInvalid: KeyWatcher): () => void {
    const watchers = this.#watchers.get(hash) ?? new Set<KeyWatcher>();
    this.#watchers.set(hash, watchers.add(onInvalid));
    return () => {
      watchers.delete(onInvalid);
      if (watchers.size === 0 && this.#watchers.get(hash) === watchers) this.#watchers.delete(hash);
    };
  }

  /**
   * Calls `onInvalid` with each key of `listKeyIds()` that is revoked or expired, or undefined if it was removed, within four
   * seconds; again every two seconds while it is listed. Returns a function that stops watching.
   */
  watchIds(
    listKeyIds: () => ReadonlySet<string>,
    onInvalid: (keyId: string, key: AccessKey | undefined) => void,
  ): () => void {
    const watcher = { listKeyIds, onInvalid };
    this.#idWatchers.add(watcher);
    return () => void this.#idWatchers.delete(watcher);
  }

  /** Reloads the keys in use. Call it after keys have changed. */
  async refresh(): Promise<void> {
    const now = this.#now();
    for (const [hash, { usedAt }] of this.#cachedKeys)
      if (now - usedAt > retentionMs && !this.#watchers.has(hash)) this.#cachedKeys.delete(hash);
    for (const hash of [...this.#cachedKeys.keys(), ...this.#watchers.keys()])
      this.#pendingHashes.add(hash);
    try {
      await this.#lookup.call();
      await this.#clock.sync();
      // Before the tasks of the keys are canceled, so that streams end with the reason.
      this.#callWatchers();
      await this.#callIdWatchers();
      await this.#storeUses();
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error;
      // The store cannot be reached; cached keys are accepted for a while.
      await this.#readClosedStore();
    }
    this.#callWatchers();
  }

  async #readClosedStore(): Promise<void> {
    if (this.#hasKeysInClosedStore === undefined || this.#isOpen()) return;
    let hasKeys: boolean | undefined;
    try {
      hasKeys = await this.#hasKeysInClosedStore();
    } catch (error) {
      this.#problem = error;
      // Keys that were found once are still required.
      hasKeys = this.#hasKeys === true ? true : undefined;
    }
    // It may have been opened meanwhile.
    if (!this.#isOpen()) this.#setHasKeys(hasKeys);
  }

  #isOpen(): boolean {
    try {
      this.#getStore();
      return true;
    } catch {
      return false;
    }
  }

  async #load(hash: string): Promise<AccessKey | undefined> {
    this.#pendingHashes.add(hash);
    try {
      await this.#lookup.call();
    } catch (error) {
      const cached = this.#cachedKeys.get(hash);
      if (cached === undefined || this.#now() - cached.checkedAt > unreachableGraceMs) throw error;
      return this.#use(cached);
    }
    const loadedKey = this.#cachedKeys.get(hash);
    return loadedKey && this.#use(loadedKey);
  }

  #use(cached: CachedKey): AccessKey {
    cached.usedAt = this.#now();
    if (getAccessKeyState(cached.key, this.getTime()) === "active")
      this.#usedIds.add(cached.key.id);
    return cached.key;
  }

  async #list(): Promise<void> {
    const readAt = this.#now();
    const keys = await this.#getStore().listAccessKeys();
    this.#keysById = { keys: new Map(keys.map((key) => [key.id, key])), readAt };
  }

  async #lookUpPending(): Promise<void> {
    const hashes = this.#pendingHashes;
    this.#pendingHashes = new Set();
    const checkedAt = this.#now();
    const { matches, hasKeys } = await this.#findInStore(hashes);
    this.#setHasKeys(hasKeys);
    for (const { hash, key } of matches) {
      hashes.delete(hash);
      this.#unknownHashes.delete(hash);
      const usedAt = this.#cachedKeys.get(hash)?.usedAt ?? checkedAt;
      this.#cachedKeys.set(hash, { key, checkedAt, usedAt });
    }
    for (const hash of hashes) {
      this.#cachedKeys.delete(hash);
      this.#unknownHashes.delete(hash);
      this.#unknownHashes.set(hash, checkedAt);
    }
    dropOldest(this.#unknownHashes, maxUnknownHashes);
    dropOldest(this.#cachedKeys, maxCachedKeys);
  }

  #setHasKeys(hasKeys: boolean | undefined): void {
    const previous = this.#hasKeys;
    this.#hasKeys = hasKeys;
    if (hasKeys === true && previous !== true)
      this.#onFirstKey?.({ wasKnown: previous !== undefined });
  }

  async #findInStore(hashes: ReadonlySet<string>) {
    try {
      const result = await this.#getStore().findAccessKeys([...hashes]);
      this.#isUnreachable = false;
      return result;
    } catch (error) {
      this.#isUnreachable = true;
      throw error;
    }
  }

  #callWatchers(): void {
    const now = this.#now();
    for (const [hash, watchers] of this.#watchers) {
      const cached = this.#cachedKeys.get(hash);
      const isValid =
        cached !== undefined &&
        getAccessKeyState(cached.key, this.getTime()) === "active" &&
        now - cached.checkedAt <= unreachableGraceMs;
      if (isValid) continue;
      this.#watchers.delete(hash);
      for (const onInvalid of watchers) onInvalid(cached?.key);
    }
  }

  async #callIdWatchers(): Promise<void> {
    const watched = [...this.#idWatchers].flatMap(({ listKeyIds, onInvalid }) =>
      [...listKeyIds()].map((keyId) => ({ keyId, onInvalid })),
    );
    if (watched.length === 0) return;
    await this.#listing.call();
    for (const { keyId, onInvalid } of watched) {
      const key = this.#keysById?.keys.get(keyId);
      if (key === undefined || getAccessKeyState(key, this.getTime()) !== "active")
        onInvalid(keyId, key);
    }
  }

  async #storeUses(): Promise<void> {
    const now = this.#now();
    for (const [id, touchedAt] of this.#touchedAt)
      if (now - touchedAt >= touchIntervalMs) this.#touchedAt.delete(id);
    const ids = [...this.#usedIds].filter((id) => !this.#touchedAt.has(id));
    this.#usedIds.clear();
    if (ids.length === 0) return;
    for (const id of ids) this.#touchedAt.set(id, now);
    await this.#getStore().touchAccessKeys(ids, this.getTime());
  }

  #scheduleRefresh(): void {
    this.#timer = setTimeout(() => {
      this.#refresh = this.refresh().finally(() => {
        if (this.#timer !== undefined) this.#scheduleRefresh();
      });
    }, refreshMs).unref();
  }
}

function dropOldest(map: Map<string, unknown>, maxSize: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= maxSize) return;
    map.delete(oldest);
  }
}
