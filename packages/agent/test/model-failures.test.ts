import { defineAgent, defineTool, ModelError, RuntimeError, type Model } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { waitForEnd, filterResults, scriptedAgent, start, type Script } from "./runtime-fixture.ts";

const runScript = async (script: Script) => {
  const { agent, model } = scriptedAgent(script);
  return { ...(await waitForEnd(await start(agent))), model };
};

describe("a model", () => {
  test("that rejects the request ends the task with its code and message", async () => {
    const { view, model } = await runScript([
      [{ error: new ModelError("invalid_key", "the key is not known") }],
    ]);
    expect(view.status).toBe("failed");
    expect(view.error).toEqual({
      code: "invalid_key",
      message: "the key is not known",
      retryable: false,
    });
    expect(model.requests).toHaveLength(1);
  });

  test("whose reply is incomplete is called again; its partial output is retracted and not sent back", async () => {
    const { view, model, events } = await runScript([
      [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { cut: true }],
      [{ text: "It is sunny." }],
    ]);
    expect(view.status).toBe("completed");
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ text: "It is sunny." }] },
    ]);
    expect(events.filter(({ type }) => type === "task.output_item.retracted")).toHaveLength(2);
    expect(model.requests[1]).toEqual(model.requests[0]);
  });

  test("whose reply is incomplete has its usage estimated; one that rejects the request uses nothing", async () => {
    const words = "It is sunny. ".repeat(100);
    const completeRun = await runScript([[{ text: "It is sunny." }]]);
    const incompleteRun = await runScript([
      [{ text: [words] }, { cut: true }],
      [{ text: "It is sunny." }],
    ]);
    const { usage: reported } = completeRun.view;
    expect(reported.estimated).toBeUndefined();
    const { usage } = incompleteRun.view;
    expect(usage.estimated).toBe(true);
    expect(usage.input_tokens).toBeGreaterThan(reported.input_tokens);
    expect(usage.output_tokens - reported.output_tokens).toBeGreaterThan(words.length / 6);
    const rejected = await runScript([[{ error: new ModelError("invalid_key", "no") }]]);
    expect(rejected.view.usage.total_tokens).toBe(0);
  });

  test("whose reply failed has the usage that the server reported", async () => {
    const usage = { input_tokens: 30, output_tokens: 12, total_tokens: 42 };
    const error = { code: "content_refused", message: "not this" };
    const model: Model = {
      async *stream() {
        yield [{ type: "response.failed", response: { error, usage } }];
      },
    };
    const { view } = await waitForEnd(
      await start(defineAgent({ name: "main", instructions: "", model })),
    );
    expect(view).toMatchObject({ status: "failed", usage });
    expect(view.usage.estimated).toBeUndefined();
  });

  test("whose reply ends within a call does not get that call run", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [[{ call: "send", args: { to: "a" } }, { cut: true }], [{ text: "No." }]],
      { tools: [tool] },
    );
    const { view } = await waitForEnd(await start(agent));
    expect(ran).toBe(0);
    expect(view.output.map(({ type }) => type)).toEqual(["message"]);
  });

  test("that reaches its output limit has its text retained, and its incomplete calls are not run", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [
        [{ text: "I send" }, { call: "send", args: {}, raw: '{"to": "a' }, { finish: "length" }],
        [{ text: "Again." }],
      ],
      { tools: [tool] },
    );
    const { view, events } = await waitForEnd(await start(agent));
    expect(ran).toBe(0);
    expect(filterResults(view.output)).toMatchObject([{ status: "incomplete" }]);
    expect(events.find(({ type }) => type === "task.round.done")).toMatchObject({
      finish_reason: "length",
    });
    expect(view.status).toBe("completed");
  });

  test("that fails permanently in mid-sentence leaves the text as incomplete", async () => {
    const breaks = new ModelError("content_refused", "not this");
    const { view } = await runScript([[{ text: ["Once upon ", "a"] }, { error: breaks }]]);
    expect(view.error?.code).toBe("content_refused");
    expect(view.output).toMatchObject([
      { status: "incomplete", block_list: [{ text: "Once upon a" }] },
    ]);
  });

  test("that returns no output completes the task without output", async () => {
    const { view } = await runScript([[]]);
    expect(view).toMatchObject({ status: "completed", output: [] });
  });

  test("whose name is unknown fails the task", async () => {
    const agent = defineAgent({ name: "main", instructions: "", model: "gpt-none" });
    const getModel = (name: string): never => {
      throw new RuntimeError("unknown_model", `there is no model "${name}"`);
    };
    const { view } = await waitForEnd(await start(agent, {}, { getModel }));
    expect(view.error).toMatchObject({
      code: "unknown_model",
      message: 'there is no model "gpt-none"',
    });
  });
});

/** Runs a task with a custom model whose stream function is given. */
async function runCustomModel(stream: () => unknown) {
  const agent = defineAgent({ name: "main", instructions: "", model: { stream } as Model });
  return (await waitForEnd(await start(agent))).view;
}

const createBatchStream = (...events: unknown[]) =>
  async function* stream() {
    yield events;
  };
const createFailingStream = (error: unknown) => () => ({
  [Symbol.asyncIterator]() {
    return this;
  },
  next() {
    return Promise.reject(error);
  },
});
const message = {
  type: "message",
  id: "m1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hi." }],
};
const completed = { type: "response.completed", response: { usage: null } };

describe("a custom model", () => {
  test.each([
    ["throws a string", createFailingStream("no")],
    ["throws undefined", createFailingStream(undefined)],
    ["throws an object without a string form", createFailingStream(Object.create(null))],
    ["returns a number", () => 7],
    ["streams null", createBatchStream(null)],
    ["sends an event without its item", createBatchStream({ type: "response.output_item.added" })],
  ])(
    "that %s fails only the task",
    async (_name, stream) => {
      const view = await runCustomModel(stream);
      expect(view.status).toBe("failed");
      expect(view.error?.code).toMatch(/^(?:model_failed|upstream_stream_truncated)$/);
    },
    10_000,
  );

  test("that sends an error event fails with its code", async () => {
    const view = await runCustomModel(
      createBatchStream({ type: "error", code: "invalid_prompt", message: "no" }),
    );
    expect(view.error).toMatchObject({ code: "invalid_prompt", message: "no" });
  });

  test("may send items only when they are done", async () => {
    const thought = {
      type: "reasoning",
      id: "r1",
      summary: [{ type: "summary_text", text: "Hm." }],
    };
    const view = await runCustomModel(
      createBatchStream(
        { type: "response.output_item.done", item: thought },
        { type: "response.output_item.done", item: message },
        completed,
      ),
    );
    expect(view.output).toMatchObject([
      { type: "reasoning", summary: [{ text: "Hm." }] },
      { type: "message", block_list: [{ text: "Hi." }] },
    ]);
  });

  test("that sends an item twice creates one item", async () => {
    const added = { type: "response.output_item.added", item: { ...message, content: [] } };
    const done = { type: "response.output_item.done", item: message };
    const view = await runCustomModel(createBatchStream(added, added, done, done, completed));
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ text: "Hi." }] }]);
  });

  test("may send a complete text without deltas", async () => {
    const view = await runCustomModel(
      createBatchStream(
        { type: "response.output_item.added", item: { ...message, content: [] } },
        { type: "response.output_item.done", item: message },
        completed,
      ),
    );
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ text: "Hi." }] }]);
  });

  test("whose final arguments differ from the streamed ones does not get its call run", async () => {
    let ran = 0;
    const call = {
      type: "function_call",
      id: "f1",
      call_id: "call_12345",
      name: "send",
      arguments: "",
    };
    let round = 0;
    const model = {
      async *stream() {
        round += 1;
        if (round === 1)
          yield [
            { type: "response.output_item.added", item: call },
            { type: "response.function_call_arguments.delta", item_id: "f1", delta: '{"to":"a"}' },
            { type: "response.output_item.done", item: { ...call, arguments: '{"to":"b"}' } },
          ];
        yield [completed];
      },
    } as unknown as Model;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { view } = await waitForEnd(
      await start(defineAgent({ name: "main", instructions: "", model, tools: [tool] })),
    );
    expect(ran).toBe(0);
    expect(filterResults(view.output)).toMatchObject([{ status: "incomplete" }]);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no way back");
      },
    ],
    ["returns nothing", () => undefined],
    ["rejects", () => Promise.reject(new Error("no way back"))],
  ])(
    "whose iterator %s in return() still completes the task with its output",
    async (_what, returnMethod) => {
      const item = {
        type: "message",
        id: "m",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hello.", annotations: [] }],
      };
      const createBatchStream = [
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: { usage: null } },
      ];
      const batches = {
        next: async () => ({ done: false, value: createBatchStream }),
        return: returnMethod,
      };
      const model = {
        stream: () => ({ [Symbol.asyncIterator]: () => batches }),
      } as unknown as Model;
      const { view } = await waitForEnd(
        await start(defineAgent({ name: "main", instructions: "", model })),
      );
      expect(view).toMatchObject({
        status: "completed",
        output: [{ block_list: [{ text: "Hello." }] }],
      });
    },
  );

  test("with some invalid token counts has only the valid ones counted", async () => {
    const view = await runCustomModel(
      createBatchStream({
        type: "response.completed",
        response: { usage: { input_tokens: 3, output_tokens: Number.NaN } },
      }),
    );
    expect(view).toMatchObject({
      status: "completed",
      usage: { input_tokens: 3, output_tokens: 0, total_tokens: 3 },
    });
  });
});
