import type { UiChunk } from "./chunks.ts";

interface StepEntry {
  itemId: string | undefined;
  chunk: UiChunk;
}

/**
 * The chunks of the current step. A UI message can only be reset by step (`reset-step`): when one item is retracted, the chunks
 * of the other items are sent again.
 */
export class StepBuffer {
  #entries: StepEntry[] = [];
  /** Chunks that can be replaced by a later one. */
  readonly #entriesByKey = new Map<string, StepEntry>();
  /** Ids of the items of earlier steps. */
  readonly #earlierItemIds = new Set<string>();

  /** The chunks as copies, because later deltas are appended to the stored chunks. */
  get chunks(): UiChunk[] {
    return this.#entries.map(({ chunk }) => ({ ...chunk }));
  }

  record(chunk: UiChunk, itemId: string | undefined): void {
    const last = this.#entries.at(-1)?.chunk;
    if (last !== undefined && mergeDelta(last, chunk)) return;
    const key = getReplacementKey(chunk);
    const replacedEntry = key === undefined ? undefined : this.#entriesByKey.get(key);
    const entry = replacedEntry ?? { itemId, chunk };
    entry.chunk = { ...chunk };
    if (replacedEntry !== undefined) return;
    this.#entries.push(entry);
    if (key !== undefined) this.#entriesByKey.set(key, entry);
  }

  /** Removes the chunks of an item. Returns in which step the item was. */
  remove(itemId: string): "current" | "earlier" | "unknown" {
    const entryCount = this.#entries.length;
    this.#entries = this.#entries.filter((entry) => entry.itemId !== itemId);
    for (const [key, entry] of this.#entriesByKey)
      if (entry.itemId === itemId) this.#entriesByKey.delete(key);
    if (this.#entries.length < entryCount) return "current";
    return this.#earlierItemIds.has(itemId) ? "earlier" : "unknown";
  }

  /** Starts the next step. */
  startNext(): void {
    for (const { itemId } of this.#entries)
      if (itemId !== undefined) this.#earlierItemIds.add(itemId);
    this.#entries = [];
    this.#entriesByKey.clear();
  }
}

/** Appends a delta to the last chunk. Returns false if they are not deltas of the same part. */
function mergeDelta(last: UiChunk, chunk: UiChunk): boolean {
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

function getReplacementKey(chunk: UiChunk): string | undefined {
  if (chunk.type === "tool-approval-request") return `${chunk.type} ${chunk.approvalId}`;
  return "data" in chunk && "id" in chunk ? `${chunk.type} ${chunk.id}` : undefined;
}
