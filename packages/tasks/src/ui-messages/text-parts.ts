import type { UiChunk } from "./chunks.ts";

interface TextDelta {
  delta: string;
  offset?: number;
}

/** The open text and reasoning parts. */
export class TextParts {
  readonly #write: (chunk: UiChunk, itemId: string) => void;
  readonly #openParts = new Map<
    string,
    { kind: "text" | "reasoning"; itemId: string; sentLength: number }
  >();

  constructor(write: (chunk: UiChunk, itemId: string) => void) {
    this.#write = write;
  }

  get hasOpenPart(): boolean {
    return this.#openParts.size > 0;
  }

  open(id: string, kind: "text" | "reasoning", itemId: string, text: string): void {
    if (this.#openParts.has(id)) return;
    this.#openParts.set(id, { kind, itemId, sentLength: 0 });
    this.#write({ type: `${kind}-start`, id }, itemId);
    if (text !== "") this.append(id, { delta: text });
  }

  append(id: string, event: TextDelta): void {
    const part = this.#openParts.get(id);
    if (part === undefined) return;
    const delta = sliceUnsent(part.sentLength, event);
    part.sentLength += delta.length;
    this.#write({ type: `${part.kind}-delta`, id, delta }, part.itemId);
  }

  /** Opens the part first if needed: short text is sent in one event. */
  close(
    id: string,
    kind: "text" | "reasoning",
    itemId: string,
    text: string,
    end: UiChunk = { type: `${kind}-end`, id },
  ): void {
    this.open(id, kind, itemId, text);
    this.#openParts.delete(id);
    this.#write(end, itemId);
  }

  /** Drops the parts of a retracted item. */
  drop(itemId: string): void {
    for (const [id, part] of this.#openParts)
      if (part.itemId === itemId) this.#openParts.delete(id);
  }
}

/** Returns the unsent end of a delta. A coalesced delta may start with text that was sent before. */
export function sliceUnsent(
  sentLength: number,
  { delta, offset }: { delta: string; offset?: number },
): string {
  return offset === undefined || offset >= sentLength ? delta : delta.slice(sentLength - offset);
}
