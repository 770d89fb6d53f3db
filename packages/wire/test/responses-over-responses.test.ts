import {
  repairResponsesReply,
  ResponsesOverResponses,
  type UpstreamResponseEvent,
  type ResponsesOverResponsesOptions,
  type StreamEndReason,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { findPassthroughSequenceFaults } from "../check/passthrough-sequence.ts";

const createTranslator = (options: Partial<ResponsesOverResponsesOptions> = {}) =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1, ...options });

function forward(
  events: object[],
  endReason: StreamEndReason = "eof",
  machine = createTranslator(),
): UpstreamResponseEvent[] {
  const out: UpstreamResponseEvent[] = [];
  for (const event of events) machine.push(event as UpstreamResponseEvent, out);
  machine.end(endReason, out);
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

test("an incomplete call and its response are never marked as completed, even if the upstream marks them so", () => {
  const truncatedCall = { type: "function_call", id: "f", call_id: "call_a", name: "f" };
  const out = forward([
    created,
    added(truncatedCall),
    delta("function_call_arguments", '{"a'),
    completed,
  ]);
  expect(out.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ ...truncatedCall, arguments: '{"a', status: "incomplete" }],
    },
  });
});

test.each([
  [
    "a complete call",
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
])("an item without a done event is built from its deltas: %s", (_title, type, kind, expected) => {
  const out = forward([
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

test("an end without a terminal event fails the response with its open items", () => {
  const out = forward([created, added({ type: "message", id: "m" }), delta("output_text", "Hi")]);
  expect(out.slice(-2)).toMatchObject([
    { type: "response.output_item.done", item: { status: "incomplete" } },
    {
      type: "response.failed",
      response: { id: "resp_9", error: { code: "upstream_stream_truncated" } },
    },
  ]);
});

test("the output consists of the streamed items with the ids of their done events", () => {
  const item = { type: "message", id: "done_id", content: [] };
  const out = forward([
    created,
    { type: "response.output_item.done", output_index: 0, item },
    { ...completed, response: { output: [{ ...item, id: "other_id" }] } },
  ]);
  expect(out.at(-1)).toMatchObject({ response: { output: [{ id: "done_id" }] } });
});

test("keep-alives are dropped, unknown events are forwarded, and all events are numbered", () => {
  const out = forward([
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

describe("for clients that run every call with a done event,", () => {
  const call = { type: "function_call", id: "f", call_id: "call_a", name: "f", arguments: "{}" };
  const message = { type: "message", id: "m", role: "assistant", content: [] };
  const done = (item: object, output_index = 0) => ({
    type: "response.output_item.done",
    output_index,
    item,
  });
  const terminal = (status: string, output: object[] = []) => ({
    type: `response.${status}`,
    response: { id: "resp_9", output },
  });

  function forwardWithheld(events: object[]) {
    const machine = createTranslator({ truncatedCalls: "withheld" });
    const out = forward([created, ...events], "eof", machine);
    const doneItems: object[] = [];
    for (const { type, output_index, item } of out)
      if (type === "response.output_item.done") doneItems[output_index as number] = item as object;
    expect(out.at(-1)?.["response"]).toMatchObject({ output: doneItems });
    return { doneItems, repairs: machine.repairs };
  }

  test.each<[string, object[]]>([
    ["is still open when the response fails", [added(call), terminal("failed")]],
    [
      "is still open when the response is incomplete",
      [added(call), terminal("incomplete", [call])],
    ],
    ["is still open when the connection ends", [added(call)]],
    ["appears only in a truncated response", [terminal("incomplete", [call])]],
    [
      "has truncated arguments when the response completes",
      [added(call), delta("function_call_arguments", '{"a'), completed],
    ],
    [
      "was added and is marked incomplete by the upstream",
      [added(call), done({ ...call, status: "incomplete" }), completed],
    ],
    [
      "was never added and is marked incomplete by the upstream",
      [done({ ...call, status: "incomplete" }), terminal("completed", [call])],
    ],
    [
      "is marked incomplete in the terminal event",
      [terminal("completed", [{ ...call, status: "incomplete" }])],
    ],
  ])("a call that %s has no done event", (_title, events) => {
    const { doneItems, repairs } = forwardWithheld([...events]);
    expect(doneItems).toEqual([]);
    expect(repairs.counts.get("call_withheld")).toBe(1);
    expect(repairs.list.find(({ code }) => code === "call_withheld")?.detail).toBe("f");
  });

  test.each([
    "custom_tool_call",
    "tool_search_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
  ])("a truncated %s is withheld too", (type) => {
    expect(forwardWithheld([added({ type, id: "i", call_id: "call_a" })]).doneItems).toEqual([]);
  });

  test("a call that the upstream marked as completed has its done event immediately, even if the connection breaks later", () => {
    const machine = createTranslator({ truncatedCalls: "withheld" });
    const doneEvent = done({ ...call, status: "completed" });
    const out = forward([created, added(call), doneEvent], "transport_error", machine);
    expect(out[2]).toMatchObject(doneEvent);
    expect(out.at(-1)).toMatchObject({
      type: "response.failed",
      response: { output: [doneEvent.item] },
    });
    expect(machine.repairs.counts.get("call_withheld")).toBeUndefined();
  });

  test("truncated text and hosted tool calls have their done events", () => {
    const search = { type: "web_search_call", id: "ws", status: "incomplete" };
    const { doneItems } = forwardWithheld([
      added(message),
      delta("output_text", "Hi"),
      done(search, 1),
    ]);
    expect(doneItems).toMatchObject([{ type: "message" }, { type: "web_search_call" }]);
  });

  test("truncated calls are also omitted from a response that is not streamed", () => {
    const reply = { id: "resp_9", status: "incomplete", output: [message, call] };
    const { response } = repairResponsesReply(reply, {
      responseId: "resp_1",
      createdAt: 1,
      truncatedCalls: "withheld",
    });
    expect(response["output"]).toEqual([message]);
  });
});

describe("an output index that the upstream uses twice", () => {
  const item = (id: string, type = "message") => ({
    type,
    id,
    call_id: `call_${id}`,
    content: [{ type: "output_text", text: id }],
  });
  const events = (id: string, index: number, type = "message") => [
    { type: "response.output_item.added", output_index: index, item: item(id, type) },
    { type: "response.output_text.delta", output_index: index, item_id: id, delta: id },
    { type: "response.output_item.done", output_index: index, item: item(id, type) },
  ];
  const formatPositions = (out: readonly UpstreamResponseEvent[]) =>
    (out as { type: string; output_index?: number; item_id?: string; item?: { id: string } }[])
      .filter(({ output_index }) => output_index !== undefined)
      .map(({ type, output_index, item_id, item: eventItem }) => {
        const [kind] = type.split(".").slice(-1);
        return `${kind} ${item_id ?? eventItem?.id} ${output_index}`;
      });

  test("is replaced by a free one in all events of the second item", () => {
    const out = forward([created, ...events("a", 0), ...events("b", 0), completed]);
    expect(formatPositions(out)).toEqual([
      "added a 0",
      "delta a 0",
      "done a 0",
      "added b 1",
      "delta b 1",
      "done b 1",
    ]);
    expect(out.at(-1)).toMatchObject({ response: { output: [{ id: "a" }, { id: "b" }] } });
  });

  test("is also replaced if the events of the two items are interleaved", () => {
    const [a, b] = [events("a", 0, "function_call"), events("b", 0, "function_call")];
    const out = forward([
      created,
      ...a.flatMap((event, index) => [event, b[index] ?? {}]),
      completed,
    ]);
    expect(formatPositions(out)).toEqual([
      "added a 0",
      "added b 1",
      "delta a 0",
      "delta b 1",
      "done a 0",
      "done b 1",
    ]);
  });

  test("is not replaced by the index of a later item", () => {
    const out = forward([
      created,
      ...events("a", 0),
      ...events("b", 0),
      ...events("c", 1),
      completed,
    ]);
    expect(out.at(-1)).toMatchObject({
      response: { output: [{ id: "a" }, { id: "b" }, { id: "c" }] },
    });
    expect(findPassthroughSequenceFaults(out)).toEqual([]);
  });

  test("is distinguished from a repeated done event, even if items are never added", () => {
    const doneAtZero = (doneItem: object) => ({
      type: "response.output_item.done",
      output_index: 0,
      item: doneItem,
    });
    const first = { type: "message", id: "a", content: [{ type: "output_text", text: "Hi" }] };
    const repeatedItem = { ...first, id: "a_again" };
    const second = { ...first, id: "b", content: [{ type: "output_text", text: "Ho" }] };
    const out = forward([
      created,
      doneAtZero(first),
      doneAtZero(repeatedItem),
      doneAtZero(second),
      doneAtZero(item("c", "function_call")),
    ]);
    expect(out.at(-1)).toMatchObject({
      response: { output: [{ id: "a" }, { id: "b" }, { id: "c" }] },
    });
  });
});

test("items with different indexes and the same id are different items", () => {
  const itemEvents = (output_index: number, text: string) => [
    { type: "response.output_item.added", output_index, item: { type: "message", id: "x" } },
    {
      type: "response.output_item.done",
      output_index,
      item: { type: "message", id: "x", content: [{ type: "output_text", text }] },
    },
  ];
  const out = forward([created, ...itemEvents(0, "One."), ...itemEvents(1, "Two."), completed]);
  expect(out.at(-1)).toMatchObject({
    response: { output: [{ content: [{ text: "One." }] }, { content: [{ text: "Two." }] }] },
  });
});
