import { chatUsage, type ChatEdit } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, pathOf, slot, usage, versionIds, WrittenChat } from "./written-chat.ts";

describe("restoring", () => {
  test("what was deleted comes back to where it was, once, and not before what it stood under", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const next = w.user(answer, "two");
    const leaf = w.removed({ type: "delete_node", node_id: next, children: "delete" });
    const turn = w.removed({ type: "delete_node", node_id: user, children: "delete" });
    expect(w.refused({ type: "restore", removal: leaf })).toEqual({
      code: "cannot_restore",
      reason: "what it stood under is gone: restore that first",
    });
    w.edit({ type: "restore", removal: turn });
    w.edit({ type: "restore", removal: leaf });
    expect(pathOf(w.chat)).toEqual([user, answer, next]);
    expect(w.refused({ type: "restore", removal: leaf })).toEqual({
      code: "cannot_restore",
      reason: "it is there already",
    });
  });

  test("bookmarks come back in the order in which they were made", () => {
    const w = new WrittenChat();
    const ids = ["a", "b", "c"].map((text) => w.user(null, text));
    for (const node_id of ids.toReversed()) w.edit({ type: "bookmark", node_id, value: true });
    const marked = w.chat.bookmarks;
    const node_id = ids[1] ?? "";
    const removal = w.removed({ type: "delete_node", node_id, children: "delete" });
    expect(w.chat.bookmarks).toEqual([ids[2], ids[0]]);
    w.edit({ type: "restore", removal });
    expect(w.chat.bookmarks).toEqual(marked);
  });

  test("a restored node takes back only those of its children that still stand in its place", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const [stays, goes] = [w.user(answer, "two"), w.user(answer, "three")];
    const removal = w.removed({ type: "delete_node", node_id: answer, children: "keep" });
    const insert: ChatEdit = { type: "insert_answer", after: user, answer: answerOf("new") };
    const { node_id: inserted = "" } = w.edit(insert);
    w.edit({ type: "restore", removal });
    expect(w.node(answer).children).toEqual([stays]);
    expect(w.node(inserted).children).toEqual([goes]);
    expect(pathOf(w.chat)).toEqual([user, inserted, goes]);
  });

  test("a restored branch that was not on the path is, where no other is left", () => {
    const w = new WrittenChat();
    const [a, b] = [w.user(null, "a"), w.user(null, "b")];
    const removal = w.removed({ type: "delete_node", node_id: a, children: "delete" });
    w.edit({ type: "delete_node", node_id: b, children: "delete" });
    w.edit({ type: "restore", removal });
    expect(pathOf(w.chat)).toEqual([a]);
  });

  test("the path goes through a restored node to the child that was chosen meanwhile", () => {
    const w = new WrittenChat();
    const [user, answer] = w.turn(null, "one");
    const [two] = [w.user(answer, "two"), w.user(answer, "three")];
    const removal = w.removed({ type: "delete_node", node_id: answer, children: "keep" });
    w.edit({ type: "choose_branch", node_id: two });
    w.edit({ type: "restore", removal });
    expect(pathOf(w.chat)).toEqual([user, answer, two]);
  });
});

describe("a late restore", () => {
  test("of a separator hides nothing of the conversation that goes on without it", () => {
    const w = new WrittenChat();
    const one = w.user(null, "one");
    const separator = w.separator(one);
    const [two, answer] = w.turn(separator, "two");
    const removal = w.removed({ type: "delete_node", node_id: separator, children: "keep" });
    const insert: ChatEdit = { type: "insert_answer", after: one, answer: answerOf("new") };
    const { node_id: inserted = "" } = w.edit(insert);
    w.edit({ type: "restore", removal });
    expect(w.node(one).children).toEqual([separator, inserted]);
    expect(pathOf(w.chat)).toEqual([one, inserted, two, answer]);
  });

  /** Two branches, the second of which was chosen and is deleted: the path has turned to the first. */
  function twoBranches() {
    const w = new WrittenChat();
    const [first, answer] = w.turn(null, "first");
    const [second, another] = w.turn(null, "second");
    const removal = w.removed({ type: "delete_node", node_id: second, children: "delete" });
    return { w, first, answer, second, another, removal };
  }

  test("of a branch turns the path back to it if all is as the delete left it", () => {
    const { w, first, answer, second, another, removal } = twoBranches();
    expect(pathOf(w.chat)).toEqual([first, answer]);
    const third = w.user(answer, "third");
    const leaf = w.removed({ type: "delete_node", node_id: third, children: "delete" });
    w.edit({ type: "restore", removal });
    expect(pathOf(w.chat)).toEqual([second, another]);
    w.edit({ type: "restore", removal: leaf });
    expect(pathOf(w.chat)).toEqual([second, another]);
    expect(w.node(answer).children).toEqual([third]);
  });

  test.each<[since: string, make: (answer: string) => ChatEdit]>([
    ["was sent", (parent) => ({ type: "add_message", parent, message: { text: "on" } })],
    ["was begun", () => ({ type: "add_message", parent: null, message: { text: "anew" } })],
    ["was asked for again", (node_id) => ({ type: "add_answer_version", node_id, answer: slot })],
    ["was parted", (after) => ({ type: "add_separator", after })],
  ])("of a branch leaves the path where something %s meanwhile", (_since, make) => {
    const { w, answer, second, another, removal } = twoBranches();
    w.edit(make(answer));
    const path = pathOf(w.chat);
    w.edit({ type: "restore", removal });
    expect(pathOf(w.chat)).toEqual(path);
    w.edit({ type: "choose_branch", node_id: second });
    expect(pathOf(w.chat)).toEqual([second, another]);
  });

  test("of a version shows it again, unless another was made or chosen meanwhile", () => {
    const w = new WrittenChat();
    const node_id = w.answer(w.user(null), "a");
    const first = w.shownVersion(node_id);
    const add = (): string =>
      w.edit({ type: "add_answer_version", node_id, answer: answerOf("again") }).version_id ?? "";
    const second = add();
    const removal = w.removed({ type: "delete_version", node_id, version_id: second });
    const third = add();
    w.edit({ type: "restore", removal });
    expect(w.shownVersion(node_id)).toBe(third);
    w.edit({ type: "choose_version", node_id, version_id: second });
    const again = w.removed({ type: "delete_version", node_id, version_id: second });
    expect(w.shownVersion(node_id)).toBe(first);
    w.edit({ type: "restore", removal: again });
    expect(w.shownVersion(node_id)).toBe(second);
    expect(versionIds(w.node(node_id))).toEqual([first, second, third]);
  });
});

describe("what was used", () => {
  const answered = () => {
    const w = new WrittenChat();
    const user = w.user(null);
    const node_id = w.answer(user, "a", { usage: usage(10, 0.1) });
    const answer = { ...answerOf("b"), usage: usage(1), tree_usage: usage(20, 0.2) };
    w.edit({ type: "add_answer_version", node_id, answer });
    return { w, user, node_id };
  };

  test("was used, also by what is deleted", () => {
    const { w, user, node_id } = answered();
    const all = { input_tokens: 30, output_tokens: 2, total_tokens: 32, cost: 0.3 };
    expect(chatUsage(w.chat)).toEqual(all);
    w.edit({ type: "delete_version", node_id, version_id: w.shownVersion(node_id) });
    expect(chatUsage(w.chat)).toEqual(all);
    w.edit({ type: "delete_node", node_id: user, children: "delete" });
    expect(w.chat.nodes).toEqual({});
    expect(chatUsage(w.chat)).toEqual(all);
    expect(w.chat.extra_usage).toEqual(all);
  });

  test("goes back to what is restored, to the letter", () => {
    const { w, user, node_id } = answered();
    const titled = { ...usage(5), cached_tokens: 0 };
    w.edit({ type: "title_by_model", title: "t", usage: titled });
    const version_id = w.shownVersion(node_id);
    const version = w.removed({ type: "delete_version", node_id, version_id });
    const node = w.removed({ type: "delete_node", node_id: user, children: "delete" });
    w.edit({ type: "restore", removal: node });
    w.edit({ type: "restore", removal: version });
    expect(w.chat.extra_usage).toStrictEqual(titled);
  });

  test("is counted once, whatever was deleted and used meanwhile", () => {
    const { w, user, node_id } = answered();
    const version_id = w.shownVersion(node_id);
    const version = w.removed({ type: "delete_version", node_id, version_id });
    w.answer(user, "c", { usage: usage(7) });
    w.edit({ type: "title_by_model", title: "t", usage: usage(5) });
    const used = chatUsage(w.chat);
    w.edit({ type: "restore", removal: version });
    expect(chatUsage(w.chat)).toEqual(used);
    expect(w.chat.extra_usage).toEqual({ ...usage(5), cost: 0 });
  });

  test("of a chat in which nothing was used stays away", () => {
    const w = new WrittenChat();
    const [user] = w.turn(null, "one");
    const removal = w.removed({ type: "delete_node", node_id: user, children: "delete" });
    expect(w.chat).not.toHaveProperty("extra_usage");
    w.edit({ type: "restore", removal });
    expect(w.chat).not.toHaveProperty("extra_usage");
  });
});
