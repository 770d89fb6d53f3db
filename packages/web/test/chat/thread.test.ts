import { currentPath } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { meantNode, neighbour } from "../../src/chat/meant-node.ts";
import { heardAtEnd, toBeSaid } from "../../src/chat/spoken.ts";
import { branchesUnder, shownPath } from "../../src/chat/thread.ts";
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
  const branching = { under: "node_2", branches: branchesUnder(chat, "node_2") };
  const { path, parent, isBranching } = shownPath(chat, branching);
  expect(idsOf(path)).toEqual(["node_1", "node_2"]);
  expect([parent, isBranching]).toEqual(["node_2", true]);
});

test("a new beginning shows nothing of the old one", () => {
  expect(shownPath(chat, { under: null, branches: 1 })).toEqual({
    path: [],
    parent: null,
    isBranching: true,
  });
});

test("once the branch has begun its path is shown", () => {
  const branched = chatAfter(...edits, {
    type: "add_message",
    parent: "node_2",
    message: { text: "instead" },
  });
  const { path, isBranching } = shownPath(branched, { under: "node_2", branches: 1 });
  expect(idsOf(path)).toEqual(["node_1", "node_2", "node_5"]);
  expect(isBranching).toBe(false);
});

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
