import { expect, test } from "vitest";
import { resolveModel } from "../src/models/resolve.ts";
import { configOf } from "./models-config.ts";
import { read } from "./reading-config.ts";

const two = configOf(
  { zai: ["glm-4.6", "shared"], local: undefined },
  { glm: "zai/glm-4.6", best: ["zai/glm-4.6", "local/qwen3-coder"] },
);
const listed = new Map([["local", [{ id: "qwen3-coder" }, { id: "shared" }, { id: "org/model" }]]]);

test("an alias stands for its targets, in their order", () => {
  expect(resolveModel("best", two, listed)).toEqual({
    ok: true,
    targets: [
      { upstream: "zai", model: "glm-4.6" },
      { upstream: "local", model: "qwen3-coder" },
    ],
  });
});

test("upstream/model always works, also for a model that nobody listed and with slashes in it", () => {
  expect(resolveModel("zai/glm-9", two, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "zai", model: "glm-9" }],
  });
  expect(resolveModel("local/a/b/c", two, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "a/b/c" }],
  });
});

test("an alias goes before an upstream of the same name", () => {
  const config = configOf({ zai: undefined, local: undefined }, { "zai/fast": "local/tiny" });
  expect(resolveModel("zai/fast", config, new Map())).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "tiny" }],
  });
});

test("a plain name belongs to the upstream that has it, the first one in the configuration", () => {
  expect(resolveModel("glm-4.6", two, listed)).toMatchObject({ targets: [{ upstream: "zai" }] });
  expect(resolveModel("qwen3-coder", two, listed)).toMatchObject({
    targets: [{ upstream: "local" }],
  });
  expect(resolveModel("shared", two, listed)).toEqual({
    ok: true,
    targets: [{ upstream: "zai", model: "shared" }],
  });
});

test("a plain name may have a slash, if it does not begin with an upstream", () => {
  expect(resolveModel("org/model", two, listed)).toEqual({
    ok: true,
    targets: [{ upstream: "local", model: "org/model" }],
  });
});

test("a model whose own name begins with its upstream's keeps its whole name", () => {
  const config = configOf({ openrouter: undefined, zai: ["glm-4.6"] });
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

test("a single upstream gets every name as it is", () => {
  const config = configOf({ zai: ["glm-4.6"] }, { glm: "zai/glm-4.6" });
  for (const name of ["glm-9", "org/model", "gpt-5.5"])
    expect(resolveModel(name, config, new Map())).toEqual({
      ok: true,
      targets: [{ upstream: "zai", model: name }],
    });
  expect(resolveModel("glm", config, new Map())).toMatchObject({ targets: [{ model: "glm-4.6" }] });
  expect(resolveModel("", config, new Map()).ok).toBe(false);
});

test("a name that nobody has is answered with the nearest one and the way to see all", () => {
  expect(resolveModel("qwen3-codr", two, listed)).toEqual({
    ok: false,
    message:
      'there is no model "qwen3-codr": did you mean qwen3-coder? GET /v1/models shows all names.',
  });
  expect(resolveModel("zzzzzzzzzzzz", two, listed)).toEqual({
    ok: false,
    message: 'there is no model "zzzzzzzzzzzz". GET /v1/models shows all names.',
  });
});

test("an upstream that has not said what it has is named", () => {
  expect(resolveModel("zzzzzzzzzzzz", two, new Map())).toEqual({
    ok: false,
    message:
      'there is no model "zzzzzzzzzzzz". GET /v1/models shows all names. The models of local are not known; "upstream/model" always works.',
  });
});

test("without an upstream there is no model", () => {
  expect(resolveModel("glm", configOf({}), new Map())).toEqual({
    ok: false,
    message: 'there is no model "glm": no upstream is configured',
  });
});

test("an endless name is cut in the message", () => {
  expect(resolveModel("x".repeat(100_000), two, listed)).toEqual({
    ok: false,
    message: `there is no model "${"x".repeat(100)}…". GET /v1/models shows all names.`,
  });
});

test("an agent is found by its whole name, and is no target of a model", () => {
  const { agents } = read('[agents.reviewer]\nmodel = "demo/clean"');
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
