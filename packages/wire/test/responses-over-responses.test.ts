import { ResponsesOverResponses, type ResponsesInput, type StreamEnd } from "@deltawire/wire";
import { expect, test } from "vitest";

function pass(events: object[], how: StreamEnd = "eof"): ResponsesInput[] {
  const machine = new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1 });
  const out: ResponsesInput[] = [];
  for (const event of events) machine.push(event as ResponsesInput, out);
  machine.end(how, out);
  return out;
}

const created = { type: "response.created", response: { id: "resp_9" } };
const added = (item: object) => ({ type: "response.output_item.added", output_index: 0, item });
const delta = (kind: string, text: string) => ({
  type: `response.${kind}.delta`,
  output_index: 0,
  delta: text,
});
const completed = { type: "response.completed", response: { id: "resp_9" } };

test("half a call is never completed, though the response is", () => {
  const half = { type: "function_call", id: "f", call_id: "call_a", name: "f" };
  const out = pass([created, added(half), delta("function_call_arguments", '{"a'), completed]);
  expect(out.at(-1)).toMatchObject({
    type: "response.completed",
    response: {
      status: "completed",
      output: [{ ...half, arguments: '{"a', status: "incomplete" }],
    },
  });
});

test.each([
  [
    "a whole call",
    "function_call",
    "function_call_arguments",
    { arguments: "{}", status: "completed" },
  ],
  [
    "text",
    "message",
    "output_text",
    { content: [{ type: "output_text", text: "{}", annotations: [], logprobs: [] }] },
  ],
  ["a refusal", "message", "refusal", { content: [{ type: "refusal", refusal: "{}" }] }],
  [
    "a summary",
    "reasoning",
    "reasoning_summary_text",
    { summary: [{ type: "summary_text", text: "{}" }] },
  ],
  [
    "raw reasoning",
    "reasoning",
    "reasoning_text",
    { summary: [], content: [{ type: "reasoning_text", text: "{}" }] },
  ],
  [
    "a custom input",
    "custom_tool_call",
    "custom_tool_call_input",
    { input: "{}", status: "incomplete" },
  ],
])("an item whose end never came has what its deltas said: %s", (_what, type, kind, expected) => {
  const out = pass([
    created,
    added({ type, id: "i" }),
    delta(kind, "{"),
    delta(kind, "}"),
    completed,
  ]);
  expect(out.at(-2)).toMatchObject({
    type: "response.output_item.done",
    item: { type, ...expected },
  });
});

test("an end without a terminal event fails the response, and says what was open", () => {
  const out = pass([created, added({ type: "message", id: "m" }), delta("output_text", "Hi")]);
  expect(out.slice(-2)).toMatchObject([
    { type: "response.output_item.done", item: { status: "incomplete" } },
    {
      type: "response.failed",
      response: { id: "resp_9", error: { code: "upstream_stream_truncated" } },
    },
  ]);
});

test("the items that were streamed are the output, under the ids with which they were done", () => {
  const item = { type: "message", id: "done_id", content: [] };
  const out = pass([
    created,
    { type: "response.output_item.done", output_index: 0, item },
    { ...completed, response: { output: [{ ...item, id: "other_id" }] } },
  ]);
  expect(out.at(-1)).toMatchObject({ response: { output: [{ id: "done_id" }] } });
});

test("keep-alives are dropped, events that nobody knows pass, and all are numbered", () => {
  const out = pass([
    { type: "ping" },
    { ...created, sequence_number: 5 },
    { type: "response.telepathy", x: 1, sequence_number: 9 },
    completed,
  ]);
  expect(out.map(({ type, sequence_number }) => [type, sequence_number])).toEqual([
    ["response.created", 0],
    ["response.telepathy", 1],
    ["response.completed", 2],
  ]);
});
