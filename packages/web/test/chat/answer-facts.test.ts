import { annotate, type Outcome, type OutputItem } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import {
  canContinue,
  costOf,
  hasWordsToCopy,
  saysOf,
  whoMade,
  wordsToCopy,
} from "../../src/chat/answer-facts.ts";
import { usedInRows, usedInShort } from "../../src/chat/answer-usage.tsx";
import { chatWords } from "../../src/chat/words.ts";
import { formatFor } from "../../src/words/format.ts";
import { answered, saying } from "./stage.ts";

const version = (more: Partial<AnswerVersion> = {}): AnswerVersion => ({
  ...answered,
  version_id: "version_1",
  created_at: "2026-01-01T00:00:00.000Z",
  ...more,
});
const format = formatFor("en");

test("an answer that waits for a person says so, and only while it runs", () => {
  expect(saysOf({ status: "running" })).toBe("answering");
  expect(saysOf({ status: "running", waiting: true })).toBe("waiting");
  expect(saysOf({ status: "completed", waiting: true })).toBe("done");
  expect(saysOf({ status: "aborted" })).toBe("stopped");
  expect(saysOf({ status: "timeout" })).toBe("timedOut");
});

test("parts of one answer cost what they cost together, with their sub-agents", () => {
  const own = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
  const tree = { input_tokens: 300, output_tokens: 60, total_tokens: 360, cost: 0.01 };
  const cost = costOf([
    version({ usage: own, tree_usage: tree, time_ms: 1000 }),
    version({ usage: own, time_ms: 500 }),
  ]);
  expect(cost).toEqual({
    usage: { input_tokens: 400, output_tokens: 80, total_tokens: 480, cost: 0.01 },
    ofSubAgents: 240,
    timeMs: 1500,
    stats: undefined,
    toolRounds: 0,
  });
});

test("an answer that tells nothing costs nothing that can be said", () => {
  const cost = costOf([version()]);
  expect(cost).toEqual({
    usage: undefined,
    ofSubAgents: 0,
    timeMs: undefined,
    stats: undefined,
    toolRounds: 0,
  });
  expect(usedInShort(cost.usage, format, chatWords.en)).toEqual([]);
  expect(usedInRows(cost, format, chatWords.en)).toEqual([]);
});

test("what was used is said in short and in rows, parts under what they are part of", () => {
  const usage = {
    input_tokens: 12_400,
    cached_tokens: 8000,
    output_tokens: 600,
    reasoning_tokens: 0,
    total_tokens: 13_000,
    cost: 0.0125,
    estimated: true,
  };
  expect(usedInShort(usage, format, chatWords.en)).toEqual(["about 13K tokens", "cost 0.0125"]);
  const cost = { usage, ofSubAgents: 0, timeMs: 4200, stats: undefined, toolRounds: 0 };
  const rows = usedInRows(cost, format, chatWords.en);
  expect(rows.map(({ name, value, isPart }) => [name, value, isPart])).toEqual([
    ["Input", "12.4K", false],
    ["of it cached", "8K", true],
    ["Output", "600", false],
    ["Total", "13K", false],
    ["Cost", "0.0125", false],
    ["Time", "4.2 s", false],
  ]);
});

test("requests, calls and times of an answer are summed over its parts and shown in rows", () => {
  const call = (id: string, outcome: Outcome = "completed"): OutputItem[] => [
    { type: "tool_call", id, call_id: id, name: "look", arguments: "{}", outcome },
  ];
  const result = (id: string): OutputItem[] => [
    { type: "tool_result", id: `${id}_result`, call_id: id, block_list: [] },
  ];
  const ran = { attempt: 1, args_hash: "", effect: "pure", idempotency_key: "" } as const;
  const run = (call_id: string) => ({ ...ran, call_id, execution_id: call_id, duration_ms: 1000 });
  const times = { round: 2, model_ms: 3000 };
  const cost = costOf([
    version({
      time_ms: 4200,
      output: [...call("1"), ...call("2"), ...result("1"), ...result("2")],
      executions: [run("1")],
      ...times,
    }),
    version({
      time_ms: 5000,
      output: [...call("3"), ...call("4", "failed"), ...result("3"), ...result("4")],
      executions: [run("3")],
      ...times,
      waited_ms: 500,
    }),
  ]);
  const rows = usedInRows(cost, format, chatWords.en);
  expect(rows.map(({ name, value, isPart }) => [name, value, isPart])).toEqual([
    ["Time", "9.2 s", false],
    ["of it model", "6.0 s", true],
    ["of it tools", "2.0 s", true],
    ["of it waiting for people", "0.5 s", true],
    ["Model requests", "4", false],
    ["Rounds of tools", "2", false],
    ["Tool calls", "4", false],
    ["of them done", "3", true],
    ["of them failed", "1", true],
  ]);
});

test("what is copied are the words, without markers of references and without tools", () => {
  const cited = "It is sunny [^1], says the report[^2].";
  const annotations = annotate(cited, (n) => n === 1);
  const output = [
    {
      type: "message",
      id: "message_1",
      role: "assistant",
      block_list: [{ type: "text", text: cited, annotations }],
    } as const satisfies OutputItem,
    { type: "tool_call", id: "call", call_id: "call", name: "look", arguments: "{}" } as const,
    ...saying("Code keeps `[^1]`."),
  ];
  expect(wordsToCopy([output])).toBe("It is sunny, says the report.\n\nCode keeps `[^1]`.");
});

test("there is something to copy where a message has words, and not where only a tool has", () => {
  const call = { type: "tool_call", id: "c", call_id: "c", name: "look", arguments: "{}" } as const;
  expect(hasWordsToCopy(version({ output: [call, ...saying("a")] }))).toBe(true);
  expect(hasWordsToCopy(version({ output: [call, ...saying("")] }))).toBe(false);
  expect(hasWordsToCopy(version({ output: [] }))).toBe(false);
});

test("only what has words of a model that chats can be gone on with", () => {
  expect(canContinue(version({ output: saying("half a") }))).toBe(true);
  expect(canContinue(version({ output: saying(" ") }))).toBe(false);
  expect(canContinue(version({ output: saying("x"), status: "running" }))).toBe(false);
  expect(canContinue(version({ output: saying("x"), model_type: "image-gen" }))).toBe(false);
});

test("an answer whose parts were made by several names each of them once", () => {
  expect(whoMade([version({ model: "a/one" }), version({ model: "b/two" })])).toEqual({
    names: ["a/one", "b/two"],
    models: [],
  });
  const byAgent = (model: string) => version({ agent: "helper", model });
  expect(whoMade([byAgent("a/one"), byAgent("b/two"), byAgent("a/one")])).toEqual({
    names: ["helper"],
    models: ["a/one", "b/two"],
  });
});
