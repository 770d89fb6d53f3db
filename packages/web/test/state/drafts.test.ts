import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryStorage, type BrowserStorage } from "../../src/browser/storage.ts";
import { createDrafts } from "../../src/state/drafts.ts";

let ids = 0;
let time = 0;

/** Drafts of a tab, with a clock and a timer of the test's own. */
function openDrafts(
  storage: BrowserStorage = memoryStorage(),
  tabStorage: BrowserStorage = memoryStorage(),
) {
  let waiting: (() => void) | undefined;
  let timesNotKept = 0;
  const drafts = createDrafts({
    world: {
      storage,
      tabStorage,
      now: () => (time += 1),
      newId: () => `id_${(ids += 1)}`,
      schedule(_ms, run) {
        waiting = run;
        return () => (waiting = undefined);
      },
    },
    onNotKept: () => (timesNotKept += 1),
  });
  return { drafts, storage, tabStorage, run: () => waiting?.(), timesNotKept: () => timesNotKept };
}

/** As a browser: what does not fit is refused, and what was there stays. */
function storageOf(characters: number): BrowserStorage {
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
  const small: BrowserStorage = {
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
  const later = openDrafts(storage).drafts;
  const texts = ["chat_1", "chat_2", "chat_3"].map((chatId) => later.draft(chatId).get().text);
  expect(texts).toEqual(["", "of chat_2", "of chat_3"]);
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
  const there = openDrafts(storage);
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
  expect(openDrafts(storage).drafts.draft("chat_1").get().text).toBe(
    "an hour of writing, and more",
  );
});

/** As the browser does it: the page is left, and another one comes in its place. */
function reloaded(tab: ReturnType<typeof openDrafts>): ReturnType<typeof openDrafts> {
  tab.drafts.leave("gone");
  return openDrafts(tab.storage, tab.tabStorage);
}

const textIn = ({ drafts }: ReturnType<typeof openDrafts>) => drafts.draft("chat_1").get().text;

function typed(tab: ReturnType<typeof openDrafts>, text: string): void {
  tab.drafts.draft("chat_1").change({ text });
  tab.drafts.save();
}

test("each of two tabs finds its own draft of a chat after reloads, also if nothing was typed between them", () => {
  const storage = memoryStorage();
  let [here, there] = [openDrafts(storage), openDrafts(storage)];
  expect([textIn(here), textIn(there)]).toEqual(["", ""]);
  typed(here, "of here");
  typed(there, "of there");
  for (let times = 0; times < 3; times += 1) {
    here = reloaded(here);
    expect(textIn(here)).toBe("of here");
    there = reloaded(there);
    expect(textIn(there)).toBe("of there");
  }
});

test("drafts of tabs that are closed come up one after the other, as each is sent or deleted", () => {
  const storage = memoryStorage();
  const tabs = [openDrafts(storage), openDrafts(storage), openDrafts(storage)];
  for (const tab of tabs) tab.drafts.draft("chat_1");
  for (const [at, tab] of tabs.entries()) typed(tab, `draft ${at}`);
  let later = openDrafts(storage);
  expect(textIn(later)).toBe("draft 2");
  later.drafts.sent("chat_1", later.drafts.draft("chat_1").get());
  later = reloaded(later);
  expect(textIn(later)).toBe("draft 1");
  typed(later, "");
  later = reloaded(later);
  expect(textIn(later)).toBe("draft 0");
  typed(later, "draft 0 and more");
  later = reloaded(later);
  expect(textIn(later)).toBe("draft 0 and more");
  later.drafts.sent("chat_1", later.drafts.draft("chat_1").get());
  expect(storage.length).toBe(0);
});

test("what a tab took over is not removed by it if its writer has gone on, in an editor too", () => {
  const storage = memoryStorage();
  const here = openDrafts(storage);
  typed(here, "first");
  const there = openDrafts(storage);
  expect(textIn(there)).toBe("first");
  here.drafts.draft("chat_1").edit("node_1", { text: "in other words" });
  here.drafts.save();
  typed(there, "");
  const { text, edits } = openDrafts(storage).drafts.draft("chat_1").get();
  expect(text).toBe("first");
  expect(edits?.["node_1"]?.text).toBe("in other words");
});

/** Tabs of one browser: what one puts into the storage the others hear of. */
function tabsOfOneBrowser(count: number): ReturnType<typeof openDrafts>[] {
  const kept = memoryStorage();
  const tabs: ReturnType<typeof openDrafts>[] = [];
  for (let at = 0; at < count; at += 1) {
    const own: BrowserStorage = {
      ...kept,
      get length() {
        return kept.length;
      },
      setItem(name, value) {
        kept.setItem(name, value);
        for (const tab of tabs) if (tab !== tabs[at]) tab.drafts.hear(name, value);
      },
    };
    tabs.push(openDrafts(own));
  }
  return tabs;
}

test.each(["the one that typed it", "the one that took it up"])(
  "a draft that %s has sent leaves the others that show it as it was, and nobody's other words",
  (sender) => {
    const tabs = tabsOfOneBrowser(3);
    const [typing, taking, other] = tabs;
    if (typing === undefined || taking === undefined || other === undefined) throw new Error();
    typing.drafts.draft("chat_1").edit("node_1", { text: "in other words" });
    typed(typing, "Hello");
    expect([textIn(taking), textIn(other)]).toEqual(["Hello", "Hello"]);
    typed(other, "Hello there");
    const [sends, hears] = sender === "the one that typed it" ? [typing, taking] : [taking, typing];
    sends.drafts.sent("chat_1", sends.drafts.draft("chat_1").get());
    expect(tabs.map(textIn)).toEqual(["", "", "Hello there"]);
    expect(hears.drafts.draft("chat_1").get().edits?.["node_1"]?.text).toBe("in other words");
    hears.run();
    expect(textIn(reloaded(other))).toBe("Hello there");
  },
);

test("the first words of a chat that was made leave the other tabs, and what is deleted does not", () => {
  const [here, there] = tabsOfOneBrowser(2);
  if (here === undefined || there === undefined) throw new Error();
  here.drafts.draft("").change({ text: "Hello" });
  here.drafts.save();
  expect(there.drafts.draft("").get().text).toBe("Hello");
  there.drafts.draft("").clear();
  there.drafts.save();
  expect(here.drafts.draft("").get().text).toBe("");
  here.drafts.save();
  expect(here.storage.length).toBe(0);
  typed(here, "Good night");
  expect(textIn(there)).toBe("Good night");
  typed(there, "");
  expect(textIn(here)).toBe("Good night");
});

test("words that were told to an answer leave the other tabs, and what is attached stays where they were sent", () => {
  const tabs = tabsOfOneBrowser(3);
  const [telling, showing, other] = tabs;
  if (telling === undefined || showing === undefined || other === undefined) throw new Error();
  typed(telling, "In French");
  expect([textIn(showing), textIn(other)]).toEqual(["In French", "In French"]);
  typed(other, "In French, please");
  const sent = telling.drafts.draft("chat_1").get();
  telling.drafts.draft("chat_1").change({ attachments: [attachment] });
  typed(telling, "In French, and soon");
  telling.drafts.draft("chat_1").told(sent);
  expect(tabs.map(textIn)).toEqual([", and soon", "", "In French, please"]);
  expect(telling.drafts.draft("chat_1").get().attachments).toEqual([attachment]);
});

test.each(["hidden", "looked at again", "back out of the cache"])(
  "a copy of a tab that is %s begins with its draft, and each goes on by itself",
  (how) => {
    const here = openDrafts();
    typed(here, "Hello");
    here.drafts.leave("hidden");
    if (how === "back out of the cache") here.drafts.leave("gone");
    if (how !== "hidden") here.drafts.comeBack();
    const copied = memoryStorage();
    const name = here.tabStorage.getItem("deltawire.tab");
    if (name !== null) copied.setItem("deltawire.tab", name);
    const copy = openDrafts(here.storage, copied);
    expect(textIn(copy)).toBe("Hello");
    typed(copy, "Hello from the copy");
    typed(here, "Hello from here");
    for (const tab of [here, copy]) tab.drafts.leave("gone");
    expect(foundLater(here.storage)).toEqual(["Hello from here", "Hello from the copy"]);
  },
);

test("the last draft there is has the words that were typed last, whichever tab was hidden or reloaded last", () => {
  const storage = memoryStorage();
  let [early, late] = [openDrafts(storage), openDrafts(storage)];
  for (const tab of [early, late]) tab.drafts.draft("chat_1");
  typed(early, "early words");
  typed(late, "late words");
  for (const leaving of ["hidden", "gone"] as const) {
    late.drafts.leave(leaving);
    early.drafts.leave(leaving);
    expect(textIn(openDrafts(storage))).toBe("late words");
  }
  late = reloaded(late);
  early = reloaded(early);
  expect([textIn(early), textIn(late)]).toEqual(["early words", "late words"]);
  early.drafts.leave("hidden");
  expect(textIn(openDrafts(storage))).toBe("late words");
});

test("a page that leaves writes no draft that is kept as it is, and one that another tab took over again", () => {
  const kept = memoryStorage();
  const written: string[] = [];
  const storage: BrowserStorage = {
    ...kept,
    get length() {
      return kept.length;
    },
    setItem(name, value) {
      written.push(name);
      kept.setItem(name, value);
    },
  };
  const here = openDrafts(storage);
  typed(here, "Hello");
  here.drafts.leave("hidden");
  expect(written).toHaveLength(1);
  typed(openDrafts(kept), "");
  expect(kept.length).toBe(0);
  here.drafts.leave("hidden");
  expect(written).toHaveLength(2);
  expect(textIn(openDrafts(kept))).toBe("Hello");
});

test("what was typed in a page that the browser ends while it is hidden comes up in the next one", () => {
  const ended = openDrafts();
  ended.drafts.draft("chat_1").change({ text: "Hello" });
  ended.drafts.leave("hidden");
  const next = openDrafts(ended.storage, ended.tabStorage);
  expect(textIn(next)).toBe("Hello");
  typed(next, "Hello again");
  expect(foundLater(ended.storage)).toEqual(["Hello again"]);
});

/** What comes up in a tab that sends all it finds. */
function foundLater(storage: BrowserStorage): string[] {
  const found: string[] = [];
  for (let later = openDrafts(storage); textIn(later) !== ""; later = reloaded(later)) {
    found.push(textIn(later));
    later.drafts.sent("chat_1", later.drafts.draft("chat_1").get());
  }
  return found;
}

test("what was typed in a tab is found there after a reload, whatever other tabs do, until it is sent or deleted", () => {
  const step = fc.record({
    tab: fc.nat(2),
    does: fc.constantFrom("types", "types on", "sends", "deletes", "is reloaded", "is hidden"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const storage = memoryStorage();
      const tabs = Array.from({ length: 3 }, () => openDrafts(storage));
      for (const tab of tabs) tab.drafts.draft("chat_1");
      const typedIn = new Map<number, string>();
      const lost: string[] = [];
      for (const [at, { tab: number, does }] of steps.entries()) {
        const tab = tabs[number] ?? openDrafts(storage);
        const before = textIn(tab);
        if (does === "is hidden") tab.drafts.leave("hidden");
        else if (does === "is reloaded") {
          tabs[number] = reloaded(tab);
          const own = typedIn.get(number);
          if (own !== undefined && textIn(tabs[number]) !== own) lost.push(own);
        } else {
          const texts = { types: `words ${at}`, "types on": `${before}!`, sends: "", deletes: "" };
          if (does === "sends") tab.drafts.sent("chat_1", tab.drafts.draft("chat_1").get());
          else typed(tab, texts[does]);
          if (texts[does] === "") typedIn.delete(number);
          else typedIn.set(number, texts[does]);
        }
      }
      for (const tab of tabs) tab.drafts.leave("gone");
      const found = foundLater(storage);
      for (const text of typedIn.values()) if (!found.includes(text)) lost.push(text);
      expect(lost).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("a draft of a page of before, which had one place for each chat, is taken over", () => {
  const { drafts, storage } = openDrafts();
  const before = { text: "Hello", attachments: [], contexts: [], key: "k", saved_at: 1 };
  storage.setItem("deltawire.draft.chat_1", JSON.stringify(before));
  expect(drafts.draft("chat_1").get().text).toBe("Hello");
  drafts.sent("chat_1", drafts.draft("chat_1").get());
  expect(storage.length).toBe(0);
});

test("a tab that has only read a draft does not bring it back when another has sent it", () => {
  const storage = memoryStorage();
  const here = openDrafts(storage);
  here.drafts.draft("chat_1").change({ text: "ok" });
  here.drafts.save();
  const there = openDrafts(storage);
  expect(there.drafts.draft("chat_1").get().text).toBe("ok");
  here.drafts.sent("chat_1", here.drafts.draft("chat_1").get());
  there.drafts.leave("hidden");
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
    ["node_2", { text: "two", key: expect.any(String) }],
    ["node_1", { text: "in other words", attachments: [], key: expect.any(String) }],
  ]);
  draft.edit("node_1", undefined);
  draft.edit("node_2", undefined);
  drafts.save();
  expect(storage.length).toBe(0);
});

test("an edit has the same key until other words are typed, also over a reload", () => {
  const tab = openDrafts();
  const draft = tab.drafts.draft("chat_1");
  const keyOf = (of = draft) => of.get().edits?.["node_1"]?.key;
  draft.edit("node_1", { text: "one" });
  const key = keyOf();
  draft.edit("node_1", { text: "one" });
  expect(keyOf()).toBe(key);
  expect(keyOf(reloaded(tab).drafts.draft("chat_1"))).toBe(key);
  draft.edit("node_1", { text: "one", attachments: [] });
  const other = keyOf();
  expect(other).not.toBe(key);
  draft.edit("node_1", { text: "two", attachments: [] });
  expect(new Set([key, other, keyOf()]).size).toBe(3);
});

test("an edit is on its way once, wherever its editor comes up, until it has arrived", async () => {
  const { drafts } = openDrafts();
  const draft = drafts.draft("chat_1");
  const sent: string[] = [];
  let answer: (hasArrived: boolean) => void = () => {};
  const send = ({ key }: { key: string }) => {
    sent.push(key);
    return new Promise<boolean>((resolve) => (answer = resolve));
  };
  const mark = () => draft.sentEdits.get().get("node_1");
  const first = draft.sendEdit("node_1", { text: "one" }, send);
  expect(mark()).toBe("on its way");
  await draft.sendEdit("node_1", { text: "one" }, send);
  expect(sent).toHaveLength(1);
  answer(false);
  await first;
  // It has failed: the words are there, and sent again under the same key.
  expect(mark()).toBe(undefined);
  expect(draft.get().edits?.["node_1"]?.text).toBe("one");
  const second = draft.sendEdit("node_1", { text: "one" }, send);
  expect(sent[1]).toBe(sent[0]);
  answer(true);
  await second;
  expect(mark()).toBe("arrived");
  expect(draft.get().edits).toBe(undefined);
  draft.editClosed("node_1");
  expect(mark()).toBe(undefined);
});
