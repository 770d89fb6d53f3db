import { defineAgent, defineTool, type Model } from "@deltawire/agent";
import type { ResponsesRequest } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  decide,
  waitForEnd,
  scriptedAgent,
  start,
  getSentItems,
  waitUntil,
} from "./runtime-fixture.ts";

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

describe("the input of a round", () => {
  test("contains all items round by round, and starts with the input of the round before", async () => {
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
    await waitForEnd(await start(agent));
    const last = getSentItems(model, 2);
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
    // Prompt caches of providers match by prefix.
    for (const round of [0, 1]) {
      const before = getSentItems(model, round);
      expect(last.slice(0, before.length)).toEqual(before);
      expect(model.requests[round + 1]?.instructions).toBe(model.requests[round]?.instructions);
      expect(model.requests[round + 1]?.tools).toEqual(model.requests[round]?.tools);
      expect(model.requests[round + 1]?.prompt_cache_key).toBe(
        model.requests[round]?.prompt_cache_key,
      );
    }
    expect(last.at(-1)?.output).toBe("<referencable-item>\nID: 3\nnumber 3\n</referencable-item>");
  });

  test("contains the encrypted reasoning of the server unchanged, and the id of the call that follows it", async () => {
    const reasoning = {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "I think." }],
      encrypted_content: "sealed",
    };
    const functionCall = {
      type: "function_call",
      id: "fc_1",
      call_id: "call_openai_1",
      name: "get",
      arguments: '{"n":1}',
    };
    const requests: ResponsesRequest[] = [];
    const model: Model = {
      async *stream(request) {
        requests.push(request);
        const items = requests.length === 1 ? [reasoning, functionCall] : [];
        yield items.flatMap((item) => [
          { type: "response.output_item.added", item: { ...item, summary: [], arguments: "" } },
          { type: "response.output_item.done", item },
        ]);
        yield [{ type: "response.completed", response: { usage: null } }];
      },
    };
    const { view } = await waitForEnd(
      await start(defineAgent({ name: "main", instructions: "", model, tools: [get] })),
    );
    expect(view.output[0]).toMatchObject({ type: "reasoning", summary: [{ text: "I think." }] });
    expect(requests[1]?.input).toMatchObject([{ role: "user" }, reasoning, functionCall, {}]);
    expect(requests[0]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  });

  test("contains the provider's call ids unless they are repeated or too short, always matching between call and result", async () => {
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
    await waitForEnd(await start(agent));
    const last = getSentItems(model, 4);
    const calls = last.filter(({ type }) => type === "function_call").map(({ call_id }) => call_id);
    const results = last
      .filter(({ type }) => type === "function_call_output")
      .map(({ call_id }) => call_id);
    expect(calls).toEqual(results);
    expect(new Set(calls).size).toBe(4);
    expect(calls[0]).toBe("same_id_1");
    expect(calls.every((id) => (id ?? "").length >= 6)).toBe(true);
    // Ids that were sent do not change.
    const before = getSentItems(model, 2);
    expect(last.slice(0, before.length)).toEqual(before);
  });

  test("contains no call id twice, even if an earlier turn used it", async () => {
    const { agent, model } = scriptedAgent([[call(1, "provider_1")]], { tools: [get] });
    await waitForEnd(
      await start(agent, {
        history: [
          { type: "function_call", call_id: "provider_1", name: "get", arguments: "{}" },
          { type: "function_call_output", call_id: "provider_1", output: "before" },
        ],
      }),
    );
    const ids = getSentItems(model, 1)
      .filter(({ type }) => type === "function_call")
      .map(({ call_id }) => call_id);
    expect(new Set(ids).size).toBe(2);
  });

  test("omits retracted items and contains the results of denied calls", async () => {
    const asks = defineTool({
      name: "send",
      description: "Sends.",
      approval: "ask_always",
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
    await waitForEnd(started);
    const last = getSentItems(model, 2);
    expect(JSON.stringify(last)).not.toContain("Half");
    expect(
      last.filter(({ type }) => type === "function_call_output").map(({ output }) => output),
    ).toEqual([
      "The user denied this call: no",
      'Unknown tool "none". Available tools: send, read_result.',
    ]);
  });

  test("contains earlier turns unchanged, and its reference numbers continue from theirs", async () => {
    const { agent, model } = scriptedAgent(
      [[call(7)], [{ text: "It is [^2], as [^1] was; [^3]." }]],
      { tools: [get] },
    );
    const { view, state } = await waitForEnd(
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
    const [requests, , output, assistantMessage] = getSentItems(model, 0);
    // The messages of users are unchanged.
    expect(requests?.content).toBe("What is it? [^1] is my footnote.");
    expect(output?.output).toBe(
      "<referencable-item>\nID: 1\nfifteen\n</referencable-item>\nand more",
    );
    expect(assistantMessage?.content?.[0]?.text).toBe("Fifteen [^1]. Code: `[^1]`");
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

  test("numbers references after those cited in the history, except implausibly high ones", async () => {
    const { agent } = scriptedAgent([[call(7)], [{ text: "So [^13], not [^12]." }]], {
      tools: [get],
    });
    const assistantMessage = {
      type: "message",
      role: "assistant",
      content: "It was [^12], or [^99999].",
    } as const;
    const { view } = await waitForEnd(await start(agent, { history: [assistantMessage] }));
    expect(view.references).toMatchObject([{ reference_id: 13 }]);
    expect(JSON.stringify(view.output.at(-1))).toContain(
      '"unresolved_reference","reference_id":12',
    );
  });

  test("has the instructions of the agent, the tool groups and the request", async () => {
    const group = { name: "g", description: "", rules: "Rule one.", tools: [get] };
    const { agent, model } = scriptedAgent([[{ text: "Hello." }]], {
      tools: [group],
      instructions: "Be kind.",
    });
    await waitForEnd(await start(agent, { instructions: "Be brief." }));
    expect(model.requests[0]?.instructions).toMatch(/^Be kind\.\n\nBe brief\.\n\nRule one\.\n\n/);
  });
});

test("the output of the model is not stored again in the private data of the log", async () => {
  const { agent } = scriptedAgent([[{ text: "Only once." }]]);
  const started = await start(agent);
  await waitForEnd(started);
  const rows = await started.log.read(started.id, -1, 100);
  expect(rows.map((row) => row.private ?? "").join("")).not.toContain("Only once.");
});

describe("the content for the model", () => {
  test("is in the items of a task only if the request includes it", async () => {
    const { agent } = scriptedAgent([[call(1)]], { tools: [get] });
    const shown = await waitForEnd(await start(agent, { include: ["content"] }));
    expect(JSON.stringify(shown.view)).toContain("<referencable-item>");
    const hidden = await waitForEnd(
      await start(scriptedAgent([[call(1)]], { tools: [get] }).agent),
    );
    expect(JSON.stringify(hidden.events)).not.toContain("<referencable-item>");
    expect(JSON.stringify(hidden.events)).not.toContain("provider_call_0");
  });
});

test("raw reasoning is streamed unchanged if the agent is configured so", async () => {
  const { agent } = scriptedAgent([[{ reasoning: ["a", "b"] }, { text: "c" }]], {
    reasoning: "raw",
  });
  const started = await start(agent);
  await waitUntil(started, ({ tasks }) => tasks[started.id]?.status === "completed");
  const { view, events } = await waitForEnd(started);
  expect(view.output[0]).toMatchObject({
    type: "reasoning",
    summary: [],
    content: [{ type: "text", text: "ab" }],
  });
  expect(events.some(({ type }) => type === "task.reasoning_text.delta")).toBe(true);
});
