import { readFileSync } from "node:fs";
import type { AnswerVersion, Chat, ChatNode, Removal } from "@deltawire/tasks/chats";
import { sumChatUsage, upgradeNode } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { openTestStore } from "./test-store.ts";

/* The store writes nodes unchanged, so answers in the format of an earlier release can be stored with the current code. */

const answers = Object.values(
  JSON.parse(
    readFileSync(new URL("../../tasks/test/chats/earlier-answers.json", import.meta.url), "utf8"),
  ) as Record<string, AnswerVersion>,
);
const created_at = "2026-01-01T00:00:00.000Z";
const nodeFields = { children: [], created_at, pinned: false, hidden: false };
const userNode: ChatNode = {
  ...nodeFields,
  kind: "user",
  node_id: "node_0",
  parent: null,
  children: ["node_1"],
  versions: [{ version_id: "v_0", created_at, text: "Hi", attachments: [], contexts: [] }],
  version: "v_0",
};
const answerNode: ChatNode = {
  ...nodeFields,
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
  nodes: { node_0: userNode, node_1: answerNode },
  roots: ["node_0"],
  chosen: { "": "node_0", node_0: "node_1" },
  bookmarks: [],
};

test("a chat of an earlier release is upgraded when it is read, and so are its removals", async () => {
  const store = await openTestStore({ path: ":memory:" });
  await store.createChats([{ chat }]);
  const upgraded = upgradeNode(answerNode);
  const stored = await store.getChat("chat_1");
  if (stored === undefined) throw new Error("the chat does not exist");
  expect(stored.chat.nodes["node_1"]).toEqual(upgraded);
  expect(JSON.stringify(stored.chat)).not.toContain('"chain"');
  expect(sumChatUsage(stored.chat)).toEqual(
    (await store.listChats({ owner: "", limit: 1 }))[0]?.usage,
  );
  expect(await store.searchChats("demonstration", { owner: "", limit: 5 })).toHaveLength(1);

  const removal = {
    removal_id: "removal_1",
    removed_at: created_at,
    // The former name of `type`.
    what: "nodes",
    nodes: [answerNode],
    chosen: {},
    bookmarks: [],
    index: 0,
    kept_children: [],
  } as unknown as Removal;
  const versionRemoval = {
    removal_id: "removal_2",
    removed_at: created_at,
    what: "version",
    node_id: "node_0",
    index: 1,
    version: { version_id: "v_1", created_at, text: "Hello", attachments: [], contexts: [] },
  } as unknown as Removal;
  const { node_1: _gone, ...nodes } = stored.chat.nodes;
  const saved = await store.saveChat(
    stored,
    { ...stored.chat, nodes, chosen: { "": "node_0" } },
    { removals: [removal, versionRemoval] },
  );
  if (saved === "conflict") throw new Error("unexpected conflict");
  expect(await store.searchChats("demonstration", { owner: "", limit: 5 })).toEqual([]);
  expect(await store.getRemoval("chat_1", "removal_1")).toMatchObject({
    type: "nodes",
    nodes: [upgraded],
  });
  const { version } = versionRemoval as Extract<Removal, { type: "version" }>;
  expect(await store.listRemovals("chat_1")).toMatchObject([
    { type: "version", version },
    { type: "nodes", nodes: [upgraded] },
  ]);
  await store.prune(Date.now() + 10 * 365 * 86_400_000);
  expect(await store.listRemovals("chat_1")).toEqual([]);
});
