import { expect, test } from "vitest";
import { findModelAlias } from "../src/config/model-patterns.ts";
import { resolveModel } from "../src/models/resolve-model.ts";
import { createConfig } from "./models-config.ts";
import { parseToml } from "./config-fixture.ts";

const two = createConfig(
  { zai: ["glm-4.6", "shared"], local: undefined },
  { glm: "zai/glm-4.6", best: ["zai/glm-4.6", "local/qwen3-coder"] },
);
const listed = new Map([["local", [{ id: "qwen3-coder" }, { id: "shared" }, { id: "org/model" }]]]);

test("an alias resolves to its targets, in order", () => {
  expect(resolveModel("best", two, listed)).toEqual({
    ok: true,
    targets: [
      { upstream: "zai", model: "glm-4.6" },
      { upstream: "local", model: "qwen3-coder" },
    ],
  });
});

test("upstream/model always works, even for unlisted models and with slashes", () => {
  expect(resolveModel("zai/glm-9", two, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "zai", model: "glm-9" }],
  });
  expect(resolveModel("local/a/b/c", two, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "a/b/c" }],
  });
});

test("an alias takes precedence over an upstream of the same name", () => {
  const config = createConfig({ zai: undefined, local: undefined }, { "zai/fast": "local/tiny" });
  expect(resolveModel("zai/fast", config, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "tiny" }],
  });
});

test("a plain name resolves to the first upstream in the configuration that has it", () => {
  expect(resolveModel("glm-4.6", two, listed)).toMatchObject({ targets: [{ upstream: "zai" }] });
  expect(resolveModel("qwen3-coder", two, listed)).toMatchObject({
    targets: [{ upstream: "local" }],
  });
  expect(resolveModel("shared", two, listed)).toEqual({
    ok: true,
    targets: [{ upstream: "zai", model: "shared" }],
  });
});

test("a plain name can have a slash, if it does not start with an upstream", () => {
  expect(resolveModel("org/model", two, listed)).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "org/model" }],
  });
});

test("a model whose name starts with that of its upstream keeps its complete name", () => {
  const config = createConfig({ openrouter: undefined, zai: ["glm-4.6"] });
  const models = new Map([["openrouter", [{ id: "openrouter/auto" }, { id: "zai/glm-4.6" }]]]);
  expect(resolveModel("openrouter/auto", config, models)).toEqual({
    ok: true,
    targets: [{ upstream: "openrouter", model: "openrouter/auto" }],
  });
  expect(resolveModel("openrouter/zai/glm-4.6", config, models)).toEqual({
    ok: true,
    targets: [{ upstream: "openrouter", model: "zai/glm-4.6" }],
  });
  expect(resolveModel("zai/glm-4.6", config, models)).toEqual({
    ok: true,
    targets: [{ upstream: "zai", model: "glm-4.6" }],
  });
});

test("a single upstream gets every name unchanged", () => {
  const config = createConfig({ zai: ["glm-4.6"] }, { glm: "zai/glm-4.6" });
  for (const name of ["glm-9", "org/model", "gpt-5.5"])
    expect(resolveModel(name, config, new Map())).toEqual({
      ok: true,
      targets: [{ upstream: "zai", model: name }],
    });
  expect(resolveModel("glm", config, new Map())).toMatchObject({ targets: [{ model: "glm-4.6" }] });
  expect(resolveModel("", config, new Map()).ok).toBe(false);
});

test("an unknown name is an error with a suggestion and how to list all names", () => {
  expect(resolveModel("qwen3-codr", two, listed)).toEqual({
    ok: false,
    message:
      'unknown model "qwen3-codr" (did you mean qwen3-coder?). GET /v1/models lists all names.',
  });
  expect(resolveModel("zzzzzzzzzzzz", two, listed)).toEqual({
    ok: false,
    message: 'unknown model "zzzzzzzzzzzz". GET /v1/models lists all names.',
  });
});

test("a misspelled upstream is corrected, also one whose key is not set", () => {
  for (const [name, suggestion] of [
    ["zia/some-other-model", "zai/some-other-model"],
    ["opnai/gpt-9", "openai/gpt-9"],
  ])
    expect(resolveModel(name ?? "", two, listed)).toEqual({
      ok: false,
      message: `unknown model "${name}" (did you mean ${suggestion}?). GET /v1/models lists all names.`,
    });
});

test("an upstream without a model list is mentioned", () => {
  expect(resolveModel("zzzzzzzzzzzz", two, new Map())).toEqual({
    ok: false,
    message:
      'unknown model "zzzzzzzzzzzz". GET /v1/models lists all names. The model list of local is not available; "upstream/model" always works.',
  });
});

test("without an upstream every name is unknown", () => {
  expect(resolveModel("glm", createConfig({}), new Map())).toEqual({
    ok: false,
    message: 'unknown model "glm": no upstream is configured',
  });
});

test("a long name is truncated in the message", () => {
  expect(resolveModel("x".repeat(100_000), two, listed)).toEqual({
    ok: false,
    message: `unknown model "${"x".repeat(100)}…". GET /v1/models lists all names.`,
  });
});

test("an agent is suggested by name, but is not a target", () => {
  const { agents } = parseToml('[agents.reviewer]\nmodel = "demo/clean"');
  const config = { ...two, agents };
  expect(agents.get("reviewer")?.model).toBe("demo/clean");
  expect(agents.get("Reviewer")).toBeUndefined();
  expect(agents.get("glm")).toBeUndefined();
  expect(resolveModel("reviewer", config, listed)).toMatchObject({ ok: false });
  expect(resolveModel("reviwer", config, listed)).toMatchObject({
    ok: false,
    message: expect.stringContaining("did you mean reviewer?") as string,
  });
});

test("a pattern, its price and its context window do not apply to upstream/model", () => {
  const config = parseToml(`
[models]
"*" = { use = "up/small", price_input = 1, price_output = 1, context_window = 8000 }
[upstreams.up]
base_url = "http://127.0.0.1:1/v1"
speaks = "chat"
`);
  expect(resolveModel("up/large", config, new Map())).toMatchObject({
    targets: [{ upstream: "up", model: "large" }],
  });
  expect(findModelAlias("up/large", config)).toBeUndefined();
  for (const name of ["large", "other/large", "up/"]) {
    expect(resolveModel(name, config, new Map())).toMatchObject({
      targets: [{ upstream: "up", model: "small" }],
    });
    expect(findModelAlias(name, config)).toMatchObject({ price: { input: 1 } });
  }
});
