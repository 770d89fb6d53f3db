import { defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { askForHelpCalls, createHelperAgent } from "./helper-agents.ts";
import {
  waitForEnd,
  copyLogUntil,
  recoverTask,
  scriptedAgent,
  start,
  type Script,
} from "./runtime-fixture.ts";
import { scriptedModel } from "./scripted-model.ts";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });
const group = { name: "g", description: "", rules: "Look first.", tools: [look] };
const once: Script = [[{ call: "look", args: {} }], [{ text: "Done." }]];

describe("the preamble and the instructions of a request", () => {
  test("are sent in this order: preamble, agent, request, rules of the tool groups", async () => {
    const { agent, model } = scriptedAgent([[{ text: "Hello." }]], { tools: [group] });
    await waitForEnd(await start(agent, { preamble: "It is Monday.", instructions: "Be short." }));
    expect(model.requests[0]?.instructions).toMatch(
      /^It is Monday\.\n\nHelp\.\n\nBe short\.\n\nLook first\.\n\n/,
    );
  });

  test("apply to the task itself and not to its sub-agents", async () => {
    const collectRequests = scriptedModel([[{ text: "Here." }]]);
    const anna = createHelperAgent("anna", [], { model: collectRequests });
    const { agent, model } = scriptedAgent([askForHelpCalls("anna"), [{ text: "Done." }]], {
      agents: [anna],
    });
    await waitForEnd(
      await start(agent, { preamble: "It is Monday.", options: { temperature: 0.2 } }),
    );
    expect(model.requests.map(({ temperature }) => temperature)).toEqual([0.2, 0.2]);
    expect(collectRequests.requests[0]).not.toHaveProperty("temperature");
    expect(collectRequests.requests[0]?.instructions).toBe("You are anna.");
  });

  test("also apply in rounds after a crash", async () => {
    const requestOptions = { preamble: "It is Monday.", options: { temperature: 0.2, top_p: 0.5 } };
    const { agent } = scriptedAgent(once, { tools: [look] });
    const started = await start(agent, requestOptions);
    await waitForEnd(started);
    const log = await copyLogUntil(started, ({ type }) => type === "task.round.started");
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [look] });
    await waitForEnd(await recoverTask(next.agent, { log, id: started.id }));
    expect(next.model.requests[0]).toMatchObject({
      ...requestOptions.options,
      instructions: expect.stringMatching(/^It is Monday\.\n\nHelp\./) as string,
    });
  });
});

describe("the options of a request", () => {
  const collectRequests = async (
    options: object,
    overrides: object = {},
    script: Script = once,
  ) => {
    const { agent, model } = scriptedAgent(script, { tools: [look], ...overrides });
    await waitForEnd(await start(agent, { options: options as never }));
    return model.requests;
  };

  test("are sent in every round, without null values", async () => {
    const options = {
      temperature: 0,
      max_output_tokens: 9,
      text: { verbosity: "low" },
      top_p: null,
    };
    for (const request of await collectRequests(options)) {
      expect(request).toMatchObject({
        temperature: 0,
        max_output_tokens: 9,
        text: { verbosity: "low" },
      });
      expect(request).not.toHaveProperty("top_p");
    }
  });

  test("do not override the parameters that the runtime sets", async () => {
    const options = {
      model: "another",
      instructions: "Obey.",
      input: "Forget.",
      tools: [],
      stream: false,
      store: true,
      include: [],
      prompt_cache_key: "k",
      previous_response_id: "resp_1",
      conversation: "conv_1",
      background: true,
    };
    const plain = await collectRequests({});
    const [first] = await collectRequests(options);
    expect({ ...first, prompt_cache_key: "" }).toEqual({ ...plain[0], prompt_cache_key: "" });
  });

  test("can override the agent's effort without the summary setting, and the other way round", async () => {
    const [first] = await collectRequests({ reasoning: { effort: "low" } }, { effort: "high" });
    expect(first?.reasoning).toEqual({ effort: "low", summary: "auto" });
    const [second] = await collectRequests(
      { reasoning: { summary: "detailed" } },
      { effort: "high" },
    );
    expect(second?.reasoning).toEqual({ effort: "high", summary: "detailed" });
    expect((await collectRequests({}))[0]).not.toHaveProperty("reasoning");
  });

  test("can turn parallel calls off", async () => {
    expect((await collectRequests({ parallel_tool_calls: false }))[0]?.parallel_tool_calls).toBe(
      false,
    );
    expect((await collectRequests({}))[0]?.parallel_tool_calls).toBe(true);
  });
});

describe("the options of an agent", () => {
  const agentOptions = { temperature: 0.2, top_p: 0.9, metadata: { a: "1" } };

  test("apply to its tasks; the options of a request override them, or remove them with null", async () => {
    const { agent, model } = scriptedAgent([[{ text: "Done." }]], { options: agentOptions });
    const options = { temperature: 1, top_p: null, metadata: { b: "2" } };
    await waitForEnd(await start(agent, { options }));
    const requests = model.requests;
    expect(requests[0]).toMatchObject({ temperature: 1, metadata: { a: "1", b: "2" } });
    expect(requests[0]).not.toHaveProperty("top_p");
  });

  test("apply when it is called as a sub-agent", async () => {
    const helper = scriptedAgent([[{ text: "Helped." }]], { name: "helper", options: { seed: 7 } });
    const main = scriptedAgent(
      [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Done." }],
      ],
      { agents: [helper.agent], options: agentOptions },
    );
    await waitForEnd(await start(main.agent));
    expect(main.model.requests[0]).toMatchObject(agentOptions);
    expect(helper.model.requests[0]).toMatchObject({ seed: 7 });
    expect(helper.model.requests[0]).not.toHaveProperty("temperature");
  });

  test("are rejected with their path if they are invalid", () => {
    expect(() => scriptedAgent([], { options: { temperature: "hot" } })).toThrow(
      "the options of the agent main: temperature: expected a number from 0 to 2",
    );
  });
});

describe("tool_choice", () => {
  const collectToolChoices = async (
    tool_choice: unknown,
    overrides: object = {},
    script: Script = once,
  ) => {
    const { agent, model } = scriptedAgent(script, { tools: [look], ...overrides });
    await waitForEnd(await start(agent, { options: { tool_choice } as never }));
    return model.requests.map((request) => request.tool_choice);
  };
  const named = { type: "function", name: "look" };
  const allowed = { type: "allowed_tools", mode: "required", tools: [named] };

  test.each<[string, unknown, unknown[]]>([
    ["auto by default", undefined, ["auto", "auto"]],
    ["none if requested", "none", ["none", "none"]],
    ["required until there is a call", "required", ["required", "auto"]],
    ["a named tool until there is a call", named, [named, "auto"]],
    [
      "restricted to some tools, and optional from the first call on",
      allowed,
      [allowed, { ...allowed, mode: "auto" }],
    ],
  ])("is %s", async (_what, choice, expected) => {
    expect(await collectToolChoices(choice)).toEqual(expected);
  });

  test("stays forced in a repeated round", async () => {
    const script = [[{ call: "look", args: {} }, { cut: true } as const], ...once];
    expect(await collectToolChoices("required", {}, script)).toEqual([
      "required",
      "required",
      "auto",
    ]);
  });

  test("is none at the limit, regardless of the request", async () => {
    expect(await collectToolChoices("required", { limits: { rounds: 1 } })).toEqual([
      "required",
      "none",
    ]);
  });

  test("is not sent without tools", async () => {
    const sentChoices = await collectToolChoices("required", { tools: [] }, [[{ text: "Hello." }]]);
    expect(sentChoices).toEqual([undefined]);
  });
});
