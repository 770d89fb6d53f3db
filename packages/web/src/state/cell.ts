import { useRef, useSyncExternalStore } from "react";

/** A value outside React that tells who listens when it is another one. */
export interface Cell<Value> {
  readonly get: () => Value;
  readonly subscribe: (listener: () => void) => () => void;
}

export interface WritableCell<Value> extends Cell<Value> {
  /** Told only if the value is another one than before. */
  readonly set: (value: Value) => void;
  readonly update: (change: (value: Value) => Value) => void;
}

export function cell<Value>(first: Value): WritableCell<Value> {
  let value = first;
  const listeners = new Set<() => void>();
  const set = (next: Value) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const tell of listeners) tell();
  };
  return {
    get: () => value,
    set,
    update: (change) => set(change(value)),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Draws again when the cell's value changes. */
export function useCell<Value>(source: Cell<Value>): Value {
  return useSyncExternalStore(source.subscribe, source.get, source.get);
}

/** Draws again only when what is picked from it is another value, or for arrays and objects of one level: other members. */
export function usePicked<Value, Picked>(
  source: Cell<Value>,
  pick: (value: Value) => Picked,
): Picked {
  const last = useRef<{ picked: Picked } | undefined>(undefined);
  const get = () => {
    const picked = pick(source.get());
    if (last.current !== undefined && isSame(last.current.picked, picked))
      return last.current.picked;
    last.current = { picked };
    return picked;
  };
  return useSyncExternalStore(source.subscribe, get, get);
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return false;
  const keys = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) =>
      Object.is((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key]),
    )
  );
}
