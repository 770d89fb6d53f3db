import {
  applyEdit,
  applyEdits,
  createChat,
  type AnswerNode,
  type ChatEdit,
  type UserEdit,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { buildAnswer, buildEnd, getPathIds, runningAnswer, ChatBuilder } from "./chat-builder.ts";

describe("branches and versions", () => {
  test("each branch has its own children, while the versions of a node share its children", () => {
    const builder = new ChatBuilder();
    const [first, answer] = builder.addTurn(null, "one");
    const second = builder.addMessage(answer, "two");
    const branch = builder.addMessage(answer, "two, put otherwise");
    expect(getPathIds(builder.chat)).toEqual([first, answer, branch]);

    const version = builder.edit({
      type: "add_answer_version",
      node_id: answer,
      answer: buildAnswer("b"),
    });
    expect(getPathIds(builder.chat)).toEqual([first, answer, branch]);
    expect(builder.getChosenVersionId(answer)).toBe(version.version_id);
    builder.edit({ type: "choose_branch", node_id: second });
    expect(getPathIds(builder.chat)).toEqual([first, answer, second]);
    expect(builder.getChosenVersionId(answer)).toBe(version.version_id);
  });

  test("an edited message keeps its answers and its earlier version", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    builder.edit({ type: "add_message_version", node_id: user, message: { text: "uno" } });
    expect(getPathIds(builder.chat)).toEqual([user, answer]);
    expect(builder.getNode(user)).toMatchObject({ versions: [{ text: "one" }, { text: "uno" }] });
  });

  test("choosing a branch also chooses its ancestors, and keeps the path below it", () => {
    const builder = new ChatBuilder();
    const [root, answer] = builder.addTurn(null, "one");
    const [secondMessage, secondAnswer] = builder.addTurn(answer, "two");
    builder.addMessage(answer, "another");
    builder.addMessage(null, "a new beginning");
    builder.edit({ type: "choose_branch", node_id: answer });
    expect(getPathIds(builder.chat)[2]).not.toBe(secondMessage);
    builder.edit({ type: "choose_branch", node_id: secondMessage });
    expect(getPathIds(builder.chat)).toEqual([root, answer, secondMessage, secondAnswer]);
  });

  test("a message that is added to another branch moves the path there", () => {
    const builder = new ChatBuilder();
    const [root, answer] = builder.addTurn(null, "one");
    builder.addMessage(null, "a new beginning");
    const added = builder.addMessage(answer, "two");
    expect(getPathIds(builder.chat)).toEqual([root, answer, added]);
  });
});

describe("inserting", () => {
  test("an answer places it between a message and the next one, and keeps other branches", () => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null, "one");
    const branch = builder.addMessage(user, "a branch");
    const next = builder.addMessage(user, "two");
    const { node_id: answer = "" } = builder.edit({
      type: "insert_answer",
      after: user,
      answer: buildAnswer("!"),
    });
    expect(getPathIds(builder.chat)).toEqual([user, answer, next]);
    expect(builder.getNode(user).children).toEqual([branch, answer]);
    expect(builder.getNode(answer).children).toEqual([next]);
  });

  test("a separator places it at the end of the path or before the next node", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const firstSeparator = builder.addSeparator(answer);
    const next = builder.addMessage(firstSeparator, "two");
    const secondSeparator = builder.addSeparator(firstSeparator);
    expect(getPathIds(builder.chat)).toEqual([user, answer, firstSeparator, secondSeparator, next]);
  });

  test("is rejected between a message and its answer", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    expect(builder.expectRejection({ type: "add_separator", after: user })).toEqual({
      code: "invalid_position",
      reason: "a separator cannot be placed between a message and its answer",
    });
    const insert: ChatEdit = { type: "insert_answer", after: user, answer: runningAnswer };
    expect(builder.expectRejection(insert).reason).toMatch("already has an answer");
    expect(
      builder.expectRejection({ type: "add_answer", parent: answer, answer: runningAnswer }),
    ).toEqual({
      code: "invalid_position",
      reason: "only a user message can be answered, not an answer",
    });
  });
});

describe("a running answer", () => {
  const createRunningAnswer = (): {
    builder: ChatBuilder;
    user: string;
    answer: string;
    version: string;
  } => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null, "one");
    const answer = builder.addAnswer(user, "", runningAnswer);
    return { builder, user, answer, version: builder.getChosenVersionId(answer) };
  };
  const stillRunningRejection = {
    code: "still_running",
    reason: "the answer is still running; stop it first",
  };

  test("cannot get children or versions, and cannot be deleted", () => {
    const { builder, user, answer, version } = createRunningAnswer();
    const message = { text: "and?" };
    expect(builder.expectRejection({ type: "add_message", parent: answer, message })).toEqual(
      stillRunningRejection,
    );
    expect(builder.expectRejection({ type: "add_separator", after: answer })).toEqual(
      stillRunningRejection,
    );
    expect(
      builder.expectRejection({
        type: "add_answer_version",
        node_id: answer,
        answer: runningAnswer,
      }),
    ).toEqual(stillRunningRejection);
    const ids = { node_id: answer, version_id: version };
    expect(builder.expectRejection({ type: "delete_version", ...ids })).toEqual(
      stillRunningRejection,
    );
    for (const children of ["keep", "delete"] as const)
      expect(builder.expectRejection({ type: "delete_node", node_id: answer, children })).toEqual(
        stillRunningRejection,
      );
    expect(
      builder.expectRejection({ type: "delete_node", node_id: user, children: "delete" }),
    ).toEqual({
      code: "still_running",
      reason: "an answer below this message is still running; stop it first",
    });
  });

  test("can be hidden, and its message can get another running answer", () => {
    const { builder, user, answer } = createRunningAnswer();
    builder.edit({ type: "hide", node_id: answer, value: true });
    builder.addAnswer(user, "", runningAnswer);
    expect(builder.getNode(user).children).toHaveLength(2);
  });

  test("can wait for the user until it ends", () => {
    const { builder, answer, version } = createRunningAnswer();
    const ids = { node_id: answer, version_id: version };
    const before = builder.chat;
    builder.edit({ type: "answer_waits", ...ids, value: true });
    expect(builder.getNode(answer)).toMatchObject({ versions: [{ waiting: true }] });
    expect(builder.chat.updated_at).toBe(before.updated_at);
    const waiting = builder.chat;
    builder.edit({ type: "answer_waits", ...ids, value: true });
    expect(builder.chat).toBe(waiting);

    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const answerEnd = {
      ...buildEnd("completed", "done"),
      usage,
      time_ms: 7,
      notices: ["no tools"],
    };
    builder.edit({ type: "finish_answer", ...ids, end: answerEnd });
    const [finished] = (builder.getNode(answer) as AnswerNode).versions;
    expect(finished).toMatchObject({ ...answerEnd, task_id: "task_1", version_id: version });
    expect(finished).not.toHaveProperty("waiting");
    expect(builder.chat.revision).toBe(before.revision);
    expect(builder.expectRejection({ type: "finish_answer", ...ids, end: answerEnd })).toEqual({
      code: "invalid_position",
      reason: "the answer is no longer running",
    });
  });

  test("keeps its notices when its end adds more", () => {
    const builder = new ChatBuilder();
    const answer = builder.addAnswer(builder.addMessage(null), "", {
      ...runningAnswer,
      notices: ["first"],
    });
    const ids = { node_id: answer, version_id: builder.getChosenVersionId(answer) };
    builder.edit({
      type: "finish_answer",
      ...ids,
      end: { ...buildEnd("error", ""), notices: ["then"] },
    });
    expect(builder.getNode(answer)).toMatchObject({ versions: [{ notices: ["first", "then"] }] });
  });
});

test("a separator has no versions and cannot be pinned or hidden", () => {
  const builder = new ChatBuilder();
  const node_id = builder.addSeparator(builder.addMessage(null));
  const version_id = "version_1";
  const edits: UserEdit[] = [
    { type: "choose_version", node_id, version_id },
    { type: "delete_version", node_id, version_id },
    { type: "pin", node_id, value: true },
    { type: "hide", node_id, value: true },
  ];
  for (const edit of edits) expect(builder.expectRejection(edit).code).toBe("invalid_position");
});

test("names of Object.prototype are not message ids", () => {
  const builder = new ChatBuilder();
  for (const node_id of ["__proto__", "constructor", "toString"]) {
    expect(builder.expectRejection({ type: "choose_branch", node_id })).toEqual({
      code: "node_not_found",
      reason: `the chat has no message "${node_id}"`,
    });
    expect(
      builder.expectRejection({ type: "add_message", parent: node_id, message: { text: "?" } })
        .code,
    ).toBe("node_not_found");
  }
});

test("an edit keeps the node objects of other branches", () => {
  const builder = new ChatBuilder();
  const [root, answer] = builder.addTurn(null, "one");
  const [left] = builder.addTurn(answer, "left");
  const [right, rightAnswer] = builder.addTurn(answer, "right");
  const before = builder.chat;
  builder.edit({ type: "delete_node", node_id: rightAnswer, children: "delete" });
  const areUnchanged = [root, answer, left].every((id) => builder.getNode(id) === before.nodes[id]);
  expect(areUnchanged).toBe(true);
  expect(builder.getNode(right)).not.toBe(before.nodes[right]);
});

test("several edits are either all applied or all rejected, and the invalid one is reported", () => {
  const builder = new ChatBuilder();
  const node_id = builder.addMessage(null);
  const validEdits: ChatEdit[] = [
    { type: "rename", title: "one" },
    { type: "add_separator", after: node_id },
    { type: "delete_node", node_id, children: "delete" },
  ];
  const result = applyEdits(builder.chat, validEdits, builder.environment);
  expect(result).toMatchObject({ ok: true, chat: { title: "one", roots: [], revision: 4 } });
  expect(result.ok && result.removals.map(({ type }) => type)).toEqual(["nodes"]);
  const before = JSON.stringify(builder.chat);
  const rejected = applyEdits(
    builder.chat,
    [...validEdits, { type: "choose_branch", node_id }],
    builder.environment,
  );
  expect(rejected).toMatchObject({ ok: false, index: 3, code: "node_not_found" });
  expect(JSON.stringify(builder.chat)).toBe(before);
});

test("several edits return the node and version that each of them added", () => {
  const builder = new ChatBuilder();
  const node_id = builder.addMessage(null);
  const result = applyEdits(
    builder.chat,
    [
      { type: "add_message_version", node_id, message: { text: "again" } },
      { type: "pin", node_id, value: true },
      { type: "add_separator", after: node_id },
    ],
    builder.environment,
  );
  if (!result.ok) throw new Error(result.reason);
  const [version, emptyEntry, separator] = result.added;
  expect(version).toEqual({ node_id, version_id: expect.stringMatching(/./) as string });
  expect(emptyEntry).toBeNull();
  expect(result.chat.nodes[separator?.node_id ?? ""]?.kind).toBe("separator");
  // The last added node is the separator, which has no version.
  expect([result.node_id, result.version_id]).toEqual([separator?.node_id, undefined]);
});

test.each([
  [" a title\n", "a title"],
  ["one\r\n\t two\u2028three", "one two three"],
  ["一\n二", "一 二"],
])("the title %j is reduced to one line", (given, title) => {
  const builder = new ChatBuilder();
  const renamed = applyEdit(builder.chat, { type: "rename", title: given }, builder.environment);
  expect(renamed).toMatchObject({ ok: true, chat: { title, title_by: "user" } });
  expect(createChat({ title: given }, builder.environment).title).toBe(title);
});

test("all timestamps of an edit are equal", () => {
  const builder = new ChatBuilder();
  const edited = applyEdit(
    builder.chat,
    { type: "add_message", parent: null, message: { text: "?" } },
    builder.environment,
  );
  if (!edited.ok) throw new Error(edited.reason);
  const [node] = Object.values(edited.chat.nodes);
  expect(node?.created_at).toBe(edited.chat.updated_at);
  expect(node).toMatchObject({ versions: [{ created_at: edited.chat.updated_at }] });
});
