import { currentPath, type Chat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { meantNode, neighbour } from "../../src/chat/use-chat-commands.ts";
import { heardAtEnd, toBeSaid } from "../../src/chat/conversation.tsx";
import { createThread, shownPath } from "../../src/chat/thread.ts";
import { cell } from "../../src/cell.ts";
import type { OpenChat, OpenChatState } from "../../src/state/page.ts";
import { answered, chatAfter } from "./stage.ts";

const edits = [
  { type: "add_message", parent: null, message: { text: "one" } },
  { type: "add_answer", parent: "node_1", answer: answered },
  { type: "add_message", parent: "node_2", message: { text: "two" } },
  { type: "add_answer", parent: "node_3", answer: answered },
] as const;
const chat = chatAfter(...edits);
const idsOf = (path: readonly { node_id: string }[]) => path.map(({ node_id }) => node_id);

test("a message goes under the last node that is shown", () => {
  const { path, parent, isBranching } = shownPath(chat, undefined);
  expect(idsOf(path)).toEqual(["node_1", "node_2", "node_3", "node_4"]);
  expect([parent, isBranching]).toEqual(["node_4", false]);
});

test("whoever branches sees the path up to there, and writes under it", () => {
  const { path, parent, isBranching } = shownPath(chat, { under: "node_2" });
  expect(idsOf(path)).toEqual(["node_1", "node_2"]);
  expect([parent, isBranching]).toEqual(["node_2", true]);
});

test("a new beginning shows nothing of the old one", () => {
  expect(shownPath(chat, { under: null })).toEqual({
    path: [],
    parent: null,
    isBranching: true,
  });
});

const branched = chatAfter(...edits, {
  type: "add_message",
  parent: "node_2",
  message: { text: "instead" },
});

test("a branch that somebody else begins there does not change where the message goes", () => {
  const { path, parent, isBranching } = shownPath(branched, { under: "node_2" });
  expect(idsOf(path)).toEqual(["node_1", "node_2"]);
  expect([parent, isBranching]).toEqual(["node_2", true]);
});

test("branching ends with the message that was sent, and not with one that was not", async () => {
  const { thread, gateway } = opened();
  thread.branching.set({ under: "node_2" });
  gateway.takes = false;
  await thread.chat.send(draft, "node_2");
  expect(thread.branching.get()).toEqual({ under: "node_2" });
  gateway.takes = true;
  await thread.chat.send(draft, "node_2");
  expect(thread.branching.get()).toBeUndefined();
});

test("whoever goes to another branch no longer branches, also when coming back", () => {
  const { thread, show } = opened(branched);
  const leave = thread.watch();
  thread.branching.set({ under: "node_5" });
  show({ ...branched, title: "named" });
  expect(thread.branching.get()).toEqual({ under: "node_5" });
  show(chat);
  expect(thread.branching.get()).toBeUndefined();
  leave();
});

test("whoever goes to a message below the branching place no longer branches", async () => {
  const { thread } = opened();
  thread.branching.set({ under: "node_2" });
  await thread.show("node_1");
  expect(thread.branching.get()).toEqual({ under: "node_2" });
  await thread.show("node_4");
  expect(thread.branching.get()).toBeUndefined();
});

const draft = { text: "Hello", attachments: [], contexts: [], key: "key" };

/** A thread on a chat that takes messages, or does not. */
function opened(first: Chat = chat) {
  const ready = (now: Chat): OpenChatState => ({
    is: "ready",
    chat: now,
    stamp: 0,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    deletedAt: undefined,
  });
  const state = cell(ready(first));
  const gateway = { takes: true };
  const open = { chatId: "chat_1", state, send: async () => gateway.takes };
  const thread = createThread(open as unknown as OpenChat);
  return { thread, gateway, show: (now: Chat) => state.set(ready(now)) };
}

test("a command is for the message that has the focus, else for the last that it fits", () => {
  const path = currentPath(chat);
  const isMessage = ({ kind }: { kind: string }) => kind === "user";
  expect(meantNode(path, "node_2", isMessage)?.node_id).toBe("node_2");
  expect(meantNode(path, undefined, isMessage)?.node_id).toBe("node_3");
  expect(meantNode(path, "gone", isMessage)?.node_id).toBe("node_3");
});

test("keys go from message to message and stop at both ends", () => {
  const path = currentPath(chat);
  expect(neighbour(path, undefined, -1)?.node_id).toBe("node_4");
  expect(neighbour(path, "node_4", -1)?.node_id).toBe("node_3");
  expect(neighbour(path, "node_4", 1)).toBeUndefined();
  expect(neighbour(path, "node_1", -1)).toBeUndefined();
});

test("what was done when the chat was opened is not said, what becomes of an answer is", () => {
  const done = heardAtEnd(currentPath(chat));
  expect(toBeSaid(undefined, done)).toBeUndefined();
  const answering = { versionId: "version_9", says: "answering", message: undefined } as const;
  expect(toBeSaid(done, answering)).toBe(answering);
  const waiting = { ...answering, says: "waiting" } as const;
  expect(toBeSaid(answering, waiting)).toBe(waiting);
  expect(toBeSaid(waiting, waiting)).toBeUndefined();
  const failed = { ...answering, says: "failed", message: "no credit" } as const;
  expect(toBeSaid(waiting, failed)).toBe(failed);
});

test("switching to another finished version says nothing", () => {
  const one = { versionId: "version_1", says: "done", message: undefined } as const;
  const other = { ...one, versionId: "version_2" };
  expect(toBeSaid(one, other)).toBeUndefined();
});
