import type { UiChunk } from "./chunks.ts";

interface Entry {
  item: string | undefined;
  chunk: UiChunk;
}

/**
 * What the current step of a message was made of. A UI message can only lose a whole step (`reset-step`): when one item
 * of it is taken back, the others are told again from here.
 */
export class StepRecord {
  #entries: Entry[] = [];
  /** Those that a later chunk replaces. */
  readonly #keyed = new Map<string, Entry>();
  /** Items of earlier steps. */
  readonly #past = new Set<string>();

  /** Copies: those that are kept grow. */
  get chunks(): UiChunk[] {
    return this.#entries.map(({ chunk }) => ({ ...chunk }));
  }

  keep(chunk: UiChunk, item: string | undefined): void {
    const last = this.#entries.at(-1)?.chunk;
    if (last !== undefined && grow(last, chunk)) return;
    const key = keyOf(chunk);
    const replaced = key === undefined ? undefined : this.#keyed.get(key);
    const entry = replaced ?? { item, chunk };
    entry.chunk = { ...chunk };
    if (replaced !== undefined) return;
    this.#entries.push(entry);
    if (key !== undefined) this.#keyed.set(key, entry);
  }

  /** Says where the item was, and forgets it. */
  remove(item: string): "current" | "earlier" | "nowhere" {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter((entry) => entry.item !== item);
    for (const [key, entry] of this.#keyed) if (entry.item === item) this.#keyed.delete(key);
    if (this.#entries.length < before) return "current";
    return this.#past.has(item) ? "earlier" : "nowhere";
  }

  next(): void {
    for (const { item } of this.#entries) if (item !== undefined) this.#past.add(item);
    this.#entries = [];
    this.#keyed.clear();
  }
}

/** Whether the words were added to the chunk before. */
function grow(last: UiChunk, chunk: UiChunk): boolean {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      if (last.type !== chunk.type || last.id !== chunk.id) return false;
      last.delta += chunk.delta;
      return true;
    case "tool-input-delta":
      if (last.type !== chunk.type || last.toolCallId !== chunk.toolCallId) return false;
      last.inputTextDelta += chunk.inputTextDelta;
      return true;
    default:
      return false;
  }
}

function keyOf(chunk: UiChunk): string | undefined {
  if (chunk.type === "tool-approval-request") return `${chunk.type} ${chunk.approvalId}`;
  return "data" in chunk && "id" in chunk ? `${chunk.type} ${chunk.id}` : undefined;
}
