import { genericProfile, profileNamed } from "@deltawire/wire";
import { expect, test } from "vitest";
import { lessonOf, type Lesson } from "../src/learning/lessons.ts";
import { Lessons } from "../src/learning/memory.ts";

const noSeed: Lesson = {
  code: "parameter",
  what: "does not take seed: left out",
  said: "Unknown parameter: seed",
  flags: { droppedParameters: ["seed"] },
};
const hoist: Lesson = {
  code: "system_first",
  what: "takes one system message, in front",
  said: "System message must be at the beginning.",
  flags: { laterSystem: "hoist" },
};
const noStore: Lesson = {
  code: "store",
  what: "keeps no responses: store is false",
  said: "Store must be set to false",
  flags: {},
  responses: { extraBody: { store: false } },
};

test("what was learned of a model holds for that model of that upstream, and for no other", () => {
  const lessons = new Lessons();
  lessons.learn("zai", "glm", noSeed, 1);
  lessons.learn("zai", "glm", hoist, 2);
  const learned = lessons.profileFor("zai", "glm", genericProfile);
  expect(learned).toEqual({ ...genericProfile, droppedParameters: ["seed"], laterSystem: "hoist" });
  expect(lessons.profileFor("zai", "other", genericProfile)).toBe(genericProfile);
  expect(lessons.profileFor("other", "glm", genericProfile)).toBe(genericProfile);
});

test("a profile is made once, and again only when something is learned", () => {
  const lessons = new Lessons();
  const of = () => lessons.profileFor("u", "m", genericProfile);
  expect(of()).toBe(genericProfile);
  lessons.learn("u", "m", noSeed, 1);
  const first = of();
  expect(of()).toBe(first);
  lessons.learn("u", "m", hoist, 2);
  expect(of()).not.toBe(first);
  expect(of()).toBe(of());
});

test("lessons come on top of the profile that is configured", () => {
  const lessons = new Lessons();
  lessons.learn("u", "m", noSeed, 1);
  const kimi = profileNamed("kimi") ?? genericProfile;
  expect(lessons.profileFor("u", "m", kimi).droppedParameters).toEqual([
    ...kimi.droppedParameters,
    "seed",
  ]);
  expect(lessons.profileFor("u", "m", genericProfile).droppedParameters).toEqual(["seed"]);
});

test("two requests that learn the same thing at once record it once, and both may ask again", () => {
  const lessons = new Lessons();
  const tried = lessons.profileFor("u", "m", genericProfile);
  const refusal = { status: 400, body: "Unknown parameter: seed" };
  const body = { model: "m", messages: [], seed: 1 };
  const both = [1, 2].map(() =>
    lessonOf(refusal, { speaks: "chat", profile: tried, responses: {}, body }),
  );
  expect(both.map((lesson) => lesson && lessons.learn("u", "m", lesson, 1))).toEqual([true, false]);
  expect(lessons.list()).toHaveLength(1);
  expect(lessons.profileFor("u", "m", genericProfile)).not.toBe(tried);
});

test("a complaint about messages teaches also if it points at the model, but not if it points at another field", () => {
  const messages = [
    { role: "system", content: "Be kind." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Bye" },
  ];
  const body = { model: "m", messages, seed: 1 };
  const tried = { speaks: "chat", profile: genericProfile, responses: {}, body } as const;
  const lessonAt = (param: string | null) =>
    lessonOf(
      {
        status: 400,
        body: { error: { message: "System message must be at the beginning.", param } },
      },
      tried,
    )?.code;
  expect(lessonAt(null)).toBeDefined();
  expect(lessonAt("messages")).toBe(lessonAt(null));
  expect(lessonAt("model")).toBe(lessonAt(null));
  expect(lessonAt("seed")).toBeUndefined();
});

test("two complaints that contradict each other come to an end", () => {
  const lessons = new Lessons();
  const complaints = {
    null: "messages[1].content: expected string, received null",
    empty: "messages: text content blocks must be non-empty",
    omit: "messages[1]: missing field `content`",
  };
  const contents = { null: { content: null }, empty: { content: "" }, omit: {} };
  let asked = 0;
  for (; asked < 20; asked += 1) {
    const profile = lessons.profileFor("u", "m", genericProfile);
    const { emptyContent } = profile;
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const messages = [{ role: "assistant", ...contents[emptyContent], tool_calls: [call] }];
    const refusal = { status: 400, body: complaints[emptyContent] };
    const lesson = lessonOf(refusal, {
      speaks: "chat",
      profile,
      responses: {},
      body: { messages },
    });
    if (lesson !== undefined) lessons.learn("u", "m", lesson, asked);
    if (lessons.profileFor("u", "m", genericProfile) === profile) break;
  }
  expect(asked).toBeLessThan(5);
});

test("lessons of a Responses upstream add up; what is about one conversation is not kept", () => {
  const lessons = new Lessons();
  expect(lessons.responsesFor("u", "m")).toEqual({});
  expect(lessons.responsesFor("u", "m")).toBe(lessons.responsesFor("u", "other"));
  lessons.learn("u", "m", noStore, 1);
  lessons.learn("u", "m", { ...noSeed, flags: {}, responses: { droppedParameters: ["user"] } }, 2);
  lessons.learn("u", "m", { ...noSeed, flags: {}, responses: { droppedParameters: ["top_p"] } }, 3);
  lessons.learn("u", "m", { ...noSeed, flags: {}, responses: { refusedHistory: true } }, 4);
  const sealed: Lesson = { ...noSeed, flags: {}, responses: { dropSealed: true }, once: true };
  expect(lessons.learn("u", "m", sealed, 5)).toBe(false);
  expect(lessons.responsesFor("u", "m")).toEqual({
    extraBody: { store: false },
    droppedParameters: ["user", "top_p"],
    refusedHistory: true,
  });
  expect(lessons.responsesFor("u", "m")).toBe(lessons.responsesFor("u", "m"));
});

test("lessons can be seen, with the provider's words and the time", () => {
  const lessons = new Lessons();
  lessons.learn("zai", "glm", noSeed, 7);
  lessons.learn("oai", "gpt", noStore, 8);
  expect(lessons.list()).toEqual([
    { upstream: "zai", model: "glm", at: 7, ...noSeed },
    { upstream: "oai", model: "gpt", at: 8, ...noStore },
  ]);
});

test("lessons can be forgotten: of a model, of an upstream, all", () => {
  const lessons = new Lessons();
  for (const upstream of ["a", "b"])
    for (const model of ["m", "n"]) lessons.learn(upstream, model, noSeed, 1);
  expect(lessons.forget("a", "m")).toBe(1);
  expect(lessons.profileFor("a", "m", genericProfile)).toBe(genericProfile);
  expect(lessons.profileFor("a", "n", genericProfile)).not.toBe(genericProfile);
  expect(lessons.forget("b")).toBe(2);
  expect(lessons.forget()).toBe(1);
  expect(lessons.forget()).toBe(0);
  expect(lessons.list()).toEqual([]);
});

test("neither a client that invents models nor an upstream that refuses everything fills the memory", () => {
  const lessons = new Lessons();
  for (let at = 0; at < 3_000; at += 1) lessons.learn("u", `m${at}`, noSeed, at);
  for (let at = 0; at < 100; at += 1)
    lessons.learn("v", "m", { ...noSeed, flags: { droppedParameters: [`p${at}`] } }, at);
  expect(lessons.list().length).toBeLessThanOrEqual(1_100);
  expect(lessons.list().filter(({ upstream }) => upstream === "v").length).toBeLessThanOrEqual(24);
  expect(lessons.profileFor("u", "m2999", genericProfile)).not.toBe(genericProfile);
});
