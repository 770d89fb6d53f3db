import fc from "fast-check";
import { expect, test } from "vitest";
import { parseModelList } from "../src/models/parse-model-list.ts";

test.each([
  [
    "OpenAI",
    {
      object: "list",
      data: [{ id: "gpt-5", object: "model", created: 1754425777, owned_by: "system" }],
    },
    [{ id: "gpt-5", created: 1754425777 }],
  ],
  [
    "vLLM",
    {
      object: "list",
      data: [{ id: "Qwen/Qwen3-Coder", created: 1, max_model_len: 65536, root: "/models/q" }],
    },
    [{ id: "Qwen/Qwen3-Coder", created: 1, contextWindow: 65536 }],
  ],
  [
    "Groq",
    { data: [{ id: "openai/gpt-oss-120b", context_window: 131072, max_completion_tokens: 65536 }] },
    [{ id: "openai/gpt-oss-120b", contextWindow: 131072 }],
  ],
  [
    "Mistral",
    {
      data: [
        {
          id: "devstral-2512",
          max_context_length: 262144,
          capabilities: { completion_chat: true, vision: false },
        },
        {
          id: "mistral-embed",
          max_context_length: 8192,
          capabilities: { completion_chat: false, vision: false },
        },
      ],
    },
    [
      { id: "devstral-2512", contextWindow: 262144, hasVision: false },
      { id: "mistral-embed", contextWindow: 8192, hasVision: false, isChatModel: false },
    ],
  ],
  [
    "Together, a bare array",
    [
      { id: "zai-org/GLM-4.6", type: "chat", created: 0, context_length: 202752 },
      { id: "flux", type: "image" },
    ],
    [
      { id: "zai-org/GLM-4.6", contextWindow: 202752 },
      { id: "flux", isChatModel: false },
    ],
  ],
  [
    "Gemini",
    { object: "list", data: [{ id: "models/gemini-3-pro", object: "model", owned_by: "google" }] },
    [{ id: "gemini-3-pro" }],
  ],
  [
    "Moonshot",
    {
      data: [
        {
          id: "kimi-k2-turbo",
          context_length: 262144,
          supports_image_in: false,
          supports_reasoning: false,
        },
      ],
    },
    [{ id: "kimi-k2-turbo", contextWindow: 262144, hasVision: false, efforts: [] }],
  ],
  [
    "LM Studio",
    {
      data: [
        { id: "qwen2-vl-7b", type: "vlm", max_context_length: 32768, loaded_context_length: 8192 },
      ],
    },
    [{ id: "qwen2-vl-7b", contextWindow: 8192, hasVision: true }],
  ],
  [
    "Ollama's own list",
    {
      models: [
        {
          name: "gemma3:12b",
          model: "gemma3:12b",
          modified_at: "2026-01-01",
          capabilities: ["completion", "vision"],
        },
      ],
    },
    [{ id: "gemma3:12b", hasVision: true }],
  ],
])("the list of %s is parsed", (_server, answer, expected) => {
  expect(parseModelList(answer)).toEqual(expected);
});

test("the list of OpenRouter is parsed, with the smaller of two windows and the lowest effort first", () => {
  const answer = {
    data: [
      {
        id: "deepseek/deepseek-v4-pro",
        context_length: 1_048_576,
        top_provider: { context_length: 163_840 },
        architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
        supported_parameters: ["tools", "reasoning"],
        reasoning: { supported_efforts: ["max", "high", "low"] },
      },
      {
        id: "meta/llama-3.3-70b",
        context_length: 131_072,
        top_provider: { context_length: null },
        architecture: { input_modalities: ["text"], output_modalities: ["text"] },
        supported_parameters: ["tools"],
      },
    ],
  };
  expect(parseModelList(answer)).toEqual([
    {
      id: "deepseek/deepseek-v4-pro",
      contextWindow: 163_840,
      hasVision: true,
      efforts: ["low", "high", "max"],
    },
    { id: "meta/llama-3.3-70b", contextWindow: 131_072, hasVision: false, efforts: [] },
  ]);
});

test("llama.cpp describes a model in two lists, which are merged", () => {
  const answer = {
    models: [{ name: "qwen.gguf", model: "qwen.gguf", capabilities: ["completion", "multimodal"] }],
    object: "list",
    data: [
      { id: "qwen.gguf", created: 1_760_000_000, meta: { n_ctx: 65_536, n_ctx_train: 262_144 } },
    ],
  };
  expect(parseModelList(answer)).toEqual([
    { id: "qwen.gguf", created: 1_760_000_000, contextWindow: 65_536, hasVision: true },
  ]);
});

test("the catalog of Codex is parsed", () => {
  const answer = {
    models: [
      {
        slug: "gpt-5.5",
        context_window: 272_000,
        max_context_window: 1_000_000,
        input_modalities: ["text", "image"],
        supported_reasoning_levels: [
          { effort: "low", description: "" },
          { effort: "xhigh", description: "" },
        ],
      },
    ],
  };
  expect(parseModelList(answer)).toEqual([
    { id: "gpt-5.5", contextWindow: 272_000, hasVision: true, efforts: ["low", "xhigh"] },
  ]);
});

test("an invalid entry does not affect the others", () => {
  const data = [
    null,
    7,
    [],
    {},
    { id: "" },
    { id: 3 },
    { id: "a\nb" },
    { id: "x".repeat(201) },
    "plain",
    { id: "good" },
  ];
  expect(parseModelList({ data })).toEqual([{ id: "plain" }, { id: "good" }]);
});

test("invalid numbers are ignored", () => {
  for (const context_length of [0, -1, 1.5, "131072", null, 1e300, 448])
    expect(parseModelList([{ id: "m", context_length, created: -1 }])).toEqual([{ id: "m" }]);
});

test("a list is truncated to ten thousand models", () => {
  const data = Array.from({ length: 10_050 }, (_, index) => ({ id: `m${index}` }));
  expect(parseModelList({ data })).toHaveLength(10_000);
});

test.each([
  [undefined],
  [null],
  ["models"],
  [7],
  [{}],
  [{ error: { message: "no" } }],
  [{ data: {} }],
])("%j is not a model list", (answer) => {
  expect(parseModelList(answer)).toBeUndefined();
});

const fields = [
  "id",
  "slug",
  "name",
  "data",
  "models",
  "capabilities",
  "vision",
  "architecture",
  "input_modalities",
  "top_provider",
  "context_length",
  "meta",
  "n_ctx",
  "created",
  "reasoning",
  "supported_efforts",
  "supported_reasoning_levels",
  "effort",
  "type",
  "supported_parameters",
  "__proto__",
  "toString",
];

test("any JSON is parsed without an error, and results are valid", () => {
  const leaf = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.integer(),
    fc.string(),
    fc.constantFrom("image", "low", "vlm"),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom(...fields), tie("value"), { maxKeys: 6 }),
    ),
  }));
  fc.assert(
    fc.property(
      fc.oneof(
        value,
        value.map((entry) => ({ data: [entry, { id: "x" }] })),
      ),
      (answer) => {
        for (const model of parseModelList(answer) ?? []) {
          const { id, contextWindow = 1024, created = 1, efforts = [] } = model;
          expect(id).toMatch(/^\S{1,200}$/);
          expect(contextWindow).toBeGreaterThanOrEqual(1024);
          expect(created).toBeGreaterThanOrEqual(1);
          for (const effort of efforts) expect(effort).toMatch(/^[a-z_-]+$/);
        }
      },
    ),
    { numRuns: 2_000, seed: 4 },
  );
});
