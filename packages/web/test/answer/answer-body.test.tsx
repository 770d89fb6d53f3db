import { describe, expect, test } from "vitest";
import type { OutputItem } from "@deltawire/tasks";
import { loadMarkdown } from "../../src/markdown/lazy-markdown.tsx";
import { Citation } from "../../src/answer/citation.tsx";
import { setDisclosureOpen } from "../../src/answer/disclosure-state.ts";
import { ProgressLine } from "../../src/answer/pending-indicator.tsx";
import { SourcesContext } from "../../src/answer/answer-context.ts";
import { AnswerUsage } from "../../src/chat/answer-usage.tsx";
import { renderMarkup, renderAnswer, toVisibleText } from "./render.tsx";
import {
  createCall,
  createUpgradedVersion,
  createMessage,
  createResult,
  createVersion,
} from "./answer-fixtures.ts";

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

  test("is one collapsed line with its duration", () => {
    const text = toVisibleText(renderAnswer(createVersion({ output: [item] })));
    expect(text).toBe("Thought for 4.2 s");
  });

  test("expands to its summaries and, if available, the raw reasoning", () => {
    const id = "reasoning_open";
    setDisclosureOpen(id, true);
    const raw: OutputItem = { ...item, id, content: [{ type: "text", text: "Hm, leap?" }] };
    const text = toVisibleText(renderAnswer(createVersion({ output: [raw] })));
    expect(text).toBe("Thought for 4.2 s First I look. Then I leap. Raw reasoning Hm, leap?");
  });

  test("cannot be expanded if it has no text", () => {
    const markup = renderAnswer(createVersion({ output: [{ ...item, summary: [] }] }));
    expect(markup).not.toContain("aria-expanded");
  });
});

describe("a call", () => {
  test("is one line with name, arguments, outcome and duration", () => {
    const version = createUpgradedVersion({
      output: [createCall("call_1"), createResult("call_1")],
      chain: createChain({ call_id: "call_1", duration_ms: 1500 }),
    });
    expect(toVisibleText(renderAnswer(version))).toBe("get_weather Paris Done 1.5 s");
    expect(toVisibleText(renderAnswer(version, "zh"))).toBe("get_weather Paris 完成 1.5 秒");
  });

  test("expands to its arguments, decisions and result", () => {
    setDisclosureOpen("call_open", true);
    const version = createUpgradedVersion({
      output: [createCall("call_open"), createResult("call_open")],
      chain: createChain({ call_id: "call_open", decisions: ["approve"] }),
    });
    expect(toVisibleText(renderAnswer(version))).toBe(
      'get_weather Paris Done Arguments { "city": "Paris" } Decision: approved Result sunny',
    );
  });

  test("that ran with edited arguments shows the edited and the original ones", () => {
    setDisclosureOpen("call_changed", true);
    const version = (changed_arguments: string) =>
      createUpgradedVersion({
        output: [createCall("call_changed"), createResult("call_changed")],
        chain: createChain({
          call_id: "call_changed",
          decisions: ["approve", "approve"],
          changed_arguments,
        }),
      });
    expect(toVisibleText(renderAnswer(version('{"city":"Rome"}')))).toBe(
      'get_weather Rome Done Arguments { "city": "Rome" } Original arguments { "city": "Paris" } ' +
        "Decision: approved with changed arguments, approved Result sunny",
    );
    // The user saved the arguments without changing them.
    expect(toVisibleText(renderAnswer(version('{ "city": "Paris" }')))).toContain(
      "Decision: approved, approved",
    );
  });

  test.each([
    ["failed", "Failed"],
    ["timeout", "Timed out"],
    ["denied", "Denied"],
    ["canceled", "Canceled"],
    ["incomplete", "Not run"],
    ["unknown", "Outcome unknown"],
  ] as const)("with the outcome %s shows it", (outcome, label) => {
    const output = [createCall("call_1", { outcome }), createResult("call_1", { outcome })];
    expect(toVisibleText(renderAnswer(createVersion({ output })))).toBe(
      `get_weather Paris ${label}`,
    );
  });

  test("is grouped with parallel calls, but not with later ones", () => {
    const parallel = [
      createCall("call_1"),
      createCall("call_2"),
      createResult("call_1"),
      createResult("call_2"),
    ];
    const sequential = [
      createCall("call_1"),
      createResult("call_1"),
      createCall("call_2"),
      createResult("call_2"),
    ];
    expect(renderAnswer(createVersion({ output: parallel }))).toContain(
      'aria-label="2 parallel tool calls"',
    );
    expect(renderAnswer(createVersion({ output: sequential }))).not.toContain(
      "parallel tool calls",
    );
  });

  test("shows images while collapsed", () => {
    const block_list = [{ type: "image" as const, image_url: { url: "/api/blobs/abc" } }];
    const output = [createCall("call_1"), createResult("call_1", { block_list })];
    expect(renderAnswer(createVersion({ output }))).toContain('src="/api/blobs/abc"');
  });
});

describe("a sub-agent", () => {
  const helper = createCall("call_h", {
    name: "ask_for_help",
    arguments: '{"name":"forecaster","prompt":"the weather in Paris"}',
    child_task_ids: ["call_h"],
  });
  const block_list = [
    createCall("call_n"),
    createResult("call_n"),
    createMessage("It is **sunny**."),
  ];
  const version = createUpgradedVersion({
    output: [helper, createResult("call_h", { block_list })],
    chain: createChain({
      call_id: "call_h",
      duration_ms: 2500,
      usage: { input_tokens: 1000, output_tokens: 200, total_tokens: 1200, cost: 0.5 },
    }),
  });

  test("is one collapsed line with name, last message and usage", async () => {
    await loadMarkdown();
    expect(toVisibleText(renderAnswer(version))).toBe(
      "Sub-agent forecaster It is sunny. 2 steps · 1.2K tokens · cost 0.5 Done 2.5 s",
    );
  });

  test("that failed without a message shows the error in its line and inside", () => {
    setDisclosureOpen("call_f", true);
    const failed = createUpgradedVersion({
      output: [
        { ...helper, call_id: "call_f", child_task_ids: ["call_f"], outcome: "failed" },
        createResult("call_f", { block_list: [], outcome: "failed" }),
      ],
      chain: createChain({
        call_id: "call_f",
        outcome: "failed",
        error: { code: "upstream_rejected", message: "The key was rejected." },
      }),
    });
    expect(toVisibleText(renderAnswer(failed))).toBe(
      "Sub-agent forecaster The key was rejected. 0 steps Failed Task the weather in Paris The key was rejected.",
    );
  });

  test("has a timeline of its own", () => {
    setDisclosureOpen("call_h", true);
    const text = toVisibleText(renderAnswer(version));
    expect(text).toContain("Task the weather in Paris");
    expect(text).toContain("get_weather Paris Done");
  });
});

test("a model retry is shown, with the number of the attempt if known", () => {
  const renderRetry = (failedAttempts: number | undefined) =>
    toVisibleText(
      renderMarkup(
        <ProgressLine progress={{ message: "overloaded", retry: { failedAttempts } }} label="" />,
      ),
    );
  expect(renderRetry(undefined)).toBe("Retrying: overloaded");
  expect(renderRetry(1)).toBe("Retrying (attempt 2): overloaded");
});

describe("the ending of an answer", () => {
  test("is one line if the user stopped it", () => {
    expect(toVisibleText(renderAnswer(createVersion({ status: "aborted" })))).toBe(
      "Stopped. Finished parts are kept.",
    );
  });

  test("has a title, the server's message, advice and a code after a failure", () => {
    const error = { phase: "model", code: "insufficient_quota", message: "no credit" } as const;
    const text = toVisibleText(renderAnswer(createVersion({ status: "error", error })));
    expect(text).toBe(
      "The model could not answer No credit. Check under Upstreams that the key is valid and the account has credit. Error code: insufficient_quota",
    );
  });

  test("is not shown for a version that a later one continues", () => {
    const error = { phase: "model", code: "truncated", message: "cut" } as const;
    expect(toVisibleText(renderAnswer(createVersion({ status: "error", error }), "en", true))).toBe(
      "",
    );
    expect(toVisibleText(renderAnswer(createVersion({ status: "aborted" }), "en", true))).toBe("");
  });

  test("has collapsible notes about omissions and repairs", () => {
    setDisclosureOpen("notes version_notes", true);
    const version = createUpgradedVersion({
      version_id: "version_notes",
      notices: ["The image was omitted."],
      chain: {
        ...createChain({ call_id: "call_1" }),
        warnings: [{ code: "reply_repaired", message: "A call was repaired", count: 3 }],
      },
    });
    expect(toVisibleText(renderAnswer(version))).toBe(
      "2 notes The image was omitted. A call was repaired. ×3",
    );
  });

  test("describes repairs in words; if all of them are lossless, they are listed with the usage instead", () => {
    setDisclosureOpen("notes version_repaired", true);
    const createRepairedVersion = (...messages: string[]) =>
      createUpgradedVersion({
        version_id: "version_repaired",
        chain: {
          ...createChain({ call_id: "call_1" }),
          warnings: messages.map((message) => ({ code: "reply_repaired", message, count: 2 })),
        },
      });
    const both = createRepairedVersion(
      "1 x reasoning_dropped, 1 x tool_dropped",
      "1 x reasoning_dropped",
    );
    expect(toVisibleText(renderAnswer(both))).toBe(
      "1 note A tool that this upstream does not support was not offered. ×2 Fixed automatically, nothing lost Earlier reasoning was not sent back, as the model does not accept it. ×4",
    );
    const lossless = { ...createRepairedVersion("1 x reasoning_dropped"), time_ms: 1200 };
    expect(toVisibleText(renderAnswer(lossless))).toBe("");
    expect(toVisibleText(renderMarkup(<AnswerUsage chain={[lossless]} />, "zh"))).toContain(
      "已自动修复，没有丢失内容 模型不接受之前的思考过程，因此未发回。 ×2",
    );
    expect(
      toVisibleText(renderMarkup(<AnswerUsage chain={[{ ...both, time_ms: 1200 }]} />)),
    ).not.toContain("Fixed");
  });
});

describe("citations", () => {
  const source = {
    number: 1,
    path: ["call_1"],
    blocks: [],
    tool: "get_weather",
    arguments: '{"city":"Paris"}',
    title: undefined,
    url: undefined,
  };

  test("with a source are labeled with it", () => {
    const citation = (
      <SourcesContext value={new Map([[1, source]])}>
        <Citation number={1} resolved />
      </SourcesContext>
    );
    expect(renderMarkup(citation)).toContain('aria-label="Source 1: get_weather Paris"');
  });

  test("without a source are marked", () => {
    const markup = renderMarkup(<Citation number={7} resolved={false} />);
    expect(markup).toContain("data-unresolved");
    expect(markup).toContain('aria-label="Source 7 not found"');
    expect(toVisibleText(markup)).toBe("7?");
  });

  test("have their sources listed below the answer, collapsed if there are many", () => {
    const output = (count: number): OutputItem[] => [
      createCall("call_1"),
      createResult("call_1"),
      {
        type: "message",
        id: "message_1",
        role: "assistant",
        status: "completed",
        block_list: [
          {
            type: "text",
            text: "",
            annotations: Array.from({ length: count }, (_, index) => ({
              type: "reference_to_block",
              reference_id: index + 1,
              start_index: 0,
              end_index: 0,
            })),
          },
        ],
      },
    ];
    const references = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        reference_id: index + 1,
        item_id: "result_call_1",
        block_indexes: [0],
        title: `Page ${index + 1}`,
      }));
    const few = createVersion({ output: output(2), references: references(2) });
    const many = createVersion({
      version_id: "version_many",
      output: output(4),
      references: references(4),
    });
    expect(toVisibleText(renderAnswer(few))).toMatch(
      /2 sources 1 Source 1 Page 1 2 Source 2 Page 2$/,
    );
    expect(toVisibleText(renderAnswer(many))).toMatch(/4 sources$/);
  });
});

function createChain(record: { call_id: string; [field: string]: unknown }) {
  return {
    calls: [{ round: 1, name: "get_weather", arguments: "{}", outcome: "completed", ...record }],
    stats: { rounds: 1, calls: 1, outcomes: {}, model_ms: 0, tool_ms: 0, waited_ms: 0 },
  };
}
