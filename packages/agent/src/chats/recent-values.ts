export interface RecentLimits<Value> {
  /** How many values are held. */
  readonly most: number;
  /** How much they may weigh together; the one that was used last is held however heavy it is. */
  readonly mostWeight: number;
  readonly weigh: (value: Value) => number;
  /** A value that must not be dropped now, because something of it is not stored yet. */
  readonly isPinned: (value: Value) => boolean;
}

/**
 * A cache of the values that were used last. A value that has been dropped is found as long as anything else holds it, so
 * there are never two of one key in use.
 */
export class RecentValues<Value extends object> {
  readonly #limits: RecentLimits<Value>;
  /** The one used last is last. */
  readonly #held = new Map<string, Value>();
  readonly #known = new Map<string, WeakRef<Value>>();
  readonly #collected = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key);
  });

  constructor(limits: RecentLimits<Value>) {
    this.#limits = limits;
  }

  get(key: string): Value | undefined {
    const value = this.#known.get(key)?.deref();
    if (value !== undefined) this.#hold(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    if (this.#known.get(key)?.deref() !== value) {
      this.#known.set(key, new WeakRef(value));
      this.#collected.register(value, key);
    }
    this.#hold(key, value);
  }

  delete(key: string): void {
    this.#held.delete(key);
    this.#known.delete(key);
  }

  /** How many are held. */
  get size(): number {
    return this.#held.size;
  }

  #hold(key: string, value: Value): void {
    const { most, mostWeight, weigh, isPinned } = this.#limits;
    this.#held.delete(key);
    this.#held.set(key, value);
    if (this.#held.size === 1 && most > 0) return;
    let weight = 0;
    for (const each of this.#held.values()) weight += weigh(each);
    for (const [other, each] of this.#held) {
      const isTooMuch = this.#held.size > most || (weight > mostWeight && other !== key);
      if (!isTooMuch) return;
      if (isPinned(each)) continue;
      weight -= weigh(each);
      this.#held.delete(other);
    }
  }
}

/** Found only while something else holds it. */
export const heldElsewhere: RecentLimits<object> = {
  most: 0,
  mostWeight: 0,
  weigh: () => 0,
  isPinned: () => false,
};
