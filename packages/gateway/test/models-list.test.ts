import fc from "fast-check";
import { expect, test } from "vitest";
import { buildCodexCatalogEntry } from "../src/models/codex-catalog-entry.ts";
import { buildModelList } from "../src/models/model-list.ts";
import { resolveModel } from "../src/models/resolve-model.ts";
import { createAlias, createConfig } from "./models-config.ts";
import { parseToml } from "./config-fixture.ts";

const config = createConfig(
  { zai: ["glm-4.6"], router: undefined, local: ["qwen3-coder", "glm-4.6"] },
  { glm: "zai/glm-4.6", best: ["router/openai/gpt-5.5", "local/qwen3-coder"] },
  { glm: 90_000 },
);
const discovered = new Map([
  [
    "router",
    [
      { id: "openai/gpt-5.5", contextWindow: 1_050_000, created: 1_770_000_000 },
      { id: "some/model", contextWindow: 65_536, hasVision: false, efforts: ["high"] },
      { id: "text-embedding-3-small" },
    ],
  ],
]);
const list = buildModelList({ config, discovered });

test("OpenAI's list has the aliases, then every model by its full name, and by its plain name if unique", () => {
  expect(list.object).toBe("list");
  expect(list.data.map(({ id, owned_by }) => [id, owned_by])).toEqual([
    ["glm", "zai"],
    ["best", "router"],
    ["zai/glm-4.6", "zai"],
    ["router/openai/gpt-5.5", "router"],
    ["openai/gpt-5.5", "router"],
    ["router/some/model", "router"],
    ["some/model", "router"],
    ["router/text-embedding-3-small", "router"],
    ["text-embedding-3-small", "router"],
    ["local/qwen3-coder", "local"],
    ["qwen3-coder", "local"],
    ["local/glm-4.6", "local"],
  ]);
  expect(list.data[4]).toEqual({
    id: "openai/gpt-5.5",
    object: "model",
    type: "model",
    display_name: "openai/gpt-5.5",
    created_at: "2026-02-02T02:40:00.000Z",
    created: 1_770_000_000,
    owned_by: "router",
  });
  expect(list.data[0]?.created).toBe(0);
});

test("Codex's list has every usable name, except models that do not chat", () => {
  const names = list.data.map(({ id }) => id).filter((id) => !id.includes("embedding"));
  expect(list.models.map(({ slug }) => slug)).toEqual(names);
});

test("Codex shows one name per model, in the order of the list", () => {
  expect(
    list.models.filter((model) => model.visibility === "list").map(({ slug }) => slug),
  ).toEqual([
    "glm",
    "best",
    "zai/glm-4.6",
    "openai/gpt-5.5",
    "some/model",
    "qwen3-coder",
    "local/glm-4.6",
  ]);
  expect(list.models.map(({ priority }) => priority)).toEqual(list.models.map((_, index) => index));
});

test("settings take precedence over the upstream's list, which takes precedence over the name", () => {
  const windows = new Map(list.models.map((model) => [model.slug, model.context_window]));
  expect(windows.get("glm")).toBe(90_000);
  expect(windows.get("some/model")).toBe(65_536);
  expect(windows.get("zai/glm-4.6")).toBe(200_000);
  const model = list.models.find(({ slug }) => slug === "some/model");
  expect(model?.input_modalities).toEqual(["text"]);
  expect(model?.supported_reasoning_levels.map(({ effort }) => effort)).toEqual(["high"]);
});

test("GPT-5.5 is listed with a million tokens, and limited to the cheaper range as in Codex", () => {
  const model = list.models.find(({ slug }) => slug === "openai/gpt-5.5");
  expect(model).toMatchObject({ context_window: 272_000, default_reasoning_level: "medium" });
});

test("an alias describes its targets, and has the smallest of their windows", () => {
  const model = list.models.find(({ slug }) => slug === "best");
  expect(model).toMatchObject({
    display_name: "best",
    description: "openai/gpt-5.5 at router, then qwen3-coder at local",
    context_window: 262_144,
  });
});

test("an upstream without a list does not hide the models of others", () => {
  const { data } = buildModelList({ config, discovered: new Map() });
  expect(data.map(({ id }) => id)).toEqual([
    "glm",
    "best",
    "zai/glm-4.6",
    "local/qwen3-coder",
    "qwen3-coder",
    "local/glm-4.6",
  ]);
});

test("agents are listed last, and hidden from Codex, whose tools they do not use", () => {
  const { agents } = parseToml(`[upstreams.zai]
base_url = "https://zai.test/v1"
speaks = "chat"
models = ["glm-4.6"]
[models]
glm = "zai/glm-4.6"
[agents.writer]
model = "glm"
description = "Writes."
[agents.small]
model = "zai/glm-4.6"
context_window = 8_000
[agents.glm-9]
model = "not/known-yet"
`);
  const configured = createConfig(
    { zai: ["glm-4.6", "writer"] },
    { glm: "zai/glm-4.6" },
    { glm: 9_000 },
  );
  const all = buildModelList({
    config: { ...configured, agents },
    discovered: new Map(),
    requestedName: "small",
  });
  expect(all.data.map(({ id, owned_by }) => [id, owned_by])).toEqual([
    ["glm", "zai"],
    ["zai/glm-4.6", "zai"],
    ["glm-4.6", "zai"],
    ["zai/writer", "zai"],
    ["writer", "deltawire-agent"],
    ["small", "deltawire-agent"],
    ["glm-9", "deltawire-agent"],
  ]);
  const entries = all.models.filter(({ slug }) => agents.has(slug));
  expect(
    entries.map((entry) => [entry.description, entry.context_window, entry.visibility]),
  ).toEqual([
    ["Writes.", 9_000, "hide"],
    ["An agent with zai/glm-4.6", 8_000, "hide"],
    ["An agent with not/known-yet", 128_000, "hide"],
  ]);
  expect(all.models.find(({ slug }) => slug === "zai/writer")?.visibility).toBe("list");
});

test("a requested name is in the list if it resolves, even if no upstream lists it", () => {
  const one = createConfig({ zai: ["glm-4.6"] }, { glm: "zai/glm-4.6" });
  const names = (requestedName: string) =>
    buildModelList({ config: one, discovered: new Map(), requestedName }).models.map(
      ({ slug }) => slug,
    );
  expect(names("glm-9")).toEqual(["glm", "glm-9", "zai/glm-4.6", "glm-4.6"]);
  expect(names("glm-4.6")).toEqual(["glm", "glm-4.6", "zai/glm-4.6"]);
  expect(names("glm")).toEqual(["glm", "zai/glm-4.6", "glm-4.6"]);
  expect(names("x".repeat(201))).toHaveLength(3);
  const several = buildModelList({ config, discovered, requestedName: "nobody-has-it" });
  expect(several).toEqual(list);
});

test("Codex gets at most two thousand entries", () => {
  const models = Array.from({ length: 3_000 }, (_, index) => ({ id: `m${index}` }));
  const large = buildModelList({
    config: createConfig({ router: undefined }),
    discovered: new Map([["router", models]]),
  });
  expect(large.data).toHaveLength(6_000);
  expect(large.models).toHaveLength(2_000);
});

test("every name is listed once, and resolves to its model", () => {
  const name = fc.constantFrom("a", "b", "c", "a/b", "b/c", "a/a", "a/a/b", "c/c");
  const models = fc.uniqueArray(name, { maxLength: 4 });
  const upstreams = fc.dictionary(
    fc.constantFrom("a", "b", "c"),
    fc.option(models, { nil: undefined }),
  );
  const aliases = fc.dictionary(name, fc.constantFrom("a/x", "b/b", "c/a/b"), { maxKeys: 2 });
  fc.assert(
    fc.property(upstreams, aliases, models, (upstreams, aliases, answer) => {
      const config = createConfig(upstreams, aliases);
      const discovered = new Map(
        Object.keys(upstreams).map((upstream) => [upstream, answer.map((id) => ({ id }))]),
      );
      const { data } = buildModelList({ config, discovered });
      expect(new Set(data.map(({ id }) => id)).size).toBe(data.length);
      for (const { id, owned_by } of data) {
        const resolved = resolveModel(id, config, discovered);
        expect(resolved.ok && resolved.targets[0]?.upstream).toBe(owned_by);
      }
      const full = Object.entries(upstreams).flatMap(([upstream, own]) =>
        (own ?? answer).map((model) => `${upstream}/${model}`),
      );
      expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(full));
    }),
    { numRuns: 1_000, seed: 4 },
  );
});

/** Fields without which Codex 0.166 (0.98 for the last two) rejects the complete list, found by removing one at a time. */
const required: Record<string, (value: unknown) => boolean> = {
  slug: isText,
  display_name: isText,
  supported_reasoning_levels: (levels) =>
    Array.isArray(levels) &&
    levels.every(
      (level: Record<string, unknown>) => isText(level["effort"]) && isText(level["description"]),
    ),
  shell_type: oneOf("unified_exec", "shell_command", "default", "local", "disabled"),
  visibility: oneOf("list", "hide", "none"),
  supported_in_api: isBoolean,
  priority: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  support_verbosity: isBoolean,
  truncation_policy: (policy) => {
    const { mode, limit } = policy as Record<string, unknown>;
    return (mode === "tokens" || mode === "bytes") && Number.isInteger(limit);
  },
  experimental_supported_tools: (tools) => Array.isArray(tools) && tools.every(isText),
  base_instructions: isText,
  context_window: Number.isInteger,
  input_modalities: (inputs) =>
    Array.isArray(inputs) && inputs.every(oneOf("text", "image", "audio")),
  apply_patch_tool_type: oneOf("freeform"),
  default_reasoning_summary: oneOf("auto", "concise", "detailed", "none"),
  supports_reasoning_summaries: isBoolean,
  supports_parallel_tool_calls: isBoolean,
};

test("every entry has the fields and values that Codex requires", () => {
  for (const entry of list.models as readonly Record<string, unknown>[])
    for (const [field, fits] of Object.entries(required))
      expect([entry["slug"], field, fits(entry[field])]).toEqual([entry["slug"], field, true]);
});

test("an unknown model gets what built-in models of Codex have: a prompt, apply_patch, a shell, parallel calls", () => {
  const entry = buildCodexCatalogEntry({
    slug: "m",
    displayName: "m",
    description: "",
    contextWindow: 128_000,
    efforts: ["low", "high"],
    defaultEffort: "medium",
    hasVision: true,
    priority: 3,
    isListed: true,
  });
  expect(entry).toMatchObject({
    apply_patch_tool_type: "freeform",
    shell_type: "unified_exec",
    supports_parallel_tool_calls: true,
    truncation_policy: { mode: "tokens", limit: 10_000 },
    input_modalities: ["text", "image"],
  });
  expect(entry).not.toHaveProperty("default_reasoning_level");
  expect(entry.base_instructions).toContain("*** Begin Patch");
});

test("a small window limits the output of commands", () => {
  const limit = (contextWindow: number) =>
    buildModelList({
      config: createConfig({ local: undefined }),
      discovered: new Map([["local", [{ id: "m", contextWindow }]]]),
    }).models[0]?.truncation_policy.limit;
  expect([limit(8_192), limit(32_768), limit(1_000_000)]).toEqual([2_000, 3_276, 10_000]);
});

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function oneOf(...words: string[]): (value: unknown) => boolean {
  return (value) => words.includes(value as string);
}

test("image and speech models are not listed for Codex, however they are recognized", () => {
  const target = (model: string) => [{ upstream: "demo", model }];
  const media = createConfig({ demo: undefined, zai: ["gpt-image-1", "painter"] });
  const models = new Map([
    ["by-name", createAlias({ targets: target("whisper-1") })],
    ["by-word", createAlias({ targets: target("clean"), type: "image-gen" })],
    ["chats", createAlias({ targets: target("tts-1"), type: "chat" })],
  ]);
  const discovered = new Map([["demo", ["clean", "retoucher", "speaker"].map((id) => ({ id }))]]);
  const { data, models: forCodex } = buildModelList({
    config: { ...media, models },
    discovered,
  });
  expect(data.map(({ id }) => id)).toEqual(
    expect.arrayContaining(["by-name", "by-word", "demo/retoucher", "speaker", "gpt-image-1"]),
  );
  expect(forCodex.map(({ slug }) => slug)).toEqual([
    "chats",
    "demo/clean",
    "clean",
    "zai/painter",
    "painter",
  ]);
});

test("a requested name that matches a pattern has the context window of the pattern, for launchers", () => {
  const config = parseToml(`
[models]
"claude-*" = { use = "up/m", context_window = 64000 }
[upstreams.up]
base_url = "http://127.0.0.1:1/v1"
speaks = "chat"
`);
  const { models } = buildModelList({
    config,
    discovered: new Map(),
    requestedName: "claude-sonnet-5-5",
  });
  expect(models.map((entry) => [entry.slug, entry.context_window])).toEqual([
    ["claude-sonnet-5-5", 64_000],
  ]);
});
