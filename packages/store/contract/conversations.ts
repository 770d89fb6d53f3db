import assert from "node:assert/strict";
import type { ConversationItem, NewResponse, StoredConversation } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";

const createConversation = (
  conversationId: string,
  overrides: Partial<StoredConversation> = {},
): StoredConversation => ({
  conversationId,
  owner: "ann",
  createdAt: 1000,
  metadata: '{"topic":"a\\u0000"}',
  ...overrides,
});

const createItems = (...ids: string[]): ConversationItem[] =>
  ids.map((itemId) => ({ itemId, json: JSON.stringify({ id: itemId, text: "a\0b" }) }));

export const conversationScenarios: StoreScenarios = {
  "a conversation is stored with its items, changed and deleted": async (store, reopen) => {
    const conversation = createConversation("c1");
    await store.createConversation(conversation, createItems("a", "b"));
    assert.equal(await store.addConversationItems("ann", "c1", createItems("c")), true);
    assert.equal(await store.updateConversation("ann", "c1", '{"x":"y"}'), true);
    const reopened = await reopen();
    assert.deepEqual(await reopened.getConversation("ann", "c1"), {
      ...conversation,
      metadata: '{"x":"y"}',
    });
    assert.deepEqual(await reopened.readConversation("ann", "c1"), {
      items: createItems("a", "b", "c"),
      next: 3,
    });
    assert.equal((await reopened.readConversation("ann", "c1", 2))?.items.length, 2);
    assert.equal(await reopened.deleteConversation("ann", "c1"), true);
    assert.equal(await reopened.deleteConversation("ann", "c1"), false);
    assert.equal(await reopened.getConversation("ann", "c1"), undefined);
    assert.equal(await reopened.readConversation("ann", "c1"), undefined);
    await reopened.createConversation(conversation, []);
    assert.deepEqual((await reopened.readConversation("ann", "c1"))?.items, []);
  },

  "items of a conversation are listed in pages, in both orders": async (store) => {
    await store.createConversation(createConversation("c1"), createItems("a", "b", "c", "d"));
    const list = async (order: "asc" | "desc", limit: number, after?: string) =>
      (await store.listConversationItems("ann", "c1", { order, limit, after }))?.map(
        ({ itemId }) => itemId,
      );
    assert.deepEqual(await list("asc", 2), ["a", "b"]);
    assert.deepEqual(await list("asc", 10, "b"), ["c", "d"]);
    assert.deepEqual(await list("desc", 2), ["d", "c"]);
    assert.deepEqual(await list("desc", 10, "b"), ["a"]);
    assert.equal(await list("asc", 10, "unknown"), undefined);
  },

  "single items are read, replaced and deleted": async (store) => {
    await store.createConversation(createConversation("c1"), createItems("a", "b"));
    const replacement = { itemId: "a", json: '"new"' };
    await store.addConversationItems("ann", "c1", [replacement]);
    assert.deepEqual(await store.getConversationItem("ann", "c1", "a"), replacement);
    assert.equal(await store.deleteConversationItem("ann", "c1", "b"), true);
    assert.equal(await store.deleteConversationItem("ann", "c1", "b"), false);
    assert.equal(await store.getConversationItem("ann", "c1", "b"), undefined);
    assert.deepEqual((await store.readConversation("ann", "c1"))?.items, [replacement]);
  },

  "conversations are only visible to their owner": async (store) => {
    await store.createConversation(createConversation("c1"), createItems("a"));
    const other = createConversation("c1", { owner: "bob", metadata: "{}" });
    await store.createConversation(other, createItems("b"));
    await store.createConversation(createConversation("c2"), createItems("a"));
    assert.deepEqual(await store.getConversation("bob", "c1"), other);
    assert.deepEqual((await store.readConversation("bob", "c1"))?.items, createItems("b"));
    assert.equal(await store.getConversation("bob", "c2"), undefined);
    assert.equal(await store.readConversation("bob", "c2"), undefined);
    assert.equal(await store.getConversationItem("bob", "c2", "a"), undefined);
    assert.equal(await store.deleteConversationItem("bob", "c2", "a"), false);
    assert.equal(await store.updateConversation("bob", "c2", "{}"), false);
    assert.equal(await store.addConversationItems("bob", "c2", createItems("x")), false);
    assert.equal(await store.deleteConversation("bob", "c2"), false);
    assert.deepEqual(
      await store.listConversationItems("bob", "c2", { limit: 10, order: "asc" }),
      [],
    );
    await store.deleteConversation("bob", "c1");
    assert.deepEqual((await store.readConversation("ann", "c1"))?.items, createItems("a"));
  },

  "a response adds its items to its conversation, when it is stored or when it ends": async (
    store,
  ) => {
    await store.createConversation(createConversation("c1"), createItems("a"));
    const conversation = { conversationId: "c1", start: 1 };
    const response: NewResponse = {
      responseId: "r1",
      owner: "ann",
      status: "completed",
      createdAt: 1000,
      conversation,
      input: "[]",
      output: "[]",
      json: "{}",
      itemIds: [],
      conversationItems: createItems("b", "c"),
    };
    await store.saveResponse(response);
    assert.deepEqual((await store.getResponse("ann", "r1"))?.conversation, conversation);
    assert.deepEqual((await store.listResponseChain("ann", "r1"))[0]?.conversation, conversation);
    const run = { holder: "p1", ttlMs: 60_000, json: "{}", events: ["{}"] };
    await store.saveResponse({
      ...response,
      responseId: "r2",
      status: "queued",
      conversationItems: [],
      run,
    });
    await store.appendResponseEvents({
      owner: "ann",
      responseId: "r2",
      holder: "p1",
      first: 1,
      events: ["{}"],
      state: {
        status: "completed",
        output: "[]",
        json: "{}",
        itemIds: [],
        conversationItems: createItems("d"),
      },
    });
    assert.deepEqual(
      (await store.readConversation("ann", "c1"))?.items,
      createItems("a", "b", "c", "d"),
    );
    await store.deleteConversation("ann", "c1");
    await store.saveResponse({ ...response, responseId: "r3" });
    assert.notEqual(await store.getResponse("ann", "r3"), undefined);
  },
};
