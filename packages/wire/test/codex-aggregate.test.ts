import {
  aggregate,
  aggregateMode,
  type AggregateMode,
  type CodexEvent,
} from "@deltawire/wire/codex";
import { describe, expect, test } from "vitest";

function run(mode: AggregateMode | undefined, events: readonly CodexEvent[]): CodexEvent[] {
  const machine = aggregate(mode);
  const out: CodexEvent[] = [];
  for (const event of events) machine.push(event, out);
  machine.end("eof", out);
  return out;
}

const text = (delta: string): CodexEvent => ({ type: "output_text_delta", delta });
const thinking = (delta: string): CodexEvent => ({
  type: "reasoning_content_delta",
  delta,
  content_index: 0,
});
const message = (...texts: string[]): CodexEvent => ({
  type: "output_item_done",
  item: {
    type: "message",
    id: null,
    role: "assistant",
    content: texts.map((said) => ({ type: "output_text", text: said })),
  },
});
const thought = (words: string): CodexEvent => ({
  type: "output_item_done",
  item: {
    type: "reasoning",
    id: "",
    summary: [],
    content: [{ type: "reasoning_text", text: words }],
    encrypted_content: null,
  },
});
const called: CodexEvent = {
  type: "output_item_done",
  item: { type: "function_call", id: null, name: "f", arguments: "{}", call_id: "c" },
};
const completed: CodexEvent = {
  type: "completed",
  response_id: "r",
  token_usage: { total_tokens: 3 },
};
const turn = [
  thinking("r1"),
  thinking("r2"),
  text("a"),
  thought("r1r2"),
  called,
  text("b"),
  message("a", "b"),
  completed,
];

test("aggregated, a turn is its calls, one reasoning item, one message; reasoning comes twice", () => {
  const expected = [thought("r1r2"), called, thought("r1r2"), message("ab"), completed];
  expect(run("aggregated_only", turn)).toEqual(expected);
  expect(run(undefined, turn)).toEqual(expected);
});

test("streaming, the deltas pass as well, and the message comes once, from them", () => {
  expect(run("streaming", turn)).toEqual([
    thinking("r1"),
    thinking("r2"),
    text("a"),
    thought("r1r2"),
    called,
    text("b"),
    thought("r1r2"),
    message("ab"),
    completed,
  ]);
});

test("passed through, everything stays as it was", () => {
  expect(run("passthrough", turn)).toEqual(turn);
});

test("show_raw_agent_reasoning selects passing through, else all is aggregated", () => {
  expect([true, false].map(aggregateMode)).toEqual(["passthrough", "aggregated_only"]);
});

test("a message without deltas counts by its first output text; streaming, as it is", () => {
  const whole: CodexEvent = {
    type: "output_item_done",
    item: {
      type: "message",
      id: null,
      role: "assistant",
      content: [
        { type: "input_text", text: "not this" },
        { type: "output_text", text: "one" },
        { type: "output_text", text: "two" },
      ],
    },
  };
  expect(run("aggregated_only", [whole, message("other"), completed])).toEqual([
    message("one"),
    completed,
  ]);
  expect(run("streaming", [whole, message("other"), completed])).toEqual([
    whole,
    message("other"),
    completed,
  ]);
});

describe.each(["aggregated_only", "streaming"] as const)("%s", (mode) => {
  test("a message of another role passes", () => {
    const user: CodexEvent = {
      type: "output_item_done",
      item: { type: "message", id: null, role: "user", content: [] },
    };
    expect(run(mode, [user])).toEqual([user]);
  });

  test("nothing said is only `completed`, and `completed` starts anew", () => {
    expect(run(mode, [completed])).toEqual([completed]);
    expect(run(mode, [text("a"), completed, completed]).slice(-3)).toEqual([
      message("a"),
      completed,
      completed,
    ]);
  });

  test("without `completed` what was said is lost; an error passes", () => {
    const error: CodexEvent = { type: "error", error: "context_window_exceeded" };
    expect(run(mode, [text("a"), error]).at(-1)).toEqual(error);
    expect(run(mode, [text("a")])).toEqual(mode === "streaming" ? [text("a")] : []);
  });

  test("`created` and summaries are swallowed, all other events pass", () => {
    const passing: CodexEvent[] = [
      { type: "server_reasoning_included", value: true },
      { type: "rate_limits", value: {} },
      { type: "models_etag", value: "e" },
      { type: "output_item_added", item: { type: "message", id: null, role: "x", content: [] } },
      { type: "of_2031" } as unknown as CodexEvent,
    ];
    const swallowed: CodexEvent[] = [
      { type: "created" },
      { type: "reasoning_summary_delta", delta: "s", summary_index: 0 },
      { type: "reasoning_summary_part_added", summary_index: 0 },
    ];
    expect(run(mode, [...swallowed, ...passing])).toEqual(passing);
  });
});

test("an empty text is no message", () => {
  expect(run("aggregated_only", [text(""), message(""), completed])).toEqual([completed]);
});
