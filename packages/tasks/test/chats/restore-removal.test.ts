import { sumChatUsage, type ChatEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  buildAnswer,
  getPathIds,
  runningAnswer,
  buildUsage,
  getVersionIds,
  ChatBuilder,
} from "./chat-builder.ts";

describe("a restore", () => {
  test("returns a node to its position, only once and only after its parent", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const next = builder.addMessage(answer, "two");
    const leaf = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: next,
      children: "delete",
    });
    const turn = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: user,
      children: "delete",
    });
    expect(builder.expectRejection({ type: "restore", removal: leaf })).toEqual({
      code: "cannot_restore",
      reason: "the message above is deleted; restore that message first",
    });
    builder.edit({ type: "restore", removal: turn });
    builder.edit({ type: "restore", removal: leaf });
    expect(getPathIds(builder.chat)).toEqual([user, answer, next]);
    expect(builder.expectRejection({ type: "restore", removal: leaf })).toEqual({
      code: "cannot_restore",
      reason: "this is already restored",
    });
  });

  test("returns bookmarks to their order", () => {
    const builder = new ChatBuilder();
    const ids = ["a", "b", "c"].map((text) => builder.addMessage(null, text));
    for (const node_id of ids.toReversed())
      builder.edit({ type: "bookmark", node_id, value: true });
    const bookmarksBefore = builder.chat.bookmarks;
    const node_id = ids[1] ?? "";
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id,
      children: "delete",
    });
    expect(builder.chat.bookmarks).toEqual([ids[2], ids[0]]);
    builder.edit({ type: "restore", removal });
    expect(builder.chat.bookmarks).toEqual(bookmarksBefore);
  });

  test("moves children back below the node, except those that were moved elsewhere in the meantime", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const [restoredChild, movedChild] = [
      builder.addMessage(answer, "two"),
      builder.addMessage(answer, "three"),
    ];
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: answer,
      children: "keep",
    });
    const insert: ChatEdit = { type: "insert_answer", after: user, answer: buildAnswer("new") };
    const { node_id: inserted = "" } = builder.edit(insert);
    builder.edit({ type: "restore", removal });
    expect(builder.getNode(answer).children).toEqual([restoredChild]);
    expect(builder.getNode(inserted).children).toEqual([movedChild]);
    expect(getPathIds(builder.chat)).toEqual([user, inserted, movedChild]);
  });

  test("chooses the restored branch if no other is left", () => {
    const builder = new ChatBuilder();
    const [a, b] = [builder.addMessage(null, "a"), builder.addMessage(null, "b")];
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: a,
      children: "delete",
    });
    builder.edit({ type: "delete_node", node_id: b, children: "delete" });
    builder.edit({ type: "restore", removal });
    expect(getPathIds(builder.chat)).toEqual([a]);
  });

  test("keeps the choice of a child that was made in the meantime", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const [two] = [builder.addMessage(answer, "two"), builder.addMessage(answer, "three")];
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: answer,
      children: "keep",
    });
    builder.edit({ type: "choose_branch", node_id: two });
    builder.edit({ type: "restore", removal });
    expect(getPathIds(builder.chat)).toEqual([user, answer, two]);
  });
});

describe("a late restore", () => {
  test("of a separator keeps later messages on the path", () => {
    const builder = new ChatBuilder();
    const one = builder.addMessage(null, "one");
    const separator = builder.addSeparator(one);
    const [two, answer] = builder.addTurn(separator, "two");
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: separator,
      children: "keep",
    });
    const insert: ChatEdit = { type: "insert_answer", after: one, answer: buildAnswer("new") };
    const { node_id: inserted = "" } = builder.edit(insert);
    builder.edit({ type: "restore", removal });
    expect(builder.getNode(one).children).toEqual([separator, inserted]);
    expect(getPathIds(builder.chat)).toEqual([one, inserted, two, answer]);
  });

  /** Creates two branches and deletes the chosen second one, so that the path moves to the first. */
  function deleteSecondBranch() {
    const builder = new ChatBuilder();
    const [first, answer] = builder.addTurn(null, "first");
    const [second, another] = builder.addTurn(null, "second");
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: second,
      children: "delete",
    });
    return { builder, first, answer, second, another, removal };
  }

  test("of a branch chooses it again if no other branch was chosen since the deletion", () => {
    const { builder, first, answer, second, another, removal } = deleteSecondBranch();
    expect(getPathIds(builder.chat)).toEqual([first, answer]);
    const third = builder.addMessage(answer, "third");
    const leaf = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: third,
      children: "delete",
    });
    builder.edit({ type: "restore", removal });
    expect(getPathIds(builder.chat)).toEqual([second, another]);
    builder.edit({ type: "restore", removal: leaf });
    expect(getPathIds(builder.chat)).toEqual([second, another]);
    expect(builder.getNode(answer).children).toEqual([third]);
  });

  test.each<[change: string, makeEdit: (answer: string) => ChatEdit]>([
    ["a message was sent", (parent) => ({ type: "add_message", parent, message: { text: "on" } })],
    [
      "a new root was added",
      () => ({ type: "add_message", parent: null, message: { text: "anew" } }),
    ],
    [
      "an answer was generated again",
      (node_id) => ({ type: "add_answer_version", node_id, answer: runningAnswer }),
    ],
    ["a separator was added", (after) => ({ type: "add_separator", after })],
  ])("of a branch keeps the path if %s in the meantime", (_, makeEdit) => {
    const { builder, answer, second, another, removal } = deleteSecondBranch();
    builder.edit(makeEdit(answer));
    const path = getPathIds(builder.chat);
    builder.edit({ type: "restore", removal });
    expect(getPathIds(builder.chat)).toEqual(path);
    builder.edit({ type: "choose_branch", node_id: second });
    expect(getPathIds(builder.chat)).toEqual([second, another]);
  });

  test("of a version chooses it again, unless another was added or chosen in the meantime", () => {
    const builder = new ChatBuilder();
    const node_id = builder.addAnswer(builder.addMessage(null), "a");
    const first = builder.getChosenVersionId(node_id);
    const add = (): string =>
      builder.edit({ type: "add_answer_version", node_id, answer: buildAnswer("again") })
        .version_id ?? "";
    const second = add();
    const removal = builder.deleteAndGetRemoval({
      type: "delete_version",
      node_id,
      version_id: second,
    });
    const third = add();
    builder.edit({ type: "restore", removal });
    expect(builder.getChosenVersionId(node_id)).toBe(third);
    builder.edit({ type: "choose_version", node_id, version_id: second });
    const secondRemoval = builder.deleteAndGetRemoval({
      type: "delete_version",
      node_id,
      version_id: second,
    });
    expect(builder.getChosenVersionId(node_id)).toBe(first);
    builder.edit({ type: "restore", removal: secondRemoval });
    expect(builder.getChosenVersionId(node_id)).toBe(second);
    expect(getVersionIds(builder.getNode(node_id))).toEqual([first, second, third]);
  });
});

describe("the usage of a chat", () => {
  const createAnsweredChat = () => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null);
    const node_id = builder.addAnswer(user, "a", { usage: buildUsage(10, 0.1) });
    const answer = { ...buildAnswer("b"), usage: buildUsage(1), tree_usage: buildUsage(20, 0.2) };
    builder.edit({ type: "add_answer_version", node_id, answer });
    return { builder, user, node_id };
  };

  test("includes deleted messages", () => {
    const { builder, user, node_id } = createAnsweredChat();
    const totalUsage = { input_tokens: 30, output_tokens: 2, total_tokens: 32, cost: 0.3 };
    expect(sumChatUsage(builder.chat)).toEqual(totalUsage);
    builder.edit({
      type: "delete_version",
      node_id,
      version_id: builder.getChosenVersionId(node_id),
    });
    expect(sumChatUsage(builder.chat)).toEqual(totalUsage);
    builder.edit({ type: "delete_node", node_id: user, children: "delete" });
    expect(builder.chat.nodes).toEqual({});
    expect(sumChatUsage(builder.chat)).toEqual(totalUsage);
    expect(builder.chat.extra_usage).toEqual(totalUsage);
  });

  test("is the same after a deletion and its restore", () => {
    const { builder, user, node_id } = createAnsweredChat();
    const titled = { ...buildUsage(5), cached_tokens: 0 };
    builder.edit({ type: "title_by_model", title: "t", usage: titled });
    const version_id = builder.getChosenVersionId(node_id);
    const version = builder.deleteAndGetRemoval({ type: "delete_version", node_id, version_id });
    const node = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: user,
      children: "delete",
    });
    builder.edit({ type: "restore", removal: node });
    builder.edit({ type: "restore", removal: version });
    expect(builder.chat.extra_usage).toStrictEqual(titled);
  });

  test("is counted once if other deletions and usage come between a deletion and its restore", () => {
    const { builder, user, node_id } = createAnsweredChat();
    const version_id = builder.getChosenVersionId(node_id);
    const version = builder.deleteAndGetRemoval({ type: "delete_version", node_id, version_id });
    builder.addAnswer(user, "c", { usage: buildUsage(7) });
    builder.edit({ type: "title_by_model", title: "t", usage: buildUsage(5) });
    const usageBefore = sumChatUsage(builder.chat);
    builder.edit({ type: "restore", removal: version });
    expect(sumChatUsage(builder.chat)).toEqual(usageBefore);
    expect(builder.chat.extra_usage).toEqual({ ...buildUsage(5), cost: 0 });
  });

  test("stays absent if the deleted messages have no usage", () => {
    const builder = new ChatBuilder();
    const [user] = builder.addTurn(null, "one");
    const removal = builder.deleteAndGetRemoval({
      type: "delete_node",
      node_id: user,
      children: "delete",
    });
    expect(builder.chat).not.toHaveProperty("extra_usage");
    builder.edit({ type: "restore", removal });
    expect(builder.chat).not.toHaveProperty("extra_usage");
  });
});
