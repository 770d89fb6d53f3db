import { createCell, type WritableCell } from "../cell.ts";

export type BrowserStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** Returns the browser's storage, or one in memory if the browser denies access, in which case `getStorage` throws. */
export function openStorage(getStorage: () => Storage): BrowserStorage {
  try {
    return getStorage();
  } catch {
    return createMemoryStorage();
  }
}

export function createMemoryStorage(): BrowserStorage {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
    key: (index) => [...values.keys()][index] ?? null,
    get length() {
      return values.size;
    },
  };
}

export function listStorageKeys(storage: BrowserStorage, prefix: string): string[] {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  return keys.filter((key) => key.startsWith(prefix));
}

/** Returns undefined if the key is not set or its value is not valid JSON. */
export function readStoredJson(storage: BrowserStorage, key: string): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? "");
  } catch {
    return undefined;
  }
}

/** Returns false if the storage is full or disabled. */
export function trySetItem(storage: BrowserStorage, key: string, text: string): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates a cell whose value is also stored in the browser. `parse` must validate the stored value, which may have been written
 * by another version of the page or edited by hand. It receives undefined if nothing is stored.
 */
export function createStoredCell<Value>(
  storage: BrowserStorage,
  key: string,
  parse: (storedValue: unknown) => Value,
): WritableCell<Value> {
  const cell = createCell(parse(readStoredJson(storage, key)));
  const set = (value: Value) => {
    cell.set(value);
    trySetItem(storage, key, JSON.stringify(value));
  };
  return { ...cell, set, update: (change) => set(change(cell.get())) };
}
