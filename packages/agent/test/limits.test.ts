import { defineTool, runTask, type AgentDefinition } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { limitsOf } from "../src/task/limits.ts";
import {
  decide,
  ended,
  question,
  resultsIn,
  runtimeOf,
  scriptedAgent,
  start,
  toldResults,
  until,
  warningsIn,
  type Script,
} from "./run-kit.ts";

const step = defineTool({
  name: "step",
  description: "A step.",
  effect: "pure",
  run: () => "stepped",
});

/** Takes steps for as long as it may, then says what it is told to be the last. */
const walks: Script = ({ tool_choice }) =>
  tool_choice === "none" ? [{ text: "That is all." }] : [{ call: "step", args: {} }];

const walker = (more: Partial<AgentDefinition>, script: Script = walks) =>
  scriptedAgent(script, { tools: [step], ...more });

describe("at a limit", () => {
  test("of ten rounds, the default, all ten run their tools, and the model then answers without tools", async () => {
    const { agent, model } = walker({});
    const { view, events } = await ended(await start(agent));
    expect(model.asked.map(({ tool_choice }) => tool_choice)).toEqual([
      ...Array<string>(10).fill("auto"),
      "none",
    ]);
    const outcomes = resultsIn(view.output).map(({ status }) => status);
    expect(outcomes).toEqual(Array<string>(10).fill("completed"));
    expect(warningsIn(events).filter(({ code }) => code === "limit_reached")).toMatchObject([
      {
        message: "the limit of 10 rounds is reached: the model answers without more tool calls",
      },
    ]);
    expect(view.status).toBe("completed");
    expect(view.output.at(-1)).toMatchObject({
      type: "message",
      block_list: [{ text: "That is all." }],
    });
  });

  test("of one round, all calls of that round run, and the model then answers", async () => {
    const call = { call: "step", args: {} };
    const script: Script = ({ tool_choice }) =>
      tool_choice === "none" ? [{ text: "That is all." }] : [call, call, call];
    const { agent, model } = walker({ limits: { rounds: 1 } }, script);
    const { view } = await ended(await start(agent));
    expect(model.asked).toHaveLength(2);
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual(
      Array<string>(3).fill("completed"),
    );
    expect(toldResults(model, 1)).toEqual(["stepped", "stepped", "stepped"]);
    expect(view.output.at(-1)).toMatchObject({ block_list: [{ text: "That is all." }] });
  });

  test("of rounds, an answer without calls is none: a user who adds something gets an answer with tools", async () => {
    const rest = Promise.withResolvers<void>();
    const { agent, model } = walker({ limits: { rounds: 1 } }, [
      [{ text: "Well" }, { wait: rest.promise }],
      [{ call: "step", args: {} }],
      [{ text: "Done." }],
    ]);
    const started = await start(agent);
    await until(started, ({ tasks }) => JSON.stringify(tasks).includes("Well"));
    await started.runtime.input(started.id, "Take a step.", "queue");
    rest.resolve();
    const { view } = await ended(started);
    expect(model.asked.map(({ tool_choice }) => tool_choice)).toEqual(["auto", "auto", "none"]);
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual(["completed"]);
  });

  test("of rounds that is not reached, nothing is said of it", async () => {
    const { agent } = walker({ limits: { rounds: 2 } }, [
      [{ call: "step", args: {} }],
      [{ text: "Done." }],
    ]);
    const { events } = await ended(await start(agent));
    expect(warningsIn(events).map(({ code }) => code)).not.toContain("limit_reached");
  });

  test("that a request lowers, the lower one counts; it cannot raise the agent's", async () => {
    const { agent, model } = walker({ limits: { rounds: 5 } });
    await ended(await start(agent, { limits: { rounds: 2 } }));
    expect(model.asked).toHaveLength(3);
    const bounded = walker({ limits: { rounds: 2 } });
    const { state } = await ended(
      await start(bounded.agent, { limits: { rounds: 50, tokens: 1_000_000 } }),
    );
    expect(bounded.model.asked).toHaveLength(3);
    expect(Object.values(state.tasks)[0]?.info.limits).toEqual({
      rounds: 2,
      depth: 3,
      tokens: 1_000_000,
    });
  });

  test("of tokens it finishes", async () => {
    const { agent, model } = walker({ limits: { tokens: 40 } });
    const { view } = await ended(await start(agent));
    expect(model.asked).toHaveLength(4);
    expect(view.usage.total_tokens).toBe(60);
  });

  test("of cost it finishes, by the prices that it is given", async () => {
    const { agent, model } = walker({ limits: { cost: 0.00005 } });
    const price = (name: string) => (name === "main" ? { input: 1, output: 2 } : undefined);
    const { view } = await ended(await start(agent, {}, { price }));
    expect(model.asked).toHaveLength(4);
    expect(view.usage.cost).toBeCloseTo(0.00008);
  });

  test("of seconds it expires, in the midst of a word, and the word is kept", async () => {
    const { agent, model } = scriptedAgent(
      [[{ text: ["I was ", "about"] }, { wait: new Promise(() => undefined) }]],
      {
        limits: { seconds: 0.05 },
      },
    );
    const { view } = await ended(await start(agent));
    expect(view.status).toBe("expired");
    expect(view.output).toMatchObject([
      { type: "message", status: "incomplete", block_list: [{ text: "I was about" }] },
    ]);
    expect(model.open).toBe(0);
  });

  test("of seconds it expires while a person is asked", async () => {
    const asks = defineTool({
      name: "step",
      description: "A step.",
      approval: "ask always",
      run: () => "stepped",
    });
    const { agent } = scriptedAgent([[{ call: "step", args: {} }]], {
      tools: [asks],
      limits: { seconds: 0.05 },
    });
    const { view } = await ended(await start(agent));
    expect(view.status).toBe("expired");
    expect(view.approvals[0]?.status).toBe("expired");
  });

  test("a model that calls a tool though it has none any more is not asked again", async () => {
    const { agent, model } = walker({ limits: { rounds: 1 } }, () => [{ call: "step", args: {} }]);
    const { view } = await ended(await start(agent));
    expect(model.asked).toHaveLength(2);
    expect(resultsIn(view.output).map(({ status }) => status)).toEqual(["completed", "incomplete"]);
    expect(view.status).toBe("completed");
  });
});

describe("an agent that asks at a limit", () => {
  test("goes on for as much again when the user approves, and asks again then", async () => {
    const { agent, model } = walker({ limits: { rounds: 2 }, atLimit: "ask" });
    const started = await start(agent);
    expect(await question(started)).toMatchObject({
      kind: "limit",
      choices: ["approve", "deny", "abort"],
    });
    await until(started, ({ tasks }) => tasks[started.id]?.status === "input_required");
    await decide(started, {});
    await decide(started, {});
    await decide(started, { decision: "deny" });
    const { view } = await ended(started);
    expect(view.status).toBe("completed");
    expect(model.asked).toHaveLength(7);
    const outcomes = resultsIn(view.output).map(({ status }) => status);
    expect(outcomes).toEqual(Array<string>(6).fill("completed"));
  });

  test("says which limit it is and what was used, and goes on from there when the user approves", async () => {
    const { agent: anna } = scriptedAgent(() => [{ text: "Here." }], { name: "anna" });
    const { agent } = scriptedAgent(
      () => [{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }],
      { agents: [anna], limits: { tokens: 20 }, atLimit: "ask" },
    );
    const started = await start(agent);
    const asked = await question(started);
    expect(asked).toMatchObject({ limit_name: "tokens", limit: 20, used: 30 });
    expect(asked.question).toContain("The limit of 20 tokens is reached: 30 used.");
    await decide(started, {});
    const [, again] = (await until(started, ({ approvals }) => approvals.length === 2)).approvals;
    expect(again).toMatchObject({ limit: 20, used: 60, status: "pending" });
    await decide(started, { decision: "abort" });
    await ended(started);
  });

  test("extends the limit that was asked about, and no other", async () => {
    const { agent } = walker({ limits: { rounds: 2, tokens: 40 }, atLimit: "ask" });
    const started = await start(agent);
    expect(await question(started)).toMatchObject({ limit_name: "rounds", used: 2 });
    await decide(started, {});
    const [, again] = (await until(started, ({ approvals }) => approvals.length === 2)).approvals;
    expect(again).toMatchObject({ limit_name: "tokens", limit: 40, used: 45 });
    await decide(started, { decision: "abort" });
    await ended(started);
  });

  test("finishes when the user does not answer in time", async () => {
    const { agent, model } = walker({
      limits: { rounds: 1 },
      atLimit: "ask",
      approvalSeconds: 0.02,
    });
    const { view } = await ended(await start(agent));
    expect(view.status).toBe("completed");
    expect(model.asked).toHaveLength(2);
  });

  test("ends when the user aborts", async () => {
    const { agent } = walker({ limits: { rounds: 1 }, atLimit: "ask" });
    const started = await start(agent);
    await decide(started, { decision: "abort" });
    expect((await ended(started)).view.status).toBe("canceled");
  });

  test("asks also where the limit is reached by what a helper used", async () => {
    const { agent: anna } = scriptedAgent([[{ text: "Here." }]], { name: "anna" });
    const { agent, model } = scriptedAgent(
      [[{ call: "ask_for_help", args: { name: "anna", prompt: "Help." } }], [{ text: "Thanks." }]],
      { agents: [anna], limits: { tokens: 20 }, atLimit: "ask" },
    );
    const started = await start(agent);
    expect(await question(started)).toMatchObject({ kind: "limit" });
    await decide(started, {});
    await ended(started);
    expect(model.asked[1]?.tool_choice).toBe("auto");
  });
});

test("of two limits the lower one counts, whoever has it", () => {
  const names = ["rounds", "tokens", "cost", "seconds", "depth"] as const;
  for (const name of names) {
    expect(limitsOf({ [name]: 2 }, { [name]: 3 })).toEqual({ [name]: 2 });
    expect(limitsOf({ [name]: 3 }, { [name]: 2 })).toEqual({ [name]: 2 });
    expect(limitsOf({ [name]: 2 })).toEqual({ [name]: 2 });
    expect(limitsOf({}, { [name]: 0 })).toEqual({ [name]: 0 });
  }
});

describe("a limit of cost without a price of the model", () => {
  const refused = {
    code: "unpriced_model",
    message: expect.stringContaining("limit tokens") as string,
  };

  test("is refused before there is a task, whether the agent or the request has it", async () => {
    await expect(start(walker({ limits: { cost: 1 } }).agent)).rejects.toMatchObject(refused);
    const made = runtimeOf(walker({}).agent);
    await expect(made.runtime.start({ input: "Go.", limits: { cost: 1 } })).rejects.toMatchObject(
      refused,
    );
    expect(await made.log.unfinished()).toEqual([]);
  });

  test("is told to who runs a task alone, who can give the price", async () => {
    const { agent } = walker({ limits: { cost: 0.00005 } });
    await expect(runTask(agent, "Go.")).rejects.toMatchObject(refused);
    const task = await runTask(agent, "Go.", { price: () => ({ input: 1, output: 2 }) });
    expect((await task.result).usage.cost).toBeCloseTo(0.00008);
  });

  test("lets nobody be asked for help whose cost could not be counted, at any depth", async () => {
    const help = (name: string) => [{ call: "ask_for_help", args: { name, prompt: "Help." } }];
    const asked: string[] = [];
    const { agent: cara } = scriptedAgent(() => (asked.push("cara"), [{ text: "Here." }]), {
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
    const price = (name: string) => (name === "cara" ? undefined : { input: 1, output: 2 });
    const { view } = await ended(await start(agent, {}, { price }));
    expect(view.status).toBe("completed");
    expect(asked).toEqual([]);
    expect(toldResults(model, 1)[0]).toContain('the model "cara" has no price');
  });
});
