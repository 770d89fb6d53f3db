import type { UiChunk } from "./chunks.ts";

interface Delta {
  delta: string;
  offset?: number;
}

/** Texts and reasoning that are being written. */
export class TextParts {
  readonly #put: (chunk: UiChunk, item: string) => void;
  readonly #open = new Map<string, { kind: "text" | "reasoning"; item: string; sent: number }>();

  constructor(put: (chunk: UiChunk, item: string) => void) {
    this.#put = put;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  open(id: string, kind: "text" | "reasoning", item: string, text: string): void {
    if (this.#open.has(id)) return;
    this.#open.set(id, { kind, item, sent: 0 });
    this.#put({ type: `${kind}-start`, id }, item);
    if (text !== "") this.grow(id, { delta: text });
  }

  grow(id: string, event: Delta): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    const delta = unseen(open.sent, event);
    open.sent += delta.length;
    this.#put({ type: `${open.kind}-delta`, id, delta }, open.item);
  }

  /** Also what was never open: a short text comes whole. */
  close(
    id: string,
    kind: "text" | "reasoning",
    item: string,
    text: string,
    end: UiChunk = { type: `${kind}-end`, id },
  ): void {
    this.open(id, kind, item, text);
    this.#open.delete(id);
    this.#put(end, item);
  }

  /** Those of an item that was taken back. */
  drop(item: string): void {
    for (const [id, open] of this.#open) if (open.item === item) this.#open.delete(id);
  }
}

/** A delta that was joined out of sent and unsent ones tells by its offset what of it is new. */
export function unseen(
  sent: number,
  { delta, offset }: { delta: string; offset?: number },
): string {
  return offset === undefined || offset >= sent ? delta : delta.slice(sent - offset);
}
