import { validateModelOptions, type ModelCapabilities } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { filterSupportedOptions, mergeOptions } from "../../src/options/model-options.ts";
import { fullCapabilities as ableToAct } from "../chats/capabilities.ts";

const reasoningCapabilities: ModelCapabilities = {
  ...ableToAct,
  efforts: ["low", "medium", "high"],
};

describe("merged options", () => {
  test("come from the last layer that sets them, also inside objects", () => {
    const merged = mergeOptions([
      { temperature: 1, reasoning: { effort: "low", summary: "auto" }, metadata: { a: "1" } },
      undefined,
      { temperature: 0.5, reasoning: { effort: "high" } },
      { metadata: { b: "2" } },
    ]);
    expect(merged).toEqual({
      temperature: 0.5,
      reasoning: { effort: "high", summary: "auto" },
      metadata: { a: "1", b: "2" },
    });
  });

  test("only omit null and undefined", () => {
    const set = { temperature: 0, user: "", parallel_tool_calls: false, stop: [], metadata: {} };
    expect(mergeOptions([{ ...set, top_p: null, service_tier: undefined }])).toEqual(set);
    expect(Object.keys(mergeOptions([{ top_p: null, user: undefined }]))).toEqual([]);
  });

  test("contain complete lists of one layer", () => {
    expect(mergeOptions([{ stop: ["a", "b", "c"] }, { stop: ["d", null] }])).toEqual({
      stop: ["d", null],
    });
  });

  test("omit what a later layer removed with null, unless another layer sets it again", () => {
    const below = { top_p: 0.9, reasoning: { effort: "high", summary: "auto" } };
    expect(mergeOptions([below, { top_p: null, reasoning: { effort: null } }])).toEqual({
      reasoning: { summary: "auto" },
    });
    expect(mergeOptions([below, { reasoning: null }])).toEqual({ top_p: 0.9 });
    expect(mergeOptions([below, { reasoning: null }, { reasoning: { effort: "low" } }])).toEqual({
      top_p: 0.9,
      reasoning: { effort: "low" },
    });
  });

  test("contain no objects in which only nulls remained", () => {
    expect(
      mergeOptions([{ reasoning: { effort: "low" } }, { reasoning: { effort: null } }]),
    ).toEqual({});
    expect(mergeOptions([{ media: { a: { b: null } } }])).toEqual({});
  });

  test("are not changed by undefined", () => {
    expect(mergeOptions([{ top_p: 0.9 }, { top_p: undefined }])).toEqual({ top_p: 0.9 });
  });

  test("never mix two response formats, and retain nulls in a schema", () => {
    const one = { type: "json_schema", name: "one", schema: { properties: { a: {} } } };
    const other = { type: "json_schema", name: "other", schema: { const: null } };
    expect(
      mergeOptions([{ text: { format: one, verbosity: "low" } }, { text: { format: other } }]),
    ).toEqual({ text: { format: other, verbosity: "low" } });
    expect(
      mergeOptions([
        { tool_choice: { type: "function", name: "a" } },
        { tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
      ]),
    ).toEqual({ tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } });
  });

  test("accept the names of the Chat wire, which override earlier layers", () => {
    const merged = mergeOptions([
      { max_output_tokens: 10, reasoning: { effort: "low", summary: "auto" } },
      {
        max_tokens: 20,
        reasoning_effort: "high",
        verbosity: "low",
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", schema: {}, strict: true },
        },
      },
    ]);
    expect(merged).toEqual({
      max_output_tokens: 20,
      reasoning: { effort: "high", summary: "auto" },
      text: {
        verbosity: "low",
        format: { type: "json_schema", name: "n", schema: {}, strict: true },
      },
    });
  });

  test("accept null under the names of the Chat wire", () => {
    const below = { max_output_tokens: 10, reasoning: { effort: "low" } };
    expect(mergeOptions([below, { max_tokens: null, reasoning_effort: null }])).toEqual({});
  });

  test("prefer the name of the Responses wire if a layer has both", () => {
    const both = {
      max_tokens: 1,
      max_completion_tokens: 2,
      max_output_tokens: 3,
      reasoning_effort: "low",
      reasoning: { effort: "high" },
    };
    expect(mergeOptions([both])).toEqual({ max_output_tokens: 3, reasoning: { effort: "high" } });
    expect(mergeOptions([{ max_tokens: 1, max_completion_tokens: 2 }])).toEqual({
      max_output_tokens: 2,
    });
  });

  test("do not change prototypes", () => {
    const evil = JSON.parse(
      '{"__proto__":{"bad":1},"constructor":{"prototype":{"bad":1}},"media":{"__proto__":{"bad":1}}}',
    );
    const merged = mergeOptions([{ media: { size: "1" } }, evil, evil]);
    expect(({} as Record<string, unknown>)["bad"]).toBeUndefined();
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(merged["bad"]).toBeUndefined();
    expect(JSON.stringify(merged)).toBe(
      '{"media":{"size":"1"},"constructor":{"prototype":{"bad":1}}}',
    );
  });

  test("are the same whether layers are merged in one or two steps, and the layers are not modified", () => {
    const value = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer()));
    const names = fc.constantFrom("temperature", "media", "max_tokens", "reasoning", "x");
    const inner = fc.dictionary(names, value);
    const layer = fc.dictionary(names, fc.oneof(value, inner));
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 4 }), fc.nat(4), (layers, cut) => {
        const before = JSON.stringify(layers);
        const stepwise = mergeOptions([mergeOptions(layers.slice(0, cut)), ...layers.slice(cut)]);
        expect(stepwise).toEqual(mergeOptions(layers));
        expect(JSON.stringify(layers)).toBe(before);
      }),
    );
  });
});

describe("supported options", () => {
  test("are all options for a model with all capabilities", () => {
    const options = { temperature: 1, reasoning: { effort: "low" }, tool_choice: "auto", seed: 1 };
    expect(filterSupportedOptions(options, reasoningCapabilities)).toEqual({
      options,
      notices: [],
    });
  });

  test("have no reasoning for a model that does not reason, with a notice", () => {
    const plain = { ...reasoningCapabilities, efforts: [] };
    expect(filterSupportedOptions({ reasoning: { effort: "low" }, top_p: 1 }, plain)).toEqual({
      options: { top_p: 1 },
      notices: ["Not sent: reasoning. This model does not reason."],
    });
    expect(filterSupportedOptions({ reasoning: { effort: "none" } }, plain)).toEqual({
      options: {},
      notices: [],
    });
  });

  test("have no unsupported effort, but the other reasoning options", () => {
    const { options, notices } = filterSupportedOptions(
      { reasoning: { effort: "max", summary: "auto" } },
      reasoningCapabilities,
    );
    expect(options).toEqual({ reasoning: { summary: "auto" } });
    expect(notices).toEqual([
      'Not sent: reasoning effort "max". This model supports low, medium, high.',
    ]);
    expect(
      filterSupportedOptions({ reasoning: { effort: "max" } }, reasoningCapabilities).options,
    ).toEqual({});
  });

  test("have no tool options for a model without tools", () => {
    const options = { tool_choice: "required", parallel_tool_calls: false, temperature: 0 };
    expect(filterSupportedOptions(options, { ...reasoningCapabilities, tools: false })).toEqual({
      options: { temperature: 0 },
      notices: ["Not sent: tool_choice, parallel_tool_calls. This model cannot call tools."],
    });
  });

  test("have no parameter that the server does not support, with a notice for each", () => {
    const options = {
      temperature: 0,
      seed: 1,
      text: { verbosity: "low", format: { type: "text" } },
      reasoning: { effort: "low" },
    };
    const unsupportedOptions = [
      "temperature",
      "text.verbosity",
      "reasoning.effort",
      "stop",
      "seed.of",
    ];
    const before = JSON.stringify(options);
    expect(
      filterSupportedOptions(
        options,
        { ...reasoningCapabilities, unsupported_options: unsupportedOptions },
        "kimi/k2",
      ),
    ).toEqual({
      options: { seed: 1, text: { format: { type: "text" } } },
      notices: [
        "temperature is not supported by kimi/k2 and was not sent",
        "text.verbosity is not supported by kimi/k2 and was not sent",
        "reasoning.effort is not supported by kimi/k2 and was not sent",
      ],
    });
    expect(JSON.stringify(options)).toBe(before);
  });

  test("have one notice per dropped option, even with several reasons", () => {
    const plain = {
      ...reasoningCapabilities,
      tools: false,
      efforts: [],
      unsupported_options: ["reasoning.effort", "tool_choice"],
    };
    const { notices } = filterSupportedOptions(
      { reasoning: { effort: "low" }, tool_choice: "auto" },
      plain,
    );
    expect(notices).toHaveLength(2);
    expect(filterSupportedOptions({ reasoning: { effort: "none" } }, plain).notices).toEqual([]);
  });

  test("are only media options for media models, and all others for chat models", () => {
    const options = { temperature: 0, media: { size: "1024x1024" } };
    const image = filterSupportedOptions(options, { ...reasoningCapabilities, type: "image-gen" });
    expect(image.options).toEqual({ media: { size: "1024x1024" } });
    expect(image.notices).toEqual([
      "Not sent: temperature. This kind of model only supports media options.",
    ]);
    const chat = filterSupportedOptions(options, reasoningCapabilities);
    expect(chat.options).toEqual({ temperature: 0 });
    expect(chat.notices).toHaveLength(1);
  });
});

describe("validateModelOptions", () => {
  test("reports every reserved name and nothing else", () => {
    const never =
      "model input messages instructions tools stream store include previous_response_id background conversation prompt stream_options client_metadata n";
    for (const name of never.split(" "))
      expect(validateModelOptions({ [name]: 1, temperature: 1 })).toEqual([
        `${name}: cannot be set here`,
      ]);
    expect(validateModelOptions({ temperature: 1, made_up: { a: [1] }, top_p: null })).toEqual([]);
  });

  test("reports values that are not objects or are nested too deeply", () => {
    for (const value of [null, undefined, "a", 1, []])
      expect(validateModelOptions(value)).toEqual(["expected an object"]);
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
    expect(validateModelOptions(deep)).toEqual(["a: nested more than 64 levels deep"]);
  });
});
