import { checkOptions, type ModelAbilities } from "@deltawire/agent";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fitOptions, mergeOptions } from "../../src/options/model-options.ts";
import { able as ableToAct } from "../chats/abilities.ts";

const able: ModelAbilities = { ...ableToAct, efforts: ["low", "medium", "high"] };

describe("merged options", () => {
  test("are those of the last layer that says something, inside objects too", () => {
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

  test("lose nothing but null and undefined", () => {
    const set = { temperature: 0, user: "", parallel_tool_calls: false, stop: [], metadata: {} };
    expect(mergeOptions([{ ...set, top_p: null, service_tier: undefined }])).toEqual(set);
    expect(Object.keys(mergeOptions([{ top_p: null, user: undefined }]))).toEqual([]);
  });

  test("have lists of one layer, whole", () => {
    expect(mergeOptions([{ stop: ["a", "b", "c"] }, { stop: ["d", null] }])).toEqual({
      stop: ["d", null],
    });
  });

  test("do without what a later layer took out with null, and a layer after that may set it again", () => {
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

  test("have no object of which only nulls were left", () => {
    expect(
      mergeOptions([{ reasoning: { effort: "low" } }, { reasoning: { effort: null } }]),
    ).toEqual({});
    expect(mergeOptions([{ media: { a: { b: null } } }])).toEqual({});
  });

  test("are not touched by undefined", () => {
    expect(mergeOptions([{ top_p: 0.9 }, { top_p: undefined }])).toEqual({ top_p: 0.9 });
  });

  test("never mix two formats of the answer, and keep the nulls of a schema", () => {
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

  test("know what Chat calls the same, and set it over what earlier layers say", () => {
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

  test("take a null of Chat's names for one of their own", () => {
    const below = { max_output_tokens: 10, reasoning: { effort: "low" } };
    expect(mergeOptions([below, { max_tokens: null, reasoning_effort: null }])).toEqual({});
  });

  test("go by the name of the Responses wire where one layer has both", () => {
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

  test("change no prototype", () => {
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

  test("are the same whether layers are merged at once or in two steps, and leave the layers alone", () => {
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

describe("options that fit a model", () => {
  test("are all of them for one that can do everything", () => {
    const options = { temperature: 1, reasoning: { effort: "low" }, tool_choice: "auto", seed: 1 };
    expect(fitOptions(options, able)).toEqual({ options, notices: [] });
  });

  test("have no reasoning where the model does not reason, and say so", () => {
    const plain = { ...able, efforts: [] };
    expect(fitOptions({ reasoning: { effort: "low" }, top_p: 1 }, plain)).toEqual({
      options: { top_p: 1 },
      notices: ["Left out: reasoning. This model does not reason."],
    });
    expect(fitOptions({ reasoning: { effort: "none" } }, plain)).toEqual({
      options: {},
      notices: [],
    });
  });

  test("have no effort that the model does not know, but what else there is of reasoning", () => {
    const { options, notices } = fitOptions(
      { reasoning: { effort: "max", summary: "auto" } },
      able,
    );
    expect(options).toEqual({ reasoning: { summary: "auto" } });
    expect(notices).toEqual([
      'Left out: the reasoning effort "max". This model knows low, medium, high.',
    ]);
    expect(fitOptions({ reasoning: { effort: "max" } }, able).options).toEqual({});
  });

  test("say nothing of tools to a model that calls none", () => {
    const asked = { tool_choice: "required", parallel_tool_calls: false, temperature: 0 };
    expect(fitOptions(asked, { ...able, tools: false })).toEqual({
      options: { temperature: 0 },
      notices: ["Left out: tool_choice, parallel_tool_calls. This model cannot call tools."],
    });
  });

  test("have nothing that the model's server does not take, and each is named", () => {
    const asked = {
      temperature: 0,
      seed: 1,
      text: { verbosity: "low", format: { type: "text" } },
      reasoning: { effort: "low" },
    };
    const refuses = ["temperature", "text.verbosity", "reasoning.effort", "stop", "seed.of"];
    const before = JSON.stringify(asked);
    expect(fitOptions(asked, { ...able, refuses }, "kimi/k2")).toEqual({
      options: { seed: 1, text: { format: { type: "text" } } },
      notices: [
        "temperature is not taken by kimi/k2: left out",
        "text.verbosity is not taken by kimi/k2: left out",
        "reasoning.effort is not taken by kimi/k2: left out",
      ],
    });
    expect(JSON.stringify(asked)).toBe(before);
  });

  test("are said once to be left out, whatever the reasons are", () => {
    const plain = {
      ...able,
      tools: false,
      efforts: [],
      refuses: ["reasoning.effort", "tool_choice"],
    };
    const { notices } = fitOptions({ reasoning: { effort: "low" }, tool_choice: "auto" }, plain);
    expect(notices).toHaveLength(2);
    expect(fitOptions({ reasoning: { effort: "none" } }, plain).notices).toEqual([]);
  });

  test("are those for media alone where the model makes media, and all but those elsewhere", () => {
    const asked = { temperature: 0, media: { size: "1024x1024" } };
    const image = fitOptions(asked, { ...able, type: "image-gen" });
    expect(image.options).toEqual({ media: { size: "1024x1024" } });
    expect(image.notices).toEqual([
      "Left out: temperature. Only media options are for a model of this kind.",
    ]);
    const chat = fitOptions(asked, able);
    expect(chat.options).toEqual({ temperature: 0 });
    expect(chat.notices).toHaveLength(1);
  });
});

describe("a check of options", () => {
  test("finds every name that nobody may set, and nothing else", () => {
    const never =
      "model input messages instructions tools stream store include previous_response_id background conversation prompt stream_options client_metadata n";
    for (const name of never.split(" "))
      expect(checkOptions({ [name]: 1, temperature: 1 })).toEqual([`${name}: cannot be set here`]);
    expect(checkOptions({ temperature: 1, made_up: { a: [1] }, top_p: null })).toEqual([]);
  });

  test("finds what is no object, and what is nested too deeply", () => {
    for (const value of [null, undefined, "a", 1, []])
      expect(checkOptions(value)).toEqual(["expected an object"]);
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`);
    expect(checkOptions(deep)).toEqual(["a: nested more than 64 levels deep"]);
  });
});
