import assert from "node:assert/strict";
import { createAnswer, ChatBuilder, searchTitles, getLastNodeId } from "./chat-builder.ts";
import type { StoreScenarios } from "./scenario.ts";

/** Searching all chats. */
export const chatSearchScenarios: StoreScenarios = {
  "a search finds words in titles, messages and answers, ignoring case, width and accents": async (
    store,
    reopen,
  ) => {
    const builder = new ChatBuilder(store);
    await builder.create("Café plans", "Où est la gare?", "ＦＵＬＬ width");
    await builder.create("Other", "nothing of it");
    const reopened = await reopen();
    for (const query of ["cafe", "CAFÉ", "plan", "ou est", "GARE", "full", "Ｗidth", "la gar"])
      assert.deepEqual(await searchTitles(reopened, query), ["Café plans"], query);
    for (const query of ["", "  ", "?!", "cafes", "gare plans", "are"])
      assert.deepEqual(await searchTitles(reopened, query), [], query);
  },

  "a search finds any part of Chinese, Japanese or Korean text, even one character": async (
    store,
  ) => {
    const builder = new ChatBuilder(store);
    await builder.create(
      "中文",
      "请用GPT模型写一首诗,谢谢",
      "東京タワーへ行きましょう。한국어를 배워요",
    );
    for (const query of [
      "模",
      "模型",
      "GPT模型",
      "gpt 诗",
      "一首诗",
      "谢",
      "京タ",
      "タワー",
      "ﾀﾜｰ",
      "국어",
      "요",
      "中",
    ])
      assert.deepEqual(await searchTitles(store, query), ["中文"], query);
    for (const query of ["型模", "诗谢", "模型诗", "GTP模型"])
      assert.deepEqual(await searchTitles(store, query), [], query);
  },

  "a run of characters is not found where punctuation divides it": async (store) => {
    const builder = new ChatBuilder(store);
    await builder.create("divided", "模型，型号");
    await builder.create("模型，型号", "in the title");
    await builder.create("whole", "模型号");
    assert.deepEqual(await searchTitles(store, "模型号"), ["whole"]);
    assert.deepEqual(await searchTitles(store, "型号 模型"), ["whole", "模型，型号", "divided"]);
  },

  "a search hit has its message and a snippet with highlights": async (store) => {
    const builder = new ChatBuilder(store);
    const answerText = `${"before it ".repeat(30)}the Wanted\nword${" after it".repeat(30)}`;
    const { chat } = await builder.create("wanted: trains", "hello", answerText);
    const [result] = await store.searchChats("wanted wor", { owner: "", limit: 10 });
    const [hit] = result?.hits ?? [];
    assert.ok(hit !== undefined);
    assert.equal(hit.node_id, getLastNodeId(chat));
    assert.deepEqual(formatHighlights(hit), ["Wanted", "wor"]);
    assert.ok(hit.text.length < 200 && hit.text.startsWith("…") && hit.text.endsWith("…"));
    assert.deepEqual(result?.title_marks, []);
    const [titleResult] = await store.searchChats("wanted", { owner: "", limit: 10 });
    assert.deepEqual(titleResult?.title_marks, [[0, 6]]);
  },

  "the most recently changed chat comes first, each with its three newest hits": async (store) => {
    const builder = new ChatBuilder(store);
    const oldChat = await builder.create("old", "word 1", "word 2", "word 3", "word 4");
    await builder.create("new", "word 5");
    assert.deepEqual(await searchTitles(store, "word"), ["new", "old"]);
    await builder.saveChat(oldChat, builder.addText(oldChat.chat, "word 6"));
    const results = await store.searchChats("word", { owner: "", limit: 10 });
    assert.deepEqual(
      results.map(({ chat, hits }) => [chat.title, ...hits.map(({ text }) => text)]),
      [
        ["old", "word 6", "word 4", "word 3"],
        ["new", "word 5"],
      ],
    );
    assert.equal((await store.searchChats("word", { owner: "", limit: 1 })).length, 1);
  },

  "changed and deleted texts are no longer found, and new ones are": async (store) => {
    const builder = new ChatBuilder(store);
    let stored = await builder.create("first title", "question", "oranges", "later");
    const [, answerId = "", lastId = ""] = Object.keys(stored.chat.nodes);
    stored = await builder.saveEdit(stored, { type: "rename", title: "second title" });
    assert.deepEqual(await searchTitles(store, "first"), []);
    assert.deepEqual(await searchTitles(store, "second"), ["second title"]);
    stored = await builder.saveEdit(stored, {
      type: "add_answer_version",
      node_id: answerId,
      answer: createAnswer("apples"),
    });
    assert.deepEqual(await searchTitles(store, "oranges"), ["second title"]);
    const [version] =
      stored.chat.nodes[answerId]?.kind === "answer" ? stored.chat.nodes[answerId].versions : [];
    stored = await builder.saveEdit(stored, {
      type: "delete_version",
      node_id: answerId,
      version_id: version?.version_id ?? "",
    });
    assert.deepEqual(await searchTitles(store, "oranges"), []);
    assert.deepEqual(await searchTitles(store, "apples"), ["second title"]);
    const { chat, removals } = builder.edit(stored.chat, {
      type: "delete_node",
      node_id: lastId,
      children: "delete",
    });
    stored = await builder.saveChat(stored, chat, removals);
    assert.deepEqual(await searchTitles(store, "later"), []);
    await store.prune(Date.now());
    assert.deepEqual(await searchTitles(store, "later"), []);
    const [removal] = removals;
    assert.ok(removal !== undefined);
    stored = await builder.saveEdit(stored, { type: "restore", removal });
    assert.deepEqual(await searchTitles(store, "later"), ["second title"]);
    await store.removeChat(stored.chat.chat_id);
    assert.deepEqual(await searchTitles(store, "apples"), []);
  },

  "a search can be limited to a tag": async (store) => {
    const builder = new ChatBuilder(store);
    const taggedChat = await builder.create("one", "word");
    await builder.create("two", "word");
    await builder.saveEdit(taggedChat, { type: "tag", tags: ["t"] });
    assert.deepEqual(await searchTitles(store, "word", "t"), ["one"]);
    assert.deepEqual(await searchTitles(store, "word", "u"), []);
  },

  "FTS5 query syntax is treated as plain words": async (store) => {
    const builder = new ChatBuilder(store);
    await builder.create("plain", "say OR hear * not - or");
    for (const query of [
      "say OR",
      '"say',
      "say*",
      "-say",
      "(say",
      "say)",
      "words:say",
      "^say",
      "NOT say",
    ])
      assert.deepEqual(
        await searchTitles(store, query),
        query === "words:say" ? [] : ["plain"],
        query,
      );
    for (const query of [
      "say AND hear",
      "NEAR(say hear)",
      "\u0000",
      "\ud800",
      "'; DROP TABLE chats; --",
    ])
      assert.deepEqual(await searchTitles(store, query), [], query);
  },
};

function formatHighlights({
  text,
  marks,
}: {
  text: string;
  marks: readonly (readonly [number, number])[];
}) {
  return marks.map(([start, end]) => text.slice(start, end));
}
