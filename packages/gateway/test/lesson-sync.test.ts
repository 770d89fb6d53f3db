import { openStore, type LessonStore, type Store } from "@deltawire/store";
import { genericProfile } from "@deltawire/wire";
import { expect, onTestFinished, test } from "vitest";
import type { Lesson } from "../src/learning/lesson.ts";
import { LessonRegistry } from "../src/learning/lesson-registry.ts";
import { LessonSync, type LessonSyncOptions } from "../src/learning/lesson-sync.ts";
import { createUpstreamFingerprint } from "../src/upstream/upstream-fingerprint.ts";
import { createUpstreamConfig } from "../src/config/upstreams.ts";

const noSeed: Lesson = {
  code: "parameter",
  description: "does not support seed; omitted",
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
  description: "does not store responses",
  providerMessage: "Store must be set to false",
  flags: {},
  responses: { extraBody: { store: false } },
};
const dayMs = 24 * 60 * 60 * 1000;

async function openTestStore(): Promise<Store> {
  const store = await openStore({ path: ":memory:" });
  onTestFinished(() => store.close());
  return store;
}

/** The lessons of one process. */
function createProcess(options: Partial<LessonSyncOptions> = {}) {
  const lessons = new LessonRegistry();
  const failures: string[] = [];
  const sync = new LessonSync({
    registry: lessons,
    getFingerprint: (upstream) => `fingerprint of ${upstream}`,
    onFailure: (message) => failures.push(message),
    now: () => 1000,
    pollMs: 20,
    ...options,
  });
  onTestFinished(() => sync.detach());
  return { lessons, sync, failures };
}

test("lessons are the same after a restart", async () => {
  const store = await openTestStore();
  const first = createProcess();
  await first.sync.attach(store);
  first.lessons.add("zai", "glm", noSeed, 1);
  first.lessons.add("zai", "glm", hoist, 2);
  first.lessons.add("openai", "gpt", noStore, 3);
  const listed = first.lessons.list();
  await first.sync.detach();

  const second = createProcess();
  await second.sync.attach(store);
  expect(second.lessons.list()).toEqual(listed);
  expect(second.lessons.getProfile("zai", "glm", genericProfile)).toEqual(
    first.lessons.getProfile("zai", "glm", genericProfile),
  );
  expect(second.lessons.getResponsesFlags("openai", "gpt")).toEqual({
    extraBody: { store: false },
  });
});

test("a lesson of one process soon applies in the others, and so does its deletion", async () => {
  const store = await openTestStore();
  const [one, other] = [createProcess(), createProcess()];
  await one.sync.attach(store);
  await other.sync.attach(store);
  one.lessons.add("zai", "glm", noSeed, 1);
  other.lessons.add("zai", "glm", hoist, 2);
  await expect.poll(() => one.lessons.list().length).toBe(2);
  await expect.poll(() => other.lessons.list().length).toBe(2);
  expect(one.lessons.list()).toEqual(other.lessons.list());
  other.lessons.forget("zai", "glm");
  await expect.poll(() => one.lessons.list()).toEqual([]);
  one.lessons.add("zai", "glm", noSeed, 3);
  await expect.poll(() => other.lessons.list()).toMatchObject([{ code: "parameter", at: 3 }]);
});

test("lessons learned before the store is open are stored when it opens", async () => {
  const store = await openTestStore();
  const { lessons, sync } = createProcess();
  lessons.add("zai", "glm", noSeed, 1);
  await sync.attach(store);
  expect(await store.listLessons()).toMatchObject([
    { upstream: "zai", model: "glm", learnedAt: 1 },
  ]);
  expect(lessons.list()).toMatchObject([{ code: "parameter" }]);
});

test("lessons that were deleted before the store is open are also deleted there", async () => {
  const store = await openTestStore();
  const earlier = createProcess();
  await earlier.sync.attach(store);
  earlier.lessons.add("zai", "glm", noSeed, 1);
  earlier.lessons.add("zai", "other", noSeed, 2);
  await earlier.sync.detach();
  const { lessons, sync } = createProcess();
  lessons.forget("zai", "glm");
  lessons.add("zai", "third", noSeed, 3);
  await sync.attach(store);
  expect(lessons.list().map(({ model }) => model)).toEqual(["other", "third"]);
});

test("while the store fails, lessons apply, the failure is reported once, and they are stored later", async () => {
  const store = await openTestStore();
  let isFailing = false;
  const assertWorks = () => {
    if (isFailing) throw new Error("the disk is full");
  };
  const failing: LessonStore = {
    async addLessons(added) {
      assertWorks();
      await store.addLessons(added);
    },
    async removeLessons(filter) {
      assertWorks();
      await store.removeLessons(filter);
    },
    async listLessons() {
      assertWorks();
      return store.listLessons();
    },
    async getLessonsVersion() {
      assertWorks();
      return store.getLessonsVersion();
    },
  };
  const { lessons, sync, failures } = createProcess();
  await sync.attach(failing);
  isFailing = true;
  lessons.add("zai", "glm", noSeed, 1);
  await sync.sync();
  lessons.forget("zai", "other");
  lessons.add("zai", "glm", hoist, 2);
  await sync.sync();
  expect(failures).toEqual(["could not store or load lessons"]);
  expect(lessons.list()).toHaveLength(2);
  isFailing = false;
  await sync.sync();
  expect(lessons.list().map(({ code }) => code)).toEqual(["parameter", "system_first"]);
  expect(await store.listLessons()).toHaveLength(2);
});

test("a lesson that is learned while the others are loaded is not lost", async () => {
  const store = await openTestStore();
  const { lessons, sync } = createProcess({ pollMs: 60_000 });
  let whileLoading = () => {};
  await sync.attach({
    addLessons: (added) => store.addLessons(added),
    removeLessons: (filter) => store.removeLessons(filter),
    getLessonsVersion: () => store.getLessonsVersion(),
    async listLessons() {
      const listed = await store.listLessons();
      whileLoading();
      return listed;
    },
  });
  whileLoading = () => {
    whileLoading = () => {};
    lessons.forget("zai", "glm");
    lessons.add("zai", "other", hoist, 2);
  };
  lessons.add("zai", "glm", noSeed, 1);
  await sync.sync();
  expect(lessons.list()).toMatchObject([{ model: "other" }]);
  await sync.sync();
  expect(await store.listLessons()).toMatchObject([{ model: "other" }]);
});

test("a lesson does not apply after the configuration of its upstream has changed", async () => {
  const store = await openTestStore();
  const upstreams = [
    createUpstreamConfig({ name: "up", baseUrl: "http://a.example/v1", speaks: "chat" }),
    createUpstreamConfig({ name: "up", baseUrl: "http://b.example/v1", speaks: "chat" }),
  ] as const;
  const [before, after, asBefore] = [upstreams[0], upstreams[1], upstreams[0]].map((upstream) =>
    createProcess({ getFingerprint: () => createUpstreamFingerprint(upstream) }),
  );
  await before?.sync.attach(store);
  before?.lessons.add("up", "m", noSeed, 1);
  await before?.sync.detach();
  await after?.sync.attach(store);
  expect(after?.lessons.list()).toEqual([]);
  await asBefore?.sync.attach(store);
  expect(asBefore?.lessons.list()).toHaveLength(1);
});

test("lessons are forgotten after 30 days, including in the store", async () => {
  const store = await openTestStore();
  let now = dayMs;
  const { lessons, sync } = createProcess({ now: () => now });
  await sync.attach(store);
  lessons.add("zai", "glm", noSeed, dayMs);
  lessons.add("zai", "glm", hoist, 2 * dayMs);
  await sync.sync();
  now = 31 * dayMs;
  await sync.sync();
  expect(lessons.list()).toHaveLength(2);
  now += 1;
  await sync.sync();
  expect(lessons.list()).toMatchObject([{ code: "system_first" }]);
  expect(await store.listLessons()).toHaveLength(1);
});

test("the store keeps the lessons of the last thousand models", async () => {
  const store = await openTestStore();
  const { lessons, sync } = createProcess({ pollMs: 60_000 });
  await sync.attach(store);
  for (let model = 0; model < 1002; model += 1) lessons.add("zai", `m${model}`, noSeed, model);
  await sync.sync();
  const stored = await store.listLessons();
  expect(stored).toHaveLength(1000);
  expect(stored[0]).toMatchObject({ model: "m2" });
  expect(lessons.list()).toHaveLength(1000);
});
