import { findOutdatedNodes } from "@deltawire/tasks/chats";
import { describe, expect, test } from "vitest";
import { buildAnswer, ChatBuilder } from "./chat-builder.ts";

describe("findOutdatedNodes", () => {
  /** Creates two turns whose answers record the version of the message that they answer. */
  function createTwoTurns() {
    const builder = new ChatBuilder();
    const first = builder.addMessage(null, "one");
    const answer = builder.addAnswer(first, "1", { answers: builder.getChosenVersionId(first) });
    const second = builder.addMessage(answer, "two");
    const last = builder.addAnswer(second, "2", { answers: builder.getChosenVersionId(second) });
    return { builder, first, answer, second, last };
  }
  const listOutdated = ({ chat }: ChatBuilder) => [...findOutdatedNodes(chat)];

  test("returns nothing for a chat without edits", () => {
    const { builder } = createTwoTurns();
    expect(listOutdated(builder)).toEqual([]);
  });

  test("returns all nodes after a message that was edited, until its earlier version is chosen again", () => {
    const { builder, first, answer, second, last } = createTwoTurns();
    const originalVersion = builder.getChosenVersionId(first);
    builder.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
    expect(listOutdated(builder)).toEqual([answer, second, last]);
    builder.edit({ type: "choose_version", node_id: first, version_id: originalVersion });
    expect(listOutdated(builder)).toEqual([]);
  });

  test("returns all nodes after an answer that was generated again", () => {
    const { builder, first, answer, second, last } = createTwoTurns();
    const newAnswer = { ...buildAnswer("one more"), answers: builder.getChosenVersionId(first) };
    builder.edit({ type: "add_answer_version", node_id: answer, answer: newAnswer });
    expect(listOutdated(builder)).toEqual([second, last]);
  });

  test("does not return a message below an earlier version of an answer while that version is chosen", () => {
    const { builder, first, answer } = createTwoTurns();
    const earlierVersion = builder.getChosenVersionId(answer);
    const newAnswer = { ...buildAnswer("one more"), answers: builder.getChosenVersionId(first) };
    builder.edit({ type: "add_answer_version", node_id: answer, answer: newAnswer });
    const laterVersion = builder.getChosenVersionId(answer);
    builder.edit({ type: "choose_version", node_id: answer, version_id: earlierVersion });
    const branch = builder.addMessage(answer, "below the earlier version");
    expect(listOutdated(builder)).toEqual([]);
    builder.edit({ type: "choose_version", node_id: answer, version_id: laterVersion });
    expect(listOutdated(builder)).toEqual([branch]);
  });

  test("returns nothing after a separator", () => {
    const { builder, first, answer } = createTwoTurns();
    builder.edit({ type: "add_separator", after: answer });
    builder.edit({ type: "add_message_version", node_id: first, message: { text: "uno" } });
    expect(listOutdated(builder)).toEqual([answer]);
  });

  test("does not return a message that has no record of the version it follows", () => {
    const { builder, answer, first } = createTwoTurns();
    const newAnswer = { ...buildAnswer("one more"), answers: builder.getChosenVersionId(first) };
    builder.edit({ type: "add_answer_version", node_id: answer, answer: newAnswer });
    const branch = builder.addMessage(answer, "as an earlier release stored it");
    const node = builder.chat.nodes[branch];
    if (node?.kind !== "user") throw new Error("not a user message");
    const versions = node.versions.map(({ follows: _follows, ...version }) => version);
    builder.chat = {
      ...builder.chat,
      nodes: { ...builder.chat.nodes, [branch]: { ...node, versions } },
    };
    expect(listOutdated(builder)).toEqual([]);
  });
});
