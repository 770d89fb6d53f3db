import { ModelError, type Model } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { workTime } from "../../../../test/work-time.ts";
import { askForTitle, cleanTitle, titleInstructions, titleRequest } from "../../src/chats/title.ts";
import { scriptedModel } from "../scripted-model.ts";

const words = { user: "How do I bake bread?", answer: "With flour." };
const open = (): AbortSignal => new AbortController().signal;

describe("a title is asked for", () => {
  test("with the first words of both sides, and no more of them than needed", () => {
    const { instructions, input } = titleRequest({ user: "😀".repeat(5000), answer: " yes " });
    expect(instructions).toBe(titleInstructions);
    expect(titleInstructions).toContain("title for this conversation");
    const [message] = input;
    if (message?.type !== "message" || typeof message.content !== "string")
      throw new Error("one message");
    expect(message.content).toContain("\nyes\n");
    expect(message.content.length).toBeLessThan(2_200);
    expect(message.content.isWellFormed()).toBe(true);
  });

  test("and the whole reply is its title, with what it cost", async () => {
    const model = scriptedModel([[{ reasoning: "hm" }, { text: ['"Baking', ' bread."'] }]]);
    const { title, usage } = await askForTitle(model, "m", words, open());
    expect(title).toBe("Baking bread");
    expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    expect(model.asked).toHaveLength(1);
    expect(model.asked[0]).toMatchObject({
      model: "m",
      instructions: titleInstructions,
      store: false,
      stream: true,
    });
    expect(model.asked[0]?.tools).toBeUndefined();
    expect(model.open).toBe(0);
  });

  test("in vain where the model says nothing: the title is empty, and what it cost is told", async () => {
    const model = scriptedModel([[{ reasoning: "hm" }]]);
    const { title, usage } = await askForTitle(model, "m", words, open());
    expect(title).toBe("");
    expect(usage).toMatchObject({ total_tokens: 15 });
  });

  test("in vain where the model refuses or breaks off", async () => {
    const refused = scriptedModel([[{ error: new ModelError("rate_limit", "slow down") }]]);
    await expect(askForTitle(refused, "m", words, open())).rejects.toThrow("slow down");
    const cut = scriptedModel([[{ text: "Half a ti" }, { cut: true }]]);
    await expect(askForTitle(cut, "m", words, open())).rejects.toMatchObject({
      name: "ModelError",
      code: "upstream_stream_truncated",
    });
  });

  test("until the signal, and the model's stream is closed then", async () => {
    const model = scriptedModel([[{ text: "A" }, { wait: new Promise(() => undefined) }]]);
    await expect(askForTitle(model, "m", words, AbortSignal.timeout(30))).rejects.toThrow(
      "stopped",
    );
    await expect.poll(() => model.open).toBe(0);
  });

  test("until the signal also of a model that does not listen to it", async () => {
    const deaf: Model = {
      async *stream() {
        await new Promise(() => undefined);
        yield [];
      },
    };
    await expect(askForTitle(deaf, "m", words, AbortSignal.timeout(30))).rejects.toThrow("stopped");
  });
});

describe("a title becomes one short line", () => {
  test.each([
    ["  Baking bread\n", "Baking bread"],
    ['"Baking bread"', "Baking bread"],
    ["“Baking bread.”", "Baking bread"],
    ["„Brot backen“", "Brot backen"],
    ["「做面包」", "做面包"],
    ["标题：做面包。", "做面包"],
    ["**Baking bread**", "Baking bread"],
    ['**"Baking bread."**', "Baking bread"],
    ["# Title: *Baking* bread", "Baking bread"],
    ["- `npm install` fails", "npm install fails"],
    ["[Baking](https://example.org) bread", "Baking bread"],
    ["```\nBaking bread\n```", "Baking bread"],
    ["Baking bread\n\nThis title says it all.", "Baking bread"],
    ["<think>What is it\nabout?</think>\n\nBaking bread", "Baking bread"],
    ["What is it about?</think>Baking bread", "Baking bread"],
    ["<think>What is it about?", ""],
    ['The meaning of "bread"', 'The meaning of "bread"'],
    ['"Bread" and "butter"', '"Bread" and "butter"'],
    ["Why snake_case_names or 2*3*4?", "Why snake_case_names or 2*3*4?"],
    ["Baking\tbread\u0007", "Baking bread"],
    ["...", ""],
    ["", ""],
  ])("%j is %j", (text, title) => {
    expect(cleanTitle(text)).toBe(title);
  });

  test("that ends with a word where it is too long", () => {
    const title = cleanTitle("bread ".repeat(40));
    expect(title).toMatch(/^(?:bread )+bread…$/);
    expect(title.length).toBeLessThanOrEqual(80);
  });

  test("of whole characters, at most 80, and clean already when it is cleaned again", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("😀", "**", "_", '"', "'", "`", ".", "\n", " ", "# ", "<think>", "</think>"),
      fc.constantFrom("Title:", "“", "”", "[a](b)", "- ", "word ", "x".repeat(50)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const title = cleanTitle(pieces.join(""));
        expect(title.length).toBeLessThanOrEqual(80);
        expect(title).not.toMatch(/[\r\n]/);
        expect(title.isWellFormed()).toBe(true);
        expect(title).not.toMatch(/\.$/);
        expect(cleanTitle(title)).toBe(title);
      }),
      { numRuns: 2000 },
    );
  });

  test("in no time, whatever a model answers", () => {
    for (const text of [
      "*_".repeat(50_000),
      "[".repeat(100_000),
      "<think>".repeat(20_000),
      "` ".repeat(50_000),
    ])
      expect(workTime(() => cleanTitle(text))).toBeLessThan(500);
  });
});
