import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findPassthroughSequenceFaults } from "../check/passthrough-sequence.ts";
import { getQuirkFlags, findQuirkFaults, type Quirk } from "../check/quirk.ts";
import { call, chunk } from "./chat-chunks.ts";
import { localQuirks } from "./local-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

test.each(localQuirks.map((quirk) => [quirk.title, quirk] as const))(
  "a reply with a quirk is translated correctly: %s",
  (_title, quirk) => {
    expect(findQuirkFaults(quirk)).toEqual([]);
  },
);

const catalog = sharedData("quirks/quirks.json");

test.skipIf(catalog.isMissing)(
  "every case of the shared catalog with wire data or a rule passes with its flags",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalog.path, "utf8")) as { quirks: Quirk[] };
    const supportedQuirks = quirks.filter((quirk) => typeof getQuirkFlags(quirk) !== "string");
    expect(supportedQuirks.length).toBeGreaterThan(0);
    expect(quirks.filter((quirk) => !supportedQuirks.includes(quirk))).toEqual(
      quirks.filter(({ wire, rule }) => !wire && !rule),
    );
    const failed = supportedQuirks
      .map((quirk) => [quirk.id, findQuirkFaults(quirk)])
      .filter(([, faults]) => faults?.length);
    expect(failed).toEqual([]);
  },
);

test("the check reports a wrong text, call or status and an unknown field", () => {
  const quirk = localQuirks[0];
  if (quirk === undefined) throw new Error("no case");
  const faults = (expected: object) =>
    findQuirkFaults({ ...quirk, expect: { ...quirk.expect, ...expected } });
  expect(faults({ text: "other" })).not.toEqual([]);
  expect(faults({ tool_calls: [] })).not.toEqual([]);
  expect(faults({ status: "failed" })).not.toEqual([]);
  expect(faults({ usage: [1, 1] })).not.toEqual([]);
  expect(faults({ color: "red" })).toEqual(["expect.color: not supported by this check"]);
});

const baseQuirk = { id: "", class: "request", title: "", request: { input: "hi" } };

test("an optional case runs with its known flags, and is skipped if it has none", () => {
  const content =
    "<|tool_call_begin|>functions.health:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
  const wire = { chunks: [chunk({ content }), chunk({}, "stop")] };
  const optional = { id: "TC-LEAK-KIMI", class: "stream", title: "", optional: true, wire };
  const unknown = "optional without known flags";
  expect(getQuirkFlags(optional)).toEqual([{ leakedCalls: ["kimi"] }]);
  expect(getQuirkFlags({ ...optional, id: "TC-OTHER" })).toBe(unknown);
  expect(findQuirkFaults({ ...optional, id: "TC-OTHER" })).toEqual([unknown]);
  expect(getQuirkFlags({ ...optional, optional: false })).toEqual([{}]);
  expect(getQuirkFlags({ ...baseQuirk, optional: true, rule: "moonshot-schema" })).toEqual([
    { schemaDialect: "moonshot" },
  ]);
  const expected = { tool_calls: [{ name: "health", arguments: {} }], text: "" };
  expect(findQuirkFaults({ ...optional, expect: expected })).toEqual([]);
  expect(findQuirkFaults({ ...optional, optional: false, expect: expected })).not.toEqual([]);
});

const message = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const callItem = {
  id: "fc_1",
  type: "function_call",
  call_id: "call_a",
  name: "get_weather",
  arguments: '{"city":"Paris"}',
  status: "completed",
};
const created = { type: "response.created", response: { id: "resp_1", output: [] } };
const added = (output_index: number, item: object) => ({
  type: "response.output_item.added",
  output_index,
  item: { ...item, content: [], arguments: "", status: "in_progress" },
});
const delta = (output_index: number, kind: string, text: string) => ({
  type: `response.${kind}.delta`,
  output_index,
  content_index: 0,
  delta: text,
});
const done = (output_index: number, item: object) => ({
  type: "response.output_item.done",
  output_index,
  item,
});
const completed = (...output: object[]) => ({
  type: "response.completed",
  response: {
    id: "resp_1",
    status: "completed",
    output,
    usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
  },
});

function responsesQuirk(chunks: object[], expected: NonNullable<Quirk["expect"]>): Quirk {
  const wire = { responses: true, chunks };
  return { id: "", class: "responses-upstream", title: "", wire, expect: expected };
}

const streamed = [
  created,
  added(0, message("")),
  delta(0, "output_text", "Hel"),
  delta(0, "output_text", "lo."),
  done(0, message("Hello.")),
  added(2, callItem),
  delta(2, "function_call_arguments", callItem.arguments),
  done(2, callItem),
];
const expectedReply = {
  status: "completed",
  text: "Hello.",
  tool_calls: [{ name: "get_weather", arguments: { city: "Paris" } }],
  chat_finish: "tool_calls",
};

test.each<[string, object[], NonNullable<Quirk["expect"]>]>([
  [
    "that repeats the items in the terminal event",
    [...streamed, completed(message("Hello."), callItem)],
    expectedReply,
  ],
  [
    "that has no items in the terminal event",
    [...streamed, completed()],
    { ...expectedReply, usage: [11, 7] },
  ],
  [
    "that ends in the middle of a call",
    [created, added(0, callItem), delta(0, "function_call_arguments", '{"ci')],
    { status: ["failed", "incomplete"], no_completed_tool: true },
  ],
])(
  "the reply of a Responses upstream %s is translated for both kinds of client",
  (_title, chunks, expected) => {
    expect(findQuirkFaults(responsesQuirk(chunks, expected))).toEqual([]);
  },
);

test("the check of a Responses upstream reports faults for all clients", () => {
  const faults = (chunks: object[], expected: object = {}) =>
    findQuirkFaults(responsesQuirk(chunks, { ...expectedReply, ...expected }));
  const complete = [...streamed, completed()];
  expect(faults(complete, { text: "other" })).toEqual([
    'Chat: text other, got "Hello."',
    'Messages: text other, got "Hello."',
    'Responses: text other, got "Hello."',
  ]);
  expect(faults(complete, { chat_finish: "stop" })).toEqual([
    'Chat: finish stop, got "tool_calls"',
    'Messages: finish stop, got "tool_calls"',
  ]);
  const wrongDelta = streamed.with(3, delta(0, "output_text", "p"));
  expect(faults([...wrongDelta, completed()])).toContain(
    "#4 response.output_item.done: deltas do not add up to the item",
  );
  const response = { status: "completed", output: [message("never streamed")] };
  const unstreamed = [
    { type: "response.created", sequence_number: 0, response: {} },
    { type: "response.completed", sequence_number: 1, response },
  ];
  expect(findPassthroughSequenceFaults(unstreamed)).toEqual([
    "the terminal output differs from the streamed items",
  ]);
});

const patch = { type: "custom", name: "apply_patch" };
const shell = { type: "namespace", name: "mcp__a", tools: [{ type: "function", name: "b" }] };
const toolWithLongName = { type: "function", name: "n".repeat(70) };

test.each<[string, object, string, NonNullable<Quirk["expect"]>]>([
  [
    "a custom tool",
    patch,
    '{"input":"x"}',
    { custom_calls: [{ name: "apply_patch", input: "x" }] },
  ],
  [
    "a namespace",
    shell,
    "{}",
    { namespaced_calls: [{ namespace: "mcp__a", name: "b", arguments: {} }] },
  ],
  [
    "a long name",
    toolWithLongName,
    "{}",
    { tool_calls: [{ name: toolWithLongName.name, arguments: {} }] },
  ],
])("%s is sent as a function and mapped back", (_title, tool, args, expected) => {
  const chunks = [
    chunk(call({ index: 0, id: "call_a", name: "$FIRST_TOOL", args })),
    chunk({}, "tool_calls"),
  ];
  const request = { input: "hi", tools: [tool] };
  const quirk = { ...baseQuirk, request, rule: "function-tools-only", wire: { chunks } };
  expect(findQuirkFaults({ ...quirk, expect: expected })).toEqual([]);
  expect(findQuirkFaults({ ...quirk, expect: { tool_calls: [] } })).not.toEqual([]);
  expect(findQuirkFaults({ ...quirk, expect: { custom_calls: [] } })).not.toEqual([]);
});

test("the check of a request uses every set of flags of its rule", () => {
  const tools = [{ type: "web_search" }];
  expect(findQuirkFaults({ ...baseQuirk, rule: "known-params-only" })).toEqual([]);
  expect(
    findQuirkFaults({ ...baseQuirk, request: { input: "hi", tools }, rule: "function-tools-only" }),
  ).toEqual(["rejected by function-tools-only: no tools"]);
  expect(findQuirkFaults({ ...baseQuirk, rule: "no-verse" })).toEqual([
    "rule no-verse: not supported by this check",
  ]);
  expect(findQuirkFaults({ id: "", class: "request", title: "", rule: "stream-only" })).toEqual([
    "a rule without a request",
  ]);
  expect(getQuirkFlags({ ...baseQuirk, rule: "single-leading-system" })).toEqual([
    { lateSystemMessages: "hoist" },
    { lateSystemMessages: "user" },
  ]);
});

test("npm run quirks prints skipped cases and totals, and sets the exit code", () => {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-"));
  try {
    const passing = { ...baseQuirk, id: "GOOD", rule: "known-params-only" };
    const failing = { ...baseQuirk, id: "BAD", title: "bad", rule: "no-verse" };
    expect(run(folder, [passing, { ...baseQuirk, id: "BARE" }])).toEqual({
      status: 0,
      stdout: "BARE: skipped, no wire data\n1 passed, 0 failed\n",
    });
    expect(run(folder, [failing, passing])).toEqual({
      status: 1,
      stdout: "FAILED BAD: bad\n  rule no-verse: not supported by this check\n1 passed, 1 failed\n",
    });
    expect(run(folder, [baseQuirk]).status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function run(folder: string, quirks: Quirk[]): { status: number | null; stdout: string } {
  const file = join(folder, "quirks.json");
  writeFileSync(file, JSON.stringify({ quirks }));
  const command = fileURLToPath(new URL("../check/quirks.ts", import.meta.url));
  const args = ["--conditions=@deltawire/source", command, file];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, stdout };
}
