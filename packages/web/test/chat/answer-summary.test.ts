import { annotateCitations, type CallOutcome, type OutputItem } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import {
  canContinue,
  summarizeAnswerUsage,
  hasClipboardText,
  toAnswerState,
  listAuthors,
  toClipboardText,
} from "../../src/chat/answer-summary.ts";
import { toUsageRows, formatUsage } from "../../src/chat/answer-usage.tsx";
import { chatViewMessages } from "../../src/chat/messages.ts";
import { createFormatter } from "../../src/messages/format.ts";
import { completedAnswer, createMessageOutput } from "./chat-fixture.ts";

const createAnswerVersion = (overrides: Partial<AnswerVersion> = {}): AnswerVersion => ({
  ...completedAnswer,
  version_id: "version_1",
  created_at: "2026-01-01T00:00:00.000Z",
  ...overrides,
});
const format = createFormatter("en");

test("the state of an answer depends on its status, and on a pending approval only while it runs", () => {
  expect(toAnswerState({ status: "running" })).toBe("answering");
  expect(toAnswerState({ status: "running", waiting: true })).toBe("waiting");
  expect(toAnswerState({ status: "completed", waiting: true })).toBe("done");
  expect(toAnswerState({ status: "aborted" })).toBe("stopped");
  expect(toAnswerState({ status: "timeout" })).toBe("timedOut");
});

test("the usage of an answer is the sum of all versions that continue each other, including sub-agents", () => {
  const own = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
  const tree = { input_tokens: 300, output_tokens: 60, total_tokens: 360, cost: 0.01 };
  const cost = summarizeAnswerUsage([
    createAnswerVersion({ usage: own, tree_usage: tree, time_ms: 1000 }),
    createAnswerVersion({ usage: own, time_ms: 500 }),
  ]);
  expect(cost).toEqual({
    usage: { input_tokens: 400, output_tokens: 80, total_tokens: 480, cost: 0.01 },
    subAgentTokens: 240,
    timeMs: 1500,
    stats: undefined,
    toolRounds: 0,
  });
});

test("no usage is shown for an answer without usage", () => {
  const cost = summarizeAnswerUsage([createAnswerVersion()]);
  expect(cost).toEqual({
    usage: undefined,
    subAgentTokens: 0,
    timeMs: undefined,
    stats: undefined,
    toolRounds: 0,
  });
  expect(formatUsage(cost.usage, format, chatViewMessages.en)).toEqual([]);
  expect(toUsageRows(cost, format, chatViewMessages.en)).toEqual([]);
});

test("usage is shown as a summary and as rows, with parts below their total", () => {
  const usage = {
    input_tokens: 12_400,
    cached_tokens: 8000,
    output_tokens: 600,
    reasoning_tokens: 0,
    total_tokens: 13_000,
    cost: 0.0125,
    estimated: true,
  };
  expect(formatUsage(usage, format, chatViewMessages.en)).toEqual([
    "about 13K tokens",
    "cost 0.0125",
  ]);
  const cost = { usage, subAgentTokens: 0, timeMs: 4200, stats: undefined, toolRounds: 0 };
  const rows = toUsageRows(cost, format, chatViewMessages.en);
  expect(rows.map(({ name, value, isPart }) => [name, value, isPart])).toEqual([
    ["Input", "12.4K", false],
    ["including cached", "8K", true],
    ["Output", "600", false],
    ["Total", "13K", false],
    ["Cost", "0.0125", false],
    ["Time", "4.2 s", false],
  ]);
});

test("requests, calls and times are summed over continued versions and shown as rows", () => {
  const call = (id: string, outcome: CallOutcome = "completed"): OutputItem[] => [
    { type: "tool_call", id, call_id: id, name: "look", arguments: "{}", outcome },
  ];
  const result = (id: string): OutputItem[] => [
    { type: "tool_result", id: `${id}_result`, call_id: id, block_list: [] },
  ];
  const execution = { attempt: 1, args_hash: "", effect: "pure", idempotency_key: "" } as const;
  const execute = (call_id: string) => ({
    ...execution,
    call_id,
    execution_id: call_id,
    duration_ms: 1000,
  });
  const times = { round: 2, model_ms: 3000 };
  const cost = summarizeAnswerUsage([
    createAnswerVersion({
      time_ms: 4200,
      output: [...call("1"), ...call("2"), ...result("1"), ...result("2")],
      executions: [execute("1")],
      ...times,
    }),
    createAnswerVersion({
      time_ms: 5000,
      output: [...call("3"), ...call("4", "failed"), ...result("3"), ...result("4")],
      executions: [execute("3")],
      ...times,
      waited_ms: 500,
    }),
  ]);
  const rows = toUsageRows(cost, format, chatViewMessages.en);
  expect(rows.map(({ name, value, isPart }) => [name, value, isPart])).toEqual([
    ["Time", "9.2 s", false],
    ["spent on the model", "6.0 s", true],
    ["spent on tools", "2.0 s", true],
    ["spent waiting for approval", "0.5 s", true],
    ["Model requests", "4", false],
    ["Tool rounds", "2", false],
    ["Tool calls", "4", false],
    ["done", "3", true],
    ["failed", "1", true],
  ]);
});

test("copied text has no citation markers and no tool calls", () => {
  const textWithCitations = "It is sunny [^1], says the report[^2].";
  const annotations = annotateCitations(textWithCitations, (n) => n === 1);
  const output = [
    {
      type: "message",
      id: "message_1",
      role: "assistant",
      block_list: [{ type: "text", text: textWithCitations, annotations }],
    } as const satisfies OutputItem,
    { type: "tool_call", id: "call", call_id: "call", name: "look", arguments: "{}" } as const,
    ...createMessageOutput("Code keeps `[^1]`."),
  ];
  expect(toClipboardText([output])).toBe("It is sunny, says the report.\n\nCode keeps `[^1]`.");
});

test("an answer can be copied if it has message text", () => {
  const call = { type: "tool_call", id: "c", call_id: "c", name: "look", arguments: "{}" } as const;
  expect(
    hasClipboardText(createAnswerVersion({ output: [call, ...createMessageOutput("a")] })),
  ).toBe(true);
  expect(
    hasClipboardText(createAnswerVersion({ output: [call, ...createMessageOutput("")] })),
  ).toBe(false);
  expect(hasClipboardText(createAnswerVersion({ output: [] }))).toBe(false);
});

test("an answer can be continued if a chat model has written text", () => {
  expect(canContinue(createAnswerVersion({ output: createMessageOutput("half a") }))).toBe(true);
  expect(canContinue(createAnswerVersion({ output: createMessageOutput(" ") }))).toBe(false);
  expect(
    canContinue(createAnswerVersion({ output: createMessageOutput("x"), status: "running" })),
  ).toBe(false);
  expect(
    canContinue(createAnswerVersion({ output: createMessageOutput("x"), model_type: "image-gen" })),
  ).toBe(false);
});

test("each author of a continued answer is listed once", () => {
  expect(
    listAuthors([createAnswerVersion({ model: "a/one" }), createAnswerVersion({ model: "b/two" })]),
  ).toEqual({
    names: ["a/one", "b/two"],
    models: [],
  });
  const byAgent = (model: string) => createAnswerVersion({ agent: "helper", model });
  expect(listAuthors([byAgent("a/one"), byAgent("b/two"), byAgent("a/one")])).toEqual({
    names: ["helper"],
    models: ["a/one", "b/two"],
  });
});
