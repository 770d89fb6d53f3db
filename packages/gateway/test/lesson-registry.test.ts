import { genericProfile, findProviderProfile } from "@deltawire/wire";
import { expect, test } from "vitest";
import { deriveLesson, type Lesson } from "../src/learning/derive-lesson.ts";
import { LessonRegistry } from "../src/learning/lesson-registry.ts";

const noSeed: Lesson = {
  code: "parameter",
  description: "does not take seed: left out",
  providerMessage: "Unknown parameter: seed",
  flags: { droppedParameters: ["seed"] },
};
const hoist: Lesson = {
  code: "system_first",
  description: "supports only one system message, at the start",
  providerMessage: "System message must be at the beginning.",
  flags: { lateSystemMessages: "hoist" },
};
const noStore: Lesson = {
  code: "store",
  description: "keeps no responses: store is false",
  providerMessage: "Store must be set to false",
  flags: {},
  responses: { extraBody: { store: false } },
};

test("a lesson applies only to its model of its upstream", () => {
  const lessons = new LessonRegistry();
  lessons.add("zai", "glm", noSeed, 1);
  lessons.add("zai", "glm", hoist, 2);
  const learned = lessons.getProfile("zai", "glm", genericProfile);
  expect(learned).toEqual({
    ...genericProfile,
    droppedParameters: ["seed"],
    lateSystemMessages: "hoist",
  });
  expect(lessons.getProfile("zai", "other", genericProfile)).toBe(genericProfile);
  expect(lessons.getProfile("other", "glm", genericProfile)).toBe(genericProfile);
});

test("a profile is built once, and again only after a new lesson", () => {
  const lessons = new LessonRegistry();
  const getCurrentProfile = () => lessons.getProfile("u", "m", genericProfile);
  expect(getCurrentProfile()).toBe(genericProfile);
  lessons.add("u", "m", noSeed, 1);
  const first = getCurrentProfile();
  expect(getCurrentProfile()).toBe(first);
  lessons.add("u", "m", hoist, 2);
  expect(getCurrentProfile()).not.toBe(first);
  expect(getCurrentProfile()).toBe(getCurrentProfile());
});

test("lessons are applied to the configured profile", () => {
  const lessons = new LessonRegistry();
  lessons.add("u", "m", noSeed, 1);
  const kimi = findProviderProfile("kimi") ?? genericProfile;
  expect(lessons.getProfile("u", "m", kimi).droppedParameters).toEqual([
    ...kimi.droppedParameters,
    "seed",
  ]);
  expect(lessons.getProfile("u", "m", genericProfile).droppedParameters).toEqual(["seed"]);
});

test("two concurrent requests with the same lesson store it once, and both are retried", () => {
  const lessons = new LessonRegistry();
  const attempt = lessons.getProfile("u", "m", genericProfile);
  const rejection = { status: 400, body: "Unknown parameter: seed" };
  const body = { model: "m", messages: [], seed: 1 };
  const both = [1, 2].map(() =>
    deriveLesson(rejection, { speaks: "chat", profile: attempt, responses: {}, body }),
  );
  expect(both.map((lesson) => lesson && lessons.add("u", "m", lesson, 1))).toEqual([true, false]);
  expect(lessons.list()).toHaveLength(1);
  expect(lessons.getProfile("u", "m", genericProfile)).not.toBe(attempt);
});

test("an error about messages teaches a lesson if it refers to the model, but not if it refers to another field", () => {
  const messages = [
    { role: "system", content: "Be kind." },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello" },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Bye" },
  ];
  const body = { model: "m", messages, seed: 1 };
  const attempt = { speaks: "chat", profile: genericProfile, responses: {}, body } as const;
  const lessonAt = (param: string | null) =>
    deriveLesson(
      {
        status: 400,
        body: { error: { message: "System message must be at the beginning.", param } },
      },
      attempt,
    )?.code;
  expect(lessonAt(null)).toBeDefined();
  expect(lessonAt("messages")).toBe(lessonAt(null));
  expect(lessonAt("model")).toBe(lessonAt(null));
  expect(lessonAt("seed")).toBeUndefined();
});

test("two contradictory errors do not cause an endless loop", () => {
  const lessons = new LessonRegistry();
  const complaints = {
    null: "messages[1].content: expected string, received null",
    empty: "messages: text content blocks must be non-empty",
    omit: "messages[1]: missing field `content`",
  };
  const contents = { null: { content: null }, empty: { content: "" }, omit: {} };
  let attempts = 0;
  for (; attempts < 20; attempts += 1) {
    const profile = lessons.getProfile("u", "m", genericProfile);
    const { emptyContent } = profile;
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const messages = [{ role: "assistant", ...contents[emptyContent], tool_calls: [call] }];
    const rejection = { status: 400, body: complaints[emptyContent] };
    const lesson = deriveLesson(rejection, {
      speaks: "chat",
      profile,
      responses: {},
      body: { messages },
    });
    if (lesson !== undefined) lessons.add("u", "m", lesson, attempts);
    if (lessons.getProfile("u", "m", genericProfile) === profile) break;
  }
  expect(attempts).toBeLessThan(5);
});

test("lessons of a Responses upstream are merged; those about one conversation are not stored", () => {
  const lessons = new LessonRegistry();
  expect(lessons.getResponsesFlags("u", "m")).toEqual({});
  expect(lessons.getResponsesFlags("u", "m")).toBe(lessons.getResponsesFlags("u", "other"));
  lessons.add("u", "m", noStore, 1);
  lessons.add("u", "m", { ...noSeed, flags: {}, responses: { droppedParameters: ["user"] } }, 2);
  lessons.add("u", "m", { ...noSeed, flags: {}, responses: { droppedParameters: ["top_p"] } }, 3);
  lessons.add("u", "m", { ...noSeed, flags: {}, responses: { rejectsHistory: true } }, 4);
  const sealed: Lesson = { ...noSeed, flags: {}, responses: { dropSealed: true }, once: true };
  expect(lessons.add("u", "m", sealed, 5)).toBe(false);
  expect(lessons.getResponsesFlags("u", "m")).toEqual({
    extraBody: { store: false },
    droppedParameters: ["user", "top_p"],
    rejectsHistory: true,
  });
  expect(lessons.getResponsesFlags("u", "m")).toBe(lessons.getResponsesFlags("u", "m"));
});

/** Returns a lesson in the form of `GET /deltawire/lessons`. */
function toListedLesson({ description, providerMessage, ...lesson }: Lesson) {
  return { ...lesson, description, provider_message: providerMessage };
}

test("lessons can be listed, with the provider's message and the time", () => {
  const lessons = new LessonRegistry();
  lessons.add("zai", "glm", noSeed, 7);
  lessons.add("oai", "gpt", noStore, 8);
  expect(lessons.list()).toEqual([
    { upstream: "zai", model: "glm", at: 7, ...toListedLesson(noSeed) },
    { upstream: "oai", model: "gpt", at: 8, ...toListedLesson(noStore) },
  ]);
});

test("lessons can be deleted: of a model, of an upstream, all", () => {
  const lessons = new LessonRegistry();
  for (const upstream of ["a", "b"])
    for (const model of ["m", "n"]) lessons.add(upstream, model, noSeed, 1);
  expect(lessons.forget("a", "m")).toBe(1);
  expect(lessons.getProfile("a", "m", genericProfile)).toBe(genericProfile);
  expect(lessons.getProfile("a", "n", genericProfile)).not.toBe(genericProfile);
  expect(lessons.forget("b")).toBe(2);
  expect(lessons.forget()).toBe(1);
  expect(lessons.forget()).toBe(0);
  expect(lessons.list()).toEqual([]);
});

test("memory is limited for clients that invent models and upstreams that reject everything", () => {
  const lessons = new LessonRegistry();
  for (let index = 0; index < 3_000; index += 1) lessons.add("u", `m${index}`, noSeed, index);
  for (let position = 0; position < 100; position += 1)
    lessons.add("v", "m", { ...noSeed, flags: { droppedParameters: [`p${position}`] } }, position);
  expect(lessons.list().length).toBeLessThanOrEqual(1_100);
  expect(lessons.list().filter(({ upstream }) => upstream === "v").length).toBeLessThanOrEqual(24);
  expect(lessons.getProfile("u", "m2999", genericProfile)).not.toBe(genericProfile);
});
