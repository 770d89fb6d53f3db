import { currentPath, type Chat } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { findTargetNode, findAdjacentNode } from "../../src/chat/use-chat-commands.ts";
import { toAnswerAnnouncement, nextAnswerAnnouncement } from "../../src/chat/chat-view.tsx";
import { createThread, getVisiblePath } from "../../src/chat/thread.ts";
import { createCell } from "../../src/cell.ts";
import type { OpenChat, OpenChatState } from "../../src/state/app-store.ts";
import { completedAnswer, buildChat } from "./chat-fixture.ts";

const edits = [
  { type: "add_message", parent: null, message: { text: "one" } },
  { type: "add_answer", parent: "node_1", answer: completedAnswer },
  { type: "add_message", parent: "node_2", message: { text: "two" } },
  { type: "add_answer", parent: "node_3", answer: completedAnswer },
] as const;
const chat = buildChat(...edits);
const getNodeIds = (path: readonly { node_id: string }[]) => path.map(({ node_id }) => node_id);

test("a message is added below the last displayed node", () => {
  const { path, parentId, isBranching } = getVisiblePath(chat, undefined);
  expect(getNodeIds(path)).toEqual(["node_1", "node_2", "node_3", "node_4"]);
  expect([parentId, isBranching]).toEqual(["node_4", false]);
});

test("while branching, the path ends at the branching point, and a message is added below it", () => {
  const { path, parentId, isBranching } = getVisiblePath(chat, { parentId: "node_2" });
  expect(getNodeIds(path)).toEqual(["node_1", "node_2"]);
  expect([parentId, isBranching]).toEqual(["node_2", true]);
});

test("branching at the root shows no messages", () => {
  expect(getVisiblePath(chat, { parentId: null })).toEqual({
    path: [],
    parentId: null,
    isBranching: true,
  });
});

const branchedChat = buildChat(...edits, {
  type: "add_message",
  parent: "node_2",
  message: { text: "instead" },
});

test("a branch added by another client does not change where the next message goes", () => {
  const { path, parentId, isBranching } = getVisiblePath(branchedChat, { parentId: "node_2" });
  expect(getNodeIds(path)).toEqual(["node_1", "node_2"]);
  expect([parentId, isBranching]).toEqual(["node_2", true]);
});

test("branching ends when the message is sent, but not if sending fails", async () => {
  const { thread, gateway } = createOpenChat();
  thread.branching.set({ parentId: "node_2" });
  gateway.acceptsMessages = false;
  await thread.chat.send(draft, "node_2");
  expect(thread.branching.get()).toEqual({ parentId: "node_2" });
  gateway.acceptsMessages = true;
  await thread.chat.send(draft, "node_2");
  expect(thread.branching.get()).toBeUndefined();
});

test("branching ends when the chat switches to another branch", () => {
  const { thread, show } = createOpenChat(branchedChat);
  const unsubscribe = thread.endBranchingOnSwitch();
  thread.branching.set({ parentId: "node_5" });
  show({ ...branchedChat, title: "named" });
  expect(thread.branching.get()).toEqual({ parentId: "node_5" });
  show(chat);
  expect(thread.branching.get()).toBeUndefined();
  unsubscribe();
});

test("branching ends when a message below the branching point is shown", async () => {
  const { thread } = createOpenChat();
  thread.branching.set({ parentId: "node_2" });
  await thread.showNode("node_1");
  expect(thread.branching.get()).toEqual({ parentId: "node_2" });
  await thread.showNode("node_4");
  expect(thread.branching.get()).toBeUndefined();
});

const draft = { text: "Hello", attachments: [], contexts: [], key: "key" };

/** Creates a thread whose chat accepts or rejects messages. */
function createOpenChat(initialChat: Chat = chat) {
  const toReadyState = (current: Chat): OpenChatState => ({
    status: "ready",
    chat: current,
    stamp: 0,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    deletedAt: undefined,
  });
  const state = createCell(toReadyState(initialChat));
  const gateway = { acceptsMessages: true };
  const openChat = { chatId: "chat_1", state, send: async () => gateway.acceptsMessages };
  const thread = createThread(openChat as unknown as OpenChat);
  return { thread, gateway, show: (current: Chat) => state.set(toReadyState(current)) };
}

test("a command applies to the focused message, else to the last suitable one", () => {
  const path = currentPath(chat);
  const isMessage = ({ kind }: { kind: string }) => kind === "user";
  expect(findTargetNode(path, "node_2", isMessage)?.node_id).toBe("node_2");
  expect(findTargetNode(path, undefined, isMessage)?.node_id).toBe("node_3");
  expect(findTargetNode(path, "gone", isMessage)?.node_id).toBe("node_3");
});

test("the navigation keys move between messages and stop at both ends", () => {
  const path = currentPath(chat);
  expect(findAdjacentNode(path, undefined, -1)?.node_id).toBe("node_4");
  expect(findAdjacentNode(path, "node_4", -1)?.node_id).toBe("node_3");
  expect(findAdjacentNode(path, "node_4", 1)).toBeUndefined();
  expect(findAdjacentNode(path, "node_1", -1)).toBeUndefined();
});

test("changes of an answer's state are announced, but not its state when the chat is opened", () => {
  const done = toAnswerAnnouncement(currentPath(chat));
  expect(nextAnswerAnnouncement(undefined, done)).toBeUndefined();
  const answering = { versionId: "version_9", state: "answering", message: undefined } as const;
  expect(nextAnswerAnnouncement(done, answering)).toBe(answering);
  const waiting = { ...answering, state: "waiting" } as const;
  expect(nextAnswerAnnouncement(answering, waiting)).toBe(waiting);
  expect(nextAnswerAnnouncement(waiting, waiting)).toBeUndefined();
  const failed = { ...answering, state: "failed", message: "no credit" } as const;
  expect(nextAnswerAnnouncement(waiting, failed)).toBe(failed);
});

test("switching to another finished version is not announced", () => {
  const first = { versionId: "version_1", state: "done", message: undefined } as const;
  const second = { ...first, versionId: "version_2" };
  expect(nextAnswerAnnouncement(first, second)).toBeUndefined();
});
