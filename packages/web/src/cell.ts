/** An observable value outside React. Listeners are called when it changes. */
export interface Cell<Value> {
  readonly get: () => Value;
  /** Returns a function that unsubscribes. */
  readonly subscribe: (listener: () => void) => () => void;
}

export interface WritableCell<Value> extends Cell<Value> {
  /** Calls the listeners unless the value is the same by `Object.is`. */
  readonly set: (value: Value) => void;
  readonly update: (updater: (value: Value) => Value) => void;
  readonly hasListeners: () => boolean;
}

export function createCell<Value>(initialValue: Value): WritableCell<Value> {
  let value = initialValue;
  const listeners = new Set<() => void>();
  const set = (next: Value) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const notify of listeners) notify();
  };
  return {
    get: () => value,
    set,
    update: (updater) => set(updater(value)),
    hasListeners: () => listeners.size > 0,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
