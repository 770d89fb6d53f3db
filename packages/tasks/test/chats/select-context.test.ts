import {
  selectContext,
  getVersionText,
  type AnswerNode,
  type AnswerStatus,
} from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { buildAnswer, runningAnswer, ChatBuilder } from "./chat-builder.ts";

/** Returns the texts of the selected context, in order. */
function selectTexts(builder: ChatBuilder, upTo: string | null, turns = 0): string[] {
  return selectContext(builder.chat, { upTo, turns }).map((entry) =>
    entry.kind === "user"
      ? getVersionText(entry.version)
      : entry.versions.map((version) => getVersionText(version)).join("+"),
  );
}

/** Creates three turns on one path and the next message. */
function createThreeTurns(): { builder: ChatBuilder; ids: string[]; last: string } {
  const builder = new ChatBuilder();
  const ids: string[] = [];
  for (const text of ["1", "2", "3"]) ids.push(...builder.addTurn(ids.at(-1) ?? null, text));
  return { builder, ids, last: builder.addMessage(ids.at(-1) ?? null, "now") };
}

test("the context is the path from the root to a node, without other branches", () => {
  const { builder, ids, last } = createThreeTurns();
  builder.addMessage(ids[1] ?? "", "another way");
  expect(selectTexts(builder, last)).toEqual(["1", "re: 1", "2", "re: 2", "3", "re: 3", "now"]);
  expect(selectTexts(builder, ids[1] ?? "")).toEqual(["1", "re: 1"]);
  expect(selectTexts(builder, null)).toEqual([]);
});

test("the context has the chosen version of every message", () => {
  const { builder, ids } = createThreeTurns();
  const [first = "", answer = ""] = ids;
  const shown = builder.getChosenVersionId(first);
  builder.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
  builder.edit({ type: "add_answer_version", node_id: answer, answer: buildAnswer("re: uno") });
  expect(selectTexts(builder, answer)).toEqual(["uno", "re: uno"]);
  builder.edit({ type: "choose_version", node_id: first, version_id: shown });
  expect(selectTexts(builder, answer)).toEqual(["1", "re: uno"]);
});

describe("the window of turns", () => {
  test("counts user messages, including the newest one", () => {
    const { builder, last } = createThreeTurns();
    expect(selectTexts(builder, last, 1)).toEqual(["now"]);
    expect(selectTexts(builder, last, 2)).toEqual(["3", "re: 3", "now"]);
    expect(selectTexts(builder, last, 99)).toHaveLength(7);
    expect(selectTexts(builder, last, 0)).toHaveLength(7);
  });

  test("also includes earlier pinned messages, in order", () => {
    const { builder, ids, last } = createThreeTurns();
    builder.edit({ type: "pin", node_id: ids[1] ?? "", value: true });
    expect(selectTexts(builder, last, 2)).toEqual(["re: 1", "3", "re: 3", "now"]);
  });

  test("does not count hidden messages", () => {
    const { builder, ids, last } = createThreeTurns();
    builder.edit({ type: "hide", node_id: ids[4] ?? "", value: true });
    expect(selectTexts(builder, last, 2)).toEqual(["2", "re: 2", "re: 3", "now"]);
  });
});

describe("a separator", () => {
  test("excludes everything before it except pinned messages", () => {
    const { builder, ids, last } = createThreeTurns();
    const separator = builder.addSeparator(ids[3] ?? "");
    expect(selectTexts(builder, last)).toEqual(["3", "re: 3", "now"]);
    expect(selectTexts(builder, last, 99)).toEqual(["3", "re: 3", "now"]);
    builder.edit({ type: "pin", node_id: ids[0] ?? "", value: true });
    expect(selectTexts(builder, last)).toEqual(["1", "3", "re: 3", "now"]);
    expect(selectTexts(builder, last, 1)).toEqual(["1", "now"]);
    expect(selectTexts(builder, separator)).toEqual(["1"]);
  });

  test("has no effect if it is before another separator or after the selected node", () => {
    const { builder, ids, last } = createThreeTurns();
    builder.addSeparator(ids[1] ?? "");
    builder.addSeparator(ids[3] ?? "");
    builder.addSeparator(last);
    expect(selectTexts(builder, last)).toEqual(["3", "re: 3", "now"]);
  });
});

test("a hidden message is never in the context, even if it is pinned", () => {
  const { builder, ids, last } = createThreeTurns();
  const [, node_id = ""] = ids;
  builder.edit({ type: "pin", node_id, value: true });
  builder.edit({ type: "hide", node_id, value: true });
  expect(selectTexts(builder, last)).not.toContain("re: 1");
  builder.edit({ type: "hide", node_id, value: false });
  expect(selectTexts(builder, last)).toContain("re: 1");
});

describe("an answer", () => {
  test.each<[status: AnswerStatus, inclusion: string]>([
    ["completed", "included"],
    ["aborted", "included"],
    ["timeout", "included"],
    ["error", "not included"],
    ["running", "not included"],
  ])("with the status %s is %s, and its message always is", (status, inclusion) => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null, "one");
    const answer = builder.addAnswer(user, "as far as it came", { status });
    builder.edit({ type: "pin", node_id: answer, value: true });
    expect(selectTexts(builder, answer)).toEqual(
      inclusion === "included" ? ["one", "as far as it came"] : ["one"],
    );
  });

  test("that is running or empty is not included", () => {
    const builder = new ChatBuilder();
    const user = builder.addMessage(null, "one");
    expect(selectTexts(builder, builder.addAnswer(user, "", runningAnswer))).toEqual(["one"]);
    expect(
      selectTexts(builder, builder.addAnswer(user, "", { status: "aborted", output: [] })),
    ).toEqual(["one"]);
  });

  test("is included with its continuations, and with failed ones only if a later one succeeded", () => {
    const { builder, node_id, continueAnswer } = createCutAnswer();
    continueAnswer("and half", "aborted");
    expect(selectTexts(builder, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("broken", "error");
    expect(selectTexts(builder, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("still broken", "error");
    expect(selectTexts(builder, node_id)).toEqual(["one", "half+and half"]);
    continueAnswer("whole", "completed");
    expect(selectTexts(builder, node_id)).toEqual([
      "one",
      "half+and half+broken+still broken+whole",
    ]);
    continueAnswer("and on", "running");
    expect(selectTexts(builder, node_id)).toEqual([
      "one",
      "half+and half+broken+still broken+whole",
    ]);
  });

  test("is not included if it failed and all continuations failed or are empty", () => {
    const { builder, node_id, continueAnswer } = createCutAnswer("error");
    expect(selectTexts(builder, node_id)).toEqual(["one"]);
    continueAnswer("", "completed");
    expect(selectTexts(builder, node_id)).toEqual(["one"]);
    continueAnswer("broken too", "error");
    expect(selectTexts(builder, node_id)).toEqual(["one"]);
  });

  test("is included without its empty versions", () => {
    const { builder, node_id, continueAnswer } = createCutAnswer("error");
    continueAnswer("", "error");
    continueAnswer("the rest", "completed");
    expect(selectTexts(builder, node_id)).toEqual(["one", "half+the rest"]);
    expect((builder.getNode(node_id) as AnswerNode).versions).toHaveLength(3);
  });
});

/** Creates an answer that was cut off, and a function that continues its chosen version. */
function createCutAnswer(first: AnswerStatus = "timeout") {
  const builder = new ChatBuilder();
  const node_id = builder.addAnswer(builder.addMessage(null, "one"), "half", { status: first });
  const continueAnswer = (text: string, status: AnswerStatus): void => {
    const continues = builder.getChosenVersionId(node_id);
    const { output, ...answer } = buildAnswer(text);
    const continuation = { status, continues, output: text === "" ? [] : output };
    builder.edit({ type: "add_answer_version", node_id, answer: { ...answer, ...continuation } });
  };
  return { builder, node_id, continueAnswer };
}
