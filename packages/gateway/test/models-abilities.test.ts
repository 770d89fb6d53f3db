import { genericProfile, profileNamed, withFlags, type Profile } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import type { UpstreamConfig } from "../src/config/config.ts";
import { Lessons } from "../src/learning/memory.ts";
import { abilitiesOf } from "../src/models/abilities.ts";
import { aliasOf, configOf, upstreamOf } from "./models-config.ts";

const config = configOf(
  { zai: ["glm-4.6", "glm-4.6v"], openai: undefined, demo: undefined },
  { pair: ["openai/gpt-5.5", "zai/glm-4.6"], painter: "demo/painter" },
);
const discovered = new Map([
  [
    "openai",
    [
      { id: "gpt-5.5" },
      { id: "house-model", seesImages: false, efforts: ["high"] },
      { id: "glm-5", seesImages: true },
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
  refuses: [],
};
/** What no Chat server can be asked for. */
const refuses = ["max_tool_calls", "truncation", "context_management", "prompt_cache_key"];

test("a model that nobody described is known by the name of the first behind it", () => {
  expect(abilitiesOf("pair", config)).toEqual({
    type: "chat",
    images: true,
    audio: false,
    files: true,
    tools: true,
    efforts: ["low", "medium", "high", "xhigh"],
    refuses,
    options: {},
  });
  expect(abilitiesOf("zai/glm-4.6", config)).toMatchObject({ images: false, tools: true });
  expect(abilitiesOf("glm-4.6v", config)).toMatchObject({ images: true, files: false });
  expect(abilitiesOf("router/google/gemini-3-pro", config)).toMatchObject({
    images: true,
    audio: true,
    files: true,
  });
  expect(abilitiesOf("nobody-knows-it", config)).toMatchObject({ type: "chat", tools: true });
});

test("what its upstream tells of a model wins over its name", () => {
  expect(abilitiesOf("openai/house-model", config, discovered)).toMatchObject({
    images: false,
    efforts: ["high"],
  });
  expect(abilitiesOf("glm-5", config, discovered)).toMatchObject({ images: true });
  expect(abilitiesOf("openai/house-model", config)).toMatchObject({ images: true });
});

test("what the configuration says wins over everything", () => {
  const said = aliasOf({
    targets: [{ upstream: "openai", model: "house-model" }],
    takes: ["audio", "pdf"],
    tools: false,
    options: { temperature: 0 },
  });
  const models = new Map([
    ["said", said],
    ["blind", { ...said, targets: [{ upstream: "openai", model: "gpt-5.5" }], takes: [] }],
    ["ear", aliasOf({ targets: said.targets, type: "audio-stt" })],
    ["chatting", aliasOf({ targets: [{ upstream: "openai", model: "dall-e-3" }], type: "chat" })],
  ]);
  const saying = { ...config, models };
  expect(abilitiesOf("said", saying, discovered)).toEqual({
    type: "chat",
    images: false,
    audio: true,
    files: true,
    tools: false,
    efforts: ["high"],
    refuses,
    options: { temperature: 0 },
  });
  expect(abilitiesOf("blind", saying)).toMatchObject({ images: false, audio: false, files: false });
  expect(abilitiesOf("ear", saying, discovered)).toEqual({
    ...nothing,
    type: "audio-stt",
    audio: true,
    options: {},
  });
  expect(abilitiesOf("chatting", saying)).toMatchObject({ type: "chat", tools: true });
});

test.each([
  ["demo/painter", { type: "image-gen" }],
  ["painter", { type: "image-gen" }],
  ["demo/retoucher", { type: "image-edit", images: true }],
  ["demo/listener", { type: "audio-stt", audio: true }],
  ["demo/speaker", { type: "audio-tts" }],
  ["speaker", { type: "audio-tts" }],
])("%s of the demo has a type of its own, and no tools", (name, expected) => {
  expect(abilitiesOf(name, config, discovered)).toEqual({ ...nothing, ...expected, options: {} });
});

test("only the demo's are known by those names", () => {
  for (const name of ["painter", "retoucher", "listener", "speaker"])
    expect(abilitiesOf(`zai/${name}`, config)).toMatchObject({ type: "chat", tools: true });
  expect(abilitiesOf("demo/clean", config)).toMatchObject({ type: "chat", tools: true });
});

describe("options that a model refuses", () => {
  const refused = (upstream: Partial<UpstreamConfig>, lessons?: Lessons): readonly string[] => {
    const up = { ...upstreamOf("up", ["m", "whisper-1"]), ...upstream };
    const one = { ...configOf({}), upstreams: new Map([["up", up]]) };
    expect(abilitiesOf("whisper-1", one, new Map(), lessons).refuses).toEqual([]);
    return abilitiesOf("up/m", one, new Map(), lessons).refuses;
  };
  const named = (name: string): Profile => profileNamed(name) ?? genericProfile;

  test("are those that its provider is known to refuse", () => {
    const sampling = ["temperature", "top_p", "frequency_penalty", "presence_penalty"];
    expect(refused({ profile: named("kimi") })).toEqual(expect.arrayContaining(sampling));
    expect(refused({ profile: named("kimi") })).not.toContain("max_output_tokens");
    const minimax = refused({ profile: named("minimax") });
    expect(minimax).toEqual(expect.arrayContaining(["reasoning.effort", "parallel_tool_calls"]));
    // What cannot be asked is said in words.
    expect(minimax).not.toContain("text.format");
    expect(refused({ profile: named("openai") })).toEqual([
      "max_tool_calls",
      "truncation",
      "context_management",
    ]);
  });

  test("are those that the configuration leaves out or sets itself", () => {
    const profile = withFlags(genericProfile, {
      parameters: "all",
      droppedParameters: ["seed", "max_tokens"],
      extraBody: { temperature: 1, thinking: { type: "enabled" } },
    });
    expect(refused({ profile })).toEqual([
      "temperature",
      "seed",
      "max_output_tokens",
      "max_tool_calls",
      "truncation",
      "context_management",
      "thinking",
    ]);
  });

  test("are those that its server has refused before, of either wire, and not those of another model", () => {
    const lessons = new Lessons();
    const lesson = { code: "parameter" as const, what: "", said: "" };
    lessons.learn("up", "other", { ...lesson, flags: { droppedParameters: ["stop"] } }, 1);
    expect(refused({}, lessons)).toEqual(refuses);
    lessons.learn(
      "up",
      "m",
      { ...lesson, flags: { droppedParameters: ["seed", "enable_thinking", "stream_options"] } },
      1,
    );
    expect(refused({}, lessons)).toEqual([
      "seed",
      ...refuses.slice(0, 3),
      "enable_thinking",
      "prompt_cache_key",
    ]);
    expect(refused({ speaks: "responses" }, lessons)).toEqual([]);
    const responses = {
      droppedParameters: ["top_p", "text", "input[].status", "include", "top_a"],
    };
    lessons.learn("up", "m", { ...lesson, flags: {}, responses }, 1);
    expect(refused({ speaks: "responses" }, lessons)).toEqual([
      "top_p",
      "text.verbosity",
      "text.format",
      "top_a",
    ]);
  });
});
