import fc from "fast-check";
import type { OutputItem } from "@deltawire/tasks";
import { expect, test } from "vitest";
import { chatToGlued, currentPath, gluedAnswer, type AnswerVersion } from "@deltawire/tasks/chats";
import { runs } from "../../../../../test/runs.ts";
import { anyChat } from "./any-chat.ts";
import { answer, call, sampleChat, text } from "./sample-chat.ts";

function version(given: Parameters<typeof answer>): AnswerVersion {
  return { version_id: "version_1", created_at: "2026-03-01T10:00:00.000Z", ...answer(...given) };
}

test("the log of the tools stands before the answer, and the slice is the answer", () => {
  const output = [
    text("Let me look."),
    ...call("search", '{"q":"\u{1F534}"}', "red"),
    text("It is red."),
  ];
  const glued = gluedAnswer([version([output])]);
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

test("an answer without tools is nothing but itself", () => {
  const glued = gluedAnswer([version([[text("Hello.")]])]);
  expect(glued).toMatchObject({ content: "Hello.", hintSize: 0, userPromptSlice: undefined });
});

test("an answer that failed in its tools has an empty slice and tells its error", () => {
  const glued = gluedAnswer([
    version([
      call("search", "{}", "red"),
      { status: "error", error: { phase: "model", code: "timeout", message: "too late" } },
    ]),
  ]);
  expect(glued.userPromptSlice).toEqual([glued.content.length, glued.content.length]);
  expect(glued.toolChainResult).toMatchObject({ status: "error", error: "too late" });
});

test("versions that go on from one another are one answer with one history", () => {
  const failed = call("read", "{}", "gone", "call_2").map((item): OutputItem =>
    item.type === "tool_call" ? { ...item, outcome: "failed" } : item,
  );
  const glued = gluedAnswer([
    version([[...call("search", "{}", "red"), text("It")], { status: "aborted" }]),
    version([[...failed, text(" is red.")], { round: 2, model_ms: 5, waited_ms: 7 }]),
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

test("a chat is told message by message, with where the user's words begin", () => {
  const chat = sampleChat();
  const { title, messages } = chatToGlued(chat);
  expect(title).toBe("A sample");
  expect(messages.map(({ type }) => type)).toEqual([
    "message",
    "message",
    "separator",
    "message",
    "message",
  ]);
  const [asked, found] = messages;
  if (asked?.type !== "message" || found?.type !== "message") throw new Error("no messages");
  expect(asked.message.content.slice(...(asked.userPromptSlice ?? []))).toBe(
    "What is in this *picture*?",
  );
  expect(found).toMatchObject({
    author: "demo-1",
    time: 1200,
    token: 5,
    toolChainResult: { stats: { calls: 2 } },
  });
  expect(found.message.content).toContain("[user] Look at the colour.");
});

test("in every chat the slice of an answer is what was said after its last tool", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const nodes = currentPath(chat);
      for (const [at, one] of chatToGlued(chat).messages.entries()) {
        const node = nodes[at];
        if (one.type !== "message" || node?.kind !== "answer") continue;
        const { output = [] } =
          node.versions.find(({ version_id }) => version_id === node.version) ?? {};
        const last = output.findLastIndex(({ type }) => type.startsWith("tool_"));
        const said = output
          .slice(last + 1)
          .flatMap((item) => (item.type === "message" ? item.block_list : []))
          .flatMap((block) => (block.type === "text" && block.text !== "" ? [block.text] : []))
          .join("\n\n");
        expect(one.message.content.slice(...(one.userPromptSlice ?? []))).toBe(said);
      }
    }),
    runs(150),
  );
});
