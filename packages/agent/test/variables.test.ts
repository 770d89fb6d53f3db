import { defineTool } from "@deltawire/agent";
import { hashArguments } from "@deltawire/tasks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildVariablesGroup } from "../src/chats/variables-group.ts";
import { maxModelCharacters } from "../src/calls/long-results.ts";
import { maxUnsavedLength } from "../src/calls/save-variables.ts";
import { expandReferences, findReferences } from "../src/variables/variable-references.ts";
import { askForHelpCalls, createHelperAgent } from "./helper-agents.ts";
import { MemoryVariables } from "./memory-variables.ts";
import {
  decide,
  waitForEnd,
  readEvents,
  copyLogUntil,
  waitForApproval,
  recoverTask,
  scriptedAgent,
  start,
  readLogText,
  getSentResults,
  type Script,
} from "./runtime-fixture.ts";

const long = "a long page. ".repeat(400);
const fetchPage = defineTool({ name: "fetch", description: "", effect: "pure", run: () => long });

/** Creates a tool that records its inputs. */
function createWriteTool(overrides: object = {}) {
  const inputs: Record<string, unknown>[] = [];
  const tool = defineTool<Record<string, unknown>>({
    name: "write",
    description: "",
    effect: "pure",
    ...overrides,
    run: (input) => `${inputs.push(input)} written`,
  });
  return { inputs, tool };
}

async function runScript(
  script: Script,
  tools: Parameters<typeof scriptedAgent>[1],
  request: object = {},
) {
  const variables = new MemoryVariables();
  const { agent, model } = scriptedAgent(script, tools);
  const started = await start(
    agent,
    { chat_id: "chat_1", ...request },
    { variablesFor: (chat) => (chat === "chat_1" ? variables : undefined) },
  );
  return { started, variables, model, agent };
}

const createWriteCall = (args: object) => [{ call: "write", args }];
const callFetch = [{ call: "fetch", args: {} }];

describe("a long result", () => {
  test("is saved as a variable, whose name is appended for the model", async () => {
    const { started, variables, model } = await runScript([callFetch], { tools: [fetchPage] });
    await waitForEnd(started);
    expect([...variables.stored.values()]).toMatchObject([
      { value: long, tool: "fetch", part: "result" },
    ]);
    expect(getSentResults(model, 1)).toEqual([`${long}\n[saved as {{var:v1}}]`]);
  });

  test("is not saved if the chat has no variables, or the task has no chat", async () => {
    for (const request of [{ chat_id: "another" }, { chat_id: undefined, session_id: "chat_1" }]) {
      const { started, variables, model } = await runScript(
        [callFetch],
        { tools: [fetchPage] },
        request,
      );
      await waitForEnd(started);
      expect(variables.values).toEqual([]);
      expect(getSentResults(model, 1)).toEqual([long]);
    }
  });

  test.each([
    [maxUnsavedLength, 0],
    [maxUnsavedLength + 1, 1],
  ])("of %i characters is saved as %i variables", async (length, count) => {
    const tool = defineTool({ name: "fetch", description: "", run: () => "x".repeat(length) });
    const { started, variables } = await runScript([callFetch], { tools: [tool] });
    await waitForEnd(started);
    expect(variables.values).toHaveLength(count);
  });

  test("that is truncated has a note that names the variable, if there is a tool to read it", async () => {
    const tool = defineTool({ name: "fetch", description: "", run: () => "x".repeat(50_000) });
    const variables = new MemoryVariables();
    const getResultEnd = async (tools: Parameters<typeof scriptedAgent>[1]) => {
      const { started, model } = await runScript([callFetch], tools);
      await waitForEnd(started);
      return getSentResults(model, 1)[0]?.slice(maxModelCharacters);
    };
    expect(await getResultEnd({ tools: [tool, buildVariablesGroup(variables)] })).toBe(
      `\n[truncated: ${maxModelCharacters} of 50000 characters; continue with read_variable {"name":"v1","offset":${maxModelCharacters}}]\n[saved as {{var:v1}}]`,
    );
    expect(await getResultEnd({ tools: [tool] })).toMatch(
      /continue with read_result .*\n\[saved as/,
    );
  });

  test("that was read from a variable is not saved again", async () => {
    const variables = new MemoryVariables();
    await variables.save(long, { callId: "c", tool: "fetch", part: "result" });
    const { agent, model } = scriptedAgent([[{ call: "read_variable", args: { name: "v1" } }]], {
      tools: [buildVariablesGroup(variables)],
    });
    const started = await start(agent, { chat_id: "s" }, { variablesFor: () => variables });
    await waitForEnd(started);
    expect(variables.values).toEqual([long]);
    expect(getSentResults(model, 1)).toEqual([long]);
  });

  test("that cannot be saved is still sent to the model", async () => {
    const failures: string[] = [];
    const full = new MemoryVariables();
    full.save = () => Promise.reject(new Error("disk full"));
    const { agent, model } = scriptedAgent([callFetch], { tools: [fetchPage] });
    const started = await start(
      agent,
      { chat_id: "s" },
      { variablesFor: () => full, onFailure: (message) => failures.push(message) },
    );
    await waitForEnd(started);
    expect(getSentResults(model, 1)).toEqual([long]);
    expect(failures).toEqual(["a variable could not be saved: disk full"]);
  });
});

describe("a result that needs approval", () => {
  const heldTool = defineTool({
    name: "fetch",
    description: "",
    effect: "pure",
    approval: { result: "always" },
    run: () => long,
  });
  const longReason = "I will not show it. ".repeat(400);

  test("is saved when it is approved, not before", async () => {
    const { started, variables } = await runScript([callFetch], { tools: [heldTool] });
    await waitForApproval(started);
    expect(variables.values).toEqual([]);
    await decide(started, {});
    await waitForEnd(started);
    expect(variables.values).toEqual([long]);
  });

  test.each([
    ["denied", { decision: "deny", reason: longReason }],
    ["redacted", { decision: "redact", replacement: longReason }],
    ["aborted with the task", { decision: "abort" }],
  ] as const)(
    "is not saved when it is %s, nor is the text in its place",
    async (_what, decision) => {
      const { started, variables } = await runScript([callFetch], { tools: [heldTool] });
      await decide(started, decision);
      await waitForEnd(started);
      expect(variables.values).toEqual([]);
    },
  );

  test("is saved only once, even if the task is resumed after the approval", async () => {
    const { started, variables, agent } = await runScript([callFetch], { tools: [heldTool] });
    await decide(started, {});
    await waitForEnd(started);
    const log = await copyLogUntil(started, ({ type }) => type === "task.approval.resolved");
    const next = await recoverTask(
      agent,
      { log, id: started.id },
      { variablesFor: () => variables },
    );
    await waitForEnd(next);
    expect([...variables.stored.keys()]).toEqual(["v1"]);
    expect(await readLogText(next)).toContain("[saved as {{var:v1}}]");
  });
});

test("a call that is repeated after a crash does not save its result again", async () => {
  const { started, variables, agent } = await runScript([callFetch], { tools: [fetchPage] });
  await waitForEnd(started);
  const log = await copyLogUntil(started, ({ type }) => type === "task.tool_execution.started");
  const next = await recoverTask(agent, { log, id: started.id }, { variablesFor: () => variables });
  await waitForEnd(next);
  expect([...variables.stored.keys()]).toEqual(["v1"]);
});

describe("a long argument", () => {
  test("is saved when its call runs, and its name is appended to the result", async () => {
    const { tool } = createWriteTool();
    const args = { result: long, path: "a.txt", deep: { text: long } };
    const { started, variables, model } = await runScript([createWriteCall(args)], {
      tools: [tool],
    });
    await waitForEnd(started);
    expect([...variables.stored.values()]).toMatchObject([
      { value: long, tool: "write", part: "arguments.result" },
    ]);
    expect(getSentResults(model, 1)).toEqual([
      "1 written\n[the argument result is saved as {{var:v1}}]",
    ]);
  });

  test("is not saved when its call is denied", async () => {
    const { tool } = createWriteTool({ approval: "ask_always" });
    const { started, variables } = await runScript([createWriteCall({ text: long })], {
      tools: [tool],
    });
    await decide(started, { decision: "deny" });
    await waitForEnd(started);
    expect(variables.values).toEqual([]);
  });

  test("is saved with its references expanded, but not if it is just one reference", async () => {
    const { tool, inputs } = createWriteTool();
    const { started, variables } = await runScript(
      [
        callFetch,
        [
          ...createWriteCall({ text: `${"x".repeat(5000)}{{var:v1}}` }),
          ...createWriteCall({ text: "{{var:v1}}" }),
        ],
      ],
      { tools: [fetchPage, tool] },
    );
    await waitForEnd(started);
    expect(inputs.map(({ text }) => text)).toEqual(["x".repeat(5000) + long, long]);
    expect(variables.values).toEqual([long, "x".repeat(5000) + long]);
  });
});

describe("a reference in arguments", () => {
  test("is expanded for the tool, and stays a reference in the log if no approval is needed", async () => {
    const { tool, inputs } = createWriteTool();
    const args = { text: "See: {{var:v1}}!", list: ["{{var:v1}}", 7], n: 1 };
    const { started } = await runScript([callFetch, createWriteCall(args)], {
      tools: [fetchPage, tool],
    });
    await waitForEnd(started);
    expect(inputs).toEqual([{ text: `See: ${long}!`, list: [long, 7], n: 1 }]);
    const events = await readEvents(started);
    const executionStarted = events.findLast(
      (event) => event.type === "task.tool_execution.started",
    );
    expect(executionStarted).toMatchObject({ args_hash: hashArguments(JSON.stringify(args)) });
    const calls = events.filter(({ type }) => /tool_call|approval|execution/.test(type));
    expect(JSON.stringify(calls)).not.toContain("a long page.");
  });

  test("is expanded before the arguments are checked", async () => {
    const input = { type: "object", properties: { text: { type: "string", minLength: 1000 } } };
    const { tool, inputs } = createWriteTool({ input });
    const { started } = await runScript([callFetch, createWriteCall({ text: "{{var:v1}}" })], {
      tools: [fetchPage, tool],
    });
    await waitForEnd(started);
    expect(inputs).toEqual([{ text: long }]);
  });

  test("with an unknown name fails the call with a list of known names", async () => {
    const { tool, inputs } = createWriteTool();
    const { started, model } = await runScript(
      [callFetch, createWriteCall({ text: "{{var:nope}}" })],
      {
        tools: [fetchPage, tool],
      },
    );
    await waitForEnd(started);
    expect(inputs).toEqual([]);
    expect(getSentResults(model, 2)[1]).toContain('unknown variable "nope"; known variables: v1');
  });

  test("may be in arguments edited by the user", async () => {
    const { tool, inputs } = createWriteTool({ approval: "ask_always" });
    const { started } = await runScript([callFetch, createWriteCall({ text: "no" })], {
      tools: [fetchPage, tool],
    });
    const wrong = await decide(started, { arguments: '{"text":"{{var:nope}}"}' });
    expect(wrong).toMatchObject({ type: "invalid", message: expect.stringContaining("nope") });
    await decide(started, { arguments: '{"text":"{{var:v1}}"}' });
    await waitForEnd(started);
    expect(inputs).toEqual([{ text: long }]);
  });

  test("in the result of a tool is never expanded", async () => {
    const secret = "the other page. ".repeat(400);
    const pages = [secret, `${long}{{var:v1}}`];
    const tool = defineTool({ name: "fetch", description: "", run: () => pages.shift() });
    const { tool: sink, inputs } = createWriteTool();
    const { started } = await runScript(
      [callFetch, callFetch, createWriteCall({ text: "{{var:v2}}" })],
      {
        tools: [tool, sink],
      },
    );
    await waitForEnd(started);
    expect(inputs).toEqual([{ text: `${long}{{var:v1}}` }]);
  });

  test("may refer to a variable saved by a sub-agent of the same chat", async () => {
    const { tool, inputs } = createWriteTool();
    const anna = createHelperAgent("anna", [callFetch, [{ text: "It is saved as v1." }]], {
      tools: [fetchPage],
    });
    const { started } = await runScript(
      [askForHelpCalls("anna"), createWriteCall({ text: "{{var:v1}}" })],
      {
        agents: [anna],
        tools: [tool],
      },
    );
    await waitForEnd(started);
    expect(inputs).toEqual([{ text: long }]);
  });

  test("is not expanded for tools that take the names of variables", async () => {
    const variables = new MemoryVariables();
    await variables.save(long, { callId: "c", tool: "fetch", part: "result" });
    const { agent, model } = scriptedAgent(
      [[{ call: "read_variable", args: { name: "{{var:v1}}" } }]],
      { tools: [buildVariablesGroup(variables)] },
    );
    await waitForEnd(await start(agent, { chat_id: "s" }, { variablesFor: () => variables }));
    expect(getSentResults(model, 1)[0]).toContain('no variable "{{var:v1}}"');
  });
});

test("the long answer of a sub-agent is saved without citation markers", async () => {
  const anna = createHelperAgent("anna", [[{ text: `${long}End.[^1]` }]]);
  const { started, variables, model } = await runScript([askForHelpCalls("anna")], {
    agents: [anna],
  });
  await waitForEnd(started);
  expect(variables.values).toEqual([`${long}End.`]);
  expect(getSentResults(model, 1)[0]).toMatch(/\[saved as \{\{var:v1\}\}\]$/);
});

describe("the expansion of references", () => {
  const names = fc.constantFrom("a", "b_2", "页-1");
  const value = fc.string().map((text) => `${text}{{var:a}}$&$1`);
  const values = fc.record({ a: value, b_2: value, "页-1": value });

  test("inserts every value once, and does not expand references in inserted values", () => {
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
          expect(new Set(findReferences(json))).toEqual(new Set(used));
        },
      ),
    );
  });

  test("leaves a value without references unchanged, including its keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (args) => {
        const written = JSON.stringify(args).replaceAll("{{var:", "");
        expect(findReferences(written)).toEqual([]);
        expect(expandReferences(written, new Map())).toEqual(JSON.parse(written));
      }),
    );
    const keys = '{"{{var:a}}":1,"__proto__":{"x":"{{var:a}}"}}';
    expect(JSON.stringify(expandReferences(keys, new Map([["a", "A"]])))).toBe(
      '{"{{var:a}}":1,"__proto__":{"x":"A"}}',
    );
  });
});
