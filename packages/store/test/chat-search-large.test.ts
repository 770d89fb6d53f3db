import fc from "fast-check";
import { expect, test } from "vitest";
import type { Store } from "../src/store.ts";
import { ChatBuilder } from "../contract/chat-builder.ts";
import { openTestStore } from "./test-store.ts";

/*
 * A search first looks at the chats that were changed last and then at all matching chats. If too many words have the
 * prefix, it reads the texts instead of the index. The results must not depend on the strategy.
 */

const prefixFamily = Array.from({ length: 45 }, (_, nth) => `transf${"abcdefghi"[nth % 9]}${nth}`);
const rareWords = ["transit", "transom", "lonely"];
const commonWords = ["the", "of", "memory", "数据", "缓存"];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...commonWords) },
  { weight: 2, arbitrary: fc.constantFrom(...prefixFamily) },
  { weight: 1, arbitrary: fc.constantFrom(...rareWords) },
);
const message = fc.array(word, { minLength: 1, maxLength: 5 });
const chats = fc.array(fc.array(message, { minLength: 1, maxLength: 3 }), {
  minLength: 60,
  maxLength: 90,
});
const query = fc.array(
  fc.oneof(word, fc.constantFrom("transf", "transfa", "transfb1", "trans", "lonel", "absent")),
  { minLength: 1, maxLength: 2 },
);

test("a search finds the chats with all of its words, last changed first, with every strategy", async () => {
  await fc.assert(
    fc.asyncProperty(
      chats,
      fc.array(query, { minLength: 8, maxLength: 8 }),
      fc.integer({ min: 1, max: 100 }),
      async (messageTexts, queries, limit) => {
        const store = await openTestStore({ path: ":memory:" });
        const builder = new ChatBuilder(store);
        const createdChats = messageTexts.map((messages) =>
          builder.build("untitled", ...messages.map((words) => words.join(" "))),
        );
        // Stored in a different order than their last changes.
        await store.createChats(createdChats.toReversed().map((chat) => ({ chat })));
        for (const words of queries) {
          const expected = createdChats
            .filter((_, nth) => messageTexts[nth]?.some((texts) => containsAllWords(texts, words)))
            .map(({ chat_id }) => chat_id)
            .toReversed()
            .slice(0, limit);
          expect(await searchChatIds(store, words.join(" "), limit)).toEqual(expected);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test("a search finds the only chat with a matching word, even if many others have similar words", async () => {
  const store = await openTestStore({ path: ":memory:" });
  const builder = new ChatBuilder(store);
  const similarWords = Array.from({ length: 40 }, () => "transit");
  const { chat } = await builder.create("the one", ...prefixFamily);
  for (let newer = 1; newer <= 20; newer += 1) {
    await builder.create("newer", ...similarWords);
    expect(await searchChatIds(store, "transf", 1)).toEqual([chat.chat_id]);
  }
});

test("a search finds the newest of many old chats with a word", { timeout: 30_000 }, async () => {
  const store = await openTestStore({ path: ":memory:" });
  const builder = new ChatBuilder(store);
  const manyMessages = Array.from(
    { length: 150 },
    (_, nth) => `lonely ${prefixFamily[nth % prefixFamily.length]}`,
  );
  const oldChats = Array.from({ length: 140 }, () => builder.build("old", ...manyMessages));
  await store.createChats(oldChats.map((chat) => ({ chat })));
  for (let nth = 0; nth < 20; nth += 1) await builder.create("new", "the");
  const newest = oldChats.slice(-3).map(({ chat_id }) => chat_id);
  for (const words of ["lonely", "transf", "lonely transf"])
    expect(await searchChatIds(store, words, 3)).toEqual(newest.toReversed());
});

function containsAllWords(texts: readonly string[], words: readonly string[]): boolean {
  return words.every((wanted, nth) =>
    texts.some((one) => (nth === words.length - 1 ? one.startsWith(wanted) : one === wanted)),
  );
}

async function searchChatIds(store: Store, words: string, limit: number): Promise<string[]> {
  const found = await store.searchChats(words, { owner: "", limit });
  for (const { hits } of found)
    for (const { marks } of hits) expect(marks.length).toBeGreaterThan(0);
  return found.map(({ chat }) => chat.chat_id);
}
