import { expect, test } from "vitest";
import { slowdown } from "../../../../test/work-time.ts";
import {
  applyEdit,
  importChats,
  maxMessageCharacters,
  maxMessages,
} from "../../src/chats/index.ts";
import type { AnswerNode, Chat, ChatNode, EditWorld } from "../../src/chats/index.ts";
import { newChat } from "../../src/chats/new-chat.ts";
import { newAnswerNode, newUserNode } from "../../src/chats/new-node.ts";
import { answerChain } from "../../src/chats/path.ts";
import { chatFaults } from "../../src/chats/validate-chat.ts";

let last = 0;
const world: EditWorld = {
  newId: (prefix) => `${prefix}_${(last += 1)}`,
  now: () => "2026-01-31T12:00:00.000Z",
};

/** One message under the other. */
function chatOf(count: number): { chat: Chat; end: string } {
  const nodes: ChatNode[] = [];
  const chosen: Record<string, string> = {};
  for (let nth = 0; nth < count; nth += 1) {
    const above = nodes.at(-1);
    const node = newUserNode(above?.node_id ?? null, { text: `message ${nth}` }, world);
    if (above !== undefined) nodes[nth - 1] = { ...above, children: [node.node_id] };
    chosen[above?.node_id ?? ""] = node.node_id;
    nodes.push(node);
  }
  const byId = Object.fromEntries(nodes.map((node) => [node.node_id, node]));
  const roots = nodes.slice(0, 1).map(({ node_id }) => node_id);
  const chat = { ...newChat({}, world), nodes: byId, roots, chosen };
  return { chat, end: nodes.at(-1)?.node_id ?? "" };
}

test("a full chat takes no more messages, versions or separators, but can be changed", () => {
  const { chat, end } = chatOf(maxMessages);
  expect(chatFaults(chat)).toEqual([]);
  const message = { text: "one more" };
  for (const edit of [
    { type: "add_message", parent: end, message },
    { type: "add_message_version", node_id: end, message },
    { type: "add_separator", after: end },
  ] as const)
    expect(applyEdit(chat, edit, world)).toEqual({
      ok: false,
      code: "bad_value",
      reason:
        "a chat can have at most 10000 messages, all versions counted: continue in a new chat, or delete some",
    });
  expect(applyEdit(chat, { type: "rename", title: "full" }, world).ok).toBe(true);
  expect(applyEdit(chat, { type: "pin", node_id: end, value: true }, world).ok).toBe(true);
  const emptied = applyEdit(chat, { type: "delete_node", node_id: end, children: "delete" }, world);
  const added = emptied.ok
    ? applyEdit(emptied.chat, { type: "add_message", parent: null, message }, world)
    : emptied;
  expect(added.ok).toBe(true);
  // A deletion is undone whatever came meanwhile.
  const removal = emptied.ok ? emptied.removal : undefined;
  const restored =
    added.ok && removal !== undefined
      ? applyEdit(added.chat, { type: "restore", removal }, world)
      : added;
  expect(restored.ok).toBe(true);
});

test("a message has at most a million characters", () => {
  const { chat } = chatOf(1);
  const add = (text: string) =>
    applyEdit(chat, { type: "add_message", parent: null, message: { text } }, world);
  expect(add("x".repeat(maxMessageCharacters)).ok).toBe(true);
  expect(add("x".repeat(maxMessageCharacters + 1))).toMatchObject({
    ok: false,
    code: "bad_value",
    reason: expect.stringContaining("must have at most 1000000 characters") as string,
  });
});

test("a file with a chat over a limit is not imported, and the message says why", () => {
  const importWorld = { ...world, blobHash: () => "" };
  const messages = (count: number, content = "words") =>
    Array.from({ length: count }, () => ({ role: "user", content }));
  const problems = (value: unknown) => {
    const read = importChats(value, importWorld);
    return read.ok ? [] : read.problems;
  };
  expect(problems(messages(maxMessages))).toEqual([]);
  const divide = "a chat can have at most 10000, so divide it into several";
  expect(problems(messages(maxMessages + 1))).toEqual([
    `chats[0]: has ${maxMessages + 1} messages; ${divide}`,
  ]);
  expect(problems({ messages: messages(maxMessages * 10 + 1) })).toEqual([
    `messages: has ${maxMessages * 10 + 1} messages; ${divide}`,
  ]);
  expect(problems(messages(1, "x".repeat(maxMessageCharacters + 1)))[0]).toContain(
    "a message can have at most 1000000",
  );
  const { chat } = chatOf(maxMessages + 1);
  const file = { format: "deltawire.chat", version: 1, chats: [{ chat, replays: {} }], blobs: {} };
  expect(problems(file)).toEqual([`chats[0]: has ${maxMessages + 1} messages; ${divide}`]);
});

test("an answer that goes on many times takes time that grows with their number only", () => {
  const continued = (count: number): AnswerNode => {
    const answer = { by: "user", status: "completed", output: [], references: [], notices: [] };
    const first = newAnswerNode("none", { ...answer, model_type: "chat" } as never, world);
    const versions = Array.from({ length: count }, (_, nth) => ({
      ...first.versions[0],
      version_id: `v${nth}`,
      ...(nth === 0 ? {} : { continues: `v${nth - 1}` }),
    }));
    return { ...first, versions, version: `v${count - 1}` } as AnswerNode;
  };
  const [eighth, whole] = [continued(1000), continued(8000)];
  expect(answerChain(whole, "v7999").map(({ version_id }) => version_id)).toEqual(
    Array.from({ length: 8000 }, (_, nth) => `v${nth}`),
  );
  const check = (node: AnswerNode) => () =>
    chatFaults({ ...chatOf(0).chat, nodes: { [node.node_id]: node } });
  expect(check(whole)().filter((fault) => fault.includes("goes on from"))).toEqual([]);
  expect(slowdown(check(eighth), check(whole))).toBeLessThan(4);
  expect(
    slowdown(
      () => answerChain(eighth, "v999"),
      () => answerChain(whole, "v7999"),
    ),
  ).toBeLessThan(4);
});
