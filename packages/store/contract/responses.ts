import assert from "node:assert/strict";
import type { NewResponse, ResponseProgress, Store } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";

const maxSize = Number.MAX_SAFE_INTEGER;

function createResponse(responseId: string, overrides: Partial<NewResponse> = {}): NewResponse {
  return {
    responseId,
    owner: "ann",
    status: "completed",
    createdAt: 1000,
    input: JSON.stringify([{ role: "user", content: `Hi ${responseId}\0` }]),
    output: JSON.stringify([{ type: "message", id: `msg_${responseId}` }]),
    json: JSON.stringify({ id: responseId }),
    itemIds: [`msg_${responseId}`],
    ...overrides,
  };
}

const run = { holder: "p1", ttlMs: 60_000, json: '{"model":"m"}', events: ['{"n":0}', '{"n":1}'] };

const createRun = (responseId: string, overrides: Partial<NewResponse> = {}): NewResponse =>
  createResponse(responseId, { status: "queued", output: "[]", itemIds: [], run, ...overrides });

const createProgress = (
  first: number,
  events: readonly string[],
  overrides: Partial<ResponseProgress> = {},
): ResponseProgress => ({
  responseId: "r1",
  owner: "ann",
  holder: "p1",
  first,
  events,
  ...overrides,
});

const ended = {
  status: "completed",
  output: '[{"id":"msg_1"}]',
  json: '{"id":"r1"}',
  itemIds: ["msg_1"],
};

async function readNumbers(store: Store, after: number, limit = 1_000_000): Promise<number[]> {
  const batches = await store.listResponseEvents("ann", "r1", after, limit);
  return batches.flatMap(({ first, events }) => events.map((_, index) => first + index));
}

export const responseScenarios: StoreScenarios = {
  "a response is stored with its items, even after a restart": async (store, reopen) => {
    const response = createResponse("r1", { previousResponseId: "r0" });
    await store.saveResponse(response);
    const { itemIds: _itemIds, ...stored } = response;
    assert.deepEqual(await store.getResponse("ann", "r1"), stored);
    assert.equal(await store.getResponse("ann", "unknown"), undefined);
    assert.deepEqual(await (await reopen()).getResponse("ann", "r1"), stored);
  },

  "a response with the id of another one replaces it": async (store) => {
    await store.saveResponse(createResponse("r1", { itemIds: ["a"] }));
    await store.saveResponse(createResponse("r1", { itemIds: ["b"], output: '["new"]' }));
    assert.equal((await store.getResponse("ann", "r1"))?.output, '["new"]');
    assert.deepEqual(await store.findResponsesWithItems("ann", ["a"]), []);
    assert.equal((await store.findResponsesWithItems("ann", ["b"])).length, 1);
  },

  "a chain is returned oldest first, and ends where a response was deleted": async (store) => {
    let previousResponseId: string | undefined;
    for (const id of ["r1", "r2", "r3"]) {
      await store.saveResponse(createResponse(id, { previousResponseId }));
      previousResponseId = id;
    }
    await store.saveResponse(createResponse("branch", { previousResponseId: "r1" }));
    const list = async (id: string) =>
      (await store.listResponseChain("ann", id)).map(({ responseId }) => responseId);
    assert.deepEqual(await list("r3"), ["r1", "r2", "r3"]);
    assert.deepEqual(await list("branch"), ["r1", "branch"]);
    assert.equal(await store.deleteResponse("ann", "r1"), true);
    assert.equal(await store.deleteResponse("ann", "r1"), false);
    assert.deepEqual(await list("r3"), ["r2", "r3"]);
    const [first] = await store.listResponseChain("ann", "r3");
    assert.equal(first?.previousResponseId, "r1");
    assert.deepEqual(await list("unknown"), []);
  },

  "a response that continues itself does not hang": async (store) => {
    await store.saveResponse(createResponse("r1", { previousResponseId: "r1" }));
    assert.equal((await store.listResponseChain("ann", "r1")).length, 1);
    assert.equal(await store.pruneResponses({ createdBefore: 2000, maxBytes: maxSize }), 1);
  },

  "responses are only visible to their owner": async (store) => {
    await store.saveResponse(createResponse("r1"));
    await store.saveResponse(createResponse("r1", { owner: "bob", json: '"of bob"' }));
    await store.saveResponse(createResponse("r2", { owner: "bob", previousResponseId: "r1" }));
    await store.saveResponse(createRun("r3", { owner: "bob" }));
    assert.equal((await store.getResponse("bob", "r1"))?.json, '"of bob"');
    assert.equal((await store.getResponse("ann", "r1"))?.json, '{"id":"r1"}');
    for (const owner of ["ann", "", "\nbob"]) {
      assert.equal(await store.getResponse(owner, "r2"), undefined);
      assert.deepEqual(await store.listResponseChain(owner, "r2"), []);
      assert.deepEqual(await store.findResponsesWithItems(owner, ["msg_r2"]), []);
      assert.equal(await store.deleteResponse(owner, "r2"), false);
      assert.deepEqual(await store.listResponseEvents(owner, "r3", -1, 100), []);
      assert.equal(await store.requestResponseCancel(owner, "r3"), false);
    }
    assert.equal((await store.listResponseChain("bob", "r2")).length, 2);
    await store.deleteResponse("bob", "r1");
    assert.equal((await store.findResponsesWithItems("ann", ["msg_r1"])).length, 1);
  },

  "items are found in the response that was stored last": async (store) => {
    await store.saveResponse(createResponse("r1", { itemIds: ["a", "b"] }));
    await store.saveResponse(createResponse("r2", { itemIds: ["b"] }));
    const find = async (...ids: string[]) =>
      (await store.findResponsesWithItems("ann", ids)).map(({ responseId }) => responseId);
    assert.deepEqual(await find("a", "b", "unknown"), ["r1", "r2"]);
    assert.deepEqual(await find("b"), ["r2"]);
  },

  "old responses are deleted, but none that a newer one continues": async (store) => {
    await store.saveResponse(createResponse("old"));
    await store.saveResponse(createResponse("first"));
    await store.saveResponse(
      createResponse("newer", { createdAt: 3000, previousResponseId: "first" }),
    );
    await store.saveResponse(createRun("running"));
    assert.equal(await store.pruneResponses({ createdBefore: 2000, maxBytes: maxSize }), 1);
    assert.equal(await store.getResponse("ann", "old"), undefined);
    assert.equal((await store.listResponseChain("ann", "newer")).length, 2);
    assert.equal(await store.pruneResponses({ createdBefore: 4000, maxBytes: maxSize }), 2);
    assert.notEqual(await store.getResponse("ann", "running"), undefined);
  },

  "the oldest responses are deleted beyond the size limit": async (store) => {
    const output = JSON.stringify("x".repeat(1000));
    for (let index = 1; index <= 5; index += 1)
      await store.saveResponse(
        createResponse(`r${index}`, { createdAt: index, output, itemIds: [] }),
      );
    const bytes = await store.getResponseBytes();
    assert.ok(bytes > 5000 && bytes < 6000, `${bytes}`);
    assert.equal(await store.pruneResponses({ createdBefore: 0, maxBytes: 3500 }), 2);
    assert.equal(await store.getResponse("ann", "r2"), undefined);
    assert.notEqual(await store.getResponse("ann", "r3"), undefined);
    assert.ok((await store.getResponseBytes()) <= 3500);
  },

  "events of a response in the background are read from any number": async (store, reopen) => {
    await store.saveResponse(createRun("r1"));
    const added = ['{"text":"a\\u0000b\u{F0000}"}', '{"n":3}', '{"n":4}'];
    assert.deepEqual(await store.appendResponseEvents(createProgress(2, added)), {
      isCancelRequested: false,
    });
    await store.appendResponseEvents(createProgress(5, ['{"n":5}'], { state: ended }));
    const reopened = await reopen();
    assert.deepEqual(await readNumbers(reopened, -1), [0, 1, 2, 3, 4, 5]);
    // Whole batches are returned.
    assert.deepEqual(await readNumbers(reopened, 3), [2, 3, 4, 5]);
    assert.deepEqual(await readNumbers(reopened, 4), [5]);
    assert.deepEqual(await readNumbers(reopened, 5), []);
    assert.deepEqual(await readNumbers(reopened, -1, 1), [0, 1]);
    const [, second] = await reopened.listResponseEvents("ann", "r1", -1, 1_000_000);
    assert.deepEqual(second?.events, added);
    const stored = await reopened.getResponse("ann", "r1");
    assert.deepEqual([stored?.status, stored?.output], ["completed", ended.output]);
    assert.equal((await reopened.findResponsesWithItems("ann", ["msg_1"])).length, 1);
  },

  "only the holder of a response appends to it, without gaps, until it has ended": async (
    store,
  ) => {
    await store.saveResponse(createRun("r1"));
    const rejected = [
      createProgress(2, ["{}"], { holder: "p2" }),
      createProgress(3, ["{}"]),
      createProgress(1, ["{}"]),
      createProgress(2, ["{}"], { owner: "bob" }),
    ];
    for (const progress of rejected)
      assert.equal(await store.appendResponseEvents(progress), undefined);
    await store.appendResponseEvents(createProgress(2, ["{}"], { state: ended }));
    assert.equal(await store.appendResponseEvents(createProgress(3, ["{}"])), undefined);
    assert.deepEqual(await readNumbers(store, -1), [0, 1, 2]);
  },

  "a response is claimed when the lease of its process has expired": async (store) => {
    await store.saveResponse(createRun("r1"));
    await store.saveResponse(createRun("expired", { run: { ...run, ttlMs: -1000 } }));
    const claim = async (holder: string, all: boolean) =>
      (await store.claimResponses({ holder, ttlMs: 60_000, all, limit: 10 })).map(
        ({ responseId }) => responseId,
      );
    assert.deepEqual(await claim("p2", false), ["expired"]);
    assert.deepEqual(await claim("p3", false), []);
    assert.deepEqual(await claim("p3", true), ["r1", "expired"]);
    assert.equal(await store.appendResponseEvents(createProgress(2, ["{}"])), undefined);
    const [claimed] = await store.claimResponses({
      holder: "p4",
      ttlMs: -1,
      all: true,
      limit: 1,
    });
    assert.equal(claimed?.run, run.json);
    assert.equal(claimed?.head, 1);
    assert.deepEqual(
      (await store.renewResponseLeases({ holder: "p4", ttlMs: 60_000 })).map((r) => r.responseId),
      ["r1"],
    );
    assert.deepEqual(await claim("p5", false), []);
    await store.appendResponseEvents(
      createProgress(2, ["{}"], { holder: "p4", state: { ...ended, status: "failed" } }),
    );
    assert.deepEqual(await claim("p6", true), ["expired"]);
  },

  "the process that runs a response learns that it is to be canceled": async (store) => {
    await store.saveResponse(createRun("r1"));
    const renew = async () => store.renewResponseLeases({ holder: "p1", ttlMs: 60_000 });
    assert.deepEqual(
      (await renew()).map(({ isCancelRequested }) => isCancelRequested),
      [false],
    );
    assert.equal(await store.requestResponseCancel("ann", "r1"), true);
    assert.deepEqual(await renew(), [{ owner: "ann", responseId: "r1", isCancelRequested: true }]);
    assert.deepEqual(await store.appendResponseEvents(createProgress(2, ["{}"])), {
      isCancelRequested: true,
    });
    await store.appendResponseEvents(createProgress(3, ["{}"], { state: ended }));
    assert.equal(await store.requestResponseCancel("ann", "r1"), false);
    assert.deepEqual(await renew(), []);
  },

  "a chain of 500 responses is read": async (store) => {
    for (let turn = 0; turn < 500; turn += 1)
      await store.saveResponse(
        createResponse(`r${turn}`, {
          previousResponseId: turn === 0 ? undefined : `r${turn - 1}`,
        }),
      );
    const chain = await store.listResponseChain("ann", "r499");
    assert.deepEqual(
      chain.map(({ responseId }) => responseId),
      Array.from({ length: 500 }, (_, turn) => `r${turn}`),
    );
  },
};
