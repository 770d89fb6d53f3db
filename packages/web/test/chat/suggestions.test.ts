import { expect, test } from "vitest";
import { hasOnlyDemoModels, listSuggestions } from "../../src/chat/suggestions.tsx";
import { createChatChoices, createModelChoice } from "./choices-fixture.ts";

const listSuggestionNames = (overrides: Parameters<typeof createChatChoices>[0]) =>
  listSuggestions(createChatChoices(overrides)).map(({ name }) => name);

test("with the demo agent, tools, approvals, sub-agents, images and Markdown are suggested", () => {
  expect(listSuggestionNames({})).toEqual(["weather", "approval", "subAgent", "image", "markdown"]);
});

test("without the demo agent, only suggestions without tools are shown", () => {
  expect(listSuggestionNames({ agents: [], models: [createModelChoice("a/b")] })).toEqual([
    "compare",
    "explain",
    "markdown",
  ]);
});

test("if the default model generates images, text suggestions select a chat model", () => {
  const { defaults, models } = createChatChoices();
  const suggestions = listSuggestions(
    createChatChoices({ agents: [], models, defaults: { ...defaults, model: "demo/painter" } }),
  );
  expect(suggestions.find(({ name }) => name === "markdown")?.settings).toEqual({
    model: "demo/clean",
  });
  expect(suggestions.find(({ name }) => name === "image")?.settings).toEqual({
    model: "demo/painter",
  });
});

test("without models there are no suggestions", () => {
  const { model: _none, ...defaults } = createChatChoices().defaults;
  expect(listSuggestionNames({ agents: [], models: [], defaults })).toEqual([]);
});

test("a gateway is recognized as a demo only if all of its models are demo models", () => {
  expect(hasOnlyDemoModels(createChatChoices())).toBe(true);
  expect(
    hasOnlyDemoModels(
      createChatChoices({
        models: [createModelChoice("demo/clean"), createModelChoice("zai/glm")],
      }),
    ),
  ).toBe(false);
  expect(hasOnlyDemoModels(createChatChoices({ models: [] }))).toBe(false);
});
