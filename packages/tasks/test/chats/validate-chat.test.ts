import { chatFaults, type Chat, type ChatNode } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { answerOf, slot, WrittenChat } from "./written-chat.ts";

/** A message, its answer with two versions, a separator and another message; a bookmark. */
function good(): { chat: Chat; user: string; answer: string; separator: string; next: string } {
  const w = new WrittenChat();
  const [user, answer] = w.turn(null, "one");
  const continues = w.shownVersion(answer);
  const more = { ...answerOf("more"), continues };
  w.edit({ type: "add_answer_version", node_id: answer, answer: more });
  const separator = w.separator(answer);
  const next = w.user(separator, "two");
  w.edit({ type: "bookmark", node_id: next, value: true });
  return { chat: w.chat, user, answer, separator, next };
}

const { chat, user, answer, separator, next } = good();

/** The chat with one node changed. */
function having(id: string, change: object): Chat {
  return { ...chat, nodes: { ...chat.nodes, [id]: { ...chat.nodes[id], ...change } as ChatNode } };
}

function without(id: string): Chat {
  return {
    ...chat,
    nodes: Object.fromEntries(Object.entries(chat.nodes).filter(([key]) => key !== id)),
  };
}

function versionsOf(id: string): readonly { version_id: string; continues?: string }[] {
  const node = chat.nodes[id];
  return node === undefined || node.kind === "separator" ? [] : node.versions;
}

test("a chat that edits have made has no fault", () => {
  expect(chatFaults(chat)).toEqual([]);
});

const [first, second] = versionsOf(answer).map(({ version_id }) => version_id);
const { "": _roots, ...noRootChosen } = chat.chosen;

test.each<[what: string, broken: Chat, fault: string]>([
  [
    "an id that is not its key",
    having(next, { node_id: "other" }),
    `node ${next} calls itself other`,
  ],
  ["a parent that is missing", without(separator), `the parent ${separator} of ${next} is missing`],
  ["a child that is missing", without(next), `child of ${separator} ${next} is missing`],
  ["a root that is missing", { ...chat, roots: [user, "gone"] }, "root gone is missing"],
  [
    "a root with a parent",
    { ...chat, roots: [user, next] },
    `root ${next} has another parent, ${separator}`,
  ],
  [
    "a child of two",
    having(user, { children: [answer, next] }),
    `child of ${user} ${next} has another parent, ${separator}`,
  ],
  [
    "a child that is there twice",
    having(user, { children: [answer, answer] }),
    `child of ${user} ${answer} is there twice`,
  ],
  ["a child that is not listed", having(separator, { children: [] }), `no root leads to ${next}`],
  ["a node that nobody leads to", { ...chat, roots: [] }, `no root leads to ${user}`],
  [
    "a circle",
    having(user, { parent: next, children: [answer] }),
    `root ${user} has another parent, ${next}`,
  ],
  [
    "an answer to no message",
    having(next, { kind: "answer" }),
    `the answer ${next} stands under no user's message`,
  ],
  [
    "a separator before everything",
    having(user, { kind: "separator" }),
    `the separator ${user} has nothing before it`,
  ],
  ["no version", having(next, { versions: [] }), `${next} has no version`],
  [
    "a shown version that is missing",
    having(next, { version: "v" }),
    `the chosen version v of ${next} is missing`,
  ],
  [
    "a version of two messages",
    having(next, { versions: versionsOf(user), version: versionsOf(user)[0]?.version_id }),
    `version ${versionsOf(user)[0]?.version_id} of ${next} is there twice`,
  ],
  [
    "a continuation of what is missing",
    having(answer, { versions: versionsOf(answer).slice(1), version: second }),
    `version ${second} of ${answer} goes on from ${first}, which is missing`,
  ],
  [
    "a continuation in a circle",
    having(answer, {
      versions: versionsOf(answer).map((one) => ({ continues: second, ...one })),
    }),
    `version ${first} of ${answer} goes on from itself`,
  ],
  [
    "two versions that run",
    having(answer, {
      versions: versionsOf(answer).map((one) => ({ ...one, status: slot.status })),
    }),
    `two versions of ${answer} run at once`,
  ],
  ["no choice among roots", { ...chat, chosen: noRootChosen }, "none of the roots is chosen"],
  [
    "a choice of what is no child",
    { ...chat, chosen: { ...chat.chosen, [answer]: next } },
    `${next}, chosen under ${answer}, does not stand there`,
  ],
  [
    "a choice where nothing stands",
    { ...chat, chosen: { ...chat.chosen, [next]: user } },
    `${user}, chosen under ${next}, does not stand there`,
  ],
  [
    "a choice under what is missing",
    { ...chat, chosen: { ...chat.chosen, gone: next } },
    "something is chosen under gone, which is missing",
  ],
  [
    "a bookmark of what is missing",
    { ...chat, bookmarks: ["toString"] },
    "toString has a bookmark, but is missing",
  ],
  [
    "a bookmark twice",
    { ...chat, bookmarks: [next, next] },
    `the bookmark of ${next} is there twice`,
  ],
])("%s is a fault", (_what, broken, fault) => {
  expect(chatFaults(broken)).toContain(fault);
});

test("a circle apart from the roots is found, though its parents and children agree", () => {
  const apart = having(separator, { parent: next, children: [next] });
  const circle = {
    ...apart,
    nodes: {
      ...apart.nodes,
      [next]: { ...apart.nodes[next], children: [separator] } as ChatNode,
      [answer]: { ...apart.nodes[answer], children: [] } as ChatNode,
    },
  };
  expect(chatFaults(circle)).toEqual(
    expect.arrayContaining([`no root leads to ${separator}`, `no root leads to ${next}`]),
  );
});
