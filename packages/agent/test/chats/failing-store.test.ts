import { StoreError } from "@deltawire/store";
import { describe, expect, test } from "vitest";
import {
  getAnswerNode,
  readChat,
  waitForAnswerEnd,
  createTestChat,
  readPathTexts,
  waitForAnswerText,
  sendAndWait,
  waitForChat,
} from "../../../../test/chats/chat-helpers.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";
import { neverResolves, hangingScript } from "../../../../test/chats/scripted-models.ts";

/** Sends a message and simulates a kill after its placeholder is stored and before its task starts. Returns the next process as `later`. */
async function killBeforeTaskStart(
  fixture: StoredChatFixture,
  later: Parameters<StoredChatFixture["restartAfterKill"]>[0],
) {
  const chat = await createTestChat(fixture);
  const killedAfterPlaceholder = new Promise<StoredChatFixture>((resolve) => {
    fixture.chats.subscribe(() => resolve(fixture.restartAfterKill(later)));
  });
  const sendRequest = { text: "Go", task_id: "task_promised" };
  const { node_id } = await fixture.chats.send(chat, sendRequest);
  return { chat, sendRequest, node_id, later: await killedAfterPlaceholder };
}

describe("a stop that cannot be stored", () => {
  test("is rejected, and the answer keeps running until a later stop", async () => {
    const fixture = await chatFixture({
      expectsFailures: true,
      script: hangingScript,
      failOnce: { method: "append", when: (args) => args.includes("task.canceled") },
    });
    const chat = await createTestChat(fixture);
    const sent = await fixture.chats.send(chat, { text: "One" });
    await waitForAnswerText(fixture, sent, "Beginning");
    await expect(fixture.chats.stop(chat)).rejects.toThrow(/no room/);
    const [version] = getAnswerNode(await readChat(fixture, chat), sent.node_id).versions;
    expect(version?.status).toBe("running");
    await fixture.chats.stop(chat);
    expect((await waitForAnswerEnd(fixture, sent)).status).toBe("aborted");
  });
});

test("the result of an edit contains the live output of running answers", async () => {
  const fixture = await chatFixture({ script: hangingScript });
  const chat = await createTestChat(fixture);
  const sent = await fixture.chats.send(chat, { text: "One" });
  await waitForAnswerText(fixture, sent, "Beginning");
  const { node_id } = sent;
  const { after } = await fixture.chats.edit(chat, [{ type: "pin", node_id, value: true }]);
  expect(JSON.stringify(after.chat.nodes[node_id])).toContain("Beginning");
  await fixture.chats.stop(chat);
});

describe("a message whose task was stored but never started", () => {
  test("is sent when its request is repeated with the same task id, and exists once", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ wait: neverResolves }] });
    const { chat, sendRequest, node_id, later } = await killBeforeTaskStart(fixture, {
      script: [[{ text: "Now" }]],
    });
    const sent = await later.chats.send(chat, sendRequest);
    expect(sent.node_id).toBe(node_id);
    expect((await waitForAnswerEnd(later, sent)).status).toBe("completed");
    expect(await readPathTexts(later, chat)).toEqual(["Go", "Now"]);
    expect(later.models.bodies).toHaveLength(1);
    expect((await later.chats.send(chat, sendRequest)).version_id).toBe(sent.version_id);
  });

  test("is also sent if the repeated request has the revision before its own change", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ wait: neverResolves }] });
    const { chat, sendRequest, later } = await killBeforeTaskStart(fixture, {
      script: [[{ text: "Now" }]],
    });
    const sent = await later.chats.send(chat, { ...sendRequest, revision: 0 });
    expect((await waitForAnswerEnd(later, sent)).status).toBe("completed");
  });

  test("is not sent while it is hidden", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ wait: neverResolves }] });
    const { chat, sendRequest, node_id, later } = await killBeforeTaskStart(fixture, {});
    const { nodes } = await readChat(later, chat);
    const message = nodes[node_id]?.parent ?? "";
    await later.chats.edit(chat, [{ type: "hide", node_id: message, value: true }]);
    await expect(later.chats.send(chat, sendRequest)).rejects.toThrow(/excluded from context/);
    expect(later.models.bodies).toEqual([]);
  });

  test("has an interrupted answer, even if that could not be stored at first", async () => {
    const fixture = await chatFixture({ files: true, script: () => [{ wait: neverResolves }] });
    const { chat, node_id, later } = await killBeforeTaskStart(fixture, {
      expectsFailures: true,
      failOnce: { method: "saveChat", when: (args) => args.includes("interrupted") },
    });
    const failed = await waitForChat(later, chat, (one) => {
      const [version] = getAnswerNode(one, node_id).versions;
      return version?.status === "error" && version;
    });
    expect(failed.error?.code).toBe("interrupted");
  });
});

test("a message is answered although the store could not be reached when its task was started", async () => {
  const fixture = await chatFixture({
    expectsFailures: true,
    script: () => [{ text: "An answer." }],
    failOnce: {
      method: "append",
      when: () => true,
      error: new StoreError("store_unreachable", "the server is being restarted"),
    },
  });
  const chat = await createTestChat(fixture);
  const sent = await fixture.chats.send(chat, { text: "Go" });
  expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
  expect(await readPathTexts(fixture, chat)).toEqual(["Go", "An answer."]);
});

test("deleting a chat while a message is being sent leaves nothing running", async () => {
  for (const forever of [false, true]) {
    const fixture = await chatFixture({ script: hangingScript });
    const chat = await createTestChat(fixture);
    const first = await fixture.chats.send(chat, { text: "One" });
    await waitForAnswerText(fixture, first, "Beginning");
    const [, sent] = await Promise.allSettled([
      fixture.chats.remove(chat, { forever }),
      fixture.chats.send(chat, { text: "Two", parent: null }),
    ]);
    const stored = await fixture.store.getChat(chat);
    expect(stored === undefined).toBe(forever);
    const versions = Object.values(stored?.chat.nodes ?? {}).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    expect(versions.filter(({ status }) => status === "running")).toEqual([]);
    expect(await fixture.store.listUnfinished()).toEqual([]);
    const rejected =
      sent?.status === "rejected" ? (sent.reason as { code: string }).code : undefined;
    expect([undefined, "chat_not_found"]).toContain(rejected);
  }
});

test("a title request that the shutdown of the gateway aborted is repeated after the next answer", async () => {
  const fixture = await chatFixture({
    files: true,
    settings: { title_model: "up/namer" },
    defaults: { generateTitles: true },
    script: ({ model }) =>
      model === "up/namer" ? [{ wait: neverResolves }] : [{ text: "An answer." }],
  });
  const chat = await createTestChat(fixture);
  await sendAndWait(fixture, chat, "How is bread made?");
  while (!fixture.models.requests.some(({ model }) => model === "up/namer"))
    await new Promise((resolve) => setTimeout(resolve, 5));
  await fixture.close();
  const later = await fixture.restartAfterKill({
    script: ({ model }) => [{ text: model === "up/namer" ? "Bread" : "Another." }],
  });
  expect(await readChat(later, chat)).toMatchObject({ title: "", title_by: "nobody" });
  await sendAndWait(later, chat, "And?");
  await waitForChat(later, chat, (one) => one.title === "Bread" && one);
});
