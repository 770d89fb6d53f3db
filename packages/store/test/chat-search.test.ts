import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { awaitedWorkTime } from "../../../test/work-time.ts";
import { queryParts } from "../src/chats/search-query.ts";
import { indexedText, termsOf } from "../src/chats/search-terms.ts";
import { marksIn, plainSnippetOf, snippetOf } from "../src/chats/snippet.ts";
import { ChatStage, found } from "../contract/chat-scenario.ts";
import { opened, temporaryFolder } from "./opened.ts";

const han = fc.constantFrom(...Array.from("的一是我们可以模型中文测试用户数据诗歌谢𠮷"));
const kana = fc.constantFrom(...Array.from("あいうえがぎぐアイウガー東京ｱｶﾞ"));
const hangul = fc.constantFrom(...Array.from("한국어를배워요가나다"));
const latin = fc.constantFrom(...Array.from("abcdeABCDEéÉßñ019ＡＢ"));
const between = fc.constantFrom(" ", ", ", "。", "-", "\n", "?!", " ");
const run = fc
  .tuple(fc.constantFrom(han, kana, hangul), fc.integer({ min: 1, max: 8 }))
  .chain(([characters, length]) => fc.array(characters, { minLength: 1, maxLength: length }));
const word = fc.array(latin, { minLength: 1, maxLength: 12 });
const text = fc
  .array(fc.oneof(run, word, fc.array(between, { minLength: 1, maxLength: 2 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.map((part) => part.join("")).join(" "));

describe("for any text", () => {
  test("any part of a run of characters is found in it, and marked", async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    await fc.assert(
      fc.asyncProperty(run, text, fc.nat(), fc.nat(), async (characters, rest, from, length) => {
        const first = from % characters.length;
        const behind = first + 1 + (length % characters.length);
        const query = characters.slice(first, behind).join("");
        // A mark that makes another syllable of the character before it cannot be looked for alone, nor that without it.
        fc.pre(!/^[ーﾞ]/u.test(query) && characters[behind] !== "ﾞ");
        const { chat } = await stage.create("t", `${rest} ${characters.join("")} ${rest}`);
        const [result] = await store.searchChats(query, { limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
        const [hit] = result?.hits ?? [];
        const [start = 0, end = 0] = hit?.marks[0] ?? [];
        const marked = hit?.text.slice(start, end).normalize("NFKC");
        expect(marked).toContain(query.normalize("NFKC"));
      }),
      { numRuns: 150 },
    );
  });

  test("any beginning of a word is found in it, whatever its case and accents", async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    await fc.assert(
      fc.asyncProperty(word, text, fc.nat(), fc.boolean(), async (letters, rest, length, upper) => {
        const begun = letters.slice(0, 1 + (length % letters.length)).join("");
        const query = upper ? begun.toLocaleUpperCase("und") : begun.normalize("NFD");
        fc.pre(!begun.includes("ß") || !upper); // SS is not ß
        const { chat } = await stage.create("t", `${rest} ${letters.join("")}`);
        const [result] = await store.searchChats(query, { limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
        expect(result?.hits[0]?.marks.length).toBeGreaterThan(0);
      }),
      { numRuns: 150 },
    );
  });

  test("a query of all of its words finds it", async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    await fc.assert(
      fc.asyncProperty(text, async (said) => {
        fc.pre(indexedText(said).words !== "" && said.length <= 200);
        const { chat } = await stage.create("t", said);
        const [result] = await store.searchChats(said, { limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["a text", snippetOf],
    ["Markdown", plainSnippetOf],
  ] as const)("marks lie in what is shown of %s, in order, and none in another", (_, snippet) => {
    fc.assert(
      fc.property(text, text, (said, query) => {
        const { text: shown, marks } = snippet(said.repeat(5), queryParts(query));
        let last = -1;
        for (const [start, end] of marks) {
          expect(start).toBeGreaterThan(last);
          expect(end).toBeGreaterThan(start);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(shown.length);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe("of Markdown a hit shows the words", () => {
  const shown = (markdown: string, query: string) => {
    const { text, marks } = plainSnippetOf(markdown, queryParts(query));
    return { text, marked: marks.map(([start, end]) => text.slice(start, end)) };
  };

  test("and marks them where they stand without its signs", () => {
    const markdown =
      "# Animals\n\n> You said **otters**\n\n- `otters` swim [^1]\n- [badgers](https://b.example/) do not";
    expect(shown(markdown, "otters")).toEqual({
      text: "Animals You said otters otters swim badgers do not",
      marked: ["otters", "otters"],
    });
    expect(shown(markdown, '"swim badgers"').marked).not.toEqual([]);
  });

  test("from the middle of a long one, which is told at both ends", () => {
    const markdown = `${"- *some* words\n".repeat(300)}> the **otter** here\n${"- *more* words\n".repeat(300)}`;
    const { text, marked } = shown(markdown, "otter");
    expect(text).toMatch(/^…(?:some words )+the otter here (?:more words )+.*…$/);
    expect(marked).toEqual(["otter"]);
    const line = `${"*word* ".repeat(5000)}otter ${"*word* ".repeat(5000)}`;
    expect(shown(line, "otter").text).toMatch(/^…[word ]+otter[word ]+…$/);
  });

  test("as it was written where it is only in an address", () => {
    const markdown = "See [this](https://otters.example/swim).";
    expect(shown(markdown, "otters")).toEqual({ text: markdown, marked: ["otters"] });
  });
});

test("no query throws, whatever it says", { timeout: 30_000 }, async () => {
  const store = await opened({ path: ":memory:" });
  const stage = new ChatStage(store);
  await stage.create("a title", "some words AND others", "我们可以");
  const hostile = fc.oneof(
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.string({
      unit: fc.constantFrom(...Array.from(`"'*-+^:(){}[]\\ aAND OR NOT NEAR\u0000,.我们\ud800`)),
    }),
  );
  await fc.assert(
    fc.asyncProperty(hostile, async (query) => {
      expect(await store.searchChats(query, { limit: 5 })).toBeInstanceOf(Array);
    }),
    { numRuns: 500 },
  );
  for (const query of ["a".repeat(100_000), "a ".repeat(50_000), "我".repeat(10_000)])
    await expect(store.searchChats(query, { limit: 5 })).resolves.toBeInstanceOf(Array);
});

describe("a long query", () => {
  test("is looked for in pieces of sixteen, and none of it is left out", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(word, run), { minLength: 1, maxLength: 60 }), (pieces) => {
        const query = pieces.map((one) => one.join("")).join("-");
        fc.pre(query.length <= 200);
        const parts = queryParts(query).map((part) => {
          if (part.match === "phrase") return part.words;
          return part.match === "begun" ? [part.word] : Array.from(part.run);
        });
        expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(16);
        const looked = new Set(parts.flat());
        for (const { kind, text: term } of termsOf(query))
          for (const one of kind === "word" ? [term] : Array.from(term))
            expect(looked).toContain(one);
      }),
    );
  });

  test("is found where its pieces are, and not where one is missing", async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    const numbers = Array.from({ length: 40 }, (_, at) => `n${at}`);
    const poem = "床前明月光疑是地上霜举头望明月低头思故乡";
    await stage.create("all", numbers.join(" "), poem);
    await stage.create("less", numbers.slice(0, 20).join(" "), poem.slice(0, 17));
    expect(await found(store, numbers.join("-"))).toEqual(["all"]);
    expect(await found(store, poem)).toEqual(["all"]);
    expect(await found(store, numbers.slice(0, 20).join("-"))).toEqual(["less", "all"]);
    expect(await found(store, numbers.slice(0, 20).toReversed().join("-"))).toEqual([]);
  });

  test("takes a moment beside long texts that are much like it", { timeout: 60_000 }, async () => {
    const store = await opened({ path: ":memory:" });
    const stage = new ChatStage(store);
    for (let nth = 0; nth < 3; nth += 1) await stage.create("t", "a ".repeat(200_000));
    const search = () => store.searchChats(`${"a-".repeat(450)}a`, { limit: 20 });
    expect(await awaitedWorkTime(search)).toBeLessThan(3000);
  });
});

test("a text of one character, two hundred thousand times, is kept and found", async () => {
  const store = await opened({ path: ":memory:" });
  await new ChatStage(store).create("t", "的".repeat(200_000));
  const [result] = await store.searchChats("的", { limit: 1 });
  expect(result?.hits[0]?.text.length).toBeLessThan(200);
  expect(result?.hits[0]?.marks).toEqual([[0, 160]]);
});

test("a long word is found by its beginning among few and many that begin like it", async () => {
  const store = await opened({ path: ":memory:" });
  const stage = new ChatStage(store);
  await stage.create("few", "international internationally internal");
  await stage.create("many", ...Array.from({ length: 50 }, (_, at) => `identifier${at}x`));
  expect(await found(store, "internat")).toEqual(["few"]);
  expect(await found(store, "internatx")).toEqual([]);
  expect(await found(store, "identif")).toEqual(["many"]);
  expect(await found(store, "identifier49")).toEqual(["many"]);
  expect(await found(store, "identifier50")).toEqual([]);
});

test("among many chats the rare word, the common one and the one of old chats are found", async () => {
  const store = await opened({ path: join(temporaryFolder(), "tasks.db") });
  const stage = new ChatStage(store);
  const chats = Array.from({ length: 450 }, (_, at) => {
    const words = ["common", at < 250 ? "ancient" : "modern", at % 300 === 7 ? "rare" : ""];
    return { chat: { ...stage.chat(`${at}`, words.join(" ")), tags: [`tag${at % 9}`] } };
  });
  await store.createChats(chats);
  const firsts = async (query: string, tag?: string) =>
    (await found(store, query, tag)).slice(0, 3);
  expect(await firsts("common")).toEqual(["449", "448", "447"]);
  expect(await firsts("ancient")).toEqual(["249", "248", "247"]);
  expect(await firsts("rare")).toEqual(["307", "7"]);
  expect(await firsts("ancient", "tag3")).toEqual(["246", "237", "228"]);
  expect(await firsts("common ancient rar")).toEqual(["7"]);
  expect(await store.searchChats("ancient", { limit: 500 })).toHaveLength(250);
});

describe("what is marked", () => {
  const marked = (said: string, query: string) =>
    marksIn(said, queryParts(query)).map(([start, end]) => said.slice(start, end));

  test("words that stand together in the query, where they do in the text", () => {
    expect(marked("an e-mail, a mail and an e", "e-mail now")).toEqual(["e-mail"]);
  });

  test("the beginning of the last word; all of it where accents make it longer", () => {
    expect(marked("Traveling", "trav")).toEqual(["Trav"]);
    expect(marked("cafe\u0301s", "caf")).toEqual(["cafe\u0301s"]);
  });

  test("characters as they were written, also where they fold to fewer", () => {
    expect(marked("ｶﾞｷﾞ模型", "ギ")).toEqual(["ｷﾞ"]);
    expect(marked("𠮷模型𠮷", "𠮷")).toEqual(["𠮷", "𠮷"]);
  });
});

test("what is a part of another phrase of the query is not looked for once more", () => {
  expect(queryParts("a-b-c-d b-c 我们可以 们可 x")).toEqual([
    { match: "phrase", words: ["a", "b", "c", "d"] },
    { match: "within", run: "我们可以" },
    { match: "begun", word: "x" },
  ]);
});
