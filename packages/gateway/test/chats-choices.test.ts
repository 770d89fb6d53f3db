import { expect, test } from "vitest";
import { buildChatChoices } from "../src/chats/chat-choices.ts";
import type { Config } from "../src/config/config.ts";
import { LessonRegistry } from "../src/learning/lesson-registry.ts";
import { parseToml } from "./config-fixture.ts";

const buildChoices = (config: Config) => buildChatChoices(config, new Map(), new LessonRegistry());

test("the choices list each model once, in addition to its names in [models]", () => {
  const upstream = (name: string, ...models: string[]): string =>
    `[upstreams.${name}]\nbase_url = "http://127.0.0.1:9/v1"\nspeaks = "chat"\nmodels = ${JSON.stringify(models)}\n`;
  const names = (toml: string): string[] =>
    buildChoices(parseToml(toml)).models.map(({ name }) => name);
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
  // `up/m` names the first of these models, although it looks like a short name of the second.
  expect(names(upstream("up", "m", "up/m"))).toEqual(["up/m", "up/up/m"]);
  expect(names(upstream("up", "up/auto"))).toEqual(["up/up/auto"]);
});

test("the choices contain when each skill is read, and all skills are enabled by default", () => {
  const config = parseToml("[server]\ndemo = true\n[chats]\ntitles = false");
  const skill = { description: "", text: "…" };
  const skills = [
    { ...skill, name: "tides", when: "Of the sea.", always: false },
    { ...skill, name: "manners", always: true },
  ];
  const choices = buildChoices({
    ...config,
    skills: new Map(skills.map((one) => [one.name, one])),
  });
  expect(choices.skills).toEqual([
    { name: "tides", description: "", when: "Of the sea.", always: false },
    { name: "manners", description: "", always: true },
  ]);
  expect(choices.defaults).toMatchObject({
    skills: ["tides", "manners"],
    message_times: false,
    titles: false,
    turns: config.chats.maxTurns,
    limits: { rounds: config.chats.maxRounds },
    time_zone: expect.stringMatching(/./) as string,
  });
});
