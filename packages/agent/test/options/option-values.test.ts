import { checkOptions } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { misspelled } from "../../src/options/misspelled.ts";

describe("the values of options", () => {
  test.each<[JsonObject, string]>([
    [{ temperature: "hot" }, "temperature: expected a number from 0 to 2"],
    [{ temperature: 2.1 }, "temperature: expected a number from 0 to 2"],
    [{ top_p: -0.1 }, "top_p: expected a number from 0 to 1"],
    [{ presence_penalty: 3 }, "presence_penalty: expected a number from -2 to 2"],
    [{ max_output_tokens: 0 }, "max_output_tokens: expected a whole number, 1 or more"],
    [{ max_tokens: 1.5 }, "max_tokens: expected a whole number, 1 or more"],
    [{ max_completion_tokens: "9" }, "max_completion_tokens: expected a whole number, 1 or more"],
    [{ parallel_tool_calls: "yes" }, "parallel_tool_calls: expected true or false"],
    [{ reasoning: "high" }, "reasoning: expected an object"],
    [{ reasoning: { effort: 3 } }, "reasoning.effort: expected a text"],
    [{ reasoning_effort: 3 }, "reasoning_effort: expected a text"],
    [{ text: { format: "json" } }, "text.format: expected an object with a type"],
    [{ response_format: {} }, "response_format: expected an object with a type"],
    [{ stop: [1] }, "stop: expected a text or a list of texts"],
    [{ media: [] }, "media: expected an object"],
  ])("%j are refused by their path", (options, problem) => {
    expect(checkOptions(options)).toEqual([problem]);
  });

  test("of tool_choice are three words, or an object that says what it is", () => {
    for (const choice of ["always", 1, {}, { type: 1 }, ["auto"]])
      expect(checkOptions({ tool_choice: choice })).toEqual([
        expect.stringMatching(/^tool_choice: expected "auto", "none", "required", or an object/),
      ]);
    for (const choice of ["auto", "none", "required", { type: "function", name: "say" }])
      expect(checkOptions({ tool_choice: choice })).toEqual([]);
  });

  test("that are right, at the edges, or null are kept, and so are names of providers", () => {
    const right: JsonObject[] = [
      { temperature: 0, top_p: 1, frequency_penalty: -2, max_output_tokens: 1 },
      { temperature: null, reasoning: null, text: { format: null }, tool_choice: null },
      { reasoning: { effort: "high", summary: "auto", exclude: true, max_tokens: 5 } },
      { stop: ["a"], metadata: {}, user: "", verbosity: "low" },
      { top_k: 40, min_p: 0.1, min_tokens: 1, seed: 1, repeat_penalty: 1.1, num_ctx: 4096 },
      { thinking: { type: "enabled" }, provider: { order: [] }, models: ["a"], think: true },
    ];
    for (const options of right) expect(checkOptions(options)).toEqual([]);
  });

  test.each([
    ["temperatur", "temperature"],
    ["Temperature", "temperature"],
    ["topP", "top_p"],
    ["maxOutputTokens", "max_output_tokens"],
    ["max_ouput_tokens", "max_output_tokens"],
    ["reasoning_efort", "reasoning_effort"],
  ])("%s is taken for a slip of %s", (typed, meant) => {
    expect(checkOptions({ [typed]: 1 })).toEqual([
      `${typed}: is no parameter; did you mean ${meant}?`,
    ]);
  });

  test("have slips within them too", () => {
    expect(checkOptions({ reasoning: { efforts: "low" } })).toEqual([
      "reasoning.efforts: is no parameter; did you mean effort?",
    ]);
  });
});

test("of two names that are near the nearer one is meant, and short words are words of their own", () => {
  expect(misspelled("max_tokenss", ["min_tokens", "max_tokens"])).toBe("max_tokens");
  expect(misspelled("top_k", ["top_p"])).toBeUndefined();
  expect(misspelled("TOP-P", ["top_p"])).toBe("top_p");
  expect(misspelled("something_else", ["temperature"])).toBeUndefined();
});
