export interface WeakLruLimits<Value> {
  /** Maximum number of values. */
  readonly maxEntries: number;
  /** Maximum total weight. The value used last is retained regardless of its weight. */
  readonly maxWeight: number;
  readonly getWeight: (value: Value) => number;
  /** True if a value must not be evicted now, for example because it has unsaved changes. */
  readonly isPinned: (value: Value) => boolean;
}

/**
 * A least-recently-used cache that also finds evicted values while they are referenced elsewhere, so that a key never has two
 * values in use.
 */
export class WeakLruCache<Value extends object> {
  readonly #limits: WeakLruLimits<Value>;
  /** Most recently used last. */
  readonly #retained = new Map<string, Value>();
  readonly #references = new Map<string, WeakRef<Value>>();
  readonly #registry = new FinalizationRegistry<string>((key) => {
    if (this.#references.get(key)?.deref() === undefined) this.#references.delete(key);
  });

  constructor(limits: WeakLruLimits<Value>) {
    this.#limits = limits;
  }

  get(key: string): Value | undefined {
    const value = this.#references.get(key)?.deref();
    if (value !== undefined) this.#retain(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    if (this.#references.get(key)?.deref() !== value) {
      this.#references.set(key, new WeakRef(value));
      this.#registry.register(value, key);
    }
    this.#retain(key, value);
  }

  delete(key: string): void {
    this.#retained.delete(key);
    this.#references.delete(key);
  }

  /** Number of retained values. */
  get size(): number {
    return this.#retained.size;
  }

  #retain(key: string, value: Value): void {
    const { maxEntries, maxWeight, getWeight, isPinned } = this.#limits;
    this.#retained.delete(key);
    this.#retained.set(key, value);
    if (this.#retained.size === 1 && maxEntries > 0) return;
    let weight = 0;
    for (const retained of this.#retained.values()) weight += getWeight(retained);
    for (const [other, retained] of this.#retained) {
      const exceedsLimits =
        this.#retained.size > maxEntries || (weight > maxWeight && other !== key);
      if (!exceedsLimits) return;
      if (isPinned(retained)) continue;
      weight -= getWeight(retained);
      this.#retained.delete(other);
    }
  }
}

/** Limits for values that are only found while they are referenced elsewhere. */
export const weakOnlyLimits: WeakLruLimits<object> = {
  maxEntries: 0,
  maxWeight: 0,
  getWeight: () => 0,
  isPinned: () => false,
};
