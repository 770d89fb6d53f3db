import { expect, test } from "vitest";
import { measureSlowdown } from "../../../../test/cpu-time.ts";
import {
  applyEdit,
  importChats,
  maxMessageCharacters,
  maxMessages,
} from "../../src/chats/index.ts";
import type { AnswerNode, Chat, ChatNode, EditEnvironment } from "../../src/chats/index.ts";
import { createChat } from "../../src/chats/create-chat.ts";
import { createAnswerNode, createUserNode } from "../../src/chats/create-node.ts";
import { getAnswerChain } from "../../src/chats/chat-path.ts";
import { findChatFaults } from "../../src/chats/validate-chat.ts";

let lastId = 0;
const environment: EditEnvironment = {
  newId: (prefix) => `${prefix}_${(lastId += 1)}`,
  now: () => "2026-01-31T12:00:00.000Z",
};

/** Creates a chat with this number of messages on one path. `end`: id of the last one. */
function createLongChat(count: number): { chat: Chat; end: string } {
  const nodes: ChatNode[] = [];
  const chosen: Record<string, string> = {};
  for (let nth = 0; nth < count; nth += 1) {
    const above = nodes.at(-1);
    const node = createUserNode(above?.node_id ?? null, { text: `message ${nth}` }, environment);
    if (above !== undefined) nodes[nth - 1] = { ...above, children: [node.node_id] };
    chosen[above?.node_id ?? ""] = node.node_id;
    nodes.push(node);
  }
  const byId = Object.fromEntries(nodes.map((node) => [node.node_id, node]));
  const roots = nodes.slice(0, 1).map(({ node_id }) => node_id);
  const chat = { ...createChat({}, environment), nodes: byId, roots, chosen };
  return { chat, end: nodes.at(-1)?.node_id ?? "" };
}

test("a chat with the maximum number of messages accepts no more messages, versions or separators, but other edits", () => {
  const { chat, end } = createLongChat(maxMessages);
  expect(findChatFaults(chat)).toEqual([]);
  const message = { text: "one more" };
  for (const edit of [
    { type: "add_message", parent: end, message },
    { type: "add_message_version", node_id: end, message },
    { type: "add_separator", after: end },
  ] as const)
    expect(applyEdit(chat, edit, environment)).toEqual({
      ok: false,
      code: "invalid_value",
      reason:
        "a chat can have at most 10000 messages including all versions; start a new chat or delete some messages",
    });
  expect(applyEdit(chat, { type: "rename", title: "full" }, environment).ok).toBe(true);
  expect(applyEdit(chat, { type: "pin", node_id: end, value: true }, environment).ok).toBe(true);
  const deletion = applyEdit(
    chat,
    { type: "delete_node", node_id: end, children: "delete" },
    environment,
  );
  const added = deletion.ok
    ? applyEdit(deletion.chat, { type: "add_message", parent: null, message }, environment)
    : deletion;
  expect(added.ok).toBe(true);
  // A deletion can always be undone, even above the limit.
  const removal = deletion.ok ? deletion.removal : undefined;
  const restored =
    added.ok && removal !== undefined
      ? applyEdit(added.chat, { type: "restore", removal }, environment)
      : added;
  expect(restored.ok).toBe(true);
});

test("a message with more than a million characters is rejected", () => {
  const { chat } = createLongChat(1);
  const add = (text: string) =>
    applyEdit(chat, { type: "add_message", parent: null, message: { text } }, environment);
  expect(add("x".repeat(maxMessageCharacters)).ok).toBe(true);
  expect(add("x".repeat(maxMessageCharacters + 1))).toMatchObject({
    ok: false,
    code: "invalid_value",
    reason: expect.stringContaining("must have at most 1000000 characters") as string,
  });
});

test("a file with a chat above a limit is rejected with the reason", () => {
  const importEnvironment = { ...environment, hashBlob: () => "" };
  const messages = (count: number, content = "words") =>
    Array.from({ length: count }, () => ({ role: "user", content }));
  const listProblems = (value: unknown) => {
    const imported = importChats(value, importEnvironment);
    return imported.ok ? [] : imported.problems;
  };
  expect(listProblems(messages(maxMessages))).toEqual([]);
  const advice = "a chat can have at most 10000; split it into several chats";
  expect(listProblems(messages(maxMessages + 1))).toEqual([
    `chats[0]: has ${maxMessages + 1} messages, but ${advice}`,
  ]);
  expect(listProblems({ messages: messages(maxMessages * 10 + 1) })).toEqual([
    `messages: has ${maxMessages * 10 + 1} messages, but ${advice}`,
  ]);
  expect(listProblems(messages(1, "x".repeat(maxMessageCharacters + 1)))[0]).toContain(
    "a message can have at most 1000000",
  );
  const { chat } = createLongChat(maxMessages + 1);
  const file = { format: "deltawire.chat", version: 1, chats: [{ chat, replays: {} }], blobs: {} };
  expect(listProblems(file)).toEqual([`chats[0]: has ${maxMessages + 1} messages, but ${advice}`]);
});

test("an answer with many continuations is read and checked in linear time", () => {
  const createContinuedAnswer = (count: number): AnswerNode => {
    const answer = { by: "user", status: "completed", output: [], references: [], notices: [] };
    const first = createAnswerNode("none", { ...answer, model_type: "chat" } as never, environment);
    const versions = Array.from({ length: count }, (_, nth) => ({
      ...first.versions[0],
      version_id: `v${nth}`,
      ...(nth === 0 ? {} : { continues: `v${nth - 1}` }),
    }));
    return { ...first, versions, version: `v${count - 1}` } as AnswerNode;
  };
  const [small, large] = [createContinuedAnswer(1000), createContinuedAnswer(8000)];
  expect(getAnswerChain(large, "v7999").map(({ version_id }) => version_id)).toEqual(
    Array.from({ length: 8000 }, (_, nth) => `v${nth}`),
  );
  const check = (node: AnswerNode) => () =>
    findChatFaults({ ...createLongChat(0).chat, nodes: { [node.node_id]: node } });
  expect(check(large)().filter((fault) => fault.includes("continues"))).toEqual([]);
  expect(measureSlowdown(check(small), check(large))).toBeLessThan(4);
  expect(
    measureSlowdown(
      () => getAnswerChain(small, "v999"),
      () => getAnswerChain(large, "v7999"),
    ),
  ).toBeLessThan(4);
});
