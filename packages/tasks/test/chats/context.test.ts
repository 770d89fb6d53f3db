import { contextOf, wordsOf, type AnswerNode, type AnswerStatus } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, slot, WrittenChat } from "./written-chat.ts";

/** What is said of it, in order. */
function told(w: WrittenChat, upTo: string | null, turns = 0): string[] {
  return contextOf(w.chat, { upTo, turns }).map((entry) =>
    entry.kind === "user"
      ? wordsOf(entry.version)
      : entry.versions.map((version) => wordsOf(version)).join("+"),
  );
}

/** Three turns, one under the other, and the next message. */
function threeTurns(): { w: WrittenChat; ids: string[]; last: string } {
  const w = new WrittenChat();
  const ids: string[] = [];
  for (const text of ["1", "2", "3"]) ids.push(...w.turn(ids.at(-1) ?? null, text));
  return { w, ids, last: w.user(ids.at(-1) ?? null, "now") };
}

test("the path is told from its root to a node, and nothing of other branches", () => {
  const { w, ids, last } = threeTurns();
  w.user(ids[1] ?? "", "another way");
  expect(told(w, last)).toEqual(["1", "re: 1", "2", "re: 2", "3", "re: 3", "now"]);
  expect(told(w, ids[1] ?? "")).toEqual(["1", "re: 1"]);
  expect(told(w, null)).toEqual([]);
});

test("of every message the version is told that is shown", () => {
  const { w, ids } = threeTurns();
  const [first = "", answer = ""] = ids;
  const shown = w.shownVersion(first);
  w.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
  w.edit({ type: "add_answer_version", node_id: answer, answer: answerOf("re: uno") });
  expect(told(w, answer)).toEqual(["uno", "re: uno"]);
  w.edit({ type: "choose_version", node_id: first, version_id: shown });
  expect(told(w, answer)).toEqual(["1", "re: uno"]);
});

describe("the window", () => {
  test("counts turns from a user's message on, the newest included", () => {
    const { w, last } = threeTurns();
    expect(told(w, last, 1)).toEqual(["now"]);
    expect(told(w, last, 2)).toEqual(["3", "re: 3", "now"]);
    expect(told(w, last, 99)).toHaveLength(7);
    expect(told(w, last, 0)).toHaveLength(7);
  });

  test("keeps what is pinned outside of it, in its place", () => {
    const { w, ids, last } = threeTurns();
    w.edit({ type: "pin", node_id: ids[1] ?? "", value: true });
    expect(told(w, last, 2)).toEqual(["re: 1", "3", "re: 3", "now"]);
  });

  test("does not count messages that are hidden", () => {
    const { w, ids, last } = threeTurns();
    w.edit({ type: "hide", node_id: ids[4] ?? "", value: true });
    expect(told(w, last, 2)).toEqual(["2", "re: 2", "re: 3", "now"]);
  });
});

describe("a separator", () => {
  test("cuts off all before it but what is pinned, and is not told itself", () => {
    const { w, ids, last } = threeTurns();
    const separator = w.separator(ids[3] ?? "");
    expect(told(w, last)).toEqual(["3", "re: 3", "now"]);
    expect(told(w, last, 99)).toEqual(["3", "re: 3", "now"]);
    w.edit({ type: "pin", node_id: ids[0] ?? "", value: true });
    expect(told(w, last)).toEqual(["1", "3", "re: 3", "now"]);
    expect(told(w, last, 1)).toEqual(["1", "now"]);
    expect(told(w, separator)).toEqual(["1"]);
  });

  test("counts if it is the last one on the path, and not behind its end", () => {
    const { w, ids, last } = threeTurns();
    w.separator(ids[1] ?? "");
    w.separator(ids[3] ?? "");
    w.separator(last);
    expect(told(w, last)).toEqual(["3", "re: 3", "now"]);
  });
});

test("hidden is never told, pinned or not", () => {
  const { w, ids, last } = threeTurns();
  const [, node_id = ""] = ids;
  w.edit({ type: "pin", node_id, value: true });
  w.edit({ type: "hide", node_id, value: true });
  expect(told(w, last)).not.toContain("re: 1");
  w.edit({ type: "hide", node_id, value: false });
  expect(told(w, last)).toContain("re: 1");
});

describe("an answer", () => {
  test.each<[status: AnswerStatus, isTold: boolean]>([
    ["completed", true],
    ["aborted", true],
    ["timeout", true],
    ["error", false],
    ["running", false],
  ])("that is %s is told: %s; its message is in every case", (status, isTold) => {
    const w = new WrittenChat();
    const user = w.user(null, "one");
    const answer = w.answer(user, "as far as it came", { status });
    w.edit({ type: "pin", node_id: answer, value: true });
    expect(told(w, answer)).toEqual(isTold ? ["one", "as far as it came"] : ["one"]);
  });

  test("that is a placeholder, or came to nothing, is not told", () => {
    const w = new WrittenChat();
    const user = w.user(null, "one");
    expect(told(w, w.answer(user, "", slot))).toEqual(["one"]);
    expect(told(w, w.answer(user, "", { status: "aborted", output: [] }))).toEqual(["one"]);
  });

  test("that goes on from another is told with it, one that failed only where that has come further", () => {
    const { w, node_id, continueAnswer } = begun();
    continueAnswer("and half", "aborted");
    expect(told(w, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("broken", "error");
    expect(told(w, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("still broken", "error");
    expect(told(w, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("whole", "completed");
    expect(told(w, node_id)).toEqual(["one", "half+and half+broken+still broken+whole"]);
    continueAnswer("and on", "running");
    expect(told(w, node_id)).toEqual(["one", "half+and half+broken+still broken+whole"]);
  });

  test("that failed and is gone on from in vain, or with nothing, is not told", () => {
    const { w, node_id, continueAnswer } = begun("error");
    expect(told(w, node_id)).toEqual(["one"]);
    continueAnswer("", "completed");
    expect(told(w, node_id)).toEqual(["one"]);
    continueAnswer("broken too", "error");
    expect(told(w, node_id)).toEqual(["one"]);
  });

  test("of a chain has nothing of the versions that came to nothing", () => {
    const { w, node_id, continueAnswer } = begun("error");
    continueAnswer("", "error");
    continueAnswer("the rest", "completed");
    expect(told(w, node_id)).toEqual(["one", "half+the rest"]);
    expect((w.node(node_id) as AnswerNode).versions).toHaveLength(3);
  });
});

/** An answer that was cut off, and how it goes on from the version that is shown. */
function begun(first: AnswerStatus = "timeout") {
  const w = new WrittenChat();
  const node_id = w.answer(w.user(null, "one"), "half", { status: first });
  const continueAnswer = (text: string, status: AnswerStatus): void => {
    const continues = w.shownVersion(node_id);
    const { output, ...answer } = answerOf(text);
    const more = { status, continues, output: text === "" ? [] : output };
    w.edit({ type: "add_answer_version", node_id, answer: { ...answer, ...more } });
  };
  return { w, node_id, continueAnswer };
}
