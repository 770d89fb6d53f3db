export interface KeptByChat<Kept> {
  /** What a chat has; "" is the chat that is not made yet. */
  of(chatId: string): Kept;
  all(): Kept[];
}

const most = 50;

/** One of a kind for each chat, the same for as long as anybody needs it: of many, those that are idle make room. */
export function keepByChat<Kept extends { isIdle(): boolean }>(
  make: (chatId: string) => Kept,
): KeptByChat<Kept> {
  const kept = new Map<string, Kept>();
  return {
    of(chatId) {
      const known = kept.get(chatId);
      if (known !== undefined) return known;
      if (kept.size >= most)
        for (const [each, thing] of kept) if (thing.isIdle()) kept.delete(each);
      const made = make(chatId);
      kept.set(chatId, made);
      return made;
    },
    all: () => [...kept.values()],
  };
}
