/** A value outside React that tells who listens when it is another one. */
export interface Cell<Value> {
  readonly get: () => Value;
  readonly subscribe: (listener: () => void) => () => void;
}

export interface WritableCell<Value> extends Cell<Value> {
  /** Told only if the value is another one than before. */
  readonly set: (value: Value) => void;
  readonly update: (change: (value: Value) => Value) => void;
  /** Whether anybody listens. */
  readonly isHeard: () => boolean;
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
    isHeard: () => listeners.size > 0,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
