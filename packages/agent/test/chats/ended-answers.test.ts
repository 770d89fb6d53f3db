import type { Chats, SendResult } from "@deltawire/agent";
import type { Store } from "@deltawire/store";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createTestChat,
  getAnswerNode,
  readChat,
  waitForAnswerEnd,
  waitForTask,
} from "../../../../test/chats/chat-helpers.ts";
import { countingScript, hangingScript } from "../../../../test/chats/scripted-models.ts";
import { openSharedStore, openTestStore } from "../cluster/two-runtimes.ts";
import { chatFixture, type StoredChatFixture } from "./chat-fixture.ts";

/** Delays the first attempt to store the end of an answer until `release` is called. */
function delayFirstEnd(store: Store): { release: () => void; isWaiting: () => boolean } {
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const save = store.saveChat.bind(store);
  let isWaiting = false;
  vi.spyOn(store, "saveChat").mockImplementation(async (...args) => {
    if (!isWaiting && JSON.stringify(args[1].nodes).includes('"status":"completed"')) {
      isWaiting = true;
      await gate.promise;
    }
    return save(...args);
  });
  return { release: () => gate.resolve(), isWaiting: () => isWaiting };
}

type Sent = Pick<SendResult, "node_id"> & { readonly message_id: string };

const actions: readonly [
  name: string,
  perform: (chats: Chats, chatId: string, sent: Sent) => Promise<unknown>,
][] = [
  ["a new message", (chats, id) => chats.send(id, { text: "And then?" })],
  ["a rerun", (chats, id, { node_id }) => chats.rerun(id, { node_id })],
  [
    "an edited message",
    (chats, id, { message_id: node_id }) =>
      chats.editMessage(id, { node_id, text: "Go again", as: "version", send: true }),
  ],
  [
    "an edited answer",
    (chats, id, { node_id }) =>
      chats.editMessage(id, { node_id, text: "By hand", as: "version", send: false }),
  ],
  ["a continued answer", (chats, id, { node_id }) => chats.continueAnswer(id, { node_id })],
  [
    "a deletion",
    (chats, id, { node_id }) =>
      chats.edit(id, [{ type: "delete_node", node_id, children: "delete" }]),
  ],
  ["a copy", (chats, id, { message_id }) => chats.extract(id, message_id)],
];

interface Processes {
  readonly store: Store;
  /** Runs the first answer. */
  readonly first: StoredChatFixture;
  /** Receives the action. */
  readonly second: StoredChatFixture;
}

async function openOne(): Promise<Processes> {
  const store = await openTestStore();
  const first = await chatFixture({ openedStore: store, script: countingScript });
  return { store, first, second: first };
}

async function openTwo(): Promise<Processes> {
  const store = await openSharedStore();
  const options = { sharedStore: store, script: countingScript };
  return { store, first: await chatFixture(options), second: await chatFixture(options) };
}

describe.each([
  ["of the same process", openOne],
  ["of another process", openTwo],
])("while the end of an answer %s is being stored", (_whose, open) => {
  test.each(actions)("%s is accepted", async (_what, perform) => {
    const { store, first, second } = await open();
    const end = delayFirstEnd(store);
    const chat = await createTestChat(first);
    const sent = await first.chats.send(chat, { text: "Go" });
    await waitForTask(first, sent.task_id, ({ tasks }) => {
      return tasks[sent.task_id]?.status === "completed";
    });
    await vi.waitFor(() => expect(end.isWaiting()).toBe(true));
    const message_id = getAnswerNode(sent.after.chat, sent.node_id).parent ?? "";
    await perform(second.chats, chat, { node_id: sent.node_id, message_id });
    end.release();
    await vi.waitFor(async () =>
      expect(JSON.stringify(await readChat(first, chat))).not.toContain('"status":"running"'),
    );
    const { nodes } = await readChat(first, chat);
    const versions = Object.values(nodes).flatMap((node) =>
      node.kind === "answer" ? node.versions : [],
    );
    const ids = versions.map(({ version_id }) => version_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(versions.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
  });
});

test("while another answer of the chat runs, its message cannot be continued, and an ended one can", async () => {
  const store = await openTestStore();
  const fixture = await chatFixture({ openedStore: store, script: countingScript });
  const end = delayFirstEnd(store);
  const chat = await createTestChat(fixture);
  const ended = await fixture.chats.send(chat, { text: "One" });
  await vi.waitFor(() => expect(end.isWaiting()).toBe(true));
  fixture.models.setScript(hangingScript);
  const running = await fixture.chats.send(chat, { text: "Two", parent: null });
  const parent = running.node_id;
  await expect(fixture.chats.send(chat, { text: "Three", parent })).rejects.toMatchObject({
    code: "still_running",
  });
  await fixture.chats.send(chat, { text: "Four", parent: ended.node_id });
  end.release();
  expect((await waitForAnswerEnd(fixture, ended)).status).toBe("completed");
  await fixture.chats.stop(chat);
});

test("if the end of the answer cannot be stored, the message is rejected with that error", async () => {
  const store = await openTestStore();
  const fixture = await chatFixture({
    openedStore: store,
    script: countingScript,
    expectsFailures: true,
  });
  const save = store.saveChat.bind(store);
  let isFull = true;
  vi.spyOn(store, "saveChat").mockImplementation(async (...args) => {
    if (isFull && JSON.stringify(args[1].nodes).includes('"status":"completed"'))
      throw new Error("no room on the disk");
    return save(...args);
  });
  const chat = await createTestChat(fixture);
  const sent = await fixture.chats.send(chat, { text: "One" });
  await vi.waitFor(() => expect(fixture.failures.join()).toContain("no room on the disk"));
  await expect(fixture.chats.send(chat, { text: "Two" })).rejects.toThrow("no room on the disk");
  isFull = false;
  await fixture.chats.send(chat, { text: "Three" });
  expect((await waitForAnswerEnd(fixture, sent)).status).toBe("completed");
});
