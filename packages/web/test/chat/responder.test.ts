import { expect, test } from "vitest";
import {
  resolveResponder,
  toAnswerResponder,
  filterResponderOptions,
  listResponderOptions,
  toResponderPatch,
  findRunningResponder,
  parseTypedOption,
} from "../../src/chat/responder.tsx";
import { createChatChoices, createModelChoice } from "./choices-fixture.ts";
import { completedAnswer, buildChat } from "./chat-fixture.ts";

test("a chat without a model is answered by the gateway's default", () => {
  expect(resolveResponder({}, createChatChoices())).toMatchObject({
    type: "model",
    name: "demo/clean",
  });
});

test("an agent is resolved together with its model", () => {
  expect(resolveResponder({ agent: "demo-agent" }, createChatChoices())).toMatchObject({
    type: "agent",
    name: "demo-agent",
    model: { name: "demo/clean" },
  });
});

test("an agent selected as a model is still an agent", () => {
  expect(resolveResponder({ model: "demo-agent" }, createChatChoices())?.type).toBe("agent");
});

test("a model that is not listed can be selected, but its capabilities are unknown", () => {
  expect(resolveResponder({ model: "other/new" }, createChatChoices())).toEqual({
    type: "model",
    name: "other/new",
    model: undefined,
  });
});

test("options are grouped: default, agents, chat, images, audio", () => {
  const { models } = createChatChoices();
  const options = listResponderOptions(
    createChatChoices({ models: [createModelChoice("a/voice", { type: "audio-tts" }), ...models] }),
  );
  expect(options.map(({ group, name }) => `${group} ${name}`)).toEqual([
    "default demo/clean",
    "agents demo-agent",
    "chat demo/clean",
    "images demo/painter",
    "audio a/voice",
  ]);
});

test("an option matches a query if its name or description contains every word, ignoring case", () => {
  const options = listResponderOptions(createChatChoices());
  const names = (query: string) => filterResponderOptions(options, query).map(({ name }) => name);
  expect(names("SHOWS demo")).toEqual(["demo-agent"]);
  expect(names("clean")).toEqual(["demo/clean"]);
  expect(names("clean painter")).toEqual([]);
  expect(names(" ")).toHaveLength(options.length);
});

test("a model of a configured upstream that does not list it can be entered by its full name", () => {
  const options = listResponderOptions(createChatChoices());
  const parse = (query: string) =>
    parseTypedOption(query, options, [{ name: "demo" }, { name: "nolist" }]);
  expect(parse(" nolist/org/foo ")).toMatchObject({ selection: { model: "nolist/org/foo" } });
  for (const query of ["", "/", "nolist", "nolist/", "other/foo", "nolist/a b", "demo/clean"])
    expect(parse(query)).toBeUndefined();
});

test("selecting an agent removes the model, and the default removes both", () => {
  expect(toResponderPatch({ agent: "demo-agent" })).toEqual({ agent: "demo-agent", model: null });
  expect(toResponderPatch({})).toEqual({ agent: null, model: null });
});

test("a retry with the default sends its name, as otherwise the chat's own model would answer", () => {
  const { defaults } = createChatChoices();
  expect(toAnswerResponder({}, { defaults })).toEqual({ model: "demo/clean" });
  expect(toAnswerResponder({}, { defaults: { ...defaults, agent: "demo-agent" } })).toEqual({
    agent: "demo-agent",
  });
  expect(toAnswerResponder({ agent: "demo-agent" }, { defaults })).toEqual({ agent: "demo-agent" });
});

test("the responder of a running answer is not the one that is selected for the next answer", () => {
  const chat = buildChat(
    { type: "add_message", parent: null, message: { text: "Hello" } },
    {
      type: "add_answer",
      parent: "node_1",
      answer: { ...completedAnswer, status: "running", task_id: "task_1", model: "a/old" },
    },
    { type: "settings", patch: { model: "b/new" } },
  );
  expect(findRunningResponder(chat, "task_1")).toBe("a/old");
  expect(findRunningResponder(chat, "task_2")).toBeUndefined();
});
