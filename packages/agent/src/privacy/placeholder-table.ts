import type { Placeholder } from "@deltawire/tasks/chats";
import { formatPlaceholder, parsePlaceholder } from "./placeholder.ts";

/** Where the placeholders of a chat are stored. */
export interface PlaceholderStore {
  /** True if other processes may store placeholders of the same chat. */
  readonly isShared: boolean;
  /** Stores all or none. `conflict`: a value has another placeholder, or a placeholder stands for another value. */
  add(placeholders: readonly Placeholder[]): Promise<"stored" | "conflict">;
  /** Returns the stored placeholders in the order in which they were stored, without the first `skip`. */
  list(skip: number): Promise<readonly Placeholder[]>;
}

/**
 * The placeholders of a chat. New ones are numbered here and become valid when they are stored: if another process has stored
 * the same placeholder or value first, the values get other placeholders.
 */
export class PlaceholderTable {
  readonly #tag: string;
  readonly #onAdded: (placeholder: Placeholder) => void;
  readonly #byValue = new Map<string, string>();
  readonly #byPlaceholder = new Map<string, Placeholder>();
  readonly #lastNumbers = new Map<string, number>();
  #new: Placeholder[] = [];
  /** How many placeholders were read from the store. */
  #readCount: number;
  #lastWork: Promise<void> = Promise.resolve();
  #isBusy = false;
  #generation = 0;
  #revision = 0;
  #characters = 0;

  /** `stored`: all stored placeholders. `onAdded` is called for each placeholder, including the stored ones. */
  constructor(
    tag: string,
    stored: readonly Placeholder[],
    onAdded: (placeholder: Placeholder) => void,
  ) {
    this.#tag = tag;
    this.#onAdded = onAdded;
    this.#readCount = stored.length;
    for (const placeholder of stored) this.#add(placeholder);
  }

  /** Increases when text that was masked before may contain placeholders that are no longer valid. */
  get generation(): number {
    return this.#generation;
  }

  /** Increases with each new placeholder. */
  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#byPlaceholder.size;
  }

  /** Total length of all placeholders and values. */
  get characters(): number {
    return this.#characters;
  }

  /** True if there are placeholders that are not stored yet, or are being stored. */
  get hasNew(): boolean {
    return this.#new.length > 0 || this.#isBusy;
  }

  find(placeholder: string): Placeholder | undefined {
    return this.#byPlaceholder.get(placeholder);
  }

  getOrCreate(value: string, kind: string, label: string): string {
    const existing = this.#byValue.get(value);
    if (existing !== undefined) return existing;
    const number = (this.#lastNumbers.get(label) ?? 0) + 1;
    const placeholder = formatPlaceholder(label, number, this.#tag);
    const entry = { placeholder, value, kind };
    this.#add(entry);
    this.#new.push(entry);
    return placeholder;
  }

  /** Returns the placeholders added since the last call. */
  takeNew(): Placeholder[] {
    return this.#new.splice(0);
  }

  /** Stores the new placeholders, after any pending store: the next round may send what the previous one added. */
  storeNew(store: PlaceholderStore): Promise<void> {
    return this.#runExclusive(async () => {
      for (;;) {
        const added = this.takeNew();
        if (added.length === 0) return;
        const putBack = (): void => void this.#new.unshift(...added);
        const result = await store.add(added).catch((error: unknown) => {
          putBack();
          throw error;
        });
        if (result === "stored") return;
        putBack();
        if (!this.#learn(await store.list(this.#readCount)))
          throw new Error("placeholders of private values could not be stored: unknown conflict");
      }
    });
  }

  /** Reads the placeholders that other processes have stored. */
  refresh(store: PlaceholderStore): Promise<void> {
    return this.#runExclusive(async () => void this.#learn(await store.list(this.#readCount)));
  }

  /** Adds stored placeholders. Returns false if all of them are known. */
  #learn(stored: readonly Placeholder[]): boolean {
    this.#readCount += stored.length;
    // Valid, because another process has chosen the same placeholder for the same value.
    const storedValues = new Map(stored.map(({ placeholder, value }) => [placeholder, value]));
    this.#new = this.#new.filter(
      ({ placeholder, value }) => storedValues.get(placeholder) !== value,
    );
    const unknownPlaceholders = stored.filter(
      ({ placeholder, value }) => this.#byPlaceholder.get(placeholder)?.value !== value,
    );
    const isConflict = unknownPlaceholders.some(
      ({ placeholder, value }) => this.#byPlaceholder.has(placeholder) || this.#byValue.has(value),
    );
    const replacedPlaceholders = isConflict ? this.takeNew() : [];
    for (const { placeholder, value } of replacedPlaceholders) {
      this.#byPlaceholder.delete(placeholder);
      this.#byValue.delete(value);
      this.#characters -= placeholder.length + value.length;
    }
    for (const placeholder of unknownPlaceholders) this.#add(placeholder);
    for (const { placeholder, value, kind } of replacedPlaceholders)
      this.getOrCreate(value, kind, parsePlaceholder(placeholder)?.label ?? "");
    if (isConflict) this.#generation += 1;
    return unknownPlaceholders.length > 0;
  }

  #add(entry: Placeholder): void {
    const { placeholder, value } = entry;
    this.#byPlaceholder.set(placeholder, entry);
    if (!this.#byValue.has(value)) this.#byValue.set(value, placeholder);
    this.#characters += placeholder.length + value.length;
    this.#revision += 1;
    const { label, number } = parsePlaceholder(placeholder) ?? { label: "", number: 0 };
    this.#lastNumbers.set(label, Math.max(number, this.#lastNumbers.get(label) ?? 0));
    this.#onAdded(entry);
  }

  async #runExclusive(work: () => Promise<void>): Promise<void> {
    const previous = this.#lastWork;
    const current = (async () => {
      await previous.catch(() => undefined);
      await work();
    })();
    this.#lastWork = current;
    this.#isBusy = true;
    try {
      await current;
    } finally {
      if (this.#lastWork === current) this.#isBusy = false;
    }
  }
}
