import { cell, type WritableCell } from "../cell.ts";

export type BrowserStorage = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** A browser may refuse even to be asked for its storage: then values last until the page is closed. */
export function storageOf(storage: () => Storage): BrowserStorage {
  try {
    return storage();
  } catch {
    return memoryStorage();
  }
}

export function memoryStorage(): BrowserStorage {
  const values = new Map<string, string>();
  return {
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
    key: (index) => [...values.keys()][index] ?? null,
    get length() {
      return values.size;
    },
  };
}

export function storedNames(storage: BrowserStorage, prefix: string): string[] {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  return names.filter((name) => name.startsWith(prefix));
}

/** Undefined where nothing is stored, or no JSON. */
export function readStored(storage: BrowserStorage, name: string): unknown {
  try {
    return JSON.parse(storage.getItem(name) ?? "");
  } catch {
    return undefined;
  }
}

/** False where the browser has no room, or stores nothing. */
export function tryToStore(storage: BrowserStorage, name: string, text: string): boolean {
  try {
    storage.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

/** A cell whose value outlives the page. `read` decides what of a stored value counts: an older page, or a person, wrote it. */
export function storedCell<Value>(
  storage: BrowserStorage,
  name: string,
  read: (stored: unknown) => Value,
): WritableCell<Value> {
  const state = cell(read(readStored(storage, name)));
  const set = (value: Value) => {
    state.set(value);
    tryToStore(storage, name, JSON.stringify(value));
  };
  return { ...state, set, update: (change) => set(change(state.get())) };
}
