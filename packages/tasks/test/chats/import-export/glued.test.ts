import fc from "fast-check";
import type { OutputItem } from "@deltawire/tasks";
import { expect, test } from "vitest";
import {
  chatToGlued,
  currentPath,
  toGluedAnswer,
  type AnswerVersion,
} from "@deltawire/tasks/chats";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { anyChat } from "./arbitrary-chat.ts";
import { answer, call, createSampleChat, text } from "./sample-chat.ts";

function createVersion(answerFields: Parameters<typeof answer>): AnswerVersion {
  return {
    version_id: "version_1",
    created_at: "2026-03-01T10:00:00.000Z",
    ...answer(...answerFields),
  };
}

test("the content has the log of the tool calls before the answer, and the prompt slice is the answer", () => {
  const output = [
    text("Let me look."),
    ...call("search", '{"q":"\u{1F534}"}', "red"),
    text("It is red."),
  ];
  const glued = toGluedAnswer([createVersion([output])]);
  expect(glued.content).toBe(
    'Let me look.\n\n[search] {"q":"\u{1F534}"}\n=> completed\nred\n\nIt is red.',
  );
  expect(glued.content.slice(...(glued.userPromptSlice ?? []))).toBe("It is red.");
  expect(glued.content.slice(0, glued.hintSize)).toMatch(/red\n\n$/);
  expect(glued.toolChainResult).toEqual({
    toolCallHistory: [
      {
        call_id: "call_1",
        round: 1,
        name: "search",
        arguments: '{"q":"\u{1F534}"}',
        outcome: "completed",
        result: "red",
      },
    ],
    stats: {
      rounds: 1,
      calls: 1,
      outcomes: { completed: 1 },
      model_ms: 0,
      tool_ms: 0,
      waited_ms: 0,
    },
    status: "completed",
    error: undefined,
  });
});

test("the content of an answer without tool calls is only the answer", () => {
  const glued = toGluedAnswer([createVersion([[text("Hello.")]])]);
  expect(glued).toMatchObject({ content: "Hello.", hintSize: 0, userPromptSlice: undefined });
});

test("an answer that failed after a tool call has an empty prompt slice and the error", () => {
  const glued = toGluedAnswer([
    createVersion([
      call("search", "{}", "red"),
      { status: "error", error: { phase: "model", code: "timeout", message: "too late" } },
    ]),
  ]);
  expect(glued.userPromptSlice).toEqual([glued.content.length, glued.content.length]);
  expect(glued.toolChainResult).toMatchObject({ status: "error", error: "too late" });
});

test("versions that continue one another are one answer with one history", () => {
  const failed = call("read", "{}", "gone", "call_2").map((item): OutputItem =>
    item.type === "tool_call" ? { ...item, outcome: "failed" } : item,
  );
  const glued = toGluedAnswer([
    createVersion([[...call("search", "{}", "red"), text("It")], { status: "aborted" }]),
    createVersion([[...failed, text(" is red.")], { round: 2, model_ms: 5, waited_ms: 7 }]),
  ]);
  expect(glued.content.slice(glued.hintSize)).toBe(" is red.");
  expect(glued.toolChainResult).toMatchObject({
    status: "completed",
    toolCallHistory: [{ call_id: "call_1" }, { call_id: "call_2" }],
    stats: {
      rounds: 3,
      calls: 2,
      outcomes: { completed: 1, failed: 1 },
      model_ms: 5,
      waited_ms: 7,
    },
  });
});

test("a chat is exported message by message, with the position of the user's text", () => {
  const chat = createSampleChat();
  const { title, messages } = chatToGlued(chat);
  expect(title).toBe("A sample");
  expect(messages.map(({ type }) => type)).toEqual([
    "message",
    "message",
    "separator",
    "message",
    "message",
  ]);
  const [prompt, reply] = messages;
  if (prompt?.type !== "message" || reply?.type !== "message") throw new Error("no messages");
  expect(prompt.message.content.slice(...(prompt.userPromptSlice ?? []))).toBe(
    "What is in this *picture*?",
  );
  expect(reply).toMatchObject({
    author: "demo-1",
    time: 1200,
    token: 5,
    toolChainResult: { stats: { calls: 2 } },
  });
  expect(reply.message.content).toContain("[user] Look at the color.");
});

test("in any chat, the prompt slice of an answer is the text after its last tool call", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const nodes = currentPath(chat);
      for (const [at, one] of chatToGlued(chat).messages.entries()) {
        const node = nodes[at];
        if (one.type !== "message" || node?.kind !== "answer") continue;
        const { output = [] } =
          node.versions.find(({ version_id }) => version_id === node.version) ?? {};
        const last = output.findLastIndex(({ type }) => type.startsWith("tool_"));
        const lastText = output
          .slice(last + 1)
          .flatMap((item) => (item.type === "message" ? item.block_list : []))
          .flatMap((block) => (block.type === "text" && block.text !== "" ? [block.text] : []))
          .join("\n\n");
        expect(one.message.content.slice(...(one.userPromptSlice ?? []))).toBe(lastText);
      }
    }),
    propertyRuns(150),
  );
});
