import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTimeAsync } from "../../../test/cpu-time.ts";
import { parseQuery } from "../src/chats/search-query.ts";
import { buildIndexedText, tokenize } from "../src/chats/tokenize.ts";
import { findHighlights, buildMarkdownSnippet, buildSnippet } from "../src/chats/build-snippet.ts";
import { ChatBuilder, searchTitles } from "../contract/chat-builder.ts";
import { openTestStore, createTemporaryFolder } from "./test-store.ts";

const han = fc.constantFrom(...Array.from("的一是我们可以模型中文测试用户数据诗歌谢𠮷"));
const kana = fc.constantFrom(...Array.from("あいうえがぎぐアイウガー東京ｱｶﾞ"));
const hangul = fc.constantFrom(...Array.from("한국어를배워요가나다"));
const latin = fc.constantFrom(...Array.from("abcdeABCDEéÉßñ019ＡＢ"));
const separator = fc.constantFrom(" ", ", ", "。", "-", "\n", "?!", " ");
const run = fc
  .tuple(fc.constantFrom(han, kana, hangul), fc.integer({ min: 1, max: 8 }))
  .chain(([characters, length]) => fc.array(characters, { minLength: 1, maxLength: length }));
const word = fc.array(latin, { minLength: 1, maxLength: 12 });
const text = fc
  .array(fc.oneof(run, word, fc.array(separator, { minLength: 1, maxLength: 2 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.map((part) => part.join("")).join(" "));

describe("a search in any text", () => {
  test("finds and highlights any part of a run of characters", async () => {
    const store = await openTestStore({ path: ":memory:" });
    const builder = new ChatBuilder(store);
    await fc.assert(
      fc.asyncProperty(run, text, fc.nat(), fc.nat(), async (characters, rest, from, length) => {
        const first = from % characters.length;
        const end = first + 1 + (length % characters.length);
        const query = characters.slice(first, end).join("");
        // A combining mark changes the syllable before it, so neither can be found alone.
        fc.pre(!/^[ーﾞ]/u.test(query) && characters[end] !== "ﾞ");
        const { chat } = await builder.create("t", `${rest} ${characters.join("")} ${rest}`);
        const [result] = await store.searchChats(query, { owner: "", limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
        const [hit] = result?.hits ?? [];
        const [markStart = 0, markEnd = 0] = hit?.marks[0] ?? [];
        const highlighted = hit?.text.slice(markStart, markEnd).normalize("NFKC");
        expect(highlighted).toContain(query.normalize("NFKC"));
      }),
      { numRuns: 150 },
    );
  });

  test("finds any prefix of a word, ignoring case and accents", async () => {
    const store = await openTestStore({ path: ":memory:" });
    const builder = new ChatBuilder(store);
    await fc.assert(
      fc.asyncProperty(word, text, fc.nat(), fc.boolean(), async (letters, rest, length, upper) => {
        const prefix = letters.slice(0, 1 + (length % letters.length)).join("");
        const query = upper ? prefix.toLocaleUpperCase("und") : prefix.normalize("NFD");
        fc.pre(!prefix.includes("ß") || !upper); // the uppercase of ß is SS, which does not match it
        const { chat } = await builder.create("t", `${rest} ${letters.join("")}`);
        const [result] = await store.searchChats(query, { owner: "", limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
        expect(result?.hits[0]?.marks.length).toBeGreaterThan(0);
      }),
      { numRuns: 150 },
    );
  });

  test("finds text by all of its words", async () => {
    const store = await openTestStore({ path: ":memory:" });
    const builder = new ChatBuilder(store);
    await fc.assert(
      fc.asyncProperty(text, async (message) => {
        fc.pre(buildIndexedText(message).words !== "" && message.length <= 200);
        const { chat } = await builder.create("t", message);
        const [result] = await store.searchChats(message, { owner: "", limit: 1 });
        expect(result?.chat.chat_id).toBe(chat.chat_id);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ["plain text", buildSnippet],
    ["Markdown", buildMarkdownSnippet],
  ] as const)(
    "highlights are within the snippet of %s, in order and without overlaps",
    (_, buildText) => {
      fc.assert(
        fc.property(text, text, (message, query) => {
          const { text: snippetText, marks } = buildText(message.repeat(5), parseQuery(query));
          let last = -1;
          for (const [start, end] of marks) {
            expect(start).toBeGreaterThan(last);
            expect(end).toBeGreaterThan(start);
            last = end;
          }
          expect(last).toBeLessThanOrEqual(snippetText.length);
          expect(snippetText.isWellFormed()).toBe(true);
        }),
      );
    },
  );
});

describe("a snippet of Markdown", () => {
  const buildSnippetParts = (markdown: string, query: string) => {
    const { text, marks } = buildMarkdownSnippet(markdown, parseQuery(query));
    return { text, marked: marks.map(([start, end]) => text.slice(start, end)) };
  };

  test("has no markup and highlights the words", () => {
    const markdown =
      "# Animals\n\n> You said **otters**\n\n- `otters` swim [^1]\n- [badgers](https://b.example/) do not";
    expect(buildSnippetParts(markdown, "otters")).toEqual({
      text: "Animals You said otters otters swim badgers do not",
      marked: ["otters", "otters"],
    });
    expect(buildSnippetParts(markdown, '"swim badgers"').marked).not.toEqual([]);
  });

  test("from the middle of a long text has an ellipsis at both ends", () => {
    const markdown = `${"- *some* words\n".repeat(300)}> the **otter** here\n${"- *more* words\n".repeat(300)}`;
    const { text, marked } = buildSnippetParts(markdown, "otter");
    expect(text).toMatch(/^…(?:some words )+the otter here (?:more words )+.*…$/);
    expect(marked).toEqual(["otter"]);
    const line = `${"*word* ".repeat(5000)}otter ${"*word* ".repeat(5000)}`;
    expect(buildSnippetParts(line, "otter").text).toMatch(/^…[word ]+otter[word ]+…$/);
  });

  test("is the source if the match is only in a URL", () => {
    const markdown = "See [this](https://otters.example/swim).";
    expect(buildSnippetParts(markdown, "otters")).toEqual({ text: markdown, marked: ["otters"] });
  });
});

test("a search does not throw for any query", { timeout: 30_000 }, async () => {
  const store = await openTestStore({ path: ":memory:" });
  const builder = new ChatBuilder(store);
  await builder.create("a title", "some words AND others", "我们可以");
  const hostile = fc.oneof(
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.string({
      unit: fc.constantFrom(...Array.from(`"'*-+^:(){}[]\\ aAND OR NOT NEAR\u0000,.我们\ud800`)),
    }),
  );
  await fc.assert(
    fc.asyncProperty(hostile, async (query) => {
      expect(await store.searchChats(query, { owner: "", limit: 5 })).toBeInstanceOf(Array);
    }),
    { numRuns: 500 },
  );
  for (const query of ["a".repeat(100_000), "a ".repeat(50_000), "我".repeat(10_000)])
    await expect(store.searchChats(query, { owner: "", limit: 5 })).resolves.toBeInstanceOf(Array);
});

describe("a long query", () => {
  test("is split into parts of at most sixteen words or characters without losing any", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(word, run), { minLength: 1, maxLength: 60 }), (pieces) => {
        const query = pieces.map((piece) => piece.join("")).join("-");
        fc.pre(query.length <= 200);
        const parts = parseQuery(query).map((part) => {
          if (part.match === "phrase") return part.words;
          return part.match === "prefix" ? [part.word] : Array.from(part.run);
        });
        expect(Math.max(0, ...parts.map(({ length }) => length))).toBeLessThanOrEqual(16);
        const searchedTerms = new Set(parts.flat());
        for (const { kind, text: term } of tokenize(query))
          for (const part of kind === "word" ? [term] : Array.from(term))
            expect(searchedTerms).toContain(part);
      }),
    );
  });

  test("matches only text that contains all of its parts", async () => {
    const store = await openTestStore({ path: ":memory:" });
    const builder = new ChatBuilder(store);
    const numbers = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const poem = "床前明月光疑是地上霜举头望明月低头思故乡";
    await builder.create("all", numbers.join(" "), poem);
    await builder.create("less", numbers.slice(0, 20).join(" "), poem.slice(0, 17));
    expect(await searchTitles(store, numbers.join("-"))).toEqual(["all"]);
    expect(await searchTitles(store, poem)).toEqual(["all"]);
    expect(await searchTitles(store, numbers.slice(0, 20).join("-"))).toEqual(["less", "all"]);
    expect(await searchTitles(store, numbers.slice(0, 20).toReversed().join("-"))).toEqual([]);
  });

  test("is fast even in long text that nearly matches", { timeout: 60_000 }, async () => {
    const store = await openTestStore({ path: ":memory:" });
    const builder = new ChatBuilder(store);
    for (let count = 0; count < 3; count += 1) await builder.create("t", "a ".repeat(200_000));
    const search = () => store.searchChats(`${"a-".repeat(450)}a`, { owner: "", limit: 20 });
    expect(await measureCpuTimeAsync(search)).toBeLessThan(3000);
  });
});

test("text of one character repeated two hundred thousand times is stored and found", async () => {
  const store = await openTestStore({ path: ":memory:" });
  await new ChatBuilder(store).create("t", "的".repeat(200_000));
  const [result] = await store.searchChats("的", { owner: "", limit: 1 });
  expect(result?.hits[0]?.text.length).toBeLessThan(200);
  expect(result?.hits[0]?.marks).toEqual([[0, 160]]);
});

test("a search finds a long word by its prefix among few and many similar words", async () => {
  const store = await openTestStore({ path: ":memory:" });
  const builder = new ChatBuilder(store);
  await builder.create("few", "international internationally internal");
  await builder.create("many", ...Array.from({ length: 50 }, (_, index) => `identifier${index}x`));
  expect(await searchTitles(store, "internat")).toEqual(["few"]);
  expect(await searchTitles(store, "internatx")).toEqual([]);
  expect(await searchTitles(store, "identif")).toEqual(["many"]);
  expect(await searchTitles(store, "identifier49")).toEqual(["many"]);
  expect(await searchTitles(store, "identifier50")).toEqual([]);
});

test("a search in many chats finds rare words, common words and words of old chats", async () => {
  const store = await openTestStore({ path: join(createTemporaryFolder(), "tasks.db") });
  const builder = new ChatBuilder(store);
  const chats = Array.from({ length: 450 }, (_, index) => {
    const words = ["common", index < 250 ? "ancient" : "modern", index % 300 === 7 ? "rare" : ""];
    return { chat: { ...builder.build(`${index}`, words.join(" ")), tags: [`tag${index % 9}`] } };
  });
  await store.createChats(chats);
  const searchFirstTitles = async (query: string, tag?: string) =>
    (await searchTitles(store, query, tag)).slice(0, 3);
  expect(await searchFirstTitles("common")).toEqual(["449", "448", "447"]);
  expect(await searchFirstTitles("ancient")).toEqual(["249", "248", "247"]);
  expect(await searchFirstTitles("rare")).toEqual(["307", "7"]);
  expect(await searchFirstTitles("ancient", "tag3")).toEqual(["246", "237", "228"]);
  expect(await searchFirstTitles("common ancient rar")).toEqual(["7"]);
  expect(await store.searchChats("ancient", { owner: "", limit: 500 })).toHaveLength(250);
});

describe("a search highlights", () => {
  const marked = (text: string, query: string) =>
    findHighlights(text, parseQuery(query)).map(([start, end]) => text.slice(start, end));

  test("consecutive words of the query where they are consecutive in the text", () => {
    expect(marked("an e-mail, a mail and an e", "e-mail now")).toEqual(["e-mail"]);
  });

  test("only the matching prefix of the last word, but the complete word if accents change its length", () => {
    expect(marked("Traveling", "trav")).toEqual(["Trav"]);
    expect(marked("cafe\u0301s", "caf")).toEqual(["cafe\u0301s"]);
  });

  test("the original characters, even if normalization merges them", () => {
    expect(marked("ｶﾞｷﾞ模型", "ギ")).toEqual(["ｷﾞ"]);
    expect(marked("𠮷模型𠮷", "𠮷")).toEqual(["𠮷", "𠮷"]);
  });
});

test("a phrase that is part of another phrase of the query is not searched separately", () => {
  expect(parseQuery("a-b-c-d b-c 我们可以 们可 x")).toEqual([
    { match: "phrase", words: ["a", "b", "c", "d"] },
    { match: "contains", run: "我们可以" },
    { match: "prefix", word: "x" },
  ]);
});
