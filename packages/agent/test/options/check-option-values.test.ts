import { validateModelOptions } from "@deltawire/agent";
import type { JsonObject } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { suggestName } from "../../src/options/suggest-name.ts";

describe("validating model options", () => {
  test.each<[JsonObject, string]>([
    [{ temperature: "hot" }, "temperature: expected a number from 0 to 2"],
    [{ temperature: 2.1 }, "temperature: expected a number from 0 to 2"],
    [{ top_p: -0.1 }, "top_p: expected a number from 0 to 1"],
    [{ presence_penalty: 3 }, "presence_penalty: expected a number from -2 to 2"],
    [{ max_output_tokens: 0 }, "max_output_tokens: expected an integer of at least 1"],
    [{ max_tokens: 1.5 }, "max_tokens: expected an integer of at least 1"],
    [{ max_completion_tokens: "9" }, "max_completion_tokens: expected an integer of at least 1"],
    [{ parallel_tool_calls: "yes" }, "parallel_tool_calls: expected true or false"],
    [{ reasoning: "high" }, "reasoning: expected an object"],
    [{ reasoning: { effort: 3 } }, "reasoning.effort: expected a string"],
    [{ reasoning_effort: 3 }, "reasoning_effort: expected a string"],
    [{ text: { format: "json" } }, "text.format: expected an object with a type"],
    [{ response_format: {} }, "response_format: expected an object with a type"],
    [{ stop: [1] }, "stop: expected a string or a list of strings"],
    [{ media: [] }, "media: expected an object"],
  ])("rejects %j: %s", (options, problem) => {
    expect(validateModelOptions(options)).toEqual([problem]);
  });

  test("accepts only auto, none, required and objects with a type as tool_choice", () => {
    for (const choice of ["always", 1, {}, { type: 1 }, ["auto"]])
      expect(validateModelOptions({ tool_choice: choice })).toEqual([
        expect.stringMatching(/^tool_choice: expected "auto", "none", "required", or an object/),
      ]);
    for (const choice of ["auto", "none", "required", { type: "function", name: "say" }])
      expect(validateModelOptions({ tool_choice: choice })).toEqual([]);
  });

  test("accepts valid values, limits, null, and parameters of providers", () => {
    const validOptions: JsonObject[] = [
      { temperature: 0, top_p: 1, frequency_penalty: -2, max_output_tokens: 1 },
      { temperature: null, reasoning: null, text: { format: null }, tool_choice: null },
      { reasoning: { effort: "high", summary: "auto", exclude: true, max_tokens: 5 } },
      { stop: ["a"], metadata: {}, user: "", verbosity: "low" },
      { top_k: 40, min_p: 0.1, min_tokens: 1, seed: 1, repeat_penalty: 1.1, num_ctx: 4096 },
      { thinking: { type: "enabled" }, provider: { order: [] }, models: ["a"], think: true },
    ];
    for (const options of validOptions) expect(validateModelOptions(options)).toEqual([]);
  });

  test.each([
    ["temperatur", "temperature"],
    ["Temperature", "temperature"],
    ["topP", "top_p"],
    ["maxOutputTokens", "max_output_tokens"],
    ["max_ouput_tokens", "max_output_tokens"],
    ["reasoning_efort", "reasoning_effort"],
  ])("rejects the name %s, which resembles %s", (typed, meant) => {
    expect(validateModelOptions({ [typed]: 1 })).toEqual([
      `${typed}: unknown parameter (did you mean ${meant}?)`,
    ]);
  });

  test("rejects a nested name that resembles a known one", () => {
    expect(validateModelOptions({ reasoning: { efforts: "low" } })).toEqual([
      "reasoning.efforts: unknown parameter (did you mean effort?)",
    ]);
  });
});

test("suggestName returns the closest name, or nothing if no name is close enough", () => {
  expect(suggestName("max_tokenss", ["min_tokens", "max_tokens"])).toBe("max_tokens");
  expect(suggestName("top_k", ["top_p"])).toBeUndefined();
  expect(suggestName("TOP-P", ["top_p"])).toBe("top_p");
  expect(suggestName("something_else", ["temperature"])).toBeUndefined();
});
