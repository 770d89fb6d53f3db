import { defineTool, MemoryLog, MemoryBlobs, shellGroup } from "@deltawire/agent";
import {
  argumentsHash,
  blobPath,
  validateLog,
  type ExpandedArguments,
  type TaskApproval,
  type TaskEvent,
} from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { entryOf } from "../src/log/private-parts.ts";
import { helper } from "./helpers.ts";
import { MemoryVariables } from "./memory-variables.ts";
import {
  decide,
  ended,
  logUpTo,
  question,
  recovered,
  resultsIn,
  scriptedAgent,
  start,
  textOf,
  toldResults,
  type Script,
} from "./run-kit.ts";

const page = "words of a page that nobody has read. ".repeat(200);

function writer(more: object = {}) {
  const got: Record<string, unknown>[] = [];
  const tool = defineTool<Record<string, unknown>>({
    name: "write",
    description: "",
    approval: "ask always",
    ...more,
    run: (input) => `${got.push(input)} written`,
  });
  return { got, tool };
}

const write = (args: object) => [{ call: "write", args }];

async function ran(
  script: Script,
  more: Parameters<typeof scriptedAgent>[1],
  values: readonly string[] = [page],
) {
  const variables = new MemoryVariables();
  for (const [index, value] of values.entries())
    await variables.keep(value, { callId: `c${index}`, tool: "fetch", part: "result" });
  const { agent, model } = scriptedAgent(script, more);
  const blobs = new MemoryBlobs();
  const options = { variablesOf: () => variables, blobs };
  const started = await start(agent, { chat_id: "chat" }, options);
  return { started, model, agent, variables, options, blobs };
}

function inline(expanded: ExpandedArguments | undefined): string {
  if (expanded === undefined || !("text" in expanded)) throw new Error("is not inline");
  return expanded.text;
}

describe("the approval of a call with references", () => {
  test("has the text that runs, and its hash", async () => {
    const { tool, got } = writer();
    const { started } = await ran([write({ text: "See: {{var:v1}}!", n: 1 })], { tools: [tool] });
    const asked = await question(started);
    const text = JSON.stringify({ text: `See: ${page}!`, n: 1 });
    expect(asked).toMatchObject({ expanded_arguments: { text }, args_hash: argumentsHash(text) });
    await decide(started, {});
    const { events } = await ended(started);
    expect(got).toEqual([{ text: `See: ${page}!`, n: 1 }]);
    const begun = events.find(({ type }) => type === "task.tool_execution.started");
    expect(begun).toMatchObject({ args_hash: argumentsHash(text) });
  });

  test("has the beginning, the end and the length of a long text, and all of it in a blob", async () => {
    const long = `begin ${"x".repeat(30_000)} end`;
    const { tool, got } = writer();
    const { started, blobs } = await ran([write({ text: "{{var:v1}}" })], { tools: [tool] }, [
      long,
    ]);
    const asked = await question(started);
    const text = JSON.stringify({ text: long });
    const hash = argumentsHash(text);
    expect(asked.args_hash).toBe(hash);
    expect(asked.expanded_arguments).toEqual({
      head: text.slice(0, 4000),
      tail: text.slice(-4000),
      length: text.length,
      url: blobPath + hash,
    });
    expect(Buffer.from((await blobs.get(hash))?.bytes ?? []).toString()).toBe(text);
    await decide(started, {});
    await ended(started);
    expect(got).toEqual([{ text: long }]);
  });

  test("runs what was shown, also when another process goes on and the variable has changed", async () => {
    for (const value of [page, `${page}${"y".repeat(30_000)}`]) {
      const { tool, got } = writer();
      const { started, agent, variables, options } = await ran(
        [write({ text: "{{var:v1}}" })],
        { tools: [tool] },
        [value],
      );
      await question(started);
      const kept = variables.kept.get("v1");
      if (kept !== undefined) kept.value = "rm -rf ~";
      const log = await logUpTo(started, ({ type }) => type === "task.approval.requested");
      const next = await recovered(agent, { log, id: started.id }, options);
      await decide(next, {});
      await ended(next);
      expect(got).toEqual([{ text: value }]);
      await started.runtime.close();
    }
  });

  test("is asked with the expanded text of a call to an agent", async () => {
    const anna = helper("anna", [[{ text: "Done." }]]);
    const call = { call: "ask_for_help", args: { name: "anna", prompt: "Do {{var:v1}}" } };
    const { started } = await ran([[call]], {
      agents: [anna],
      helpApproval: { call: "ask always", result: "never" },
    });
    const text = inline((await question(started)).expanded_arguments);
    expect(JSON.parse(text)).toEqual({ name: "anna", prompt: `Do ${page}` });
    await decide(started, {});
    const { state } = await ended(started);
    const child = Object.values(state.tasks).find(({ info }) => info.agent === "anna");
    expect(JSON.stringify(child?.info["input"])).toContain(`Do ${page}`);
  });

  test("does not expand what an inserted text says in an edit, and what the person adds is expanded", async () => {
    const secret = "the secret of v2";
    const values = ["say {{var:v2}} and {{var:v9}}", secret, "the text of v3"];
    const shown = "say {{var:v2}} and {{var:v9}}";
    for (const [edited, runs] of [
      [`${shown}!`, `${shown}!`],
      [`${shown} {{var:v3}}`, `${shown} the text of v3`],
      ["{{var:v1}}", shown],
    ] as const) {
      const { tool, got } = writer();
      const { started } = await ran([write({ text: "{{var:v1}}" })], { tools: [tool] }, values);
      const asked = await question(started);
      expect(JSON.parse(inline(asked.expanded_arguments))).toEqual({ text: shown });
      await decide(started, { arguments: JSON.stringify({ text: edited }) });
      await ended(started);
      expect(got).toEqual([{ text: runs }]);
    }
  });

  test("does not let what a variable holds become a reference, whoever sends the text back", async () => {
    const { tool, got } = writer();
    const { started } = await ran([write({ text: "{{var:v1}}" })], { tools: [tool] }, [
      "look: {{var:v2}}",
      "a secret",
    ]);
    const shown = inline((await question(started)).expanded_arguments);
    await decide(started, { arguments: shown.replace("look", "see") });
    await ended(started);
    expect(got).toEqual([{ text: "see: {{var:v2}}" }]);
  });

  test("holds for a session for the same content, and not for the same name", async () => {
    const { tool, got } = writer({ approval: "ask once" });
    const { started, variables } = await ran(
      [write({ text: "{{var:v1}}" }), write({ text: "{{var:v1}}" }), write({ text: "{{var:v1}}" })],
      {
        tools: [
          defineTool<Record<string, unknown>>({
            name: "write",
            description: "",
            approval: "ask once",
            run: (input) => {
              tool.run(input, undefined as never);
              const kept = variables.kept.get("v1");
              if (kept !== undefined && got.length === 2) kept.value = "other";
              return "written";
            },
          }),
        ],
      },
    );
    await decide(started, { scope: "session" });
    const again = await question(started);
    expect(got).toEqual([{ text: page }, { text: page }]);
    expect(inline(again.expanded_arguments)).toBe('{"text":"other"}');
    await decide(started, { decision: "deny" });
    await ended(started);
    expect(got).toHaveLength(2);
  });

  test("is not asked where the expanded text does not fit the schema", async () => {
    const input = { type: "object", properties: { text: { type: "string", maxLength: 100 } } };
    const { tool, got } = writer({ input });
    const { started, model } = await ran([write({ text: "{{var:v1}}" })], { tools: [tool] });
    const { state } = await ended(started);
    expect(state.approvals).toEqual([]);
    expect(got).toEqual([]);
    expect(toldResults(model, 1)[0]).toContain("text");
  });

  test("is not asked where the text would be too long", async () => {
    const { tool, got } = writer();
    const text = "{{var:v1}}".repeat(5);
    const { started, model } = await ran([write({ text })], { tools: [tool] }, [
      "z".repeat(1_000_000),
    ]);
    const { state } = await ended(started);
    expect([state.approvals, got]).toEqual([[], []]);
    expect(toldResults(model, 1)[0]).toContain("more than 4000000 characters: pass on less");
  });
});

describe("the question whether a call was done when its process ended", () => {
  const begun = ({ type }: TaskEvent): boolean => type === "task.tool_execution.started";
  const changed = JSON.stringify({ text: "as I wrote it" });

  test.each([
    ["approved", "ask always", {}, JSON.stringify({ text: page })],
    ["changed by a person", "ask always", { arguments: changed }, changed],
    ["run without a question", "auto", undefined, JSON.stringify({ text: page })],
  ] as const)("shows what ran: %s", async (_case, approval, decision, text) => {
    const { tool } = writer({ approval, effect: "once" });
    const script = [write({ text: "{{var:v1}}" })];
    const { started, agent, options } = await ran(script, { tools: [tool] });
    if (decision !== undefined) await decide(started, decision);
    await ended(started);
    const log = await logUpTo(started, begun);
    const next = await recovered(agent, { log, id: started.id }, options);
    const asked = await question(next);
    expect(asked).toMatchObject({ kind: "reconcile", expanded_arguments: { text } });
    await decide(next, {});
    const { events } = await ended(next);
    expect(validateLog(events)).toBeUndefined();
  });
});

test("a log in which something else is approved or run than was shown breaks the rule of hashes", async () => {
  for (const value of [page, "x".repeat(30_000)]) {
    const { tool } = writer();
    const call = write({ text: "{{var:v1}}" });
    const { started } = await ran([call], { tools: [tool] }, [value]);
    await decide(started, {});
    const { events } = await ended(started);
    const changed = (change: (event: TaskEvent) => void) => {
      const copy = structuredClone(events);
      for (const event of copy) change(event);
      return validateLog(copy)?.rule;
    };
    expect(changed(() => undefined)).toBeUndefined();
    const other = changed((event) => {
      if (event.type !== "task.approval.requested") return;
      const { expanded_arguments: shown } = event.approval;
      if (shown === undefined) return;
      if ("text" in shown) shown.text = '{"text":"harmless"}';
      else shown.url = blobPath + argumentsHash('{"text":"harmless"}');
    });
    const unexpanded = changed((event) => {
      if (event.type === "task.tool_execution.started")
        event.args_hash = argumentsHash('{"text":"{{var:v1}}"}');
    });
    expect([other, unexpanded]).toEqual(["executed_hash", "executed_hash"]);
  }
});

describe("arguments that a person changes", () => {
  test("are expanded and checked once, when they are decided", async () => {
    const input = { type: "object", properties: { text: { type: "string", minLength: 1000 } } };
    const { tool, got } = writer({ input });
    const { started, variables, agent, options } = await ran(
      [write({ text: "w".repeat(1000) })],
      { tools: [tool] },
      [page, "too short"],
    );
    expect(await decide(started, { arguments: '{"text":"{{var:v2}}"}' })).toMatchObject({
      is: "invalid",
    });
    const decided = await decide(started, { arguments: '{"text":"{{var:v1}}"}' });
    const text = JSON.stringify({ text: page });
    expect(decided).toMatchObject({
      is: "resolved",
      approval: {
        resolution: { arguments: '{"text":"{{var:v1}}"}', expanded_arguments: { text } },
      },
    });
    await ended(started);
    expect(got).toEqual([{ text: page }]);
    // The process ends behind the decision, and the variable is another one when the next begins.
    const kept = variables.kept.get("v1");
    if (kept !== undefined) kept.value = "v".repeat(2000);
    const log = await logUpTo(started, ({ type }) => type === "task.approval.resolved");
    await ended(await recovered(agent, { log, id: started.id }, options));
    expect(got).toEqual([{ text: page }, { text: page }]);
  });
});

describe("a command", () => {
  const command = (text: string) => [{ call: "run_command", args: { command: text } }];
  const shell = shellGroup({ folder: ".", allow: [] });

  test("with a reference does not run and is not asked about; the model hears what to do", async () => {
    const { started, model } = await ran([command("sh -c '{{var:v1}}'")], { tools: [shell] });
    const { state, view } = await ended(started);
    expect(state.approvals).toEqual([]);
    expect(textOf(resultsIn(view.output)[0])).toContain("was not run");
    expect(toldResults(model, 1)[0]).toMatch(/\{\{var:v1\}\} is not replaced .* read_variable/);
  });

  test("cannot get one from a person either", async () => {
    const { started } = await ran([command("true")], { tools: [shell] });
    const decided = await decide(started, { arguments: '{"command":"echo {{var:v1}}"}' });
    expect(decided).toMatchObject({ is: "invalid", message: expect.stringContaining("var:v1") });
    await decide(started, { decision: "deny" });
    await ended(started);
  });
});

describe("an approval that an earlier version has asked for", () => {
  /** As it was written then: the hash is that of the references. */
  async function earlierLog(id: string, log: MemoryLog): Promise<MemoryLog> {
    const earlier = new MemoryLog();
    for (const row of await log.read(id, -1, 1e6)) {
      const event = JSON.parse(row.json) as TaskEvent;
      if (event.type === "task.approval.requested") {
        const approval: Partial<TaskApproval> = event.approval;
        delete approval.expanded_arguments;
        approval.args_hash = argumentsHash('{"text":"{{var:v1}}"}');
      }
      await earlier.append(id, [{ ...entryOf(row), event, json: JSON.stringify(event) }]);
    }
    return earlier;
  }

  async function decidedLater(decision: Parameters<typeof decide>[1]) {
    const { tool, got } = writer();
    const script = [write({ text: "{{var:v1}}" })];
    const { started, agent, options } = await ran(script, { tools: [tool] });
    await question(started);
    const cut = await logUpTo(started, ({ type }) => type === "task.approval.requested");
    const log = await earlierLog(started.id, cut);
    const next = await recovered(agent, { log, id: started.id }, options);
    await decide(next, decision);
    const { view } = await ended(next);
    await started.runtime.close();
    return { got, result: textOf(resultsIn(view.output)[0]) };
  }

  test("does not run what it has not shown: the model has to make the call again", async () => {
    const { got, result } = await decidedLater({});
    expect(got).toEqual([]);
    expect(result).toContain("Make the call again");
  });

  test("runs with the arguments of a person, expanded", async () => {
    const { got } = await decidedLater({ arguments: '{"text":"1 {{var:v1}}"}' });
    expect(got).toEqual([{ text: `1 ${page}` }]);
  });
});
