import { ModelError, type Model } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureCpuTime } from "../../../../test/cpu-time.ts";
import {
  requestTitle,
  cleanTitle,
  titleInstructions,
  buildTitleRequest,
} from "../../src/chats/title-request.ts";
import { scriptedModel } from "../scripted-model.ts";

const firstTurn = { user: "How do I bake bread?", answer: "With flour." };
const createSignal = (): AbortSignal => new AbortController().signal;

describe("a title request", () => {
  test("contains the start of the first message and the first answer", () => {
    const { instructions, input } = buildTitleRequest({ user: "😀".repeat(5000), answer: " yes " });
    expect(instructions).toBe(titleInstructions);
    expect(titleInstructions).toContain("title for this conversation");
    const [message] = input;
    if (message?.type !== "message" || typeof message.content !== "string")
      throw new Error("expected one message with a string as content");
    expect(message.content).toContain("\nyes\n");
    expect(message.content.length).toBeLessThan(2_200);
    expect(message.content.isWellFormed()).toBe(true);
  });

  test("returns the title with its usage", async () => {
    const model = scriptedModel([[{ reasoning: "hm" }, { text: ['"Baking', ' bread."'] }]]);
    const { title, usage } = await requestTitle(model, "m", firstTurn, createSignal());
    expect(title).toBe("Baking bread");
    expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 5 });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]).toMatchObject({
      model: "m",
      instructions: titleInstructions,
      store: false,
      stream: true,
    });
    expect(model.requests[0]?.tools).toBeUndefined();
    expect(model.openStreams).toBe(0);
  });

  test("without output returns an empty title with its usage", async () => {
    const model = scriptedModel([[{ reasoning: "hm" }]]);
    const { title, usage } = await requestTitle(model, "m", firstTurn, createSignal());
    expect(title).toBe("");
    expect(usage).toMatchObject({ total_tokens: 15 });
  });

  test("rejects if the model fails or its reply is incomplete", async () => {
    const rejected = scriptedModel([[{ error: new ModelError("rate_limit", "slow down") }]]);
    await expect(requestTitle(rejected, "m", firstTurn, createSignal())).rejects.toThrow(
      "slow down",
    );
    const cut = scriptedModel([[{ text: "Half a ti" }, { cut: true }]]);
    await expect(requestTitle(cut, "m", firstTurn, createSignal())).rejects.toMatchObject({
      name: "ModelError",
      code: "upstream_stream_truncated",
    });
  });

  test("is aborted by the signal, and the model's stream is closed", async () => {
    const model = scriptedModel([[{ text: "A" }, { wait: new Promise(() => undefined) }]]);
    await expect(requestTitle(model, "m", firstTurn, AbortSignal.timeout(30))).rejects.toThrow(
      "stopped",
    );
    await expect.poll(() => model.openStreams).toBe(0);
  });

  test("is also aborted if the model ignores the signal", async () => {
    const deaf: Model = {
      async *stream() {
        await new Promise(() => undefined);
        yield [];
      },
    };
    await expect(requestTitle(deaf, "m", firstTurn, AbortSignal.timeout(30))).rejects.toThrow(
      "stopped",
    );
  });
});

describe("cleaning a title", () => {
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
  ])("turns %j into %j", (text, title) => {
    expect(cleanTitle(text)).toBe(title);
  });

  test("truncates a long title after a word", () => {
    const title = cleanTitle("bread ".repeat(40));
    expect(title).toMatch(/^(?:bread )+bread…$/);
    expect(title.length).toBeLessThanOrEqual(80);
  });

  test("returns at most 80 characters without lone surrogates, and is idempotent", () => {
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

  test("is fast for any reply", () => {
    for (const text of [
      "*_".repeat(50_000),
      "[".repeat(100_000),
      "<think>".repeat(20_000),
      "` ".repeat(50_000),
    ])
      expect(measureCpuTime(() => cleanTitle(text))).toBeLessThan(500);
  });
});
