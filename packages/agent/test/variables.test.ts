import { defineTool } from "@deltawire/agent";
import { argumentsHash } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { variablesGroup } from "../src/chats/variables-group.ts";
import { longestForModel } from "../src/calls/long-results.ts";
import { longestUnnamed } from "../src/calls/named-values.ts";
import { expandReferences, referencesIn } from "../src/variables/expand.ts";
import { help, helper } from "./helpers.ts";
import { MemoryVariables } from "./memory-variables.ts";
import {
  decide,
  ended,
  eventsOf,
  logUpTo,
  question,
  recovered,
  scriptedAgent,
  start,
  textOfLog,
  toldResults,
  type Script,
} from "./run-kit.ts";

const long = "a long page. ".repeat(400);
const fetchPage = defineTool({ name: "fetch", description: "", effect: "pure", run: () => long });

/** A tool that tells what it was given. */
function writer(more: object = {}) {
  const got: Record<string, unknown>[] = [];
  const tool = defineTool<Record<string, unknown>>({
    name: "write",
    description: "",
    effect: "pure",
    ...more,
    run: (input) => `${got.push(input)} written`,
  });
  return { got, tool };
}

async function ran(script: Script, tools: Parameters<typeof scriptedAgent>[1], about: object = {}) {
  const variables = new MemoryVariables();
  const { agent, model } = scriptedAgent(script, tools);
  const started = await start(
    agent,
    { chat_id: "chat_1", ...about },
    { variablesOf: (chat) => (chat === "chat_1" ? variables : undefined) },
  );
  return { started, variables, model, agent };
}

const write = (args: object) => [{ call: "write", args }];
const fetched = [{ call: "fetch", args: {} }];

describe("a long result", () => {
  test("is kept under a name that the model is told behind it", async () => {
    const { started, variables, model } = await ran([fetched], { tools: [fetchPage] });
    await ended(started);
    expect([...variables.kept.values()]).toMatchObject([
      { value: long, tool: "fetch", part: "result" },
    ]);
    expect(toldResults(model, 1)).toEqual([`${long}\n[kept as {{var:v1}}]`]);
  });

  test("is not kept where the chat has no variables, or the task no chat", async () => {
    for (const about of [{ chat_id: "another" }, { chat_id: undefined, session_id: "chat_1" }]) {
      const { started, variables, model } = await ran([fetched], { tools: [fetchPage] }, about);
      await ended(started);
      expect(variables.values).toEqual([]);
      expect(toldResults(model, 1)).toEqual([long]);
    }
  });

  test.each([
    [longestUnnamed, 0],
    [longestUnnamed + 1, 1],
  ])("begins behind %i characters", async (length, count) => {
    const tool = defineTool({ name: "fetch", description: "", run: () => "x".repeat(length) });
    const { started, variables } = await ran([fetched], { tools: [tool] });
    await ended(started);
    expect(variables.values).toHaveLength(count);
  });

  test("that is cut for the model is read on by its name, if there is a tool for that", async () => {
    const tool = defineTool({ name: "fetch", description: "", run: () => "x".repeat(50_000) });
    const variables = new MemoryVariables();
    const told = async (tools: Parameters<typeof scriptedAgent>[1]) => {
      const { started, model } = await ran([fetched], tools);
      await ended(started);
      return toldResults(model, 1)[0]?.slice(longestForModel);
    };
    expect(await told({ tools: [tool, variablesGroup(variables)] })).toBe(
      `\n[cut: ${longestForModel} of 50000 characters; read on with read_variable {"name":"v1","offset":${longestForModel}}]\n[kept as {{var:v1}}]`,
    );
    expect(await told({ tools: [tool] })).toMatch(/read on with read_result .*\n\[kept as/);
  });

  test("of a tool that only reads what is there is not kept again", async () => {
    const variables = new MemoryVariables();
    await variables.keep(long, { callId: "c", tool: "fetch", part: "result" });
    const { agent, model } = scriptedAgent([[{ call: "read_variable", args: { name: "v1" } }]], {
      tools: [variablesGroup(variables)],
    });
    const started = await start(agent, { chat_id: "s" }, { variablesOf: () => variables });
    await ended(started);
    expect(variables.values).toEqual([long]);
    expect(toldResults(model, 1)).toEqual([long]);
  });

  test("that cannot be kept is told all the same", async () => {
    const failures: string[] = [];
    const full = new MemoryVariables();
    full.keep = () => Promise.reject(new Error("disk full"));
    const { agent, model } = scriptedAgent([fetched], { tools: [fetchPage] });
    const started = await start(
      agent,
      { chat_id: "s" },
      { variablesOf: () => full, onFailure: (message) => failures.push(message) },
    );
    await ended(started);
    expect(toldResults(model, 1)).toEqual([long]);
    expect(failures).toEqual(["a variable could not be kept: disk full"]);
  });
});

describe("a result that a person looks at first", () => {
  const held = defineTool({
    name: "fetch",
    description: "",
    effect: "pure",
    approval: { result: "always" },
    run: () => long,
  });
  const wordy = "I will not show it. ".repeat(400);

  test("is kept when it is approved, and not before", async () => {
    const { started, variables } = await ran([fetched], { tools: [held] });
    await question(started);
    expect(variables.values).toEqual([]);
    await decide(started, {});
    await ended(started);
    expect(variables.values).toEqual([long]);
  });

  test.each([
    ["denied", { decision: "deny", reason: wordy }],
    ["redacted", { decision: "redact", replacement: wordy }],
    ["let go with the task", { decision: "abort" }],
  ] as const)(
    "is not kept when it is %s, and neither is what is said for it",
    async (_what, decision) => {
      const { started, variables } = await ran([fetched], { tools: [held] });
      await decide(started, decision);
      await ended(started);
      expect(variables.values).toEqual([]);
    },
  );

  test("is kept once, under one name, by whichever process comes to it", async () => {
    const { started, variables, agent } = await ran([fetched], { tools: [held] });
    await decide(started, {});
    await ended(started);
    const log = await logUpTo(started, ({ type }) => type === "task.approval.resolved");
    const next = await recovered(agent, { log, id: started.id }, { variablesOf: () => variables });
    await ended(next);
    expect([...variables.kept.keys()]).toEqual(["v1"]);
    expect(await textOfLog(next)).toContain("[kept as {{var:v1}}]");
  });
});

test("a call that is run again after a crash keeps what it kept", async () => {
  const { started, variables, agent } = await ran([fetched], { tools: [fetchPage] });
  await ended(started);
  const log = await logUpTo(started, ({ type }) => type === "task.tool_execution.started");
  const next = await recovered(agent, { log, id: started.id }, { variablesOf: () => variables });
  await ended(next);
  expect([...variables.kept.keys()]).toEqual(["v1"]);
});

describe("a long argument", () => {
  test("is kept when its call is run, and the model is told its name", async () => {
    const { tool } = writer();
    const args = { result: long, path: "a.txt", deep: { text: long } };
    const { started, variables, model } = await ran([write(args)], { tools: [tool] });
    await ended(started);
    expect([...variables.kept.values()]).toMatchObject([
      { value: long, tool: "write", part: "arguments.result" },
    ]);
    expect(toldResults(model, 1)).toEqual([
      "1 written\n[the argument result is kept as {{var:v1}}]",
    ]);
  });

  test("is not kept when its call is refused", async () => {
    const { tool } = writer({ approval: "ask always" });
    const { started, variables } = await ran([write({ text: long })], { tools: [tool] });
    await decide(started, { decision: "deny" });
    await ended(started);
    expect(variables.values).toEqual([]);
  });

  test("is kept as the tool got it, and what came by reference alone is not kept again", async () => {
    const { tool, got } = writer();
    const { started, variables } = await ran(
      [
        fetched,
        [...write({ text: `${"x".repeat(5000)}{{var:v1}}` }), ...write({ text: "{{var:v1}}" })],
      ],
      { tools: [fetchPage, tool] },
    );
    await ended(started);
    expect(got.map(({ text }) => text)).toEqual(["x".repeat(5000) + long, long]);
    expect(variables.values).toEqual([long, "x".repeat(5000) + long]);
  });
});

describe("a reference that the model writes", () => {
  test("is the text for the tool, and stays a reference in the log where nobody is asked", async () => {
    const { tool, got } = writer();
    const args = { text: "See: {{var:v1}}!", list: ["{{var:v1}}", 7], n: 1 };
    const { started } = await ran([fetched, write(args)], { tools: [fetchPage, tool] });
    await ended(started);
    expect(got).toEqual([{ text: `See: ${long}!`, list: [long, 7], n: 1 }]);
    const events = await eventsOf(started);
    const begun = events.findLast((event) => event.type === "task.tool_execution.started");
    expect(begun).toMatchObject({ args_hash: argumentsHash(JSON.stringify(args)) });
    const calls = events.filter(({ type }) => /tool_call|approval|execution/.test(type));
    expect(JSON.stringify(calls)).not.toContain("a long page.");
  });

  test("is checked as the text that it stands for", async () => {
    const input = { type: "object", properties: { text: { type: "string", minLength: 1000 } } };
    const { tool, got } = writer({ input });
    const { started } = await ran([fetched, write({ text: "{{var:v1}}" })], {
      tools: [fetchPage, tool],
    });
    await ended(started);
    expect(got).toEqual([{ text: long }]);
  });

  test("of a name that nobody knows has the call not run, and tells which there are", async () => {
    const { tool, got } = writer();
    const { started, model } = await ran([fetched, write({ text: "{{var:nope}}" })], {
      tools: [fetchPage, tool],
    });
    await ended(started);
    expect(got).toEqual([]);
    expect(toldResults(model, 2)[1]).toContain(
      'there is no variable "nope" to put in: there are v1',
    );
  });

  test("may be in the arguments that a person puts in the place of the model's", async () => {
    const { tool, got } = writer({ approval: "ask always" });
    const { started } = await ran([fetched, write({ text: "no" })], { tools: [fetchPage, tool] });
    const wrong = await decide(started, { arguments: '{"text":"{{var:nope}}"}' });
    expect(wrong).toMatchObject({ is: "invalid", message: expect.stringContaining("nope") });
    await decide(started, { arguments: '{"text":"{{var:v1}}"}' });
    await ended(started);
    expect(got).toEqual([{ text: long }]);
  });

  test("is not one in what a tool gave, however it comes to another tool", async () => {
    const secret = "the other page. ".repeat(400);
    const pages = [secret, `${long}{{var:v1}}`];
    const tool = defineTool({ name: "fetch", description: "", run: () => pages.shift() });
    const { tool: sink, got } = writer();
    const { started } = await ran([fetched, fetched, write({ text: "{{var:v2}}" })], {
      tools: [tool, sink],
    });
    await ended(started);
    expect(got).toEqual([{ text: `${long}{{var:v1}}` }]);
  });

  test("may be of a value that a sub-agent has kept, as they share a chat", async () => {
    const { tool, got } = writer();
    const anna = helper("anna", [fetched, [{ text: "It is kept as v1." }]], { tools: [fetchPage] });
    const { started } = await ran([help("anna"), write({ text: "{{var:v1}}" })], {
      agents: [anna],
      tools: [tool],
    });
    await ended(started);
    expect(got).toEqual([{ text: long }]);
  });

  test("is a name for the tools that take names", async () => {
    const variables = new MemoryVariables();
    await variables.keep(long, { callId: "c", tool: "fetch", part: "result" });
    const { agent, model } = scriptedAgent(
      [[{ call: "read_variable", args: { name: "{{var:v1}}" } }]],
      { tools: [variablesGroup(variables)] },
    );
    await ended(await start(agent, { chat_id: "s" }, { variablesOf: () => variables }));
    expect(toldResults(model, 1)[0]).toContain('no variable "{{var:v1}}"');
  });
});

test("the long answer of a sub-agent is kept without its markers", async () => {
  const anna = helper("anna", [[{ text: `${long}End.[^1]` }]]);
  const { started, variables, model } = await ran([help("anna")], { agents: [anna] });
  await ended(started);
  expect(variables.values).toEqual([`${long}End.`]);
  expect(toldResults(model, 1)[0]).toMatch(/\[kept as \{\{var:v1\}\}\]$/);
});

describe("expansion", () => {
  const names = fc.constantFrom("a", "b_2", "页-1");
  const value = fc.string().map((text) => `${text}{{var:a}}$&$1`);
  const values = fc.record({ a: value, b_2: value, "页-1": value });

  test("puts every text in once, and looks at nothing that came in", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.string(),
            names.map((name) => ({ name })),
          ),
        ),
        values,
        (parts, by) => {
          const plain = (text: string) => text.replaceAll("{", "(");
          const written = parts.map((part) =>
            typeof part === "string" ? plain(part) : `{{var:${part.name}}}`,
          );
          const text = parts.map((part) =>
            typeof part === "string" ? plain(part) : by[part.name],
          );
          const args = { deep: [{ text: written.join("") }], n: 1, no: null };
          const json = JSON.stringify(args);
          expect(expandReferences(json, new Map(Object.entries(by)))).toEqual({
            deep: [{ text: text.join("") }],
            n: 1,
            no: null,
          });
          const used = parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]));
          expect(new Set(referencesIn(json))).toEqual(new Set(used));
        },
      ),
    );
  });

  test("leaves a value without references as it is, keys and all", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (args) => {
        const written = JSON.stringify(args).replaceAll("{{var:", "");
        expect(referencesIn(written)).toEqual([]);
        expect(expandReferences(written, new Map())).toEqual(JSON.parse(written));
      }),
    );
    const keys = '{"{{var:a}}":1,"__proto__":{"x":"{{var:a}}"}}';
    expect(JSON.stringify(expandReferences(keys, new Map([["a", "A"]])))).toBe(
      '{"{{var:a}}":1,"__proto__":{"x":"A"}}',
    );
  });
});
