import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { passedSequenceFaults } from "../check/passed-sequence.ts";
import { flagsFor, quirkFaults, type Quirk } from "../check/quirk.ts";
import { call, chunk } from "./chat-stream.ts";
import { ownQuirks } from "./own-quirks.ts";
import { sharedData } from "../../../test/shared-data.ts";

test.each(ownQuirks.map((quirk) => [quirk.title, quirk] as const))("%s", (_title, quirk) => {
  expect(quirkFaults(quirk)).toEqual([]);
});

const catalogue = sharedData("quirks/quirks.json");

test.skipIf(catalogue.isMissing)(
  "every case of the shared catalogue with wire data or a rule, under the flags that it needs",
  () => {
    const { quirks } = JSON.parse(readFileSync(catalogue.path, "utf8")) as { quirks: Quirk[] };
    const played = quirks.filter((quirk) => typeof flagsFor(quirk) !== "string");
    expect(played.length).toBeGreaterThan(0);
    expect(quirks.filter((quirk) => !played.includes(quirk))).toEqual(
      quirks.filter(({ wire, rule }) => !wire && !rule),
    );
    const failed = played
      .map((quirk) => [quirk.id, quirkFaults(quirk)])
      .filter(([, faults]) => faults?.length);
    expect(failed).toEqual([]);
  },
);

test("the check itself can fail: on another text, another call, another status, a field nobody knows", () => {
  const quirk = ownQuirks[0];
  if (quirk === undefined) throw new Error("no case");
  const faults = (expected: object) =>
    quirkFaults({ ...quirk, expect: { ...quirk.expect, ...expected } });
  expect(faults({ text: "other" })).not.toEqual([]);
  expect(faults({ tool_calls: [] })).not.toEqual([]);
  expect(faults({ status: "failed" })).not.toEqual([]);
  expect(faults({ usage: [1, 1] })).not.toEqual([]);
  expect(faults({ colour: "red" })).toEqual(["expect.colour: unknown to this check"]);
});

const asked = { id: "", class: "request", title: "", request: { input: "hi" } };

test("an optional case is played under the flags that are known for it, and without them not at all", () => {
  const content =
    "<|tool_call_begin|>functions.health:0<|tool_call_argument_begin|>{}<|tool_call_end|>";
  const wire = { chunks: [chunk({ content }), chunk({}, "stop")] };
  const optional = { id: "TC-LEAK-KIMI", class: "stream", title: "", optional: true, wire };
  const unknown = "optional, and no flag is known for it";
  expect(flagsFor(optional)).toEqual([{ leakedCalls: ["kimi"] }]);
  expect(flagsFor({ ...optional, id: "TC-OTHER" })).toBe(unknown);
  expect(quirkFaults({ ...optional, id: "TC-OTHER" })).toEqual([unknown]);
  expect(flagsFor({ ...optional, optional: false })).toEqual([{}]);
  expect(flagsFor({ ...asked, optional: true, rule: "moonshot-schema" })).toEqual([
    { schemaFlavour: "moonshot" },
  ]);
  const expected = { tool_calls: [{ name: "health", arguments: {} }], text: "" };
  expect(quirkFaults({ ...optional, expect: expected })).toEqual([]);
  expect(quirkFaults({ ...optional, optional: false, expect: expected })).not.toEqual([]);
});

const message = (text: string) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});
const called = {
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
const delta = (output_index: number, kind: string, words: string) => ({
  type: `response.${kind}.delta`,
  output_index,
  content_index: 0,
  delta: words,
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

function ofResponses(chunks: object[], expected: NonNullable<Quirk["expect"]>): Quirk {
  const wire = { responses: true, chunks };
  return { id: "", class: "responses-upstream", title: "", wire, expect: expected };
}

const streamed = [
  created,
  added(0, message("")),
  delta(0, "output_text", "Hel"),
  delta(0, "output_text", "lo."),
  done(0, message("Hello.")),
  added(2, called),
  delta(2, "function_call_arguments", called.arguments),
  done(2, called),
];
const told = {
  status: "completed",
  text: "Hello.",
  tool_calls: [{ name: "get_weather", arguments: { city: "Paris" } }],
  chat_finish: "tool_calls",
};

test.each<[string, object[], NonNullable<Quirk["expect"]>]>([
  ["with the items again at the end", [...streamed, completed(message("Hello."), called)], told],
  ["with no items at the end", [...streamed, completed()], { ...told, usage: [11, 7] }],
  [
    "that breaks off in a call",
    [created, added(0, called), delta(0, "function_call_arguments", '{"ci')],
    { status: ["failed", "incomplete"], no_completed_tool: true },
  ],
])("a Responses upstream %s, to both kinds of client", (_how, chunks, expected) => {
  expect(quirkFaults(ofResponses(chunks, expected))).toEqual([]);
});

test("the check of a Responses upstream can fail, on what either client gets", () => {
  const faults = (chunks: object[], expected: object = {}) =>
    quirkFaults(ofResponses(chunks, { ...told, ...expected }));
  const whole = [...streamed, completed()];
  expect(faults(whole, { text: "other" })).toEqual([
    'Chat: text other, got "Hello."',
    'Responses: text other, got "Hello."',
  ]);
  expect(faults(whole, { chat_finish: "stop" })).toEqual(['Chat: finish stop, got "tool_calls"']);
  const otherwise = streamed.with(3, delta(0, "output_text", "p"));
  expect(faults([...otherwise, completed()])).toContain(
    "#4 response.output_item.done: deltas do not join to what is done",
  );
  const response = { status: "completed", output: [message("never streamed")] };
  const unstreamed = [
    { type: "response.created", sequence_number: 0, response: {} },
    { type: "response.completed", sequence_number: 1, response },
  ];
  expect(passedSequenceFaults(unstreamed)).toEqual([
    "the terminal output is not what was streamed",
  ]);
});

const patch = { type: "custom", name: "apply_patch" };
const shell = { type: "namespace", name: "mcp__a", tools: [{ type: "function", name: "b" }] };
const long = { type: "function", name: "n".repeat(70) };

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
  ["a long name", long, "{}", { tool_calls: [{ name: long.name, arguments: {} }] }],
])(
  "%s goes to the upstream as a function and comes back as it was",
  (_what, tool, args, expected) => {
    const chunks = [
      chunk(call({ index: 0, id: "call_a", name: "$FIRST_TOOL", args })),
      chunk({}, "tool_calls"),
    ];
    const request = { input: "hi", tools: [tool] };
    const quirk = { ...asked, request, rule: "function-tools-only", wire: { chunks } };
    expect(quirkFaults({ ...quirk, expect: expected })).toEqual([]);
    expect(quirkFaults({ ...quirk, expect: { tool_calls: [] } })).not.toEqual([]);
    expect(quirkFaults({ ...quirk, expect: { custom_calls: [] } })).not.toEqual([]);
  },
);

test("a request is judged by its rule, under every set of flags that is said to satisfy it", () => {
  const tools = [{ type: "web_search" }];
  expect(quirkFaults({ ...asked, rule: "known-params-only" })).toEqual([]);
  expect(
    quirkFaults({ ...asked, request: { input: "hi", tools }, rule: "function-tools-only" }),
  ).toEqual(["refused by function-tools-only: no tools"]);
  expect(quirkFaults({ ...asked, rule: "no-verse" })).toEqual([
    "rule no-verse: unknown to this check",
  ]);
  expect(quirkFaults({ id: "", class: "request", title: "", rule: "stream-only" })).toEqual([
    "a rule without a request",
  ]);
  expect(flagsFor({ ...asked, rule: "single-leading-system" })).toEqual([
    { laterSystem: "hoist" },
    { laterSystem: "user" },
  ]);
});

test("npm run quirks names what it cannot play, and its last line and exit code count the rest", () => {
  const folder = mkdtempSync(join(tmpdir(), "deltawire-"));
  try {
    const good = { ...asked, id: "GOOD", rule: "known-params-only" };
    const bad = { ...asked, id: "BAD", title: "bad", rule: "no-verse" };
    expect(run(folder, [good, { ...asked, id: "BARE" }])).toEqual({
      status: 0,
      stdout: "BARE: not played, no wire data\n1 passed, 0 failed\n",
    });
    expect(run(folder, [bad, good])).toEqual({
      status: 1,
      stdout: "FAILED BAD: bad\n  rule no-verse: unknown to this check\n1 passed, 1 failed\n",
    });
    expect(run(folder, [asked]).status).toBe(1);
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
