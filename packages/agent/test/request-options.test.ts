import { defineTool } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { help, helper } from "./helpers.ts";
import { ended, logUpTo, recovered, scriptedAgent, start, type Script } from "./run-kit.ts";
import { scriptedModel } from "./scripted-model.ts";

const look = defineTool({ name: "look", description: "Looks.", run: () => "seen" });
const group = { name: "g", description: "", rules: "Look first.", tools: [look] };
const once: Script = [[{ call: "look", args: {} }], [{ text: "Done." }]];

describe("what a request says to the model", () => {
  test("stands in one order: preamble, agent, request, rules of the groups", async () => {
    const { agent, model } = scriptedAgent([[{ text: "Hello." }]], { tools: [group] });
    await ended(await start(agent, { preamble: "It is Monday.", instructions: "Be short." }));
    expect(model.asked[0]?.instructions).toMatch(
      /^It is Monday\.\n\nHelp\.\n\nBe short\.\n\nLook first\.\n\n/,
    );
  });

  test("is for the task itself, and not for those that it asks for help", async () => {
    const asked = scriptedModel([[{ text: "Here." }]]);
    const anna = helper("anna", [], { model: asked });
    const { agent, model } = scriptedAgent([help("anna"), [{ text: "Done." }]], { agents: [anna] });
    await ended(await start(agent, { preamble: "It is Monday.", options: { temperature: 0.2 } }));
    expect(model.asked.map(({ temperature }) => temperature)).toEqual([0.2, 0.2]);
    expect(asked.asked[0]).not.toHaveProperty("temperature");
    expect(asked.asked[0]?.instructions).toBe("You are anna.");
  });

  test("is the same in the rounds after a crash", async () => {
    const said = { preamble: "It is Monday.", options: { temperature: 0.2, top_p: 0.5 } };
    const { agent } = scriptedAgent(once, { tools: [look] });
    const started = await start(agent, said);
    await ended(started);
    const log = await logUpTo(started, ({ type }) => type === "task.round.started");
    const next = scriptedAgent([[{ text: "Done." }]], { tools: [look] });
    await ended(await recovered(next.agent, { log, id: started.id }));
    expect(next.model.asked[0]).toMatchObject({
      ...said.options,
      instructions: expect.stringMatching(/^It is Monday\.\n\nHelp\./) as string,
    });
  });
});

describe("options", () => {
  const asked = async (options: object, more: object = {}, script: Script = once) => {
    const { agent, model } = scriptedAgent(script, { tools: [look], ...more });
    await ended(await start(agent, { options: options as never }));
    return model.asked;
  };

  test("of the wire are in every round, and null is nothing", async () => {
    const options = {
      temperature: 0,
      max_output_tokens: 9,
      text: { verbosity: "low" },
      top_p: null,
    };
    for (const request of await asked(options)) {
      expect(request).toMatchObject({
        temperature: 0,
        max_output_tokens: 9,
        text: { verbosity: "low" },
      });
      expect(request).not.toHaveProperty("top_p");
    }
  });

  test("never touch what a round is made of", async () => {
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
    const plain = await asked({});
    const [first] = await asked(options);
    expect({ ...first, prompt_cache_key: "" }).toEqual({ ...plain[0], prompt_cache_key: "" });
  });

  test("of reasoning go over the agent's effort, and keep the summary", async () => {
    const [first] = await asked({ reasoning: { effort: "low" } }, { effort: "high" });
    expect(first?.reasoning).toEqual({ effort: "low", summary: "auto" });
    const [second] = await asked({ reasoning: { summary: "detailed" } }, { effort: "high" });
    expect(second?.reasoning).toEqual({ effort: "high", summary: "detailed" });
    expect((await asked({}))[0]).not.toHaveProperty("reasoning");
  });

  test("may have calls come one at a time", async () => {
    expect((await asked({ parallel_tool_calls: false }))[0]?.parallel_tool_calls).toBe(false);
    expect((await asked({}))[0]?.parallel_tool_calls).toBe(true);
  });
});

describe("options of an agent", () => {
  const own = { temperature: 0.2, top_p: 0.9, metadata: { a: "1" } };

  test("are those of its tasks, under those of the request, and null takes one out", async () => {
    const { agent, model } = scriptedAgent([[{ text: "Done." }]], { options: own });
    const options = { temperature: 1, top_p: null, metadata: { b: "2" } };
    await ended(await start(agent, { options }));
    const requests = model.asked;
    expect(requests[0]).toMatchObject({ temperature: 1, metadata: { a: "1", b: "2" } });
    expect(requests[0]).not.toHaveProperty("top_p");
  });

  test("are its own where it is asked for help", async () => {
    const helper = scriptedAgent([[{ text: "Helped." }]], { name: "helper", options: { seed: 7 } });
    const main = scriptedAgent(
      [
        [{ call: "ask_for_help", args: { name: "helper", description: "", prompt: "Help!" } }],
        [{ text: "Done." }],
      ],
      { agents: [helper.agent], options: own },
    );
    await ended(await start(main.agent));
    expect(main.model.asked[0]).toMatchObject(own);
    expect(helper.model.asked[0]).toMatchObject({ seed: 7 });
    expect(helper.model.asked[0]).not.toHaveProperty("temperature");
  });

  test("that cannot be are refused with their path", () => {
    expect(() => scriptedAgent([], { options: { temperature: "hot" } })).toThrow(
      "the options of the agent main: temperature: expected a number from 0 to 2",
    );
  });
});

describe("the choice of a tool", () => {
  const choices = async (tool_choice: unknown, more: object = {}, script: Script = once) => {
    const { agent, model } = scriptedAgent(script, { tools: [look], ...more });
    await ended(await start(agent, { options: { tool_choice } as never }));
    return model.asked.map((request) => request.tool_choice);
  };
  const named = { type: "function", name: "look" };
  const allowed = { type: "allowed_tools", mode: "required", tools: [named] };

  test.each<[string, unknown, unknown[]]>([
    ["auto, where nothing is said", undefined, ["auto", "auto"]],
    ["none, if it is said", "none", ["none", "none"]],
    ["required until there is a call", "required", ["required", "auto"]],
    ["a named tool until there is a call", named, [named, "auto"]],
    [
      "of some tools, from the first call on as it likes",
      allowed,
      [allowed, { ...allowed, mode: "auto" }],
    ],
  ])("is %s", async (_what, choice, told) => {
    expect(await choices(choice)).toEqual(told);
  });

  test("stays forced in a round that is said again", async () => {
    const script = [[{ call: "look", args: {} }, { cut: true } as const], ...once];
    expect(await choices("required", {}, script)).toEqual(["required", "required", "auto"]);
  });

  test("is none at the limit, whatever was asked for", async () => {
    expect(await choices("required", { limits: { rounds: 1 } })).toEqual(["required", "none"]);
  });

  test("is not told where there are no tools", async () => {
    const told = await choices("required", { tools: [] }, [[{ text: "Hello." }]]);
    expect(told).toEqual([undefined]);
  });
});
