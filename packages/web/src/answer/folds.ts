import { useSyncExternalStore } from "react";

/*
 * What a reader has unfolded or folded, by the id of the call or the item. It outlives the components: an answer that ends,
 * or that is scrolled far away and back, stays as it was left.
 */
const chosen = new Map<string, boolean>();
const listeners = new Map<string, Set<() => void>>();

export function useFold(key: string, usual: boolean): [boolean, (open: boolean) => void] {
  const get = () => chosen.get(key) ?? usual;
  const open = useSyncExternalStore((listener) => listen(key, listener), get, get);
  return [open, (next) => setFold(key, next)];
}

export function setFold(key: string, open: boolean): void {
  if (chosen.get(key) === open) return;
  chosen.set(key, open);
  for (const tell of listeners.get(key) ?? []) tell();
}

function listen(key: string, listener: () => void): () => void {
  const own = listeners.get(key) ?? new Set();
  listeners.set(key, own);
  own.add(listener);
  return () => {
    own.delete(listener);
    if (own.size === 0) listeners.delete(key);
  };
}
