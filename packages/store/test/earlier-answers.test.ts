import { readFileSync } from "node:fs";
import type { AnswerVersion, Chat, ChatNode, Removal } from "@deltawire/tasks/chats";
import { chatUsage, upgradeNode } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { opened } from "./opened.ts";

/* Rows of a release that kept a record of calls beside the items of an answer. The store writes nodes as they are given. */

const answers = Object.values(
  JSON.parse(
    readFileSync(new URL("../../tasks/test/chats/earlier-answers.json", import.meta.url), "utf8"),
  ) as Record<string, AnswerVersion>,
);
const created_at = "2026-01-01T00:00:00.000Z";
const place = { children: [], created_at, pinned: false, hidden: false };
const asked: ChatNode = {
  ...place,
  kind: "user",
  node_id: "node_0",
  parent: null,
  children: ["node_1"],
  versions: [{ version_id: "v_0", created_at, text: "Hi", attachments: [], contexts: [] }],
  version: "v_0",
};
const answered: ChatNode = {
  ...place,
  kind: "answer",
  node_id: "node_1",
  parent: "node_0",
  versions: answers,
  version: answers[0]?.version_id ?? "",
};
const chat: Chat = {
  chat_id: "chat_1",
  title: "Earlier",
  title_by: "user",
  created_at,
  updated_at: created_at,
  revision: 1,
  settings: {},
  tags: [],
  pinned: false,
  nodes: { node_0: asked, node_1: answered },
  roots: ["node_0"],
  chosen: { "": "node_0", node_0: "node_1" },
  bookmarks: [],
};

test("a chat of an earlier release is read in today's shape, found, changed and put back", async () => {
  const store = await opened({ path: ":memory:" });
  await store.createChats([{ chat }]);
  const upgraded = upgradeNode(answered);
  const kept = await store.chat("chat_1");
  if (kept === undefined) throw new Error("the chat is gone");
  expect(kept.chat.nodes["node_1"]).toEqual(upgraded);
  expect(JSON.stringify(kept.chat)).not.toContain('"chain"');
  expect(chatUsage(kept.chat)).toEqual((await store.listChats({ limit: 1 }))[0]?.usage);
  expect(await store.searchChats("demonstration", { limit: 5 })).toHaveLength(1);

  const removal: Removal = {
    removal_id: "removal_1",
    removed_at: created_at,
    what: "nodes",
    nodes: [answered],
    chosen: {},
    bookmarks: [],
    index: 0,
    kept_children: [],
  };
  const { node_1: _gone, ...nodes } = kept.chat.nodes;
  const saved = await store.saveChat(
    kept,
    { ...kept.chat, nodes, chosen: { "": "node_0" } },
    { removals: [removal] },
  );
  if (saved === "conflict") throw new Error("nobody else writes");
  expect(await store.searchChats("demonstration", { limit: 5 })).toEqual([]);
  expect(await store.removal("chat_1", "removal_1")).toMatchObject({ nodes: [upgraded] });
  expect((await store.removals("chat_1"))[0]).toMatchObject({ nodes: [upgraded] });
});
