import { defineTool, MemoryLog, MemoryBlobs, shellGroup } from "@deltawire/agent";
import {
  hashArguments,
  blobPath,
  validateLog,
  type ExpandedArguments,
  type TaskApproval,
  type TaskEvent,
} from "@deltawire/tasks";
import { describe, expect, test } from "vitest";
import { parseLogRow } from "../src/log/private-records.ts";
import { createHelperAgent } from "./helper-agents.ts";
import { MemoryVariables } from "./memory-variables.ts";
import {
  decide,
  waitForEnd,
  copyLogUntil,
  waitForApproval,
  recoverTask,
  filterResults,
  scriptedAgent,
  start,
  getItemText,
  getSentResults,
  type Script,
} from "./runtime-fixture.ts";

const page = "words of a long page. ".repeat(350);

function createWriteTool(overrides: object = {}) {
  const receivedInputs: Record<string, unknown>[] = [];
  const tool = defineTool<Record<string, unknown>>({
    name: "write",
    description: "",
    approval: "ask_always",
    ...overrides,
    run: (input) => `${receivedInputs.push(input)} written`,
  });
  return { receivedInputs, tool };
}

const createWriteCall = (args: object) => [{ call: "write", args }];

async function startWithVariables(
  script: Script,
  agentOptions: Parameters<typeof scriptedAgent>[1],
  values: readonly string[] = [page],
) {
  const variables = new MemoryVariables();
  for (const [index, value] of values.entries())
    await variables.save(value, { callId: `c${index}`, tool: "fetch", part: "result" });
  const { agent, model } = scriptedAgent(script, agentOptions);
  const blobs = new MemoryBlobs();
  const options = { variablesFor: () => variables, blobs };
  const started = await start(agent, { chat_id: "chat" }, options);
  return { started, model, agent, variables, options, blobs };
}

function getInlineText(expanded: ExpandedArguments | undefined): string {
  if (expanded === undefined || !("text" in expanded))
    throw new Error("the arguments are not inline");
  return expanded.text;
}

describe("the approval of a call with variable references", () => {
  test("contains the expanded text and its hash", async () => {
    const { tool, receivedInputs } = createWriteTool();
    const { started } = await startWithVariables(
      [createWriteCall({ text: "See: {{var:v1}}!", n: 1 })],
      {
        tools: [tool],
      },
    );
    const approval = await waitForApproval(started);
    const text = JSON.stringify({ text: `See: ${page}!`, n: 1 });
    expect(approval).toMatchObject({
      expanded_arguments: { text },
      args_hash: hashArguments(text),
    });
    await decide(started, {});
    const { events } = await waitForEnd(started);
    expect(receivedInputs).toEqual([{ text: `See: ${page}!`, n: 1 }]);
    const executionStart = events.find(({ type }) => type === "task.tool_execution.started");
    expect(executionStart).toMatchObject({ args_hash: hashArguments(text) });
  });

  test("contains the start, end and length of a long text, which is stored in full as a blob", async () => {
    const long = `begin ${"x".repeat(30_000)} end`;
    const { tool, receivedInputs } = createWriteTool();
    const { started, blobs } = await startWithVariables(
      [createWriteCall({ text: "{{var:v1}}" })],
      { tools: [tool] },
      [long],
    );
    const approval = await waitForApproval(started);
    const text = JSON.stringify({ text: long });
    const hash = hashArguments(text);
    expect(approval.args_hash).toBe(hash);
    expect(approval.expanded_arguments).toEqual({
      head: text.slice(0, 4000),
      tail: text.slice(-4000),
      length: text.length,
      url: blobPath + hash,
    });
    expect(Buffer.from((await blobs.get(hash))?.bytes ?? []).toString()).toBe(text);
    await decide(started, {});
    await waitForEnd(started);
    expect(receivedInputs).toEqual([{ text: long }]);
  });

  test("runs the call with the shown text, even if another process resumes the task and the variable has changed", async () => {
    for (const value of [page, `${page}${"y".repeat(30_000)}`]) {
      const { tool, receivedInputs } = createWriteTool();
      const { started, agent, variables, options } = await startWithVariables(
        [createWriteCall({ text: "{{var:v1}}" })],
        { tools: [tool] },
        [value],
      );
      await waitForApproval(started);
      const variable = variables.stored.get("v1");
      if (variable !== undefined) variable.value = "rm -rf ~";
      const log = await copyLogUntil(started, ({ type }) => type === "task.approval.requested");
      const next = await recoverTask(agent, { log, id: started.id }, options);
      await decide(next, {});
      await waitForEnd(next);
      expect(receivedInputs).toEqual([{ text: value }]);
      await started.runtime.close();
    }
  });

  test("contains the expanded text of a call to a sub-agent", async () => {
    const anna = createHelperAgent("anna", [[{ text: "Done." }]]);
    const call = { call: "ask_for_help", args: { name: "anna", prompt: "Do {{var:v1}}" } };
    const { started } = await startWithVariables([[call]], {
      agents: [anna],
      helpApproval: { call: "ask_always", result: "never" },
    });
    const text = getInlineText((await waitForApproval(started)).expanded_arguments);
    expect(JSON.parse(text)).toEqual({ name: "anna", prompt: `Do ${page}` });
    await decide(started, {});
    const { state } = await waitForEnd(started);
    const child = Object.values(state.tasks).find(({ info }) => info.agent === "anna");
    expect(JSON.stringify(child?.info["input"])).toContain(`Do ${page}`);
  });

  test("expands references that the user adds in an edit, but not reference-like text from a variable", async () => {
    const secret = "the secret of v2";
    const values = ["say {{var:v2}} and {{var:v9}}", secret, "the text of v3"];
    const shown = "say {{var:v2}} and {{var:v9}}";
    for (const [edited, expected] of [
      [`${shown}!`, `${shown}!`],
      [`${shown} {{var:v3}}`, `${shown} the text of v3`],
      ["{{var:v1}}", shown],
    ] as const) {
      const { tool, receivedInputs } = createWriteTool();
      const { started } = await startWithVariables(
        [createWriteCall({ text: "{{var:v1}}" })],
        { tools: [tool] },
        values,
      );
      const approval = await waitForApproval(started);
      expect(JSON.parse(getInlineText(approval.expanded_arguments))).toEqual({ text: shown });
      await decide(started, { arguments: JSON.stringify({ text: edited }) });
      await waitForEnd(started);
      expect(receivedInputs).toEqual([{ text: expected }]);
    }
  });

  test("never treats the content of a variable as a reference, whichever client sends the text back", async () => {
    const { tool, receivedInputs } = createWriteTool();
    const { started } = await startWithVariables(
      [createWriteCall({ text: "{{var:v1}}" })],
      { tools: [tool] },
      ["look: {{var:v2}}", "a secret"],
    );
    const shown = getInlineText((await waitForApproval(started)).expanded_arguments);
    await decide(started, { arguments: shown.replace("look", "see") });
    await waitForEnd(started);
    expect(receivedInputs).toEqual([{ text: "see: {{var:v2}}" }]);
  });

  test("for a session applies to the same content, not to the same variable name", async () => {
    const { tool, receivedInputs } = createWriteTool({ approval: "ask_once" });
    const { started, variables } = await startWithVariables(
      [
        createWriteCall({ text: "{{var:v1}}" }),
        createWriteCall({ text: "{{var:v1}}" }),
        createWriteCall({ text: "{{var:v1}}" }),
      ],
      {
        tools: [
          defineTool<Record<string, unknown>>({
            name: "write",
            description: "",
            approval: "ask_once",
            run: (input) => {
              tool.run(input, undefined as never);
              const variable = variables.stored.get("v1");
              if (variable !== undefined && receivedInputs.length === 2) variable.value = "other";
              return "written";
            },
          }),
        ],
      },
    );
    await decide(started, { scope: "session" });
    const again = await waitForApproval(started);
    expect(receivedInputs).toEqual([{ text: page }, { text: page }]);
    expect(getInlineText(again.expanded_arguments)).toBe('{"text":"other"}');
    await decide(started, { decision: "deny" });
    await waitForEnd(started);
    expect(receivedInputs).toHaveLength(2);
  });

  test("is not requested if the expanded text does not match the schema", async () => {
    const input = { type: "object", properties: { text: { type: "string", maxLength: 100 } } };
    const { tool, receivedInputs } = createWriteTool({ input });
    const { started, model } = await startWithVariables([createWriteCall({ text: "{{var:v1}}" })], {
      tools: [tool],
    });
    const { state } = await waitForEnd(started);
    expect(state.approvals).toEqual([]);
    expect(receivedInputs).toEqual([]);
    expect(getSentResults(model, 1)[0]).toContain("text");
  });

  test("is not requested if the expanded text would be too long", async () => {
    const { tool, receivedInputs } = createWriteTool();
    const text = "{{var:v1}}".repeat(5);
    const { started, model } = await startWithVariables(
      [createWriteCall({ text })],
      { tools: [tool] },
      ["z".repeat(1_000_000)],
    );
    const { state } = await waitForEnd(started);
    expect([state.approvals, receivedInputs]).toEqual([[], []]);
    expect(getSentResults(model, 1)[0]).toContain("more than 4000000 characters; pass less");
  });
});

describe("the question whether an interrupted call was carried out", () => {
  const isExecutionStart = ({ type }: TaskEvent): boolean => type === "task.tool_execution.started";
  const editedArguments = JSON.stringify({ text: "as I wrote it" });

  test.each([
    ["approved", "ask_always", {}, JSON.stringify({ text: page })],
    ["edited by a user", "ask_always", { arguments: editedArguments }, editedArguments],
    ["run without an approval", "auto", undefined, JSON.stringify({ text: page })],
  ] as const)(
    "shows the arguments that the call ran with: %s",
    async (_case, approval, decision, text) => {
      const { tool } = createWriteTool({ approval, effect: "once" });
      const script = [createWriteCall({ text: "{{var:v1}}" })];
      const { started, agent, options } = await startWithVariables(script, { tools: [tool] });
      if (decision !== undefined) await decide(started, decision);
      await waitForEnd(started);
      const log = await copyLogUntil(started, isExecutionStart);
      const next = await recoverTask(agent, { log, id: started.id }, options);
      const question = await waitForApproval(next);
      expect(question).toMatchObject({ kind: "reconcile", expanded_arguments: { text } });
      await decide(next, {});
      const { events } = await waitForEnd(next);
      expect(validateLog(events)).toBeUndefined();
    },
  );
});

test("a log is invalid if the approved or executed arguments differ from those that were shown", async () => {
  for (const value of [page, "x".repeat(30_000)]) {
    const { tool } = createWriteTool();
    const call = createWriteCall({ text: "{{var:v1}}" });
    const { started } = await startWithVariables([call], { tools: [tool] }, [value]);
    await decide(started, {});
    const { events } = await waitForEnd(started);
    const findBrokenRule = (change: (event: TaskEvent) => void) => {
      const copy = structuredClone(events);
      for (const event of copy) change(event);
      return validateLog(copy)?.rule;
    };
    expect(findBrokenRule(() => undefined)).toBeUndefined();
    const otherApproved = findBrokenRule((event) => {
      if (event.type !== "task.approval.requested") return;
      const { expanded_arguments: shown } = event.approval;
      if (shown === undefined) return;
      if ("text" in shown) shown.text = '{"text":"harmless"}';
      else shown.url = blobPath + hashArguments('{"text":"harmless"}');
    });
    const unexpandedRun = findBrokenRule((event) => {
      if (event.type === "task.tool_execution.started")
        event.args_hash = hashArguments('{"text":"{{var:v1}}"}');
    });
    expect([otherApproved, unexpandedRun]).toEqual(["executed_hash", "executed_hash"]);
  }
});

describe("arguments that a user edits", () => {
  test("are expanded and validated at the time of the decision, not again after a restart", async () => {
    const input = { type: "object", properties: { text: { type: "string", minLength: 1000 } } };
    const { tool, receivedInputs } = createWriteTool({ input });
    const { started, variables, agent, options } = await startWithVariables(
      [createWriteCall({ text: "w".repeat(1000) })],
      { tools: [tool] },
      [page, "too short"],
    );
    expect(await decide(started, { arguments: '{"text":"{{var:v2}}"}' })).toMatchObject({
      type: "invalid",
    });
    const decided = await decide(started, { arguments: '{"text":"{{var:v1}}"}' });
    const text = JSON.stringify({ text: page });
    expect(decided).toMatchObject({
      type: "resolved",
      approval: {
        resolution: { arguments: '{"text":"{{var:v1}}"}', expanded_arguments: { text } },
      },
    });
    await waitForEnd(started);
    expect(receivedInputs).toEqual([{ text: page }]);
    // The process ends after the decision, and the variable has changed when the next one starts.
    const variable = variables.stored.get("v1");
    if (variable !== undefined) variable.value = "v".repeat(2000);
    const log = await copyLogUntil(started, ({ type }) => type === "task.approval.resolved");
    await waitForEnd(await recoverTask(agent, { log, id: started.id }, options));
    expect(receivedInputs).toEqual([{ text: page }, { text: page }]);
  });
});

describe("a shell command", () => {
  const command = (text: string) => [{ call: "run_command", args: { command: text } }];
  const shell = shellGroup({ folder: ".", allow: [] });

  test("with a reference is neither run nor shown for approval; the model is told to read the variable", async () => {
    const { started, model } = await startWithVariables([command("sh -c '{{var:v1}}'")], {
      tools: [shell],
    });
    const { state, view } = await waitForEnd(started);
    expect(state.approvals).toEqual([]);
    expect(getItemText(filterResults(view.output)[0])).toContain("was not run");
    expect(getSentResults(model, 1)[0]).toMatch(/\{\{var:v1\}\} is not expanded .* read_variable/);
  });

  test("cannot be edited to contain a reference", async () => {
    const { started } = await startWithVariables([command("true")], { tools: [shell] });
    const decided = await decide(started, { arguments: '{"command":"echo {{var:v1}}"}' });
    expect(decided).toMatchObject({ type: "invalid", message: expect.stringContaining("var:v1") });
    await decide(started, { decision: "deny" });
    await waitForEnd(started);
  });
});

describe("an approval that was requested by an earlier version", () => {
  /** Copies a log as an earlier version would have written it: with the hash of the arguments before expansion. */
  async function copyAsEarlierVersion(id: string, log: MemoryLog): Promise<MemoryLog> {
    const earlier = new MemoryLog();
    for (const row of await log.read(id, -1, 1e6)) {
      const event = JSON.parse(row.json) as TaskEvent;
      if (event.type === "task.approval.requested") {
        const approval: Partial<TaskApproval> = event.approval;
        delete approval.expanded_arguments;
        approval.args_hash = hashArguments('{"text":"{{var:v1}}"}');
      }
      await earlier.append(id, [{ ...parseLogRow(row), event, json: JSON.stringify(event) }]);
    }
    return earlier;
  }

  async function decideAfterUpgrade(decision: Parameters<typeof decide>[1]) {
    const { tool, receivedInputs } = createWriteTool();
    const script = [createWriteCall({ text: "{{var:v1}}" })];
    const { started, agent, options } = await startWithVariables(script, { tools: [tool] });
    await waitForApproval(started);
    const logAtApproval = await copyLogUntil(
      started,
      ({ type }) => type === "task.approval.requested",
    );
    const log = await copyAsEarlierVersion(started.id, logAtApproval);
    const next = await recoverTask(agent, { log, id: started.id }, options);
    await decide(next, decision);
    const { view } = await waitForEnd(next);
    await started.runtime.close();
    return { receivedInputs, result: getItemText(filterResults(view.output)[0]) };
  }

  test("does not run arguments that were not shown: the model must repeat the call", async () => {
    const { receivedInputs, result } = await decideAfterUpgrade({});
    expect(receivedInputs).toEqual([]);
    expect(result).toContain("Make the call again");
  });

  test("runs the edited arguments of a user, expanded", async () => {
    const { receivedInputs } = await decideAfterUpgrade({ arguments: '{"text":"1 {{var:v1}}"}' });
    expect(receivedInputs).toEqual([{ text: `1 ${page}` }]);
  });
});
