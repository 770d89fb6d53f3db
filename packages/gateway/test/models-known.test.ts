import { expect, test } from "vitest";
import {
  supportsTools,
  lookupKnownModel,
  inferInputModalities,
  inferModelType,
  looksLikeChatModel,
} from "../src/config/known-models.ts";

test.each([
  ["glm-4.6", 200_000, false],
  ["zai-org/GLM-4.6-FP8", 200_000, false],
  ["glm-4.5-air", 131_072, false],
  ["glm-4.6v", 128_000, true],
  ["glm-5", 200_000, false],
  ["z-ai/glm-5.3", 1_000_000, false],
  ["kimi-k2-0905-preview", 262_144, false],
  ["kimi-k2-thinking", 262_144, false],
  ["accounts/fireworks/models/kimi-k2p6", 262_144, true],
  ["moonshotai/kimi-k3", 1_048_576, true],
  ["qwen3-coder:30b", 262_144, false],
  ["Qwen/Qwen3-Coder-480B-A35B-Instruct", 262_144, false],
  ["qwen3-coder-plus", 1_000_000, false],
  ["qwen3.6-plus", 1_000_000, true],
  ["deepseek-ai/DeepSeek-V3.2", 128_000, false],
  ["deepseek-v4-flash", 1_000_000, false],
  ["MiniMax-M2.1", 196_608, false],
  ["gpt-5-codex", 272_000, true],
  ["openai/gpt-5.5", 272_000, true],
  ["gpt-6-sol", 272_000, true],
  ["gpt-oss:20b", 131_072, false],
  ["gpt-4.1-mini", 1_047_576, true],
  ["gpt-4o", 128_000, true],
  ["o4-mini", 200_000, true],
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, true],
  ["anthropic/claude-opus-4.6", 1_000_000, true],
  ["claude-opus-4-20250514", 200_000, true],
  ["gemini-3-pro-preview", 1_048_576, true],
  ["llama-3.3-70b-versatile", 128_000, false],
  ["llama3.1:8b", 128_000, false],
  ["meta-llama/llama-4-scout", 128_000, true],
  ["devstral-2512", 256_000, false],
  ["devstral-small-2507", 128_000, false],
  ["mistral-large-2512", 256_000, true],
  ["codestral-latest", 256_000, false],
  ["grok-4.3", 1_000_000, true],
  ["grok-code-fast-1", 256_000, false],
])("%s has a window of %i tokens; vision: %s", (id, contextWindow, hasVision) => {
  expect(lookupKnownModel(id)).toMatchObject({ contextWindow, hasVision });
});

test("an unknown model has 128,000 tokens, three efforts and no default effort", () => {
  expect(lookupKnownModel("somebody/some-model")).toEqual({
    contextWindow: 128_000,
    efforts: ["low", "medium", "high"],
    hasVision: true,
  });
});

test.each([
  ["gpt-oss-120b", ["low", "medium", "high"]],
  ["gpt-5", ["low", "medium", "high"]],
  ["gpt-5.5", ["low", "medium", "high", "xhigh"]],
  ["glm-5.2", ["low", "high", "max"]],
  ["kimi-k3", ["low", "high", "max"]],
  ["deepseek-v4-pro", ["high", "max"]],
  ["qwen3-coder", []],
  ["mistral-medium-3.5", ["none", "high"]],
])("the efforts of %s are %j", (id, efforts) => {
  expect(lookupKnownModel(id).efforts).toEqual(efforts);
});

test("models that do not chat are recognized by name", () => {
  const others = [
    "text-embedding-3-small",
    "whisper-1",
    "tts-1-hd",
    "gpt-4o-mini-tts",
    "dall-e-3",
    "gpt-image-1",
    "omni-moderation-latest",
    "bge-m3",
    "llama-guard-3-8b",
    "gpt-4o-realtime-preview",
    "davinci-002",
    "qwen3-reranker-8b",
  ];
  expect(others.filter(looksLikeChatModel)).toEqual([]);
  const chat = [
    "gpt-5",
    "glm-4.6",
    "qwen3-vl-plus",
    "gemini-3-pro",
    "kimi-k2",
    "my-model",
    "gpt-4o",
    "llama3.1:8b",
  ];
  expect(chat.filter((id) => !looksLikeChatModel(id))).toEqual([]);
});

test.each([
  ["gpt-image-1", "image-gen"],
  ["openai/gpt-image-1-mini", "image-gen"],
  ["chatgpt-image-latest", "image-gen"],
  ["dall-e-3", "image-gen"],
  ["imagen-4.0-generate-001", "image-gen"],
  ["grok-imagine-image-quality", "image-gen"],
  ["black-forest-labs/FLUX.1-schnell", "image-gen"],
  ["qwen-image", "image-gen"],
  ["qwen-image-edit", "image-edit"],
  ["flux_1-kontext-dev", "image-edit"],
  ["whisper-1", "audio-stt"],
  ["whisper-large-v3-turbo", "audio-stt"],
  ["gpt-4o-mini-transcribe", "audio-stt"],
  ["gpt-4o-transcribe-diarize", "audio-stt"],
  ["qwen3-asr-flash", "audio-stt"],
  ["tts-1-hd", "audio-tts"],
  ["gpt-4o-mini-tts", "audio-tts"],
  ["playai-tts-arabic", "audio-tts"],
  ["orpheus-v1-english", "audio-tts"],
  ["gpt-5.5", "chat"],
  ["gpt-5-image", "chat"],
  ["gpt-4o-audio-preview", "chat"],
  ["gemini-3.1-flash-image", "chat"],
  ["text-embedding-3-small", "chat"],
  ["somebody/some-model", "chat"],
])("%s has the type %s", (id, type) => {
  expect(inferModelType(id)).toBe(type);
  expect(looksLikeChatModel(id) && type !== "chat").toBe(false);
});

test.each([
  ["gpt-5.5", ["image", "pdf"]],
  ["gpt-4.1-mini", ["image", "pdf"]],
  ["gpt-4o", ["image", "pdf"]],
  ["o3", ["image", "pdf"]],
  ["claude-opus-4-6", ["image", "pdf"]],
  ["gemini-3-pro-preview", ["image", "audio", "pdf"]],
  ["grok-4.3", ["image", "pdf"]],
  ["grok-4", ["image"]],
  ["qwen3-omni-flash", ["image", "audio"]],
  ["qwen3.5-35b-a3b", ["image", "audio"]],
  ["qwen3.6-plus", ["image"]],
  ["mimo-v2.5", ["image", "audio"]],
  ["mimo-v2.5-pro", []],
  ["gpt-oss-120b", []],
  ["glm-4.6", []],
  ["o3-mini", []],
])("%s accepts %j in addition to text", (id, takes) => {
  expect(inferInputModalities(id, "chat")).toEqual(takes);
});

test("image and audio models accept the input that they need", () => {
  expect(inferInputModalities("x", "image-edit")).toEqual(["image"]);
  expect(inferInputModalities("x", "audio-stt")).toEqual(["audio"]);
  expect(inferInputModalities("gpt-5.5", "audio-tts")).toEqual([]);
  expect(inferInputModalities("dall-e-3", "image-gen")).toEqual([]);
  expect(inferInputModalities("gpt-image-1", "image-gen")).toEqual(["image"]);
});

test("a few chat models cannot call tools", () => {
  const all = ["gpt-5-chat-latest", "sonar-pro", "qwen-mt-plus", "gpt-5", "gpt-5.1-chat", "x"];
  expect(all.filter((id) => !supportsTools(id))).toEqual(all.slice(0, 3));
});
