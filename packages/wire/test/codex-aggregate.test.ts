import {
  createAggregator,
  getAggregateMode,
  type AggregateMode,
  type CodexEvent,
} from "@deltawire/wire/codex";
import { describe, expect, test } from "vitest";

function aggregate(mode: AggregateMode | undefined, events: readonly CodexEvent[]): CodexEvent[] {
  const machine = createAggregator(mode);
  const out: CodexEvent[] = [];
  for (const event of events) machine.push(event, out);
  machine.end("eof", out);
  return out;
}

const text = (delta: string): CodexEvent => ({ type: "output_text_delta", delta });
const reasoningDelta = (delta: string): CodexEvent => ({
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
    content: texts.map((value) => ({ type: "output_text", text: value })),
  },
});
const reasoning = (words: string): CodexEvent => ({
  type: "output_item_done",
  item: {
    type: "reasoning",
    id: "",
    summary: [],
    content: [{ type: "reasoning_text", text: words }],
    encrypted_content: null,
  },
});
const call: CodexEvent = {
  type: "output_item_done",
  item: { type: "function_call", id: null, name: "f", arguments: "{}", call_id: "c" },
};
const completed: CodexEvent = {
  type: "completed",
  response_id: "r",
  token_usage: { total_tokens: 3 },
};
const turn = [
  reasoningDelta("r1"),
  reasoningDelta("r2"),
  text("a"),
  reasoning("r1r2"),
  call,
  text("b"),
  message("a", "b"),
  completed,
];

test("in aggregated_only mode, a turn has its calls, its reasoning twice and one message", () => {
  const expected = [reasoning("r1r2"), call, reasoning("r1r2"), message("ab"), completed];
  expect(aggregate("aggregated_only", turn)).toEqual(expected);
  expect(aggregate(undefined, turn)).toEqual(expected);
});

test("in streaming mode, the deltas are emitted in addition", () => {
  expect(aggregate("streaming", turn)).toEqual([
    reasoningDelta("r1"),
    reasoningDelta("r2"),
    text("a"),
    reasoning("r1r2"),
    call,
    text("b"),
    reasoning("r1r2"),
    message("ab"),
    completed,
  ]);
});

test("in passthrough mode, events are unchanged", () => {
  expect(aggregate("passthrough", turn)).toEqual(turn);
});

test("the mode is passthrough with show_raw_agent_reasoning, and otherwise aggregated_only", () => {
  expect([true, false].map(getAggregateMode)).toEqual(["passthrough", "aggregated_only"]);
});

test("messages without deltas are replaced by one with the first output text, except in streaming mode", () => {
  const multipart: CodexEvent = {
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
  expect(aggregate("aggregated_only", [multipart, message("other"), completed])).toEqual([
    message("one"),
    completed,
  ]);
  expect(aggregate("streaming", [multipart, message("other"), completed])).toEqual([
    multipart,
    message("other"),
    completed,
  ]);
});

describe.each(["aggregated_only", "streaming"] as const)("the mode %s", (mode) => {
  test("emits messages of other roles", () => {
    const user: CodexEvent = {
      type: "output_item_done",
      item: { type: "message", id: null, role: "user", content: [] },
    };
    expect(aggregate(mode, [user])).toEqual([user]);
  });

  test("emits only `completed` for an empty turn, and `completed` resets the state", () => {
    expect(aggregate(mode, [completed])).toEqual([completed]);
    expect(aggregate(mode, [text("a"), completed, completed]).slice(-3)).toEqual([
      message("a"),
      completed,
      completed,
    ]);
  });

  test("drops the text if `completed` is missing, and emits errors", () => {
    const error: CodexEvent = { type: "error", error: "context_window_exceeded" };
    expect(aggregate(mode, [text("a"), error]).at(-1)).toEqual(error);
    expect(aggregate(mode, [text("a")])).toEqual(mode === "streaming" ? [text("a")] : []);
  });

  test("drops `created` and summaries, and emits all other events", () => {
    const emitted: CodexEvent[] = [
      { type: "server_reasoning_included", value: true },
      { type: "rate_limits", value: {} },
      { type: "models_etag", value: "e" },
      { type: "output_item_added", item: { type: "message", id: null, role: "x", content: [] } },
      { type: "of_2031" } as unknown as CodexEvent,
    ];
    const dropped: CodexEvent[] = [
      { type: "created" },
      { type: "reasoning_summary_delta", delta: "s", summary_index: 0 },
      { type: "reasoning_summary_part_added", summary_index: 0 },
    ];
    expect(aggregate(mode, [...dropped, ...emitted])).toEqual(emitted);
  });
});

test("no message is emitted for an empty text", () => {
  expect(aggregate("aggregated_only", [text(""), message(""), completed])).toEqual([completed]);
});
