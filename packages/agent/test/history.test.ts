import { defineAgent, defineTool, type Model } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { decide, ended, scriptedAgent, start, toldItems, until } from "./run-kit.ts";

const get = defineTool({
  name: "get",
  description: "Gets.",
  effect: "pure",
  run: (input) => {
    const { n } = input as { n: number };
    return {
      message_content: [{ type: "text", text: `number ${n}`, id: n }],
      block_list: [{ type: "text", text: `number ${n}`, id: n }],
    };
  },
});
const call = (n: number, id?: string) => ({
  call: "get",
  args: { n },
  ...(id === undefined ? {} : { id }),
});

describe("what the model gets back", () => {
  test("is all that was said and done, round by round, and each round begins as the one before it", async () => {
    const { agent, model } = scriptedAgent(
      [
        [
          { reasoning: "First." },
          { text: "Let me see." },
          call(1, "provider_a"),
          call(2, "provider_b"),
        ],
        [call(3, "provider_c")],
        [{ text: "Done.[^3]" }],
      ],
      { tools: [get] },
    );
    await ended(await start(agent));
    const last = toldItems(model, 2);
    expect(last.map(({ type }) => type)).toEqual([
      "message",
      "reasoning",
      "message",
      "function_call",
      "function_call",
      "function_call_output",
      "function_call_output",
      "function_call",
      "function_call_output",
    ]);
    // The provider's cache is by prefix.
    for (const round of [0, 1]) {
      const before = toldItems(model, round);
      expect(last.slice(0, before.length)).toEqual(before);
      expect(model.asked[round + 1]?.instructions).toBe(model.asked[round]?.instructions);
      expect(model.asked[round + 1]?.tools).toEqual(model.asked[round]?.tools);
      expect(model.asked[round + 1]?.prompt_cache_key).toBe(model.asked[round]?.prompt_cache_key);
    }
    expect(last.at(-1)?.output).toBe("<referencable-item>\nID: 3\nnumber 3\n</referencable-item>");
  });

  test("has the reasoning as its server sent it, with its seal, and the call that belongs to it by its id", async () => {
    const thought = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "I think." }],
      encrypted_content: "sealed",
    };
    const made = {
      type: "function_call",
      id: "fc_1",
      call_id: "call_openai_1",
      name: "get",
      arguments: '{"n":1}',
    };
    const asked: ResponsesRequest[] = [];
    const model: Model = {
      async *stream(request) {
        asked.push(request);
        const items = asked.length === 1 ? [thought, made] : [];
        yield items.flatMap((item) => [
          { type: "response.output_item.added", item: { ...item, summary: [], arguments: "" } },
          { type: "response.output_item.done", item },
        ]);
        yield [{ type: "response.completed", response: { usage: null } }];
      },
    };
    const { view } = await ended(
      await start(defineAgent({ name: "main", instructions: "", model, tools: [get] })),
    );
    expect(view.output[0]).toMatchObject({ type: "reasoning", summary: [{ text: "I think." }] });
    expect(asked[1]?.input).toMatchObject([{ role: "user" }, thought, made, {}]);
    expect(asked[0]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  });

  test("has the provider's own ids, unless they are repeated or too short: then others, and always in pairs", async () => {
    const { agent, model } = scriptedAgent(
      [
        [call(1, "same_id_1")],
        [call(2, "same_id_1")],
        [call(3, "0")],
        [call(4, "0")],
        [{ text: "Done." }],
      ],
      { tools: [get] },
    );
    await ended(await start(agent));
    const last = toldItems(model, 4);
    const calls = last.filter(({ type }) => type === "function_call").map(({ call_id }) => call_id);
    const results = last
      .filter(({ type }) => type === "function_call_output")
      .map(({ call_id }) => call_id);
    expect(calls).toEqual(results);
    expect(new Set(calls).size).toBe(4);
    expect(calls[0]).toBe("same_id_1");
    expect(calls.every((id) => (id ?? "").length >= 6)).toBe(true);
    // An id that was told stays what it was.
    const before = toldItems(model, 2);
    expect(last.slice(0, before.length)).toEqual(before);
  });

  test("has no id twice, even if an earlier turn had it", async () => {
    const { agent, model } = scriptedAgent([[call(1, "provider_1")]], { tools: [get] });
    await ended(
      await start(agent, {
        history: [
          { type: "function_call", call_id: "provider_1", name: "get", arguments: "{}" },
          { type: "function_call_output", call_id: "provider_1", output: "before" },
        ],
      }),
    );
    const ids = toldItems(model, 1)
      .filter(({ type }) => type === "function_call")
      .map(({ call_id }) => call_id);
    expect(new Set(ids).size).toBe(2);
  });

  test("leaves out what was taken back, and has the answers of calls that were refused", async () => {
    const asks = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask always",
      run: () => "sent",
    });
    const { agent, model } = scriptedAgent(
      [
        [{ text: "Half" }, { cut: true }],
        [
          { call: "send", args: {} },
          { call: "none", args: {} },
        ],
        [{ text: "Done." }],
      ],
      { tools: [asks] },
    );
    const started = await start(agent);
    await decide(started, { decision: "deny", reason: "no" });
    await ended(started);
    const last = toldItems(model, 2);
    expect(JSON.stringify(last)).not.toContain("Half");
    expect(
      last.filter(({ type }) => type === "function_call_output").map(({ output }) => output),
    ).toEqual([
      "The user refused this call: no",
      'There is no tool "none". There are: send, read_result.',
    ]);
  });

  test("leaves earlier turns as they were sent, and its numbers go on from theirs", async () => {
    const { agent, model } = scriptedAgent(
      [[call(7)], [{ text: "It is [^2], as [^1] was; [^3]." }]],
      { tools: [get] },
    );
    const { view, state } = await ended(
      await start(agent, {
        input: "And now?",
        history: [
          { type: "message", role: "user", content: "What is it? [^1] is my footnote." },
          { type: "function_call", call_id: "provider_1", name: "get", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "provider_1",
            output: "<referencable-item>\nID: 1\nfifteen\n</referencable-item>\nand more",
          },
          {
            type: "message",
            role: "assistant",
            content: [{ type: "output_text", text: "Fifteen [^1]. Code: `[^1]`" }],
          },
        ],
      }),
    );
    const [asked, , output, said] = toldItems(model, 0);
    // The user's words are the user's.
    expect(asked?.content).toBe("What is it? [^1] is my footnote.");
    expect(output?.output).toBe(
      "<referencable-item>\nID: 1\nfifteen\n</referencable-item>\nand more",
    );
    expect(said?.content?.[0]?.text).toBe("Fifteen [^1]. Code: `[^1]`");
    expect(view.references).toMatchObject([{ reference_id: 2 }]);
    expect(view.output.at(-1)).toMatchObject({
      block_list: [
        {
          annotations: [
            { type: "reference_to_block", reference_id: 2 },
            { type: "reference_to_block", reference_id: 1 },
            { type: "unresolved_reference", reference_id: 3 },
          ],
        },
      ],
    });
    expect(Object.values(state.tasks)[0]?.info.references_before).toBe(1);
  });

  test("counts on from what an agent has cited where its sources are not sent back, but not from what was made up", async () => {
    const { agent } = scriptedAgent([[call(7)], [{ text: "So [^13], not [^12]." }]], {
      tools: [get],
    });
    const said = {
      type: "message",
      role: "assistant",
      content: "It was [^12], or [^99999].",
    } as const;
    const { view } = await ended(await start(agent, { history: [said] }));
    expect(view.references).toMatchObject([{ reference_id: 13 }]);
    expect(JSON.stringify(view.output.at(-1))).toContain(
      '"unresolved_reference","reference_id":12',
    );
  });

  test("is the instructions, the rules of the groups and what the request adds", async () => {
    const group = { name: "g", description: "", rules: "Rule one.", tools: [get] };
    const { agent, model } = scriptedAgent([[{ text: "Hello." }]], {
      tools: [group],
      instructions: "Be kind.",
    });
    await ended(await start(agent, { instructions: "Be brief." }));
    expect(model.asked[0]?.instructions).toMatch(/^Be kind\.\n\nBe brief\.\n\nRule one\.\n\n/);
  });
});

test("what the model says is in the log once", async () => {
  const { agent } = scriptedAgent([[{ text: "Only once." }]]);
  const started = await start(agent);
  await ended(started);
  const rows = await started.log.read(started.id, -1, 100);
  expect(rows.map((row) => row.private ?? "").join("")).not.toContain("Only once.");
});

describe("a task that shows what the model sees", () => {
  test("has it in its items where it is asked for, and nowhere else", async () => {
    const { agent } = scriptedAgent([[call(1)]], { tools: [get] });
    const shown = await ended(await start(agent, { include: ["content"] }));
    expect(JSON.stringify(shown.view)).toContain("<referencable-item>");
    const hidden = await ended(await start(scriptedAgent([[call(1)]], { tools: [get] }).agent));
    expect(JSON.stringify(hidden.events)).not.toContain("<referencable-item>");
    expect(JSON.stringify(hidden.events)).not.toContain("provider_call_0");
  });
});

test("raw reasoning is streamed as it is where the agent says so", async () => {
  const { agent } = scriptedAgent([[{ reasoning: ["a", "b"] }, { text: "c" }]], {
    reasoning: "raw",
  });
  const started = await start(agent);
  await until(started, ({ tasks }) => tasks[started.id]?.status === "completed");
  const { view, events } = await ended(started);
  expect(view.output[0]).toMatchObject({
    type: "reasoning",
    summary: [],
    content: [{ type: "text", text: "ab" }],
  });
  expect(events.some(({ type }) => type === "task.reasoning_text.delta")).toBe(true);
});
