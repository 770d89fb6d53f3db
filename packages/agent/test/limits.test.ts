import { defineTool, runTask, type AgentDefinition } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { mergeLimits } from "../src/task/limits.ts";
import {
  decide,
  waitForEnd,
  waitForApproval,
  filterResults,
  createRuntime,
  scriptedAgent,
  start,
  getSentResults,
  waitUntil,
  filterWarnings,
  type Script,
} from "./runtime-fixture.ts";

const step = defineTool({
  name: "step",
  description: "A step.",
  effect: "pure",
  run: () => "stepped",
});

/** Calls the tool as long as tools are allowed, then answers. */
const stepScript: Script = ({ tool_choice }) =>
  tool_choice === "none" ? [{ text: "That is all." }] : [{ call: "step", args: {} }];

const createStepper = (overrides: Partial<AgentDefinition>, script: Script = stepScript) =>
  scriptedAgent(script, { tools: [step], ...overrides });

test("below the limit there is no warning", async () => {
  const { agent } = createStepper({ limits: { rounds: 2 } }, [
    [{ call: "step", args: {} }],
    [{ text: "Done." }],
  ]);
  const { events } = await waitForEnd(await start(agent));
  expect(filterWarnings(events).map(({ code }) => code)).not.toContain("limit_reached");
});

describe("at a limit", () => {
  test("of ten rounds, which is the default, all ten rounds run their tools, and then the model answers without tools", async () => {
    const { agent, model } = createStepper({});
    const { view, events } = await waitForEnd(await start(agent));
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual([
      ...Array<string>(10).fill("auto"),
      "none",
    ]);
    const outcomes = filterResults(view.output).map(({ status }) => status);
    expect(outcomes).toEqual(Array<string>(10).fill("completed"));
    expect(filterWarnings(events).filter(({ code }) => code === "limit_reached")).toMatchObject([
      {
        message: "the round limit of 10 was reached; the model answers without further tool calls",
      },
    ]);
    expect(view.status).toBe("completed");
    expect(view.output.at(-1)).toMatchObject({
      type: "message",
      block_list: [{ text: "That is all." }],
    });
  });

  test("of one round, all calls of that round run, and then the model answers", async () => {
    const call = { call: "step", args: {} };
    const script: Script = ({ tool_choice }) =>
      tool_choice === "none" ? [{ text: "That is all." }] : [call, call, call];
    const { agent, model } = createStepper({ limits: { rounds: 1 } }, script);
    const { view } = await waitForEnd(await start(agent));
    expect(model.requests).toHaveLength(2);
    expect(filterResults(view.output).map(({ status }) => status)).toEqual(
      Array<string>(3).fill("completed"),
    );
    expect(getSentResults(model, 1)).toEqual(["stepped", "stepped", "stepped"]);
    expect(view.output.at(-1)).toMatchObject({ block_list: [{ text: "That is all." }] });
  });

  test("of rounds, an answer without calls does not count: the next user message is answered with tools", async () => {
    const answerMayEnd = Promise.withResolvers<void>();
    const { agent, model } = createStepper({ limits: { rounds: 1 } }, [
      [{ text: "Well" }, { wait: answerMayEnd.promise }],
      [{ call: "step", args: {} }],
      [{ text: "Done." }],
    ]);
    const started = await start(agent);
    await waitUntil(started, ({ tasks }) => JSON.stringify(tasks).includes("Well"));
    await started.runtime.input(started.id, "Take a step.", "queue");
    answerMayEnd.resolve();
    const { view } = await waitForEnd(started);
    expect(model.requests.map(({ tool_choice }) => tool_choice)).toEqual(["auto", "auto", "none"]);
    expect(filterResults(view.output).map(({ status }) => status)).toEqual(["completed"]);
  });

  test("of rounds, the lower one of the agent's and the request's limit applies", async () => {
    const { agent, model } = createStepper({ limits: { rounds: 5 } });
    await waitForEnd(await start(agent, { limits: { rounds: 2 } }));
    expect(model.requests).toHaveLength(3);
    const bounded = createStepper({ limits: { rounds: 2 } });
    const { state } = await waitForEnd(
      await start(bounded.agent, { limits: { rounds: 50, tokens: 1_000_000 } }),
    );
    expect(bounded.model.requests).toHaveLength(3);
    expect(Object.values(state.tasks)[0]?.info.limits).toEqual({
      rounds: 2,
      depth: 3,
      tokens: 1_000_000,
    });
  });

  test("of tokens, the agent finishes", async () => {
    const { agent, model } = createStepper({ limits: { tokens: 40 } });
    const { view } = await waitForEnd(await start(agent));
    expect(model.requests).toHaveLength(4);
    expect(view.usage.total_tokens).toBe(60);
  });

  test("of cost, the agent finishes, based on the configured prices", async () => {
    const { agent, model } = createStepper({ limits: { cost: 0.00005 } });
    const getPrice = (name: string) => (name === "main" ? { input: 1, output: 2 } : undefined);
    const { view } = await waitForEnd(await start(agent, {}, { getPrice }));
    expect(model.requests).toHaveLength(4);
    expect(view.usage.cost).toBeCloseTo(0.00008);
  });

  test("of seconds, the task expires while text is streaming, and keeps the text", async () => {
    const { agent, model } = scriptedAgent(
      [[{ text: ["I was ", "about"] }, { wait: new Promise(() => undefined) }]],
      {
        limits: { seconds: 0.05 },
      },
    );
    const { view } = await waitForEnd(await start(agent));
    expect(view.status).toBe("expired");
    expect(view.output).toMatchObject([
      { type: "message", status: "incomplete", block_list: [{ text: "I was about" }] },
    ]);
    expect(model.openStreams).toBe(0);
  });

  test("of seconds, the task expires while an approval is pending", async () => {
    const askingTool = defineTool({
      name: "step",
      description: "A step.",
      approval: "ask_always",
      run: () => "stepped",
    });
    const { agent } = scriptedAgent([[{ call: "step", args: {} }]], {
      tools: [askingTool],
      limits: { seconds: 0.05 },
    });
    const { view } = await waitForEnd(await start(agent));
    expect(view.status).toBe("expired");
    expect(view.approvals[0]?.status).toBe("expired");
  });

  test("of rounds, a model that calls a tool although tools are off is not called again", async () => {
    const { agent, model } = createStepper({ limits: { rounds: 1 } }, () => [
      { call: "step", args: {} },
    ]);
    const { view } = await waitForEnd(await start(agent));
    expect(model.requests).toHaveLength(2);
    expect(filterResults(view.output).map(({ status }) => status)).toEqual([
      "completed",
      "incomplete",
    ]);
    expect(view.status).toBe("completed");
  });
});

describe('an agent with atLimit: "ask"', () => {
  test("may use the same amount again after each approval", async () => {
    const { agent, model } = createStepper({ limits: { rounds: 2 }, atLimit: "ask" });
    const started = await start(agent);
    expect(await waitForApproval(started)).toMatchObject({
      kind: "limit",
      choices: ["approve", "deny", "abort"],
    });
    await waitUntil(started, ({ tasks }) => tasks[started.id]?.status === "input_required");
    await decide(started, {});
    await decide(started, {});
    await decide(started, { decision: "deny" });
    const { view } = await waitForEnd(started);
    expect(view.status).toBe("completed");
    expect(model.requests).toHaveLength(7);
    const outcomes = filterResults(view.output).map(({ status }) => status);
    expect(outcomes).toEqual(Array<string>(6).fill("completed"));
  });

  test("reports the limit and the usage, and counts on from there after an approval", async () => {
    const { agent: anna } = scriptedAgent(() => [{ text: "Here." }], { name: "anna" });
    const { agent } = scriptedAgent(
      () => [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }],
      { agents: [anna], limits: { tokens: 20 }, atLimit: "ask" },
    );
    const started = await start(agent);
    const question = await waitForApproval(started);
    expect(question).toMatchObject({ limit_name: "tokens", limit: 20, used: 30 });
    expect(question.question).toContain("The token limit of 20 was reached (30 used).");
    await decide(started, {});
    const [, secondQuestion] = (await waitUntil(started, ({ approvals }) => approvals.length === 2))
      .approvals;
    expect(secondQuestion).toMatchObject({ limit: 20, used: 60, status: "pending" });
    await decide(started, { decision: "abort" });
    await waitForEnd(started);
  });

  test("extends only the limit that the question was about", async () => {
    const { agent } = createStepper({ limits: { rounds: 2, tokens: 40 }, atLimit: "ask" });
    const started = await start(agent);
    expect(await waitForApproval(started)).toMatchObject({ limit_name: "rounds", used: 2 });
    await decide(started, {});
    const [, secondQuestion] = (await waitUntil(started, ({ approvals }) => approvals.length === 2))
      .approvals;
    expect(secondQuestion).toMatchObject({ limit_name: "tokens", limit: 40, used: 45 });
    await decide(started, { decision: "abort" });
    await waitForEnd(started);
  });

  test("answers without tools if the question expires", async () => {
    const { agent, model } = createStepper({
      limits: { rounds: 1 },
      atLimit: "ask",
      approvalSeconds: 0.02,
    });
    const { view } = await waitForEnd(await start(agent));
    expect(view.status).toBe("completed");
    expect(model.requests).toHaveLength(2);
  });

  test("cancels the task if the user aborts", async () => {
    const { agent } = createStepper({ limits: { rounds: 1 }, atLimit: "ask" });
    const started = await start(agent);
    await decide(started, { decision: "abort" });
    expect((await waitForEnd(started)).view.status).toBe("canceled");
  });

  test("also asks if a sub-agent reaches the limit", async () => {
    const { agent: anna } = scriptedAgent([[{ text: "Here." }]], { name: "anna" });
    const { agent, model } = scriptedAgent(
      [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }], [{ text: "Thanks." }]],
      { agents: [anna], limits: { tokens: 20 }, atLimit: "ask" },
    );
    const started = await start(agent);
    expect(await waitForApproval(started)).toMatchObject({ kind: "limit" });
    await decide(started, {});
    await waitForEnd(started);
    expect(model.requests[1]?.tool_choice).toBe("auto");
  });
});

test("mergeLimits returns the lower of the agent's and the request's limit", () => {
  const names = ["rounds", "tokens", "cost", "seconds", "depth"] as const;
  for (const name of names) {
    expect(mergeLimits({ [name]: 2 }, { [name]: 3 })).toEqual({ [name]: 2 });
    expect(mergeLimits({ [name]: 3 }, { [name]: 2 })).toEqual({ [name]: 2 });
    expect(mergeLimits({ [name]: 2 })).toEqual({ [name]: 2 });
    expect(mergeLimits({}, { [name]: 0 })).toEqual({ [name]: 0 });
  }
});

describe("a cost limit for a model without a price", () => {
  const rejected = {
    code: "unpriced_model",
    message: expect.stringContaining("limit tokens") as string,
  };

  test("is rejected before a task is created, whether it is the agent's or the request's", async () => {
    await expect(start(createStepper({ limits: { cost: 1 } }).agent)).rejects.toMatchObject(
      rejected,
    );
    const fixture = createRuntime(createStepper({}).agent);
    await expect(
      fixture.runtime.start({ input: "Go.", limits: { cost: 1 } }),
    ).rejects.toMatchObject(rejected);
    expect(await fixture.log.listUnfinished()).toEqual([]);
  });

  test("is rejected by runTask unless `getPrice` returns one", async () => {
    const { agent } = createStepper({ limits: { cost: 0.00005 } });
    await expect(runTask(agent, "Go.")).rejects.toMatchObject(rejected);
    const task = await runTask(agent, "Go.", { getPrice: () => ({ input: 1, output: 2 }) });
    expect((await task.result).usage.cost).toBeCloseTo(0.00008);
  });

  test("also rejects calls of sub-agents without a price, at any depth", async () => {
    const help = (name: string) => [{ call: "ask_for_help", args: { name, prompt: "Help." } }];
    const question: string[] = [];
    const { agent: cara } = scriptedAgent(() => (question.push("cara"), [{ text: "Here." }]), {
      name: "cara",
    });
    const { agent: anna, model } = scriptedAgent([help("cara"), [{ text: "Nobody." }]], {
      name: "anna",
      agents: [cara],
    });
    const { agent } = scriptedAgent([help("anna"), [{ text: "Thanks." }]], {
      agents: [anna],
      limits: { cost: 1 },
    });
    const getPrice = (name: string) => (name === "cara" ? undefined : { input: 1, output: 2 });
    const { view } = await waitForEnd(await start(agent, {}, { getPrice }));
    expect(view.status).toBe("completed");
    expect(question).toEqual([]);
    expect(getSentResults(model, 1)[0]).toContain('the model "cara" has no price');
  });
});
