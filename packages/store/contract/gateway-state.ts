import assert from "node:assert/strict";
import type { StoredLesson } from "@deltawire/store";
import type { StoreScenarios } from "./scenario.ts";

function createLesson(model: string, overrides: Partial<StoredLesson> = {}): StoredLesson {
  const json = JSON.stringify({ model });
  return { upstream: "zai", model, digest: "a", learnedAt: 1000, json, ...overrides };
}

/** What the processes of a gateway share besides tasks and chats. */
export const gatewayStateScenarios: StoreScenarios = {
  "lessons are listed in the order in which they were added, even after a restart": async (
    store,
    reopen,
  ) => {
    const lessons = ["glm", "a\0b", "ä"].map((model) => createLesson(model));
    await store.addLessons(lessons.slice(0, 2));
    await store.addLessons(lessons.slice(2));
    assert.deepEqual(await store.listLessons(), lessons);
    assert.deepEqual(await (await reopen()).listLessons(), lessons);
  },

  "a lesson that is already stored is not added again, and the first one remains": async (
    store,
  ) => {
    const lesson = createLesson("glm");
    const variants = [{ digest: "b" }, { model: "other" }, { upstream: "other" }].map((change) =>
      createLesson("glm", change),
    );
    await store.addLessons([lesson, createLesson("glm", { learnedAt: 2000, json: '"again"' })]);
    await store.addLessons([createLesson("glm", { json: '"again"' }), ...variants]);
    assert.deepEqual(await store.listLessons(), [lesson, ...variants]);
  },

  "lessons are removed by upstream, by model, by age or all": async (store) => {
    const lessons = [
      createLesson("a"),
      createLesson("b", { learnedAt: 2000 }),
      createLesson("a", { upstream: "other", learnedAt: 3000 }),
    ];
    const [first, second, third] = lessons;
    await store.addLessons(lessons);
    await store.removeLessons({ upstream: "zai", model: "c" });
    assert.deepEqual(await store.listLessons(), lessons);
    await store.removeLessons({ upstream: "zai", model: "a" });
    assert.deepEqual(await store.listLessons(), [second, third]);
    await store.addLessons(lessons);
    assert.deepEqual(await store.listLessons(), [second, third, first]);
    await store.removeLessons({ learnedBefore: 2000 });
    assert.deepEqual(await store.listLessons(), [second, third]);
    await store.removeLessons({ upstream: "other" });
    assert.deepEqual(await store.listLessons(), [second]);
    await store.removeLessons({});
    assert.deepEqual(await store.listLessons(), []);
  },

  "the version of the lessons increases with each change, and only then": async (store, reopen) => {
    const versions = [await store.getLessonsVersion()];
    const change = async (work: Promise<void>): Promise<void> => {
      await work;
      versions.push(await store.getLessonsVersion());
    };
    await change(store.addLessons([createLesson("a"), createLesson("b")]));
    await change(store.removeLessons({ model: "a" }));
    await change(store.addLessons([createLesson("a")]));
    assert.deepEqual(
      versions,
      [...new Set(versions)].toSorted((a, b) => a - b),
    );
    await store.addLessons([createLesson("a")]);
    await store.addLessons([]);
    await store.removeLessons({ model: "unknown" });
    assert.equal(await store.getLessonsVersion(), versions.at(-1));
    assert.equal(await (await reopen()).getLessonsVersion(), versions.at(-1));
  },

  "a shared secret is stored once, and every caller receives the stored one": async (
    store,
    reopen,
  ) => {
    const candidates = Array.from({ length: 10 }, (_, index) => `secret ${index}`);
    const results = await Promise.all(
      candidates.map((value) => store.getOrCreateSecret("key", value)),
    );
    assert.equal(new Set(results).size, 1);
    assert.ok(candidates.includes(results[0] ?? ""));
    assert.equal(await store.getOrCreateSecret("other", "own"), "own");
    assert.equal(await store.getSecret("key"), results[0]);
    assert.equal(await store.getSecret("unknown"), undefined);
    assert.equal(await (await reopen()).getOrCreateSecret("key", "late"), results[0]);
  },
};
