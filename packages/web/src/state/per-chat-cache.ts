export interface PerChatCache<Entry> {
  /** Returns the entry of a chat. Creates it on first use. The id "" is that of the new chat, which does not exist yet. */
  get(chatId: string): Entry;
  entries(): Entry[];
}

const maxEntries = 50;

/** Caches one entry per chat. Above `maxEntries`, idle entries are dropped. */
export function createPerChatCache<Entry extends { isIdle(): boolean }>(
  create: (chatId: string) => Entry,
): PerChatCache<Entry> {
  const entries = new Map<string, Entry>();
  return {
    get(chatId) {
      const existingEntry = entries.get(chatId);
      if (existingEntry !== undefined) return existingEntry;
      if (entries.size >= maxEntries)
        for (const [id, entry] of entries) if (entry.isIdle()) entries.delete(id);
      const newEntry = create(chatId);
      entries.set(chatId, newEntry);
      return newEntry;
    },
    entries: () => [...entries.values()],
  };
}
