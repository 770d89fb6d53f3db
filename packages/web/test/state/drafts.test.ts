import { expect, test } from "vitest";
import { memoryStorage, type KeptStorage } from "../../src/gateway/world.ts";
import { createDrafts } from "../../src/state/drafts.ts";

/** Drafts with a clock and a timer of the test's own. */
function openDrafts(storage: KeptStorage = memoryStorage(), tab = "here") {
  let time = 0;
  let ids = 0;
  let waiting: (() => void) | undefined;
  let timesNotKept = 0;
  const drafts = createDrafts({
    world: {
      storage,
      now: () => (time += 1),
      newId: () => `${tab}_${(ids += 1)}`,
      schedule(_ms, run) {
        waiting = run;
        return () => (waiting = undefined);
      },
    },
    onNotKept: () => (timesNotKept += 1),
  });
  return { drafts, storage, run: () => waiting?.(), timesNotKept: () => timesNotKept };
}

/** As a browser: what does not fit is refused, and what was there stays. */
function storageOf(characters: number): KeptStorage {
  const kept = memoryStorage();
  const names = () => Array.from({ length: kept.length }, (_, index) => kept.key(index) ?? "");
  return {
    ...kept,
    get length() {
      return kept.length;
    },
    setItem(name, value) {
      const others = names().filter((each) => each !== name);
      const used = others.reduce((sum, each) => sum + (kept.getItem(each)?.length ?? 0), 0);
      if (used + value.length > characters) throw new Error("no room");
      kept.setItem(name, value);
    },
  };
}

const note = (text: string) => ({ kind: "text", title: "Note", text }) as const;
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

test("every change has a key of its own, and what was sent leaves the draft, but not what came to it since", () => {
  const { drafts, storage, run } = openDrafts();
  const draft = drafts.draft("chat_1");
  draft.change({ text: "first", attachments: [attachment], contexts: [note("one")] });
  const sent = draft.get();
  const later = { ...attachment, url: "/api/blobs/2" };
  draft.change({
    text: "first and more",
    attachments: [attachment, later],
    contexts: [note("one"), note("two")],
  });
  expect(draft.get().key).not.toBe(sent.key);
  drafts.sent("chat_1", sent);
  expect(draft.get()).toMatchObject({
    text: "and more",
    attachments: [later],
    contexts: [note("two")],
  });
  drafts.sent("chat_1", draft.get());
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

test("a draft that does not fit takes the room of no other, and that is told once", () => {
  const { drafts, storage, timesNotKept } = openDrafts(storageOf(1000));
  const write = (chatId: string, text: string) => {
    drafts.draft(chatId).change({ text });
    drafts.save();
  };
  for (const chatId of ["chat_1", "chat_2", "chat_3"]) write(chatId, `of ${chatId}`);
  write("chat_3", "x".repeat(2000));
  write("chat_3", "x".repeat(2001));
  expect(timesNotKept()).toBe(1);
  const { drafts: later } = openDrafts(storage);
  const texts = ["chat_1", "chat_2", "chat_3"].map((chatId) => later.draft(chatId).get().text);
  // Of the one that has grown too long, what was kept before is left.
  expect(texts).toEqual(["of chat_1", "of chat_2", "of chat_3"]);
  expect(drafts.draft("chat_3").get().text).toHaveLength(2001);
  write("chat_3", "short again");
  write("chat_3", "x".repeat(2000));
  expect(timesNotKept()).toBe(2);
});

test("drafts that are empty and that nobody looks at are not held for ever", () => {
  const { drafts } = openDrafts();
  const [idle, seen, written] = ["idle", "seen", "written"].map((chatId) => drafts.draft(chatId));
  seen?.subscribe(() => undefined);
  written?.change({ text: "Hello" });
  drafts.save();
  for (let number = 0; number < 60; number += 1) drafts.draft(`chat_${number}`);
  expect(drafts.draft("seen")).toBe(seen);
  expect(drafts.draft("written")).toBe(written);
  expect(drafts.draft("idle")).not.toBe(idle);
});

test("what somebody has put into the storage is no draft", () => {
  const { drafts, storage } = openDrafts();
  storage.setItem("deltawire.draft.chat_1", "{");
  storage.setItem("deltawire.draft.chat_2", '{"text":7}');
  const nonsense = { text: "a", key: "k", attachments: "x", edits: { node_1: 5 } };
  storage.setItem("deltawire.draft.chat_3", JSON.stringify(nonsense));
  expect(drafts.draft("chat_1").get().text).toBe("");
  expect(drafts.draft("chat_2").get().text).toBe("");
  expect(drafts.draft("chat_3").get()).toEqual({
    text: "a",
    key: "k",
    attachments: [],
    contexts: [],
  });
});

test("a draft that is on its way is so wherever it is shown, until it is known what became of it", async () => {
  const { drafts } = openDrafts();
  const draft = drafts.draft("chat_1");
  const sending = draft.whileSending(() => Promise.reject(new Error("no network")));
  expect(drafts.draft("chat_1").isSending.get()).toBe(true);
  await expect(sending).rejects.toThrow("no network");
  expect(draft.isSending.get()).toBe(false);
});

test("what two tabs write in the same chat stays with each of them when the other sends its own", () => {
  const storage = memoryStorage();
  const here = openDrafts(storage);
  const there = openDrafts(storage, "there");
  here.drafts.draft("chat_1").change({ text: "an hour of writing" });
  here.drafts.save();
  there.drafts.draft("chat_1").change({ text: "ok" });
  there.drafts.save();
  // The other tab has not seen the last of it.
  here.drafts.draft("chat_1").change({ text: "an hour of writing, and more" });
  here.drafts.save();
  there.drafts.sent("chat_1", there.drafts.draft("chat_1").get());
  expect(openDrafts(storage).drafts.draft("chat_1").get().text).toBe(
    "an hour of writing, and more",
  );
  there.drafts.draft("chat_1").change({ text: "ok then" });
  there.drafts.save();
  there.drafts.sent("chat_1", there.drafts.draft("chat_1").get());
  expect(storage.length).toBe(0);
  here.drafts.leave();
  expect(openDrafts(storage).drafts.draft("chat_1").get().text).toBe(
    "an hour of writing, and more",
  );
});

test("a tab that has only read a draft does not bring it back when another has sent it", () => {
  const storage = memoryStorage();
  const here = openDrafts(storage);
  here.drafts.draft("chat_1").change({ text: "ok" });
  here.drafts.save();
  const there = openDrafts(storage, "there");
  expect(there.drafts.draft("chat_1").get().text).toBe("ok");
  here.drafts.sent("chat_1", here.drafts.draft("chat_1").get());
  there.drafts.leave();
  expect(storage.length).toBe(0);
});

test("what is typed into editors stays with the chat, whatever is sent from below, until they are closed", () => {
  const { drafts, storage } = openDrafts();
  const draft = drafts.draft("chat_1");
  draft.change({ text: "Hello" });
  const { key } = draft.get();
  draft.edit("node_1", { text: "in other words" });
  draft.edit("node_2", { text: "two" });
  draft.edit("node_1", { text: "in other words", attachments: [] });
  expect(draft.get().key).toBe(key);
  drafts.sent("chat_1", draft.get());
  draft.clear();
  drafts.save();
  const later = openDrafts(storage).drafts.draft("chat_1");
  expect(later.get().text).toBe("");
  expect(Object.entries(later.get().edits ?? {})).toEqual([
    ["node_2", { text: "two" }],
    ["node_1", { text: "in other words", attachments: [] }],
  ]);
  draft.edit("node_1", undefined);
  draft.edit("node_2", undefined);
  drafts.save();
  expect(storage.length).toBe(0);
});
