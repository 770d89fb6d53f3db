import { getAnswerChain, type AnswerNode } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import {
  buildAnswer,
  getPathIds,
  runningAnswer,
  getVersionIds,
  ChatBuilder,
} from "./chat-builder.ts";

describe("a version that continues another", () => {
  test("forms one answer with that version and prevents its deletion", () => {
    const builder = new ChatBuilder();
    const answer = builder.addAnswer(builder.addMessage(null), "half");
    const first = builder.getChosenVersionId(answer);
    builder.edit({ type: "add_answer_version", node_id: answer, answer: buildAnswer("apart") });
    const continuation = { ...buildAnswer("and half"), continues: first };
    const { version_id = "" } = builder.edit({
      type: "add_answer_version",
      node_id: answer,
      answer: continuation,
    });
    const chain = getAnswerChain(builder.getNode(answer) as AnswerNode, version_id);
    expect(chain.map((one) => one.version_id)).toEqual([first, version_id]);
    expect(
      builder.expectRejection({ type: "delete_version", node_id: answer, version_id: first }),
    ).toEqual({
      code: "version_in_use",
      reason: "another version continues this one; delete that version first",
    });
  });

  test("must belong to the same node as that version", () => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null);
    const answer = builder.addAnswer(user);
    const continuation = { ...runningAnswer, continues: builder.getChosenVersionId(answer) };
    expect(
      builder.expectRejection({ type: "add_answer", parent: user, answer: continuation }).code,
    ).toBe("version_not_found");
  });

  test("can only be restored after that version", () => {
    const builder = new ChatBuilder();
    const node_id = builder.addAnswer(builder.addMessage(null), "apart");
    const add = (text: string, overrides = {}): string =>
      builder.edit({
        type: "add_answer_version",
        node_id,
        answer: { ...buildAnswer(text), ...overrides },
      }).version_id ?? "";
    const first = add("half");
    const second = add("and half", { continues: first });
    const secondRemoval = builder.deleteAndGetRemoval({
      type: "delete_version",
      node_id,
      version_id: second,
    });
    const firstRemoval = builder.deleteAndGetRemoval({
      type: "delete_version",
      node_id,
      version_id: first,
    });
    expect(builder.expectRejection({ type: "restore", removal: secondRemoval })).toEqual({
      code: "cannot_restore",
      reason: "the version that this one continues is deleted; restore that version first",
    });
    builder.edit({ type: "restore", removal: firstRemoval });
    builder.edit({ type: "restore", removal: secondRemoval });
    expect(builder.getChosenVersionId(node_id)).toBe(second);
  });
});

describe("deleting", () => {
  test("a node without its children moves the children up", () => {
    const builder = new ChatBuilder();
    const [user, answer] = builder.addTurn(null, "one");
    const three = builder.addMessage(answer, "three");
    const five = builder.addMessage(answer, "five");
    builder.edit({ type: "delete_node", node_id: answer, children: "keep" });
    expect(builder.getNode(user).children).toEqual([three, five]);
    expect(getPathIds(builder.chat)).toEqual([user, five]);
  });

  test("is rejected if an answer would lose its message or a separator would come first", () => {
    const builder = new ChatBuilder();
    const [user] = builder.addTurn(null, "one");
    expect(
      builder.expectRejection({ type: "delete_node", node_id: user, children: "keep" }),
    ).toEqual({
      code: "invalid_position",
      reason: "an answer cannot exist without its message; delete the answer too",
    });
    const lonelyMessage = builder.addMessage(null, "two");
    builder.addSeparator(lonelyMessage);
    expect(
      builder.expectRejection({ type: "delete_node", node_id: lonelyMessage, children: "keep" })
        .code,
    ).toBe("invalid_position");
  });

  test("a branch moves the path to the nearest earlier branch, or else to the next one", () => {
    const builder = new ChatBuilder();
    const [a, b, c] = [
      builder.addMessage(null, "a"),
      builder.addMessage(null, "b"),
      builder.addMessage(null, "c"),
    ];
    builder.edit({ type: "choose_branch", node_id: b });
    builder.edit({ type: "delete_node", node_id: b, children: "delete" });
    expect(getPathIds(builder.chat)).toEqual([a]);
    builder.edit({ type: "delete_node", node_id: a, children: "delete" });
    expect(getPathIds(builder.chat)).toEqual([c]);
    builder.edit({ type: "delete_node", node_id: c, children: "delete" });
    expect(builder.chat).toMatchObject({ nodes: {}, roots: [], chosen: {} });
  });

  test("a version chooses the nearest earlier one, and is rejected for the only version", () => {
    const builder = new ChatBuilder();
    const node_id = builder.addMessage(null, "a");
    const first = builder.getChosenVersionId(node_id);
    for (const text of ["b", "c"])
      builder.edit({ type: "add_message_version", node_id, message: { text } });
    const [second, third] = [
      getVersionIds(builder.getNode(node_id))[1] ?? "",
      builder.getChosenVersionId(node_id),
    ];
    builder.edit({ type: "delete_version", node_id, version_id: third });
    expect(builder.getChosenVersionId(node_id)).toBe(second);
    builder.edit({ type: "choose_version", node_id, version_id: first });
    builder.edit({ type: "delete_version", node_id, version_id: first });
    expect(builder.getChosenVersionId(node_id)).toBe(second);
    expect(
      builder.expectRejection({ type: "delete_version", node_id, version_id: second }),
    ).toEqual({
      code: "only_version",
      reason: "this is the only version; delete the message instead",
    });
  });
});
