import assert from "node:assert/strict";
import { answer, ChatStage, found, lastNode } from "./chat-scenario.ts";
import type { Scenarios } from "./scenario.ts";

/** Search over all chats. */
export const chatSearchScenarios: Scenarios = {
  "words are found in titles, messages and answers, whatever their case, width and accents": async (
    store,
    reopen,
  ) => {
    const stage = new ChatStage(store);
    await stage.create("Café plans", "Où est la gare?", "ＦＵＬＬ width");
    await stage.create("Other", "nothing of it");
    const again = await reopen();
    for (const query of ["cafe", "CAFÉ", "plan", "ou est", "GARE", "full", "Ｗidth", "la gar"])
      assert.deepEqual(await found(again, query), ["Café plans"], query);
    for (const query of ["", "  ", "?!", "cafes", "gare plans", "are"])
      assert.deepEqual(await found(again, query), [], query);
  },

  "any part of a Chinese, Japanese or Korean text is found, from one character on": async (
    store,
  ) => {
    const stage = new ChatStage(store);
    await stage.create(
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
      assert.deepEqual(await found(store, query), ["中文"], query);
    for (const query of ["型模", "诗谢", "模型诗", "GTP模型"])
      assert.deepEqual(await found(store, query), [], query);
  },

  "a hit tells where it is and shows what was found": async (store) => {
    const stage = new ChatStage(store);
    const said = `${"before it ".repeat(30)}the Wanted\nword${" after it".repeat(30)}`;
    const { chat } = await stage.create("wanted: trains", "hello", said);
    const [result] = await store.searchChats("wanted wor", { limit: 10 });
    const [hit] = result?.hits ?? [];
    assert.ok(hit !== undefined);
    assert.equal(hit.node_id, lastNode(chat));
    assert.deepEqual(marked(hit), ["Wanted", "wor"]);
    assert.ok(hit.text.length < 200 && hit.text.startsWith("…") && hit.text.endsWith("…"));
    assert.deepEqual(result?.title_marks, []);
    const [titled] = await store.searchChats("wanted", { limit: 10 });
    assert.deepEqual(titled?.title_marks, [[0, 6]]);
  },

  "the last changed chat comes first, with the newest of its hits and no more than three": async (
    store,
  ) => {
    const stage = new ChatStage(store);
    const old = await stage.create("old", "word 1", "word 2", "word 3", "word 4");
    await stage.create("new", "word 5");
    assert.deepEqual(await found(store, "word"), ["new", "old"]);
    await stage.saved(old, stage.said(old.chat, "word 6"));
    const results = await store.searchChats("word", { limit: 10 });
    assert.deepEqual(
      results.map(({ chat, hits }) => [chat.title, ...hits.map(({ text }) => text)]),
      [
        ["old", "word 6", "word 4", "word 3"],
        ["new", "word 5"],
      ],
    );
    assert.equal((await store.searchChats("word", { limit: 1 })).length, 1);
  },

  "what was changed or deleted is found no more, and what came instead is": async (store) => {
    const stage = new ChatStage(store);
    let kept = await stage.create("first title", "question", "oranges", "later");
    const [, second = "", third = ""] = Object.keys(kept.chat.nodes);
    kept = await stage.save(kept, { type: "rename", title: "second title" });
    assert.deepEqual(await found(store, "first"), []);
    assert.deepEqual(await found(store, "second"), ["second title"]);
    kept = await stage.save(kept, {
      type: "add_answer_version",
      node_id: second,
      answer: answer("apples"),
    });
    assert.deepEqual(await found(store, "oranges"), ["second title"]);
    const [version] =
      kept.chat.nodes[second]?.kind === "answer" ? kept.chat.nodes[second].versions : [];
    kept = await stage.save(kept, {
      type: "delete_version",
      node_id: second,
      version_id: version?.version_id ?? "",
    });
    assert.deepEqual(await found(store, "oranges"), []);
    assert.deepEqual(await found(store, "apples"), ["second title"]);
    const { chat, removals } = stage.edit(kept.chat, {
      type: "delete_node",
      node_id: third,
      children: "delete",
    });
    kept = await stage.saved(kept, chat, removals);
    assert.deepEqual(await found(store, "later"), []);
    await store.prune(Date.now());
    assert.deepEqual(await found(store, "later"), []);
    const [removal] = removals;
    assert.ok(removal !== undefined);
    kept = await stage.save(kept, { type: "restore", removal });
    assert.deepEqual(await found(store, "later"), ["second title"]);
    await store.removeChat(kept.chat.chat_id);
    assert.deepEqual(await found(store, "apples"), []);
  },

  "a search can be of one tag": async (store) => {
    const stage = new ChatStage(store);
    const one = await stage.create("one", "word");
    await stage.create("two", "word");
    await stage.save(one, { type: "tag", tags: ["t"] });
    assert.deepEqual(await found(store, "word", "t"), ["one"]);
    assert.deepEqual(await found(store, "word", "u"), []);
  },

  "a query is words, and never an expression": async (store) => {
    const stage = new ChatStage(store);
    await stage.create("plain", "say OR hear * not - or");
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
      assert.deepEqual(await found(store, query), query === "words:say" ? [] : ["plain"], query);
    for (const query of [
      "say AND hear",
      "NEAR(say hear)",
      "\u0000",
      "\ud800",
      "'; DROP TABLE chats; --",
    ])
      assert.deepEqual(await found(store, query), [], query);
  },
};

function marked({ text, marks }: { text: string; marks: readonly (readonly [number, number])[] }) {
  return marks.map(([start, end]) => text.slice(start, end));
}
