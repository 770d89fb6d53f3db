import { answerChain, type AnswerNode } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, pathOf, slot, versionIds, WrittenChat } from "./written-chat.ts";

describe("continuing", () => {
  test("a version that goes on from another makes one answer with it", () => {
    const w = new WrittenChat();
    const answer = w.answer(w.user(null), "half");
    const first = w.shownVersion(answer);
    w.edit({ type: "add_answer_version", node_id: answer, answer: answerOf("apart") });
    const more = { ...answerOf("and half"), continues: first };
    const { version_id = "" } = w.edit({
      type: "add_answer_version",
      node_id: answer,
      answer: more,
    });
    const chain = answerChain(w.node(answer) as AnswerNode, version_id);
    expect(chain.map((one) => one.version_id)).toEqual([first, version_id]);
    expect(w.refused({ type: "delete_version", node_id: answer, version_id: first })).toEqual({
      code: "in_use",
      reason: "another version goes on from this one: delete that one first",
    });
  });

  test("nothing goes on from what is not beside it", () => {
    const w = new WrittenChat();
    const user = w.user(null);
    const answer = w.answer(user);
    const more = { ...slot, continues: w.shownVersion(answer) };
    expect(w.refused({ type: "add_answer", parent: user, answer: more }).code).toBe(
      "unknown_version",
    );
  });

  test("a version comes back only after the one that it goes on from", () => {
    const w = new WrittenChat();
    const node_id = w.answer(w.user(null), "apart");
    const add = (text: string, more = {}): string =>
      w.edit({ type: "add_answer_version", node_id, answer: { ...answerOf(text), ...more } })
        .version_id ?? "";
    const half = add("half");
    const rest = add("and half", { continues: half });
    const restGone = w.removed({ type: "delete_version", node_id, version_id: rest });
    const halfGone = w.removed({ type: "delete_version", node_id, version_id: half });
    expect(w.refused({ type: "restore", removal: restGone })).toEqual({
      code: "cannot_restore",
      reason: "the version that it goes on from is gone: restore that first",
    });
    w.edit({ type: "restore", removal: halfGone });
    w.edit({ type: "restore", removal: restGone });
    expect(w.shownVersion(node_id)).toBe(rest);
  });
});

describe("deleting", () => {
  test("without its children, all of them move up, not only the one on the path", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const three = w.user(answer, "three");
    const five = w.user(answer, "five");
    w.edit({ type: "delete_node", node_id: answer, children: "keep" });
    expect(w.node(user).children).toEqual([three, five]);
    expect(pathOf(w.chat)).toEqual([user, five]);
  });

  test("a message is not taken away from its answer, nor a separator put first", () => {
    const w = new WrittenChat();
    const [user] = w.turn(null, "one");
    expect(w.refused({ type: "delete_node", node_id: user, children: "keep" })).toEqual({
      code: "illegal_place",
      reason: "its answer cannot stand without the message: delete the answer too",
    });
    const bare = w.user(null, "two");
    w.separator(bare);
    expect(w.refused({ type: "delete_node", node_id: bare, children: "keep" }).code).toBe(
      "illegal_place",
    );
  });

  test("the path turns to the nearest earlier branch, or to the next", () => {
    const w = new WrittenChat();
    const [a, b, c] = [w.user(null, "a"), w.user(null, "b"), w.user(null, "c")];
    w.edit({ type: "choose_branch", node_id: b });
    w.edit({ type: "delete_node", node_id: b, children: "delete" });
    expect(pathOf(w.chat)).toEqual([a]);
    w.edit({ type: "delete_node", node_id: a, children: "delete" });
    expect(pathOf(w.chat)).toEqual([c]);
    w.edit({ type: "delete_node", node_id: c, children: "delete" });
    expect(w.chat).toMatchObject({ nodes: {}, roots: [], chosen: {} });
  });

  test("of the versions the nearest earlier one is shown then, and the last one stays", () => {
    const w = new WrittenChat();
    const node_id = w.user(null, "a");
    const first = w.shownVersion(node_id);
    for (const text of ["b", "c"])
      w.edit({ type: "add_message_version", node_id, message: { text } });
    const [second, third] = [versionIds(w.node(node_id))[1] ?? "", w.shownVersion(node_id)];
    w.edit({ type: "delete_version", node_id, version_id: third });
    expect(w.shownVersion(node_id)).toBe(second);
    w.edit({ type: "choose_version", node_id, version_id: first });
    w.edit({ type: "delete_version", node_id, version_id: first });
    expect(w.shownVersion(node_id)).toBe(second);
    expect(w.refused({ type: "delete_version", node_id, version_id: second })).toEqual({
      code: "only_version",
      reason: "it is the only version: delete the message instead",
    });
  });
});
