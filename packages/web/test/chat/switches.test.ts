import {
  chosenVersion,
  nodeOf,
  type AnswerNode,
  type Chat,
  type UserNode,
} from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import {
  answeredVersion,
  offeredVersions,
  switchOf,
  versionEdits,
} from "../../src/chat/message-footer.tsx";
import { answered, chatAfter } from "./stage.ts";

const asked = { type: "add_message", parent: null, message: { text: "one" } } as const;
const answer = {
  type: "add_answer",
  parent: "node_1",
  answer: { ...answered, answers: "version_1" },
} as const;

function answerIn(chat: Chat): AnswerNode {
  const node = nodeOf(chat, "node_2");
  if (node?.kind !== "answer") throw new Error("no answer");
  return node;
}
function messageIn(chat: Chat): UserNode {
  const node = nodeOf(chat, "node_1");
  if (node?.kind !== "user") throw new Error("no message");
  return node;
}

test("a switch says where one is and stops at both ends", () => {
  expect(switchOf(["a", "b", "c"], "b")).toEqual({ at: 2, of: 3, previous: "a", next: "c" });
  expect(switchOf(["a", "b"], "a")).toEqual({ at: 1, of: 2, previous: undefined, next: "b" });
  expect(switchOf(["a"], "a")).toBeUndefined();
  expect(switchOf(["a", "b"], "z")).toBeUndefined();
});

test("an answer that was gone on with is one answer: its first part is not offered beside the whole", () => {
  const chat = chatAfter(asked, answer, {
    type: "add_answer_version",
    node_id: "node_2",
    answer: { ...answered, continues: "version_2" },
  });
  expect(answerIn(chat).versions).toHaveLength(2);
  expect(offeredVersions(answerIn(chat))).toEqual(["version_3"]);
});

test("the first part is offered where it is the one that is shown", () => {
  const chat = chatAfter(
    asked,
    answer,
    {
      type: "add_answer_version",
      node_id: "node_2",
      answer: { ...answered, continues: "version_2" },
    },
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  );
  expect(offeredVersions(answerIn(chat))).toEqual(["version_2", "version_3"]);
});

const edited = chatAfter(
  asked,
  answer,
  { type: "add_message_version", node_id: "node_1", message: { text: "two" } },
  {
    type: "add_answer_version",
    node_id: "node_2",
    answer: { ...answered, answers: "version_3" },
  },
);

test("with an older version of a message comes the answer that was given to it", () => {
  expect(versionEdits(edited, messageIn(edited), "version_1")).toEqual([
    { type: "choose_version", node_id: "node_1", version_id: "version_1" },
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  ]);
});

test("a version of an answer is shown without touching the message", () => {
  expect(versionEdits(edited, answerIn(edited), "version_2")).toEqual([
    { type: "choose_version", node_id: "node_2", version_id: "version_2" },
  ]);
});

test("an answer to another version of the message than the one that is shown says so", () => {
  const shown = chosenVersion(answerIn(edited));
  expect(answeredVersion(messageIn(edited), shown)).toBeUndefined();
  const [first] = answerIn(edited).versions;
  expect(first && answeredVersion(messageIn(edited), first)).toEqual({
    number: 1,
    versionId: "version_1",
  });
});
