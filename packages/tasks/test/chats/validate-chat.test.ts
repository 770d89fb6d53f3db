import { findChatFaults, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { buildAnswer, runningAnswer, ChatBuilder } from "./chat-builder.ts";

/** Creates a message, its answer with two versions, a separator, another message and a bookmark. */
function createValidChat(): {
  chat: Chat;
  user: string;
  answer: string;
  separator: string;
  next: string;
} {
  const builder = new ChatBuilder();
  const [user, answer] = builder.addTurn(null, "one");
  const continues = builder.getChosenVersionId(answer);
  const continuation = { ...buildAnswer("more"), continues };
  builder.edit({ type: "add_answer_version", node_id: answer, answer: continuation });
  const separator = builder.addSeparator(answer);
  const next = builder.addMessage(separator, "two");
  builder.edit({ type: "bookmark", node_id: next, value: true });
  return { chat: builder.chat, user, answer, separator, next };
}

const { chat, user, answer, separator, next } = createValidChat();

/** Returns the chat with one changed node. */
function withNode(id: string, changes: object): Chat {
  return { ...chat, nodes: { ...chat.nodes, [id]: { ...chat.nodes[id], ...changes } as ChatNode } };
}

/** Returns the chat without one node. */
function withoutNode(id: string): Chat {
  return {
    ...chat,
    nodes: Object.fromEntries(Object.entries(chat.nodes).filter(([key]) => key !== id)),
  };
}

function getVersions(id: string): readonly { version_id: string; continues?: string }[] {
  const node = chat.nodes[id];
  return node === undefined || node.kind === "separator" ? [] : node.versions;
}

test("a chat that was created by edits has no faults", () => {
  expect(findChatFaults(chat)).toEqual([]);
});

const [first, second] = getVersions(answer).map(({ version_id }) => version_id);
const { "": _roots, ...chosenWithoutRoot } = chat.chosen;

test.each<[description: string, invalidChat: Chat, fault: string]>([
  [
    "a node_id that differs from its key",
    withNode(next, { node_id: "other" }),
    `node ${next} has the node_id other`,
  ],
  ["a missing parent", withoutNode(separator), `the parent ${separator} of ${next} does not exist`],
  ["a missing child", withoutNode(next), `child ${next} of ${separator} does not exist`],
  ["a missing root", { ...chat, roots: [user, "gone"] }, "root gone does not exist"],
  [
    "a root with a parent",
    { ...chat, roots: [user, next] },
    `root ${next} has the parent ${separator}`,
  ],
  [
    "a child of two nodes",
    withNode(user, { children: [answer, next] }),
    `child ${next} of ${user} has the parent ${separator}`,
  ],
  [
    "a duplicate child",
    withNode(user, { children: [answer, answer] }),
    `child ${answer} of ${user} is a duplicate`,
  ],
  [
    "a child that its parent does not list",
    withNode(separator, { children: [] }),
    `node ${next} cannot be reached from a root`,
  ],
  [
    "a root that is not listed",
    { ...chat, roots: [] },
    `node ${user} cannot be reached from a root`,
  ],
  [
    "a cycle",
    withNode(user, { parent: next, children: [answer] }),
    `root ${user} has the parent ${next}`,
  ],
  [
    "an answer without a user message",
    withNode(next, { kind: "answer" }),
    `the parent of answer ${next} is not a user message`,
  ],
  [
    "a separator as a root",
    withNode(user, { kind: "separator" }),
    `the separator ${user} has no parent`,
  ],
  ["a message without versions", withNode(next, { versions: [] }), `${next} has no versions`],
  [
    "a missing chosen version",
    withNode(next, { version: "v" }),
    `the chosen version v of ${next} does not exist`,
  ],
  [
    "a version shared by two messages",
    withNode(next, { versions: getVersions(user), version: getVersions(user)[0]?.version_id }),
    `version ${getVersions(user)[0]?.version_id} of ${next} is a duplicate`,
  ],
  [
    "a continuation of a missing version",
    withNode(answer, { versions: getVersions(answer).slice(1), version: second }),
    `version ${second} of ${answer} continues ${first}, which does not exist`,
  ],
  [
    "a cycle of continuations",
    withNode(answer, {
      versions: getVersions(answer).map((version) => ({ continues: second, ...version })),
    }),
    `version ${first} of ${answer} continues itself`,
  ],
  [
    "two running versions",
    withNode(answer, {
      versions: getVersions(answer).map((version) => ({
        ...version,
        status: runningAnswer.status,
      })),
    }),
    `several versions of ${answer} are running`,
  ],
  ["no chosen root", { ...chat, chosen: chosenWithoutRoot }, "no node among the roots is chosen"],
  [
    "a chosen node that is not a child",
    { ...chat, chosen: { ...chat.chosen, [answer]: next } },
    `the chosen node ${next} is not below ${answer}`,
  ],
  [
    "a chosen node below a node without children",
    { ...chat, chosen: { ...chat.chosen, [next]: user } },
    `the chosen node ${user} is not below ${next}`,
  ],
  [
    "a chosen node below a missing node",
    { ...chat, chosen: { ...chat.chosen, gone: next } },
    "a node is chosen below gone, which does not exist",
  ],
  [
    "a bookmark of a missing node",
    { ...chat, bookmarks: ["toString"] },
    "the bookmarked node toString does not exist",
  ],
  [
    "a duplicate bookmark",
    { ...chat, bookmarks: [next, next] },
    `the bookmark of ${next} is a duplicate`,
  ],
])("findChatFaults reports %s", (_description, invalidChat, fault) => {
  expect(findChatFaults(invalidChat)).toContain(fault);
});

test("findChatFaults reports a cycle that is not connected to a root", () => {
  const detached = withNode(separator, { parent: next, children: [next] });
  const cyclic = {
    ...detached,
    nodes: {
      ...detached.nodes,
      [next]: { ...detached.nodes[next], children: [separator] } as ChatNode,
      [answer]: { ...detached.nodes[answer], children: [] } as ChatNode,
    },
  };
  expect(findChatFaults(cyclic)).toEqual(
    expect.arrayContaining([
      `node ${separator} cannot be reached from a root`,
      `node ${next} cannot be reached from a root`,
    ]),
  );
});
