import {
  applyEdit,
  applyEdits,
  newChat,
  type AnswerNode,
  type ChatEdit,
  type PersonEdit,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, endOf, pathOf, slot, WrittenChat } from "./written-chat.ts";

describe("branches and versions", () => {
  test("a branch has its own future, a version shares the one of its node", () => {
    const w = new WrittenChat();
    const [first, answer] = w.turn(null, "one");
    const second = w.user(answer, "two");
    const other = w.user(answer, "two, put otherwise");
    expect(pathOf(w.chat)).toEqual([first, answer, other]);

    const version = w.edit({ type: "add_answer_version", node_id: answer, answer: answerOf("b") });
    expect(pathOf(w.chat)).toEqual([first, answer, other]);
    expect(w.shownVersion(answer)).toBe(version.version_id);
    w.edit({ type: "choose_branch", node_id: second });
    expect(pathOf(w.chat)).toEqual([first, answer, second]);
    expect(w.shownVersion(answer)).toBe(version.version_id);
  });

  test("a message that is edited keeps its answers, and its older words", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    w.edit({ type: "add_message_version", node_id: user, message: { text: "uno" } });
    expect(pathOf(w.chat)).toEqual([user, answer]);
    expect(w.node(user)).toMatchObject({ versions: [{ text: "one" }, { text: "uno" }] });
  });

  test("choosing a branch goes through all that stands above it, and on as it did before", () => {
    const w = new WrittenChat();
    const [root, answer] = w.turn(null, "one");
    const [deep, deeper] = w.turn(answer, "two");
    w.user(answer, "another");
    w.user(null, "a new beginning");
    w.edit({ type: "choose_branch", node_id: answer });
    expect(pathOf(w.chat)[2]).not.toBe(deep);
    w.edit({ type: "choose_branch", node_id: deep });
    expect(pathOf(w.chat)).toEqual([root, answer, deep, deeper]);
  });

  test("a message sent away from the current path takes the path there", () => {
    const w = new WrittenChat();
    const [root, answer] = w.turn(null, "one");
    w.user(null, "a new beginning");
    const here = w.user(answer, "two");
    expect(pathOf(w.chat)).toEqual([root, answer, here]);
  });
});

describe("between two nodes", () => {
  test("an answer goes between a message and the next one, and other branches stay", () => {
    const w = new WrittenChat();
    const user = w.user(null, "one");
    const other = w.user(user, "a branch");
    const next = w.user(user, "two");
    const { node_id: answer = "" } = w.edit({
      type: "insert_answer",
      after: user,
      answer: answerOf("!"),
    });
    expect(pathOf(w.chat)).toEqual([user, answer, next]);
    expect(w.node(user).children).toEqual([other, answer]);
    expect(w.node(answer).children).toEqual([next]);
  });

  test("a separator goes to the end of the path, or before the next one on it", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const end = w.separator(answer);
    const next = w.user(end, "two");
    const middle = w.separator(end);
    expect(pathOf(w.chat)).toEqual([user, answer, end, middle, next]);
  });

  test("a message and its answer are not parted", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    expect(w.refused({ type: "add_separator", after: user })).toEqual({
      code: "illegal_place",
      reason:
        "a separator cannot part a message from its answer: put it before the message or after the answer",
    });
    const insert: ChatEdit = { type: "insert_answer", after: user, answer: slot };
    expect(w.refused(insert).reason).toMatch("has an answer already");
    expect(w.refused({ type: "add_answer", parent: answer, answer: slot })).toEqual({
      code: "illegal_place",
      reason: "only a user's message can be answered, and this is an answer itself",
    });
  });
});

describe("while an answer runs", () => {
  const running = (): { w: WrittenChat; user: string; answer: string; version: string } => {
    const w = new WrittenChat();
    const user = w.user(null, "one");
    const answer = w.answer(user, "", slot);
    return { w, user, answer, version: w.shownVersion(answer) };
  };
  const stopIt = {
    code: "still_running",
    reason: "the answer is still running: stop it first",
  };

  test("nothing is put under it, and it is not deleted", () => {
    const { w, user, answer, version } = running();
    const message = { text: "and?" };
    expect(w.refused({ type: "add_message", parent: answer, message })).toEqual(stopIt);
    expect(w.refused({ type: "add_separator", after: answer })).toEqual(stopIt);
    expect(w.refused({ type: "add_answer_version", node_id: answer, answer: slot })).toEqual(
      stopIt,
    );
    const ids = { node_id: answer, version_id: version };
    expect(w.refused({ type: "delete_version", ...ids })).toEqual(stopIt);
    for (const children of ["keep", "delete"] as const)
      expect(w.refused({ type: "delete_node", node_id: answer, children })).toEqual(stopIt);
    expect(w.refused({ type: "delete_node", node_id: user, children: "delete" })).toEqual({
      code: "still_running",
      reason: "an answer under it is still running: stop that first",
    });
  });

  test("it can be hidden, and another answer may run beside it", () => {
    const { w, user, answer } = running();
    w.edit({ type: "hide", node_id: answer, value: true });
    w.answer(user, "", slot);
    expect(w.node(user).children).toHaveLength(2);
  });

  test("it waits for a person, ends with what it has come to, and waits no more", () => {
    const { w, answer, version } = running();
    const ids = { node_id: answer, version_id: version };
    const before = w.chat;
    w.edit({ type: "answer_waits", ...ids, value: true });
    expect(w.node(answer)).toMatchObject({ versions: [{ waiting: true }] });
    expect(w.chat.updated_at).toBe(before.updated_at);
    const waiting = w.chat;
    w.edit({ type: "answer_waits", ...ids, value: true });
    expect(w.chat).toBe(waiting);

    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const end = { ...endOf("completed", "done"), usage, time_ms: 7, notices: ["no tools"] };
    w.edit({ type: "finish_answer", ...ids, end });
    const [finished] = (w.node(answer) as AnswerNode).versions;
    expect(finished).toMatchObject({ ...end, task_id: "task_1", version_id: version });
    expect(finished).not.toHaveProperty("waiting");
    expect(w.chat.revision).toBe(before.revision);
    expect(w.refused({ type: "finish_answer", ...ids, end })).toEqual({
      code: "illegal_place",
      reason: "the answer has ended: nothing more comes to it",
    });
  });

  test("notices at its end are added to those from its beginning", () => {
    const w = new WrittenChat();
    const answer = w.answer(w.user(null), "", { ...slot, notices: ["first"] });
    const ids = { node_id: answer, version_id: w.shownVersion(answer) };
    w.edit({ type: "finish_answer", ...ids, end: { ...endOf("error", ""), notices: ["then"] } });
    expect(w.node(answer)).toMatchObject({ versions: [{ notices: ["first", "then"] }] });
  });
});

test("a separator has no versions, no pin and no place to hide", () => {
  const w = new WrittenChat();
  const node_id = w.separator(w.user(null));
  const version_id = "version_1";
  const edits: PersonEdit[] = [
    { type: "choose_version", node_id, version_id },
    { type: "delete_version", node_id, version_id },
    { type: "pin", node_id, value: true },
    { type: "hide", node_id, value: true },
  ];
  for (const edit of edits) expect(w.refused(edit).code).toBe("illegal_place");
});

test("what every object has of itself is no message", () => {
  const w = new WrittenChat();
  for (const node_id of ["__proto__", "constructor", "toString"]) {
    expect(w.refused({ type: "choose_branch", node_id })).toEqual({
      code: "unknown_node",
      reason: `there is no message "${node_id}" in this chat`,
    });
    expect(w.refused({ type: "add_message", parent: node_id, message: { text: "?" } }).code).toBe(
      "unknown_node",
    );
  }
});

test("an edit in one branch leaves the nodes of all others the same objects", () => {
  const w = new WrittenChat();
  const [root, answer] = w.turn(null, "one");
  const [left] = w.turn(answer, "left");
  const [right, rightAnswer] = w.turn(answer, "right");
  const before = w.chat;
  w.edit({ type: "delete_node", node_id: rightAnswer, children: "delete" });
  const same = [root, answer, left].every((id) => w.node(id) === before.nodes[id]);
  expect(same).toBe(true);
  expect(w.node(right)).not.toBe(before.nodes[right]);
});

test("of many edits all are made or none, and the one that is refused is named", () => {
  const w = new WrittenChat();
  const node_id = w.user(null);
  const good: ChatEdit[] = [
    { type: "rename", title: "one" },
    { type: "add_separator", after: node_id },
    { type: "delete_node", node_id, children: "delete" },
  ];
  const made = applyEdits(w.chat, good, w.world);
  expect(made).toMatchObject({ ok: true, chat: { title: "one", roots: [], revision: 4 } });
  expect(made.ok && made.removals.map(({ what }) => what)).toEqual(["nodes"]);
  const before = JSON.stringify(w.chat);
  const refused = applyEdits(w.chat, [...good, { type: "choose_branch", node_id }], w.world);
  expect(refused).toMatchObject({ ok: false, at: 3, code: "unknown_node" });
  expect(JSON.stringify(w.chat)).toBe(before);
});

test("of many edits it is told what each of them added", () => {
  const w = new WrittenChat();
  const node_id = w.user(null);
  const made = applyEdits(
    w.chat,
    [
      { type: "add_message_version", node_id, message: { text: "again" } },
      { type: "pin", node_id, value: true },
      { type: "add_separator", after: node_id },
    ],
    w.world,
  );
  if (!made.ok) throw new Error(made.reason);
  const [version, nothing, separator] = made.added;
  expect(version).toEqual({ node_id, version_id: expect.stringMatching(/./) as string });
  expect(nothing).toBeNull();
  expect(made.chat.nodes[separator?.node_id ?? ""]?.kind).toBe("separator");
  // A separator has no version, and that of the message is none of it.
  expect([made.node_id, made.version_id]).toEqual([separator?.node_id, undefined]);
});

test.each([
  [" a title\n", "a title"],
  ["one\r\n\t two\u2028three", "one two three"],
  ["一\n二", "一 二"],
])("the title %j stands on one line", (given, title) => {
  const w = new WrittenChat();
  const renamed = applyEdit(w.chat, { type: "rename", title: given }, w.world);
  expect(renamed).toMatchObject({ ok: true, chat: { title, title_by: "user" } });
  expect(newChat({ title: given }, w.world).title).toBe(title);
});

test("an edit happens at one moment", () => {
  const w = new WrittenChat();
  const edited = applyEdit(
    w.chat,
    { type: "add_message", parent: null, message: { text: "?" } },
    w.world,
  );
  if (!edited.ok) throw new Error(edited.reason);
  const [node] = Object.values(edited.chat.nodes);
  expect(node?.created_at).toBe(edited.chat.updated_at);
  expect(node).toMatchObject({ versions: [{ created_at: edited.chat.updated_at }] });
});
