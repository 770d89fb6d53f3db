import { defineAgent, defineTool, ModelError, RuntimeError, type Model } from "@deltawire/agent";
import { describe, expect, test } from "vitest";
import { ended, resultsIn, scriptedAgent, start, type Script } from "./run-kit.ts";

const run = async (script: Script) => {
  const { agent, model } = scriptedAgent(script);
  return { ...(await ended(await start(agent))), model };
};

describe("a model", () => {
  test("that refuses ends the task with its code and its words", async () => {
    const { view, model } = await run([
      [{ error: new ModelError("invalid_key", "the key is not known") }],
    ]);
    expect(view.status).toBe("failed");
    expect(view.error).toEqual({
      code: "invalid_key",
      message: "the key is not known",
      retryable: false,
    });
    expect(model.asked).toHaveLength(1);
  });

  test("whose reply breaks off is asked again, and what it said is taken back; it is not told of it", async () => {
    const { view, model, events } = await run([
      [{ reasoning: "Hm." }, { text: ["It is ", "su"] }, { cut: true }],
      [{ text: "It is sunny." }],
    ]);
    expect(view.status).toBe("completed");
    expect(view.output).toMatchObject([
      { type: "message", block_list: [{ text: "It is sunny." }] },
    ]);
    expect(events.filter(({ type }) => type === "task.output_item.retracted")).toHaveLength(2);
    expect(model.asked[1]).toEqual(model.asked[0]);
  });

  test("whose reply breaks off has used something, which is estimated; one that refuses has not", async () => {
    const words = "It is sunny. ".repeat(100);
    const whole = await run([[{ text: "It is sunny." }]]);
    const broken = await run([[{ text: [words] }, { cut: true }], [{ text: "It is sunny." }]]);
    const { usage: told } = whole.view;
    expect(told.estimated).toBeUndefined();
    const { usage } = broken.view;
    expect(usage.estimated).toBe(true);
    expect(usage.input_tokens).toBeGreaterThan(told.input_tokens);
    expect(usage.output_tokens - told.output_tokens).toBeGreaterThan(words.length / 6);
    const refused = await run([[{ error: new ModelError("invalid_key", "no") }]]);
    expect(refused.view.usage.total_tokens).toBe(0);
  });

  test("whose reply failed with a usage that the server tells has used that", async () => {
    const usage = { input_tokens: 30, output_tokens: 12, total_tokens: 42 };
    const error = { code: "content_refused", message: "not this" };
    const model: Model = {
      async *stream() {
        yield [{ type: "response.failed", response: { error, usage } }];
      },
    };
    const { view } = await ended(
      await start(defineAgent({ name: "main", instructions: "", model })),
    );
    expect(view).toMatchObject({ status: "failed", usage });
    expect(view.usage.estimated).toBeUndefined();
  });

  test("whose reply breaks off in a call does not have the call run", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [[{ call: "send", args: { to: "a" } }, { cut: true }], [{ text: "No." }]],
      { tools: [tool] },
    );
    const { view } = await ended(await start(agent));
    expect(ran).toBe(0);
    expect(view.output.map(({ type }) => type)).toEqual(["message"]);
  });

  test("that is cut at its length says so: what it said stays, half calls are not run", async () => {
    let ran = 0;
    const tool = defineTool({ name: "send", description: "Sends.", run: () => (ran += 1) });
    const { agent } = scriptedAgent(
      [
        [{ text: "I send" }, { call: "send", args: {}, raw: '{"to": "a' }, { finish: "length" }],
        [{ text: "Again." }],
      ],
      { tools: [tool] },
    );
    const { view, events } = await ended(await start(agent));
    expect(ran).toBe(0);
    expect(resultsIn(view.output)).toMatchObject([{ status: "incomplete" }]);
    expect(events.find(({ type }) => type === "task.round.done")).toMatchObject({
      finish_reason: "length",
    });
    expect(view.status).toBe("completed");
  });

  test("that fails for good in mid-sentence leaves the sentence, as incomplete", async () => {
    const breaks = new ModelError("content_refused", "not this");
    const { view } = await run([[{ text: ["Once upon ", "a"] }, { error: breaks }]]);
    expect(view.error?.code).toBe("content_refused");
    expect(view.output).toMatchObject([
      { status: "incomplete", block_list: [{ text: "Once upon a" }] },
    ]);
  });

  test("that says nothing at all completes the task with nothing", async () => {
    const { view } = await run([[]]);
    expect(view).toMatchObject({ status: "completed", output: [] });
  });

  test("that nobody knows ends the task with that", async () => {
    const agent = defineAgent({ name: "main", instructions: "", model: "gpt-none" });
    const model = (name: string): never => {
      throw new RuntimeError("unknown_model", `there is no model "${name}"`);
    };
    const { view } = await ended(await start(agent, {}, { model }));
    expect(view.error).toMatchObject({
      code: "unknown_model",
      message: 'there is no model "gpt-none"',
    });
  });
});

/** A model of somebody's own, which does whatever it does. */
async function odd(stream: () => unknown) {
  const agent = defineAgent({ name: "main", instructions: "", model: { stream } as Model });
  return (await ended(await start(agent))).view;
}

const batch = (...events: unknown[]) =>
  async function* stream() {
    yield events;
  };
const failing = (error: unknown) => () => ({
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

describe("a model of somebody's own", () => {
  test.each([
    ["fails with a text", failing("no")],
    ["fails with nothing", failing(undefined)],
    ["fails with what has no text", failing(Object.create(null))],
    ["answers with a number", () => 7],
    ["streams null", batch(null)],
    ["tells of an item that is none", batch({ type: "response.output_item.added" })],
  ])(
    "that %s fails the task, and no more",
    async (_name, stream) => {
      const view = await odd(stream);
      expect(view.status).toBe("failed");
      expect(view.error?.code).toMatch(/^(?:model_failed|upstream_stream_truncated)$/);
    },
    10_000,
  );

  test("that tells an error as an event fails with its code", async () => {
    const view = await odd(batch({ type: "error", code: "invalid_prompt", message: "no" }));
    expect(view.error).toMatchObject({ code: "invalid_prompt", message: "no" });
  });

  test("that tells items only when they are done is understood", async () => {
    const thought = {
      type: "reasoning",
      id: "r1",
      summary: [{ type: "summary_text", text: "Hm." }],
    };
    const view = await odd(
      batch(
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

  test("that tells of an item twice is heard once", async () => {
    const added = { type: "response.output_item.added", item: { ...message, content: [] } };
    const done = { type: "response.output_item.done", item: message };
    const view = await odd(batch(added, added, done, done, completed));
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ text: "Hi." }] }]);
  });

  test("that tells a text with its end and without deltas is understood", async () => {
    const view = await odd(
      batch(
        { type: "response.output_item.added", item: { ...message, content: [] } },
        { type: "response.output_item.done", item: message },
        completed,
      ),
    );
    expect(view.output).toMatchObject([{ type: "message", block_list: [{ text: "Hi." }] }]);
  });

  test("that ends with other arguments than it told does not have them run", async () => {
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
    const { view } = await ended(
      await start(defineAgent({ name: "main", instructions: "", model, tools: [tool] })),
    );
    expect(ran).toBe(0);
    expect(resultsIn(view.output)).toMatchObject([{ status: "incomplete" }]);
  });

  test.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("no way back");
      },
    ],
    ["answers nothing", () => undefined],
    ["fails", () => Promise.reject(new Error("no way back"))],
  ])("whose stream %s when it is let go has said what it said", async (_what, letGo) => {
    const item = {
      type: "message",
      id: "m",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hello.", annotations: [] }],
    };
    const batch = [
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { usage: null } },
    ];
    const batches = { next: async () => ({ done: false, value: batch }), return: letGo };
    const model = {
      stream: () => ({ [Symbol.asyncIterator]: () => batches }),
    } as unknown as Model;
    const { view } = await ended(
      await start(defineAgent({ name: "main", instructions: "", model })),
    );
    expect(view).toMatchObject({
      status: "completed",
      output: [{ block_list: [{ text: "Hello." }] }],
    });
  });

  test("that counts its tokens in a strange way is counted as far as it goes", async () => {
    const view = await odd(
      batch({
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
