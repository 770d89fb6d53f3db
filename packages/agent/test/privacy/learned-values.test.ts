import { defineTool, ModelError, createMaskedModel, createMaskedTool } from "@deltawire/agent";
import type { Model, Vault, ToolContext } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import { StreamUnmasker } from "../../src/privacy/stream-unmasker.ts";
import { MemoryPlaceholders, splitAt, newVault } from "./private-texts.ts";

/*
 * "tiger" is a password and also an ordinary word, so only the complete word is masked. With letters that a model attaches to its
 * placeholder, it is a new value, which later requests must mask, too.
 */

async function createVaultWithPassword(): Promise<{ vault: Vault; store: MemoryPlaceholders }> {
  const store = new MemoryPlaceholders();
  const vault = newVault();
  vault.mask("password: tiger\nname: Ada Lovelace");
  await vault.storeNewPlaceholders(store);
  return { vault, store };
}

const signal = new AbortController().signal;

type Kind = "output_text" | "reasoning_summary_text" | "function_call_arguments";

function createReplyingModel(pieces: readonly string[], kind: Kind, error?: Error): Model {
  return {
    async *stream() {
      const delta = (text: string): JsonObject => ({
        type: `response.${kind}.delta`,
        item_id: "a",
        output_index: 0,
        delta: text,
      });
      for (const piece of pieces) yield [delta(piece)];
      if (error !== undefined) throw error;
    },
  };
}

/** Reads a reply, calling `onText` with the text so far after every event. Returns the text and the error. */
async function collectText(
  model: Model,
  onText: (text: string) => void,
): Promise<{ text: string; error: unknown }> {
  let text = "";
  try {
    for await (const batch of model.stream({ input: "go" }, signal))
      for (const event of batch) {
        text += (event as { delta: string }).delta;
        onText(text);
      }
  } catch (error) {
    return { text, error };
  }
  return { text, error: undefined };
}

describe("a value with letters attached by the model", () => {
  const password = "{{PASSWORD_1_x7f3}}";
  const replies = [
    [`It is ${password}2024, or ${password}s.`, "It is tiger2024, or tigers."],
    [`my${password} and ${password}${password}x!`, "mytiger and tigertigerx!"],
    [`{{ password_1_x7f3 }}ß and %7B%7BPASSWORD_1_x7f3%7D%7D9`, "tigerß and tiger9"],
    [`${password}${"q".repeat(900)} end`, `tiger${"q".repeat(900)} end`],
  ] as const;

  test.each(["output_text", "reasoning_summary_text"] as const)(
    "is stored before it is shown in %s, however the stream is split and whenever the process ends",
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...replies),
          fc.array(fc.nat(80), { maxLength: 30 }),
          async ([reply, expected], cuts) => {
            const { vault, store } = await createVaultWithPassword();
            const model = createMaskedModel(
              createReplyingModel(splitAt(reply, cuts), kind),
              vault,
              store,
            );
            const { text } = await collectText(model, (shownText) => {
              expect(store.maskInNewProcess(shownText)).not.toContain("tiger");
            });
            expect(text).toBe(expected);
          },
        ),
        { numRuns: 150 },
      );
    },
  );

  test("is stored before it is shown in the arguments of a call, even with escaped letters", async () => {
    const reply = String.raw`{"a":"${password}2024","b":"\n${password}\u00e9","c":"x\u00e9${password}"}`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(120), { maxLength: 30 }), async (cuts) => {
        const { vault, store } = await createVaultWithPassword();
        const pieces = splitAt(reply, cuts);
        const model = createMaskedModel(
          createReplyingModel(pieces, "function_call_arguments"),
          vault,
          store,
        );
        const { text } = await collectText(model, (shownText) => {
          expect(store.maskInNewProcess(shownText)).not.toContain("tiger");
        });
        expect(JSON.parse(text)).toEqual({ a: "tiger2024", b: "\ntigeré", c: "xétiger" });
        expect(store.maskInNewProcess(text)).not.toContain("tiger");
      }),
      { numRuns: 150 },
    );
  });

  test("is not shown if storing fails, and is stored before the next request is sent", async () => {
    for (const kind of ["output_text", "function_call_arguments"] as const) {
      const { vault, store } = await createVaultWithPassword();
      store.isFull = true;
      const pieces = ["It is ", password, "20", "24 ", "and more"];
      const { text, error } = await collectText(
        createMaskedModel(createReplyingModel(pieces, kind), vault, store),
        () => undefined,
      );
      expect([text, error]).toEqual(["It is ", new Error("the disk is full")]);
      let sentRequest = "";
      const next: Model = {
        async *stream(request) {
          sentRequest = JSON.stringify([request.input, store.stored.at(-1)?.value]);
          yield [];
        },
      };
      const later = createMaskedModel(next, vault, store);
      const send = () =>
        later.stream({ input: "tiger2024" }, signal)[Symbol.asyncIterator]().next();
      await expect(send()).rejects.toThrow("the disk is full");
      expect(sentRequest).toBe("");
      store.isFull = false;
      await send();
      expect(sentRequest).toBe('["{{PASSWORD_2_x7f3}}","tiger2024"]');
    }
  });

  test("is stored or not shown if the reply ends or fails in the middle of it", async () => {
    const failure = new ModelError("bad", `no ${password}7`);
    for (const error of [undefined, failure]) {
      const { vault, store } = await createVaultWithPassword();
      const broken = createReplyingModel(["so ", password, "20"], "output_text", error);
      const ended = await collectText(createMaskedModel(broken, vault, store), () => undefined);
      expect(ended.text).toBe("so tiger20");
      expect(store.maskInNewProcess(`${ended.text} ${String(ended.error)}`)).not.toContain("tiger");
    }
    const { vault, store } = await createVaultWithPassword();
    store.isFull = true;
    const broken = createReplyingModel(["so ", password, "20"], "output_text", failure);
    const { text, error } = await collectText(
      createMaskedModel(broken, vault, store),
      () => undefined,
    );
    expect([text, error]).toEqual(["so ", failure]);
  });

  test("is not shown if the answer is stopped before the word ends", async () => {
    const { vault, store } = await createVaultWithPassword();
    const stopping = new AbortController();
    let text = "";
    const endless: Model = {
      async *stream(_request, stop) {
        yield [{ type: "response.output_text.delta", item_id: "a", delta: `so ${password}20` }];
        await new Promise((_, reject) => {
          stop.addEventListener("abort", () => reject(new Error("stopped")));
          stopping.abort();
        });
      },
    };
    const run = (async () => {
      for await (const batch of createMaskedModel(endless, vault, store).stream(
        {},
        stopping.signal,
      ))
        for (const event of batch) text += (event as { delta: string }).delta;
    })();
    await expect(run).rejects.toThrow("stopped");
    expect(text).toBe("so ");
  });

  test("in the result of a tool with unmask: false is stored before the result is returned", async () => {
    const { vault, store } = await createVaultWithPassword();
    const echo = defineTool<{ text: string }>({
      name: "echo",
      description: "",
      unmask: false,
      run: ({ text }) => `${text}99`,
    });
    const tool = createMaskedTool(echo, vault, store);
    expect(await tool.run({ text: "tiger" }, {} as ToolContext)).toBe("tiger99");
    expect(store.maskInNewProcess("tiger99")).not.toContain("tiger");
    store.isFull = true;
    const other = tool.run({ text: "is tiger" }, {} as ToolContext);
    await expect(other).resolves.toBe("is tiger99"); // already learned
    const newTool = createMaskedTool({ ...echo, run: () => `${password}5` }, vault, store);
    await expect(newTool.run({ text: "" }, {} as ToolContext)).rejects.toThrow("the disk is full");
  });
});

test("a very long word is not held back, and takes time linear in its length", async () => {
  const { vault } = await createVaultWithPassword();
  const time = (count: number): number =>
    measureCpuTime(() => {
      const unmasker = new StreamUnmasker((text, before) => vault.unmask(text, before));
      let length = unmasker.push("{{PASSWORD_1_x7f3}}").length;
      for (let index = 0; index < count; index += 1) length += unmasker.push("abcde").length;
      expect(length + unmasker.end().length).toBe(5 + 5 * count);
    });
  time(10_000);
  expect(time(200_000)).toBeLessThan(2000);
});
