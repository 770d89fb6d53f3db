import { expect, test } from "vitest";
import { isOnlyDemo, suggestionsFor } from "../../src/chat/suggestions.tsx";
import { choices, model } from "./choices-for-tests.ts";

const names = (more: Parameters<typeof choices>[0]) =>
  suggestionsFor(choices(more)).map(({ name }) => name);

test("with the demo everything can be tried: a tool, an approval, a sub-agent, a picture, Markdown", () => {
  expect(names({})).toEqual(["weather", "approval", "subAgent", "picture", "markdown"]);
});

test("without the demo only what needs no tools of it is offered", () => {
  expect(names({ agents: [], models: [model("a/b")] })).toEqual(["compare", "explain", "markdown"]);
});

test("where the configured model makes pictures, what needs words goes to one that chats", () => {
  const { defaults, models } = choices();
  const offered = suggestionsFor(
    choices({ agents: [], models, defaults: { ...defaults, model: "demo/painter" } }),
  );
  expect(offered.find(({ name }) => name === "markdown")?.settings).toEqual({
    model: "demo/clean",
  });
  expect(offered.find(({ name }) => name === "picture")?.settings).toEqual({
    model: "demo/painter",
  });
});

test("nothing is offered that nobody could answer", () => {
  const { model: _none, ...defaults } = choices().defaults;
  expect(names({ agents: [], models: [], defaults })).toEqual([]);
});

test("a gateway is a demo as long as nobody else answers", () => {
  expect(isOnlyDemo(choices())).toBe(true);
  expect(isOnlyDemo(choices({ models: [model("demo/clean"), model("zai/glm")] }))).toBe(false);
  expect(isOnlyDemo(choices({ models: [] }))).toBe(false);
});
