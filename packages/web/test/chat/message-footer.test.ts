import {
  getChosenVersion,
  findNode,
  type AnswerNode,
  type Chat,
  type UserNode,
} from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import {
  findAnsweredVersion,
  getSelectableVersionIds,
  toSwitcherPosition,
  createVersionEdits,
} from "../../src/chat/message-footer.tsx";
import { completedAnswer, buildChat } from "./chat-fixture.ts";

const addMessage = { type: "add_message", parent: null, message: { text: "one" } } as const;
const addAnswer = {
  type: "add_answer",
  parent: "node_1",
  answer: { ...completedAnswer, answers: "version_1" },
} as const;

function findAnswer(chat: Chat): AnswerNode {
  const node = findNode(chat, "node_2");
  if (node?.kind !== "answer") throw new Error("no answer");
  return node;
}
function findMessage(chat: Chat): UserNode {
  const node = findNode(chat, "node_1");
  if (node?.kind !== "user") throw new Error("no message");
  return node;
}

test("a switcher shows the position among several ids, with the previous and the next one", () => {
  expect(toSwitcherPosition(["a", "b", "c"], "b")).toEqual({
    number: 2,
    total: 3,
    previous: "a",
    next: "c",
  });
  expect(toSwitcherPosition(["a", "b"], "a")).toEqual({
    number: 1,
    total: 2,
    previous: undefined,
    next: "b",
  });
  expect(toSwitcherPosition(["a"], "a")).toBeUndefined();
  expect(toSwitcherPosition(["a", "b"], "z")).toBeUndefined();
});

test("a continued version is not offered separately from its continuation", () => {
  const chat = buildChat(addMessage, addAnswer, {
    type: "add_answer_version",
    node_id: "node_2",
    answer: { ...completedAnswer, continues: "version_2" },
  });
  expect(findAnswer(chat).versions).toHaveLength(2);
  expect(getSelectableVersionIds(findAnswer(chat))).toEqual(["version_3"]);
});

test("a continued version is offered if it is the chosen version", () => {
  const chat = buildChat(
    addMessage,
    addAnswer,
    {
      type: "add_answer_version",
      node_id: "node_2",
      answer: { ...completedAnswer, continues: "version_2" },
    },
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  );
  expect(getSelectableVersionIds(findAnswer(chat))).toEqual(["version_2", "version_3"]);
});

const editedChat = buildChat(
  addMessage,
  addAnswer,
  { type: "add_message_version", node_id: "node_1", message: { text: "two" } },
  {
    type: "add_answer_version",
    node_id: "node_2",
    answer: { ...completedAnswer, answers: "version_3" },
  },
);

test("choosing an older version of a message also chooses the answer to it", () => {
  expect(createVersionEdits(editedChat, findMessage(editedChat), "version_1")).toEqual([
    { type: "choose_version", node_id: "node_1", version_id: "version_1" },
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  ]);
});

test("choosing a version of an answer does not change the message", () => {
  expect(createVersionEdits(editedChat, findAnswer(editedChat), "version_2")).toEqual([
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  ]);
});

test("for an answer to another version of the message, the version that it answers is returned", () => {
  const chosen = getChosenVersion(findAnswer(editedChat));
  expect(findAnsweredVersion(findMessage(editedChat), chosen)).toBeUndefined();
  const [first] = findAnswer(editedChat).versions;
  expect(first && findAnsweredVersion(findMessage(editedChat), first)).toEqual({
    number: 1,
    versionId: "version_1",
  });
});
