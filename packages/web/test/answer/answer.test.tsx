import { describe, expect, test } from "vitest";
import type { OutputItem } from "@deltawire/tasks";
import { loadMarkdown } from "../../src/markdown/lazy-markdown.tsx";
import { Citation } from "../../src/answer/citation.tsx";
import { setFold } from "../../src/answer/folds.ts";
import { ProgressLine } from "../../src/answer/awaiting.tsx";
import { SourcesContext } from "../../src/answer/scene.ts";
import { AnswerUsage } from "../../src/chat/answer-usage.tsx";
import { draw, drawAnswer, wordsIn } from "./draw.tsx";
import { call, earlierVersion, message, result, sampleVersion } from "./sample-answer.ts";

describe("reasoning", () => {
  const item: OutputItem = {
    type: "reasoning",
    id: "reasoning_1",
    status: "completed",
    summary: [
      { type: "text", text: "First I look." },
      { type: "text", text: "Then I leap." },
    ],
    duration_ms: 4200,
  };

  test("is a folded line with its time", () => {
    const words = wordsIn(drawAnswer(sampleVersion({ output: [item] })));
    expect(words).toBe("Thought for 4.2 s");
  });

  test("unfolds to all of its summaries, and to what was thought where that is told", () => {
    const id = "reasoning_open";
    setFold(id, true);
    const raw: OutputItem = { ...item, id, content: [{ type: "text", text: "Hm, leap?" }] };
    const words = wordsIn(drawAnswer(sampleVersion({ output: [raw] })));
    expect(words).toBe("Thought for 4.2 s First I look. Then I leap. As it was thought Hm, leap?");
  });

  test("that is told by nobody has nothing to unfold", () => {
    const markup = drawAnswer(sampleVersion({ output: [{ ...item, summary: [] }] }));
    expect(markup).not.toContain("aria-expanded");
  });
});

describe("a call", () => {
  test("is a line with its name, its arguments, how it went and how long it took", () => {
    const version = earlierVersion({
      output: [call("call_1"), result("call_1")],
      chain: chainOf({ call_id: "call_1", duration_ms: 1500 }),
    });
    expect(wordsIn(drawAnswer(version))).toBe("get_weather Paris Done 1.5 s");
    expect(wordsIn(drawAnswer(version, "zh"))).toBe("get_weather Paris 完成 1.5 秒");
  });

  test("unfolds to its arguments, what was decided, and its result", () => {
    setFold("call_open", true);
    const version = earlierVersion({
      output: [call("call_open"), result("call_open")],
      chain: chainOf({ call_id: "call_open", decisions: ["approve"] }),
    });
    expect(wordsIn(drawAnswer(version))).toBe(
      'get_weather Paris Done Arguments { "city": "Paris" } Decided: approved Result sunny',
    );
  });

  test("that was run with other arguments shows those, and what the model had asked", () => {
    setFold("call_changed", true);
    const version = (changed_arguments: string) =>
      earlierVersion({
        output: [call("call_changed"), result("call_changed")],
        chain: chainOf({
          call_id: "call_changed",
          decisions: ["approve", "approve"],
          changed_arguments,
        }),
      });
    expect(wordsIn(drawAnswer(version('{"city":"Rome"}')))).toBe(
      'get_weather Rome Done Arguments { "city": "Rome" } Asked by the model { "city": "Paris" } ' +
        "Decided: approved with changed arguments, approved Result sunny",
    );
    // Edited, and left as they were.
    expect(wordsIn(drawAnswer(version('{ "city": "Paris" }')))).toContain(
      "Decided: approved, approved",
    );
  });

  test.each([
    ["failed", "Failed"],
    ["timeout", "Timed out"],
    ["denied", "Denied"],
    ["canceled", "Canceled"],
    ["incomplete", "Not run"],
    ["unknown", "Unknown whether it ran"],
  ] as const)("that ended as %s says so", (outcome, words) => {
    const output = [call("call_1", { outcome }), result("call_1", { outcome })];
    expect(wordsIn(drawAnswer(sampleVersion({ output })))).toBe(`get_weather Paris ${words}`);
  });

  test("stands in one frame with others of its round, and alone where it is alone", () => {
    const together = [call("call_1"), call("call_2"), result("call_1"), result("call_2")];
    const inTurn = [call("call_1"), result("call_1"), call("call_2"), result("call_2")];
    expect(drawAnswer(sampleVersion({ output: together }))).toContain(
      'aria-label="2 calls at once"',
    );
    expect(drawAnswer(sampleVersion({ output: inTurn }))).not.toContain("calls at once");
  });

  test("shows pictures without being unfolded", () => {
    const block_list = [{ type: "image" as const, image_url: { url: "/api/blobs/abc" } }];
    const output = [call("call_1"), result("call_1", { block_list })];
    expect(drawAnswer(sampleVersion({ output }))).toContain('src="/api/blobs/abc"');
  });
});

describe("a sub-agent", () => {
  const helper = call("call_h", {
    name: "ask_for_help",
    arguments: '{"name":"forecaster","prompt":"the weather in Paris"}',
    child_task_ids: ["call_h"],
  });
  const block_list = [call("call_n"), result("call_n"), message("It is **sunny**.")];
  const version = earlierVersion({
    output: [helper, result("call_h", { block_list })],
    chain: chainOf({
      call_id: "call_h",
      duration_ms: 2500,
      usage: { input_tokens: 1000, output_tokens: 200, total_tokens: 1200, cost: 0.5 },
    }),
  });

  test("is a folded line: who it is, what it said, what it cost", async () => {
    await loadMarkdown();
    expect(wordsIn(drawAnswer(version))).toBe(
      "Sub-agent forecaster It is sunny. 2 steps · 1.2K tokens · cost 0.5 Done 2.5 s",
    );
  });

  test("that failed says why, in its line where it has said nothing, and in its place", () => {
    setFold("call_f", true);
    const failed = earlierVersion({
      output: [
        { ...helper, call_id: "call_f", child_task_ids: ["call_f"], outcome: "failed" },
        result("call_f", { block_list: [], outcome: "failed" }),
      ],
      chain: chainOf({
        call_id: "call_f",
        outcome: "failed",
        error: { code: "upstream_refused", message: "The key was refused." },
      }),
    });
    expect(wordsIn(drawAnswer(failed))).toBe(
      "Sub-agent forecaster The key was refused. 0 steps Failed Asked the weather in Paris The key was refused.",
    );
  });

  test("has a timeline of its own", () => {
    setFold("call_h", true);
    const words = wordsIn(drawAnswer(version));
    expect(words).toContain("Asked the weather in Paris");
    expect(words).toContain("get_weather Paris Done");
  });
});

test("that a model is asked again is said, with the number of the try where it is known", () => {
  const line = (failed: number | undefined) =>
    wordsIn(
      draw(<ProgressLine progress={{ message: "overloaded", again: { failed } }} label="" />),
    );
  expect(line(undefined)).toBe("Trying again: overloaded");
  expect(line(1)).toBe("Trying again (try 2): overloaded");
});

describe("how an answer ended", () => {
  test("stopped by a person is one line", () => {
    expect(wordsIn(drawAnswer(sampleVersion({ status: "aborted" })))).toBe(
      "Stopped. What was finished is kept.",
    );
  });

  test("a failure has a title, the server's words, advice and a code", () => {
    const error = { phase: "model", code: "insufficient_quota", message: "no credit" } as const;
    const words = wordsIn(drawAnswer(sampleVersion({ status: "error", error })));
    expect(words).toBe(
      "The model could not answer no credit See under Upstreams whether its key is right and has credit. Code: insufficient_quota",
    );
  });

  test("is no longer said of a part that a later version goes on from", () => {
    const error = { phase: "model", code: "truncated", message: "cut" } as const;
    expect(wordsIn(drawAnswer(sampleVersion({ status: "error", error }), "en", true))).toBe("");
    expect(wordsIn(drawAnswer(sampleVersion({ status: "aborted" }), "en", true))).toBe("");
  });

  test("what was left out or mended is folded into notes", () => {
    setFold("notes version_notes", true);
    const version = earlierVersion({
      version_id: "version_notes",
      notices: ["The picture was left out."],
      chain: {
        ...chainOf({ call_id: "call_1" }),
        warnings: [{ code: "reply_repaired", message: "A call was mended", count: 3 }],
      },
    });
    expect(wordsIn(drawAnswer(version))).toBe(
      "2 notes The picture was left out. A call was mended (3 times)",
    );
  });

  test("what was mended is told in words, and what is only as usual stands with the tokens", () => {
    setFold("notes version_mended", true);
    const mended = (...messages: string[]) =>
      earlierVersion({
        version_id: "version_mended",
        chain: {
          ...chainOf({ call_id: "call_1" }),
          warnings: messages.map((message) => ({ code: "reply_repaired", message, count: 2 })),
        },
      });
    const both = mended("1 x reasoning_dropped, 1 x tool_dropped", "1 x reasoning_dropped");
    expect(wordsIn(drawAnswer(both))).toBe(
      "1 note A tool that this server cannot be offered was left out. (2 times) Adapted without loss Earlier reasoning is not sent back to a model that does not take it. (4 times)",
    );
    const usual = { ...mended("1 x reasoning_dropped"), time_ms: 1200 };
    expect(wordsIn(drawAnswer(usual))).toBe("");
    expect(wordsIn(draw(<AnswerUsage chain={[usual]} />, "zh"))).toContain(
      "无损适配 之前的思考不会发回给不接受它的模型。 (2 次)",
    );
    expect(wordsIn(draw(<AnswerUsage chain={[{ ...both, time_ms: 1200 }]} />))).not.toContain(
      "Adapted",
    );
  });
});

describe("references", () => {
  const source = {
    number: 1,
    path: ["call_1"],
    blocks: [],
    tool: "get_weather",
    arguments: '{"city":"Paris"}',
    title: undefined,
    url: undefined,
  };

  test("a number that something has is named after it", () => {
    const cited = (
      <SourcesContext value={new Map([[1, source]])}>
        <Citation number={1} resolved />
      </SourcesContext>
    );
    expect(draw(cited)).toContain('aria-label="Source 1: get_weather Paris"');
  });

  test("a number that nothing has is marked as that", () => {
    const markup = draw(<Citation number={7} resolved={false} />);
    expect(markup).toContain("data-unresolved");
    expect(markup).toContain('aria-label="Source 7 is not there"');
    expect(wordsIn(markup)).toBe("7?");
  });

  test("what an answer cites is listed at its end, folded where it is much", () => {
    const output = (count: number): OutputItem[] => [
      call("call_1"),
      result("call_1"),
      {
        type: "message",
        id: "message_1",
        role: "assistant",
        status: "completed",
        block_list: [
          {
            type: "text",
            text: "",
            annotations: Array.from({ length: count }, (_, at) => ({
              type: "reference_to_block",
              reference_id: at + 1,
              start_index: 0,
              end_index: 0,
            })),
          },
        ],
      },
    ];
    const references = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        reference_id: at + 1,
        item_id: "result_call_1",
        block_indexes: [0],
        title: `Page ${at + 1}`,
      }));
    const few = sampleVersion({ output: output(2), references: references(2) });
    const many = sampleVersion({
      version_id: "version_many",
      output: output(4),
      references: references(4),
    });
    expect(wordsIn(drawAnswer(few))).toMatch(/2 sources 1 Source 1 Page 1 2 Source 2 Page 2$/);
    expect(wordsIn(drawAnswer(many))).toMatch(/4 sources$/);
  });
});

function chainOf(record: { call_id: string; [more: string]: unknown }) {
  return {
    calls: [{ round: 1, name: "get_weather", arguments: "{}", outcome: "completed", ...record }],
    stats: { rounds: 1, calls: 1, outcomes: {}, model_ms: 0, tool_ms: 0, waited_ms: 0 },
  };
}
