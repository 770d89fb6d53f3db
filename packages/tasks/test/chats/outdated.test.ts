import { outdatedNodes } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { answerOf, WrittenChat } from "./written-chat.ts";

describe("what is outdated", () => {
  /** Two turns; answers note which version of their message they answer. */
  function twoTurns() {
    const w = new WrittenChat();
    const first = w.user(null, "one");
    const answer = w.answer(first, "1", { answers: w.shownVersion(first) });
    const second = w.user(answer, "two");
    const last = w.answer(second, "2", { answers: w.shownVersion(second) });
    return { w, first, answer, second, last };
  }
  const outdated = ({ chat }: WrittenChat) => [...outdatedNodes(chat)];

  test("is nothing of a conversation that was only written on", () => {
    const { w } = twoTurns();
    expect(outdated(w)).toEqual([]);
  });

  test("is all that follows a message that was changed in place, until its version is shown again", () => {
    const { w, first, answer, second, last } = twoTurns();
    const before = w.shownVersion(first);
    w.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
    expect(outdated(w)).toEqual([answer, second, last]);
    w.edit({ type: "choose_version", node_id: first, version_id: before });
    expect(outdated(w)).toEqual([]);
  });

  test("is all that follows an answer that was made again", () => {
    const { w, first, answer, second, last } = twoTurns();
    const again = { ...answerOf("one more"), answers: w.shownVersion(first) };
    w.edit({ type: "add_answer_version", node_id: answer, answer: again });
    expect(outdated(w)).toEqual([second, last]);
  });

  test("is not a message that was written under an earlier version, as long as that is shown", () => {
    const { w, first, answer } = twoTurns();
    const earlier = w.shownVersion(answer);
    const again = { ...answerOf("one more"), answers: w.shownVersion(first) };
    w.edit({ type: "add_answer_version", node_id: answer, answer: again });
    const later = w.shownVersion(answer);
    w.edit({ type: "choose_version", node_id: answer, version_id: earlier });
    const branch = w.user(answer, "under the earlier one");
    expect(outdated(w)).toEqual([]);
    w.edit({ type: "choose_version", node_id: answer, version_id: later });
    expect(outdated(w)).toEqual([branch]);
  });

  test("is nothing behind a separator: the model is told nothing from above it", () => {
    const { w, first, answer } = twoTurns();
    w.edit({ type: "add_separator", after: answer });
    w.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
    expect(outdated(w)).toEqual([answer]);
  });

  test("is not a message of which nobody noted what it was written for", () => {
    const { w, answer, first } = twoTurns();
    const again = { ...answerOf("one more"), answers: w.shownVersion(first) };
    w.edit({ type: "add_answer_version", node_id: answer, answer: again });
    const branch = w.user(answer, "as an earlier release stored it");
    const node = w.chat.nodes[branch];
    if (node?.kind !== "user") throw new Error("it is a message");
    const versions = node.versions.map(({ follows: _follows, ...version }) => version);
    w.chat = { ...w.chat, nodes: { ...w.chat.nodes, [branch]: { ...node, versions } } };
    expect(outdated(w)).toEqual([]);
  });
});
