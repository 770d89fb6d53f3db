import fc from "fast-check";
import { expect, test } from "vitest";
import type { Store } from "../src/store.ts";
import { ChatStage } from "../contract/chat-scenario.ts";
import { opened } from "./opened.ts";

/*
 * Searches go by different ways: the last changed chats are asked first, then all that have something are looked up; of
 * words of which too many begin alike, texts are read. What is found must not tell by which way it was.
 */

const family = Array.from({ length: 45 }, (_, nth) => `transf${"abcdefghi"[nth % 9]}${nth}`);
const seldom = ["transit", "transom", "lonely"];
const common = ["the", "of", "memory", "数据", "缓存"];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...common) },
  { weight: 2, arbitrary: fc.constantFrom(...family) },
  { weight: 1, arbitrary: fc.constantFrom(...seldom) },
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

test("among many chats those are found that have all words, the last changed first, however they are looked for", async () => {
  await fc.assert(
    fc.asyncProperty(
      chats,
      fc.array(query, { minLength: 8, maxLength: 8 }),
      fc.integer({ min: 1, max: 100 }),
      async (said, queries, limit) => {
        const store = await opened({ path: ":memory:" });
        const stage = new ChatStage(store);
        const made = said.map((messages) =>
          stage.chat("untitled", ...messages.map((words) => words.join(" "))),
        );
        // In another order than that of their last changes.
        await store.createChats(made.toReversed().map((chat) => ({ chat })));
        for (const words of queries) {
          const expected = made
            .filter((_, nth) => said[nth]?.some((spoken) => hasAll(spoken, words)))
            .map(({ chat_id }) => chat_id)
            .toReversed()
            .slice(0, limit);
          expect(await foundBy(store, words.join(" "), limit)).toEqual(expected);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test("words whose beginning is everywhere, and which themselves are in one chat only, are found there", async () => {
  const store = await opened({ path: ":memory:" });
  const stage = new ChatStage(store);
  const others = Array.from({ length: 40 }, () => "transit");
  const { chat } = await stage.create("the one", ...family);
  for (let newer = 1; newer <= 20; newer += 1) {
    await stage.create("newer", ...others);
    expect(await foundBy(store, "transf", 1)).toEqual([chat.chat_id]);
  }
});

test(
  "of a word that is in very many old messages, and in no new one, the newest of them are found",
  { timeout: 30_000 },
  async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    const long = Array.from({ length: 150 }, (_, nth) => `lonely ${family[nth % family.length]}`);
    const old = Array.from({ length: 140 }, () => stage.chat("old", ...long));
    await store.createChats(old.map((chat) => ({ chat })));
    for (let nth = 0; nth < 20; nth += 1) await stage.create("new", "the");
    const newest = old.slice(-3).map(({ chat_id }) => chat_id);
    for (const words of ["lonely", "transf", "lonely transf"])
      expect(await foundBy(store, words, 3)).toEqual(newest.toReversed());
  },
);

function hasAll(spoken: readonly string[], words: readonly string[]): boolean {
  return words.every((wanted, nth) =>
    spoken.some((one) => (nth === words.length - 1 ? one.startsWith(wanted) : one === wanted)),
  );
}

async function foundBy(store: Store, words: string, limit: number): Promise<string[]> {
  const found = await store.searchChats(words, { limit });
  for (const { hits } of found)
    for (const { marks } of hits) expect(marks.length).toBeGreaterThan(0);
  return found.map(({ chat }) => chat.chat_id);
}
