import {
  genericProfile,
  findProviderProfile,
  withProfileFlags,
  type UpstreamProfile,
} from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import type { UpstreamConfig } from "../src/config/config.ts";
import { LessonRegistry } from "../src/learning/lesson-registry.ts";
import { getModelCapabilities } from "../src/models/model-capabilities.ts";
import { createAlias, createConfig, createUpstream } from "./models-config.ts";

const config = createConfig(
  { zai: ["glm-4.6", "glm-4.6v"], openai: undefined, demo: undefined },
  { pair: ["openai/gpt-5.5", "zai/glm-4.6"], painter: "demo/painter" },
);
const discovered = new Map([
  [
    "openai",
    [
      { id: "gpt-5.5" },
      { id: "house-model", hasVision: false, efforts: ["high"] },
      { id: "glm-5", hasVision: true },
    ],
  ],
  ["demo", [{ id: "clean" }, { id: "speaker" }]],
]);
const nothing = {
  images: false,
  audio: false,
  files: false,
  tools: false,
  efforts: [],
  unsupported_options: [],
};
/** Options that no Chat server supports. */
const unsupportedOptions = [
  "max_tool_calls",
  "truncation",
  "context_management",
  "prompt_cache_key",
];

test("the capabilities of a model are guessed from the name of its first target", () => {
  expect(getModelCapabilities("pair", config)).toEqual({
    type: "chat",
    images: true,
    audio: false,
    files: true,
    tools: true,
    efforts: ["low", "medium", "high", "xhigh"],
    unsupported_options: unsupportedOptions,
    options: {},
  });
  expect(getModelCapabilities("zai/glm-4.6", config)).toMatchObject({ images: false, tools: true });
  expect(getModelCapabilities("glm-4.6v", config)).toMatchObject({ images: true, files: false });
  expect(getModelCapabilities("router/google/gemini-3-pro", config)).toMatchObject({
    images: true,
    audio: true,
    files: true,
  });
  expect(getModelCapabilities("nobody-knows-it", config)).toMatchObject({
    type: "chat",
    tools: true,
  });
});

test("the upstream's list takes precedence over the name", () => {
  expect(getModelCapabilities("openai/house-model", config, discovered)).toMatchObject({
    images: false,
    efforts: ["high"],
  });
  expect(getModelCapabilities("glm-5", config, discovered)).toMatchObject({ images: true });
  expect(getModelCapabilities("openai/house-model", config)).toMatchObject({ images: true });
});

test("the configuration takes precedence over everything", () => {
  const described = createAlias({
    targets: [{ upstream: "openai", model: "house-model" }],
    inputModalities: ["audio", "pdf"],
    supportsTools: false,
    options: { temperature: 0 },
  });
  const models = new Map([
    ["described", described],
    [
      "blind",
      { ...described, targets: [{ upstream: "openai", model: "gpt-5.5" }], inputModalities: [] },
    ],
    ["ear", createAlias({ targets: described.targets, type: "audio-stt" })],
    [
      "chatting",
      createAlias({ targets: [{ upstream: "openai", model: "dall-e-3" }], type: "chat" }),
    ],
  ]);
  const saying = { ...config, models };
  expect(getModelCapabilities("described", saying, discovered)).toEqual({
    type: "chat",
    images: false,
    audio: true,
    files: true,
    tools: false,
    efforts: ["high"],
    unsupported_options: unsupportedOptions,
    options: { temperature: 0 },
  });
  expect(getModelCapabilities("blind", saying)).toMatchObject({
    images: false,
    audio: false,
    files: false,
  });
  expect(getModelCapabilities("ear", saying, discovered)).toEqual({
    ...nothing,
    type: "audio-stt",
    audio: true,
    options: {},
  });
  expect(getModelCapabilities("chatting", saying)).toMatchObject({ type: "chat", tools: true });
});

test.each([
  ["demo/painter", { type: "image-gen" }],
  ["painter", { type: "image-gen" }],
  ["demo/retoucher", { type: "image-edit", images: true }],
  ["demo/listener", { type: "audio-stt", audio: true }],
  ["demo/speaker", { type: "audio-tts" }],
  ["speaker", { type: "audio-tts" }],
])("%s of the demo has its own type, and no tools", (name, expected) => {
  expect(getModelCapabilities(name, config, discovered)).toEqual({
    ...nothing,
    ...expected,
    options: {},
  });
});

test("only models of the demo are recognized by these names", () => {
  for (const name of ["painter", "retoucher", "listener", "speaker"])
    expect(getModelCapabilities(`zai/${name}`, config)).toMatchObject({
      type: "chat",
      tools: true,
    });
  expect(getModelCapabilities("demo/clean", config)).toMatchObject({ type: "chat", tools: true });
});

describe("the unsupported options of a model", () => {
  const rejected = (
    upstream: Partial<UpstreamConfig>,
    lessons?: LessonRegistry,
  ): readonly string[] => {
    const up = { ...createUpstream("up", ["m", "whisper-1"]), ...upstream };
    const one = { ...createConfig({}), upstreams: new Map([["up", up]]) };
    expect(getModelCapabilities("whisper-1", one, new Map(), lessons).unsupported_options).toEqual(
      [],
    );
    return getModelCapabilities("up/m", one, new Map(), lessons).unsupported_options;
  };
  const named = (name: string): UpstreamProfile => findProviderProfile(name) ?? genericProfile;

  test("are those that its provider is known to reject", () => {
    const sampling = ["temperature", "top_p", "frequency_penalty", "presence_penalty"];
    expect(rejected({ profile: named("kimi") })).toEqual(expect.arrayContaining(sampling));
    expect(rejected({ profile: named("kimi") })).not.toContain("max_output_tokens");
    const minimax = rejected({ profile: named("minimax") });
    expect(minimax).toEqual(expect.arrayContaining(["reasoning.effort", "parallel_tool_calls"]));
    // Unsupported formats become instructions in the prompt.
    expect(minimax).not.toContain("text.format");
    expect(rejected({ profile: named("openai") })).toEqual([
      "max_tool_calls",
      "truncation",
      "context_management",
    ]);
  });

  test("are those that the configuration drops or overrides", () => {
    const profile = withProfileFlags(genericProfile, {
      parameters: "all",
      droppedParameters: ["seed", "max_tokens"],
      extraBody: { temperature: 1, thinking: { type: "enabled" } },
    });
    expect(rejected({ profile })).toEqual([
      "temperature",
      "seed",
      "max_output_tokens",
      "max_tool_calls",
      "truncation",
      "context_management",
      "thinking",
    ]);
  });

  test("follow the API that the model needs, not the configured one", () => {
    const lessons = new LessonRegistry();
    const lesson = { code: "responses_api" as const, description: "", providerMessage: "" };
    lessons.add("up", "m", { ...lesson, flags: {}, speaks: "responses" }, 1);
    expect(rejected({}, lessons)).toEqual([]);
    lessons.add("up", "m", { ...lesson, code: "chat_api", flags: {}, speaks: "chat" }, 2);
    expect(rejected({}, lessons)).toEqual(unsupportedOptions);
  });

  test("are those that its server has rejected before, on either wire, but not those of another model", () => {
    const lessons = new LessonRegistry();
    const lesson = { code: "parameter" as const, description: "", providerMessage: "" };
    lessons.add("up", "other", { ...lesson, flags: { droppedParameters: ["stop"] } }, 1);
    expect(rejected({}, lessons)).toEqual(unsupportedOptions);
    lessons.add(
      "up",
      "m",
      { ...lesson, flags: { droppedParameters: ["seed", "enable_thinking", "stream_options"] } },
      1,
    );
    expect(rejected({}, lessons)).toEqual([
      "seed",
      ...unsupportedOptions.slice(0, 3),
      "enable_thinking",
      "prompt_cache_key",
    ]);
    expect(rejected({ speaks: "responses" }, lessons)).toEqual([]);
    const responses = {
      droppedParameters: ["top_p", "text", "input[].status", "include", "top_a"],
    };
    lessons.add("up", "m", { ...lesson, flags: {}, responses }, 1);
    expect(rejected({ speaks: "responses" }, lessons)).toEqual([
      "top_p",
      "text.verbosity",
      "text.format",
      "top_a",
    ]);
  });
});
