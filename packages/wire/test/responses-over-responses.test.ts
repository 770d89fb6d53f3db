import {
  responseOfResponse,
  ResponsesOverResponses,
  type ResponsesInput,
  type ResponsesOverResponsesOptions,
  type StreamEnd,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { passedSequenceFaults } from "../check/passed-sequence.ts";

const translator = (options: Partial<ResponsesOverResponsesOptions> = {}) =>
  new ResponsesOverResponses({ responseId: "resp_1", createdAt: 1, ...options });

function pass(events: object[], how: StreamEnd = "eof", machine = translator()): ResponsesInput[] {
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

test("half a call is never completed, and neither is its response, whatever the upstream says", () => {
  const half = { type: "function_call", id: "f", call_id: "call_a", name: "f" };
  const out = pass([created, added(half), delta("function_call_arguments", '{"a'), completed]);
  expect(out.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
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

describe("for clients that run every call they see done", () => {
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

  function withheld(events: object[]) {
    const machine = translator({ cutCalls: "withheld" });
    const out = pass([created, ...events], "eof", machine);
    const ended: object[] = [];
    for (const { type, output_index, item } of out)
      if (type === "response.output_item.done") ended[output_index as number] = item as object;
    expect(out.at(-1)?.["response"]).toMatchObject({ output: ended });
    return { ended, repairs: machine.repairs };
  }

  test.each<[string, object[]]>([
    ["is open when the response fails", [added(call), terminal("failed")]],
    ["is open when the response is incomplete", [added(call), terminal("incomplete", [call])]],
    ["is open when the connection ends", [added(call)]],
    ["stands only in a response that was cut", [terminal("incomplete", [call])]],
    [
      "has half its arguments when the response completes",
      [added(call), delta("function_call_arguments", '{"a'), completed],
    ],
    [
      "was added and is called incomplete by the upstream",
      [added(call), done({ ...call, status: "incomplete" }), completed],
    ],
    [
      "was never added and is called incomplete by the upstream",
      [done({ ...call, status: "incomplete" }), terminal("completed", [call])],
    ],
    [
      "is called incomplete in the terminal event",
      [terminal("completed", [{ ...call, status: "incomplete" }])],
    ],
  ])("a call that %s is never done", (_how, events) => {
    const { ended, repairs } = withheld([...events]);
    expect(ended).toEqual([]);
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
  ])("a cut %s is a call too", (type) => {
    expect(withheld([added({ type, id: "i", call_id: "call_a" })]).ended).toEqual([]);
  });

  test("a call that the upstream has called complete is done at once, whatever comes after it", () => {
    const machine = translator({ cutCalls: "withheld" });
    const whole = done({ ...call, status: "completed" });
    const out = pass([created, added(call), whole], "transport_error", machine);
    expect(out[2]).toMatchObject(whole);
    expect(out.at(-1)).toMatchObject({
      type: "response.failed",
      response: { output: [whole.item] },
    });
    expect(machine.repairs.counts.get("call_withheld")).toBeUndefined();
  });

  test("text that was cut, and what a server runs by itself, is done as ever", () => {
    const search = { type: "web_search_call", id: "ws", status: "incomplete" };
    const { ended } = withheld([added(message), delta("output_text", "Hi"), done(search, 1)]);
    expect(ended).toMatchObject([{ type: "message" }, { type: "web_search_call" }]);
  });

  test("a whole response is without its cut calls too", () => {
    const reply = { id: "resp_9", status: "incomplete", output: [message, call] };
    const { response } = responseOfResponse(reply, {
      responseId: "resp_1",
      createdAt: 1,
      cutCalls: "withheld",
    });
    expect(response["output"]).toEqual([message]);
  });
});

describe("an index that the upstream uses twice", () => {
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
  const places = (out: readonly ResponsesInput[]) =>
    (out as { type: string; output_index?: number; item_id?: string; item?: { id: string } }[])
      .filter(({ output_index }) => output_index !== undefined)
      .map(({ type, output_index, item_id, item: told }) => {
        const [kind] = type.split(".").slice(-1);
        return `${kind} ${item_id ?? told?.id} ${output_index}`;
      });

  test("gets the second item a free one, which all its events have", () => {
    const out = pass([created, ...events("a", 0), ...events("b", 0), completed]);
    expect(places(out)).toEqual([
      "added a 0",
      "delta a 0",
      "done a 0",
      "added b 1",
      "delta b 1",
      "done b 1",
    ]);
    expect(out.at(-1)).toMatchObject({ response: { output: [{ id: "a" }, { id: "b" }] } });
  });

  test("keeps two items apart whose events mingle", () => {
    const [a, b] = [events("a", 0, "function_call"), events("b", 0, "function_call")];
    const out = pass([created, ...a.flatMap((event, nth) => [event, b[nth] ?? {}]), completed]);
    expect(places(out)).toEqual([
      "added a 0",
      "added b 1",
      "delta a 0",
      "delta b 1",
      "done a 0",
      "done b 1",
    ]);
  });

  test("does not take the index of an item that comes later", () => {
    const out = pass([created, ...events("a", 0), ...events("b", 0), ...events("c", 1), completed]);
    expect(out.at(-1)).toMatchObject({
      response: { output: [{ id: "a" }, { id: "b" }, { id: "c" }] },
    });
    expect(passedSequenceFaults(out)).toEqual([]);
  });

  test("is told from an end that is told twice, also where items are never added", () => {
    const end = (told: object) => ({
      type: "response.output_item.done",
      output_index: 0,
      item: told,
    });
    const said = { type: "message", id: "a", content: [{ type: "output_text", text: "Hi" }] };
    const again = { ...said, id: "a_again" };
    const other = { ...said, id: "b", content: [{ type: "output_text", text: "Ho" }] };
    const out = pass([created, end(said), end(again), end(other), end(item("c", "function_call"))]);
    expect(out.at(-1)).toMatchObject({
      response: { output: [{ id: "a" }, { id: "b" }, { id: "c" }] },
    });
  });
});

test("items under indexes of their own that share one id are different items", () => {
  const shared = (output_index: number, text: string) => [
    { type: "response.output_item.added", output_index, item: { type: "message", id: "x" } },
    {
      type: "response.output_item.done",
      output_index,
      item: { type: "message", id: "x", content: [{ type: "output_text", text }] },
    },
  ];
  const out = pass([created, ...shared(0, "One."), ...shared(1, "Two."), completed]);
  expect(out.at(-1)).toMatchObject({
    response: { output: [{ content: [{ text: "One." }] }, { content: [{ text: "Two." }] }] },
  });
});
