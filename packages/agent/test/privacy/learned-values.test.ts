import { defineTool, ModelError, maskedModel, maskedTool } from "@deltawire/agent";
import type { Model, Vault, ToolContext } from "@deltawire/agent";
import type { Placeholder } from "@deltawire/tasks/chats";
import type { JsonObject } from "@deltawire/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { StreamUnmasker } from "../../src/privacy/unmask-stream.ts";
import { cutAt, everyKind, newVault } from "./private-texts.ts";

/*
 * "tiger" is a password, and an ordinary word: it is masked as a word of its own only. With the letters that a model writes
 * onto its placeholder it is another value, which a later request has to mask.
 */

/** What another process would know. */
class Store {
  readonly kept: Placeholder[] = [];
  isFull = false;

  readonly keep = async (fresh: readonly Placeholder[]): Promise<void> => {
    await Promise.resolve();
    if (this.isFull) throw new Error("the disk is full");
    this.kept.push(...fresh);
  };

  /** A text of the log, as the process that starts next would send it. */
  maskedLater(text: string): string {
    return newVault(everyKind, this.kept).maskJson(text);
  }
}

async function knowing(): Promise<{ vault: Vault; store: Store }> {
  const store = new Store();
  const vault = newVault();
  vault.mask("password: tiger\nname: Ada Lovelace");
  await vault.keepFresh(store.keep);
  return { vault, store };
}

const signal = new AbortController().signal;

type Kind = "output_text" | "reasoning_summary_text" | "function_call_arguments";

function saying(pieces: readonly string[], kind: Kind, error?: Error): Model {
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

/** What was shown after every piece of a reply, and how it ended. */
async function shown(
  model: Model,
  look: (text: string) => void,
): Promise<{ text: string; error: unknown }> {
  let text = "";
  try {
    for await (const batch of model.stream({ input: "go" }, signal))
      for (const event of batch) {
        text += (event as { delta: string }).delta;
        look(text);
      }
  } catch (error) {
    return { text, error };
  }
  return { text, error: undefined };
}

describe("a word that a reply makes of a value", () => {
  const password = "{{PASSWORD_1_x7f3}}";
  const words = [
    [`It is ${password}2024, or ${password}s.`, "It is tiger2024, or tigers."],
    [`my${password} and ${password}${password}x!`, "mytiger and tigertigerx!"],
    [`{{ password_1_x7f3 }}ß and %7B%7BPASSWORD_1_x7f3%7D%7D9`, "tigerß and tiger9"],
    [`${password}${"q".repeat(900)} end`, `tiger${"q".repeat(900)} end`],
  ] as const;

  test.each(["output_text", "reasoning_summary_text"] as const)(
    "is stored before anybody sees it, wherever the %s is cut and whenever the process ends",
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...words),
          fc.array(fc.nat(80), { maxLength: 30 }),
          async ([said, meant], cuts) => {
            const { vault, store } = await knowing();
            const model = maskedModel(saying(cutAt(said, cuts), kind), vault, store.keep);
            const { text } = await shown(model, (sofar) => {
              expect(store.maskedLater(sofar)).not.toContain("tiger");
            });
            expect(text).toBe(meant);
          },
        ),
        { numRuns: 150 },
      );
    },
  );

  test("is stored before the arguments of a call have it, also with letters that are escaped", async () => {
    const said = String.raw`{"a":"${password}2024","b":"\n${password}\u00e9","c":"x\u00e9${password}"}`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(120), { maxLength: 30 }), async (cuts) => {
        const { vault, store } = await knowing();
        const pieces = cutAt(said, cuts);
        const model = maskedModel(saying(pieces, "function_call_arguments"), vault, store.keep);
        const { text } = await shown(model, (sofar) => {
          expect(store.maskedLater(sofar)).not.toContain("tiger");
        });
        expect(JSON.parse(text)).toEqual({ a: "tiger2024", b: "\ntigeré", c: "xétiger" });
        expect(store.maskedLater(text)).not.toContain("tiger");
      }),
      { numRuns: 150 },
    );
  });

  test("is not shown where it cannot be stored, and is stored before anything is sent later", async () => {
    for (const kind of ["output_text", "function_call_arguments"] as const) {
      const { vault, store } = await knowing();
      store.isFull = true;
      const pieces = ["It is ", password, "20", "24 ", "and more"];
      const { text, error } = await shown(
        maskedModel(saying(pieces, kind), vault, store.keep),
        () => undefined,
      );
      expect([text, error]).toEqual(["It is ", new Error("the disk is full")]);
      let asked = "";
      const next: Model = {
        async *stream(request) {
          asked = JSON.stringify([request.input, store.kept.at(-1)?.value]);
          yield [];
        },
      };
      const later = maskedModel(next, vault, store.keep);
      const send = () =>
        later.stream({ input: "tiger2024" }, signal)[Symbol.asyncIterator]().next();
      await expect(send()).rejects.toThrow("the disk is full");
      expect(asked).toBe("");
      store.isFull = false;
      await send();
      expect(asked).toBe('["{{PASSWORD_2_x7f3}}","tiger2024"]');
    }
  });

  test("is stored, or not shown, where a reply breaks off or fails in the middle of it", async () => {
    const failure = new ModelError("bad", `no ${password}7`);
    for (const error of [undefined, failure]) {
      const { vault, store } = await knowing();
      const broken = saying(["so ", password, "20"], "output_text", error);
      const ended = await shown(maskedModel(broken, vault, store.keep), () => undefined);
      expect(ended.text).toBe("so tiger20");
      expect(store.maskedLater(`${ended.text} ${String(ended.error)}`)).not.toContain("tiger");
    }
    const { vault, store } = await knowing();
    store.isFull = true;
    const broken = saying(["so ", password, "20"], "output_text", failure);
    const { text, error } = await shown(maskedModel(broken, vault, store.keep), () => undefined);
    expect([text, error]).toEqual(["so ", failure]);
  });

  test("is not shown when the answer is stopped before its end", async () => {
    const { vault, store } = await knowing();
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
      for await (const batch of maskedModel(endless, vault, store.keep).stream({}, stopping.signal))
        for (const event of batch) text += (event as { delta: string }).delta;
    })();
    await expect(run).rejects.toThrow("stopped");
    expect(text).toBe("so ");
  });

  test("of a tool that gets placeholders is stored before its result is", async () => {
    const { vault, store } = await knowing();
    const echo = defineTool<{ text: string }>({
      name: "echo",
      description: "",
      unmask: false,
      run: ({ text }) => `${text}99`,
    });
    const tool = maskedTool(echo, vault, store.keep);
    expect(await tool.run({ text: "tiger" }, {} as ToolContext)).toBe("tiger99");
    expect(store.maskedLater("tiger99")).not.toContain("tiger");
    store.isFull = true;
    const other = tool.run({ text: "is tiger" }, {} as ToolContext);
    await expect(other).resolves.toBe("is tiger99"); // known by now
    const fresh = maskedTool({ ...echo, run: () => `${password}5` }, vault, store.keep);
    await expect(fresh.run({ text: "" }, {} as ToolContext)).rejects.toThrow("the disk is full");
  });
});

test("a word without an end is passed on, in time in proportion to its length", async () => {
  const { vault } = await knowing();
  const time = (count: number): number =>
    workTime(() => {
      const unmasker = new StreamUnmasker((text, before) => vault.unmask(text, before));
      let length = unmasker.push("{{PASSWORD_1_x7f3}}").length;
      for (let at = 0; at < count; at += 1) length += unmasker.push("abcde").length;
      expect(length + unmasker.end().length).toBe(5 + 5 * count);
    });
  time(10_000);
  expect(time(200_000)).toBeLessThan(2000);
});
