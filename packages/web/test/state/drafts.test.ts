import { expect, test } from "vitest";
import { memoryStorage, type KeptStorage } from "../../src/gateway/world.ts";
import { createDrafts } from "../../src/state/drafts.ts";

/** Drafts with a clock and a timer of the test's own. */
function openDrafts(storage: KeptStorage = memoryStorage()) {
  let time = 0;
  let ids = 0;
  let waiting: (() => void) | undefined;
  const drafts = createDrafts({
    storage,
    now: () => (time += 1),
    newId: () => `key_${(ids += 1)}`,
    schedule(_ms, run) {
      waiting = run;
      return () => (waiting = undefined);
    },
  });
  return { drafts, storage, run: () => waiting?.() };
}

const attachment = { kind: "file", url: "/api/blobs/1", filename: "notes.txt" } as const;

test("a reload finds what was typed and attached, under the same key", () => {
  const { drafts, storage, run } = openDrafts();
  const draft = drafts.draft("chat_1");
  draft.change({ text: "Hel" });
  draft.change({ text: "Hello", attachments: [attachment] });
  run();
  expect(openDrafts(storage).drafts.draft("chat_1").get()).toEqual(draft.get());
  expect(openDrafts(storage).drafts.draft("chat_2").get().text).toBe("");
});

test("what is typed in the last moment is written when the page is left", () => {
  const { drafts, storage } = openDrafts();
  drafts.draft("").change({ text: "Hello" });
  expect(storage.length).toBe(0);
  drafts.save();
  expect(openDrafts(storage).drafts.draft("").get().text).toBe("Hello");
});

test("every change has a key of its own, and a message that was sent clears only the draft that it was", () => {
  const { drafts, storage, run } = openDrafts();
  const draft = drafts.draft("chat_1");
  draft.change({ text: "first" });
  const { key } = draft.get();
  draft.change({ text: "first and more" });
  drafts.sent(key);
  expect(draft.get().text).toBe("first and more");
  drafts.sent(draft.get().key);
  expect(draft.get()).toMatchObject({ text: "", attachments: [], contexts: [] });
  run();
  expect(storage.length).toBe(0);
});

test("the oldest drafts make room for new ones", () => {
  const { drafts, storage } = openDrafts();
  for (let number = 0; number < 60; number += 1) {
    drafts.draft(`chat_${number}`).change({ text: `text ${number}` });
    drafts.save();
  }
  expect(storage.length).toBe(50);
  const { drafts: later } = openDrafts(storage);
  expect(later.draft("chat_9").get().text).toBe("");
  expect(later.draft("chat_10").get().text).toBe("text 10");
});

test("a browser without room loses the oldest draft, and one that keeps nothing has it until it is closed", () => {
  const kept = memoryStorage();
  const small: KeptStorage = {
    ...kept,
    get length() {
      return kept.length;
    },
    setItem(name, value) {
      if (kept.length >= 2 && kept.getItem(name) === null) throw new Error("no room");
      kept.setItem(name, value);
    },
  };
  const { drafts, storage } = openDrafts(small);
  for (const chatId of ["chat_1", "chat_2", "chat_3"]) {
    drafts.draft(chatId).change({ text: `of ${chatId}` });
    drafts.save();
  }
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  expect(names).toEqual(["deltawire.draft.chat_2", "deltawire.draft.chat_3"]);
  const nothing = openDrafts({
    ...memoryStorage(),
    setItem() {
      throw new Error("nothing is kept");
    },
  });
  nothing.drafts.draft("chat_1").change({ text: "Hello" });
  nothing.drafts.save();
  expect(nothing.drafts.draft("chat_1").get().text).toBe("Hello");
});

test("what somebody has put into the storage is no draft", () => {
  const { drafts, storage } = openDrafts();
  storage.setItem("deltawire.draft.chat_1", "{");
  storage.setItem("deltawire.draft.chat_2", '{"text":7}');
  storage.setItem("deltawire.draft.chat_3", '{"text":"a","key":"k","attachments":"x"}');
  expect(drafts.draft("chat_1").get().text).toBe("");
  expect(drafts.draft("chat_2").get().text).toBe("");
  expect(drafts.draft("chat_3").get()).toEqual({
    text: "a",
    key: "k",
    attachments: [],
    contexts: [],
  });
});
