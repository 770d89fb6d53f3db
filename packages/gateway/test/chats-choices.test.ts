import { expect, test } from "vitest";
import { chatChoices } from "../src/chats/choices.ts";
import type { Config } from "../src/config/config.ts";
import { Lessons } from "../src/learning/memory.ts";
import { read } from "./reading-config.ts";

const choicesOf = (config: Config) => chatChoices(config, new Map(), new Lessons());

test("each model has one name, and beside it those that [models] gives it", () => {
  const upstream = (name: string, ...models: string[]): string =>
    `[upstreams.${name}]\nbase_url = "http://127.0.0.1:9/v1"\nspeaks = "chat"\nmodels = ${JSON.stringify(models)}\n`;
  const names = (toml: string): string[] => choicesOf(read(toml)).models.map(({ name }) => name);
  expect(names(upstream("up", "m", "n"))).toEqual(["up/m", "up/n"]);
  expect(names(`${upstream("up", "m")}[models]\nn = "up/m"\nm = "up/m"`)).toEqual([
    "n",
    "m",
    "up/m",
  ]);
  expect(names(upstream("up", "m") + upstream("other", "m", "o"))).toEqual([
    "up/m",
    "other/m",
    "other/o",
  ]);
  // `up/m` is the first of these two, and looks like a short name of the second.
  expect(names(upstream("up", "m", "up/m"))).toEqual(["up/m", "up/up/m"]);
  expect(names(upstream("up", "up/auto"))).toEqual(["up/up/auto"]);
});

test("a skill says when it is read, and a chat that says nothing has all of them", () => {
  const config = read("[server]\ndemo = true\n[chats]\ntitles = false");
  const skill = { description: "", text: "…" };
  const skills = [
    { ...skill, name: "tides", when: "Of the sea.", always: false },
    { ...skill, name: "manners", always: true },
  ];
  const choices = choicesOf({
    ...config,
    skills: new Map(skills.map((one) => [one.name, one])),
  });
  expect(choices.skills).toEqual([
    { name: "tides", description: "", when: "Of the sea.", always: false },
    { name: "manners", description: "", always: true },
  ]);
  expect(choices.defaults).toMatchObject({
    skills: ["tides", "manners"],
    exact_time: false,
    titles: false,
    turns: config.chats.turns,
    limits: { rounds: config.chats.rounds },
    time_zone: expect.stringMatching(/./) as string,
  });
});
