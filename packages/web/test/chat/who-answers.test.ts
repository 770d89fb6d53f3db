import { expect, test } from "vitest";
import {
  answererIn,
  choicesFound,
  choicesToPick,
  patchFor,
  whoAnswersNow,
  writtenChoice,
} from "../../src/chat/who-answers.tsx";
import { choices, model } from "./choices-for-tests.ts";
import { answered, chatAfter } from "./stage.ts";

test("a chat that says nothing is answered by what the gateway has configured", () => {
  expect(answererIn({}, choices())).toMatchObject({ is: "model", name: "demo/clean" });
});

test("of an agent what its model can do is known", () => {
  expect(answererIn({ agent: "demo-agent" }, choices())).toMatchObject({
    is: "agent",
    name: "demo-agent",
    model: { name: "demo/clean" },
  });
});

test("an agent that is named as a model is still an agent", () => {
  expect(answererIn({ model: "demo-agent" }, choices())?.is).toBe("agent");
});

test("a model that the gateway does not list answers all the same, with nothing known of it", () => {
  expect(answererIn({ model: "other/new" }, choices())).toEqual({
    is: "model",
    name: "other/new",
    model: undefined,
  });
});

test("choices come in groups: the configured one, agents, models, pictures, sound", () => {
  const { models } = choices();
  const all = choicesToPick(
    choices({ models: [model("a/voice", { type: "audio-tts" }), ...models] }),
  );
  expect(all.map(({ group, name }) => `${group} ${name}`)).toEqual([
    "default demo/clean",
    "agents demo-agent",
    "chat demo/clean",
    "pictures demo/painter",
    "sound a/voice",
  ]);
});

test("a search finds by all of its words, in names and descriptions, in any case", () => {
  const all = choicesToPick(choices());
  const names = (query: string) => choicesFound(all, query).map(({ name }) => name);
  expect(names("SHOWS demo")).toEqual(["demo-agent"]);
  expect(names("clean")).toEqual(["demo/clean"]);
  expect(names("clean painter")).toEqual([]);
  expect(names(" ")).toHaveLength(all.length);
});

test("a model that is not listed is offered by its whole name, of an upstream that there is", () => {
  const all = choicesToPick(choices());
  const written = (query: string) =>
    writtenChoice(query, all, [{ name: "demo" }, { name: "nolist" }]);
  expect(written(" nolist/org/foo ")).toMatchObject({ who: { model: "nolist/org/foo" } });
  for (const query of ["", "/", "nolist", "nolist/", "other/foo", "nolist/a b", "demo/clean"])
    expect(written(query)).toBeUndefined();
});

test("whoever is chosen takes out the other kind", () => {
  expect(patchFor({ agent: "demo-agent" })).toEqual({ agent: "demo-agent", model: null });
  expect(patchFor({})).toEqual({ agent: null, model: null });
});

test("words go to whoever writes the answer that runs, whoever is chosen for the next one", () => {
  const chat = chatAfter(
    { type: "add_message", parent: null, message: { text: "Hello" } },
    {
      type: "add_answer",
      parent: "node_1",
      answer: { ...answered, status: "running", task_id: "task_1", model: "a/old" },
    },
    { type: "settings", patch: { model: "b/new" } },
  );
  expect(whoAnswersNow(chat, "task_1")).toBe("a/old");
  expect(whoAnswersNow(chat, "task_2")).toBeUndefined();
});
