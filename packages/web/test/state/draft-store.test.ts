import fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryStorage, type BrowserStorage } from "../../src/browser/storage.ts";
import { createDraftStore } from "../../src/state/draft-store.ts";

let ids = 0;
let time = 0;

/** Creates the drafts of a tab, with a fake clock and timer. */
function openDraftStore(
  storage: BrowserStorage = createMemoryStorage(),
  tabStorage: BrowserStorage = createMemoryStorage(),
) {
  let scheduled: (() => void) | undefined;
  let saveFailures = 0;
  const drafts = createDraftStore({
    environment: {
      storage,
      tabStorage,
      now: () => (time += 1),
      newId: () => `id_${(ids += 1)}`,
      schedule(_ms, run) {
        scheduled = run;
        return () => (scheduled = undefined);
      },
    },
    onSaveFailed: () => (saveFailures += 1),
  });
  return {
    drafts,
    storage,
    tabStorage,
    run: () => scheduled?.(),
    saveFailures: () => saveFailures,
  };
}

/** Creates a storage that, like that of a browser, throws when it is full and then keeps the previous value. */
function createLimitedStorage(characters: number): BrowserStorage {
  const backing = createMemoryStorage();
  const names = () =>
    Array.from({ length: backing.length }, (_, index) => backing.key(index) ?? "");
  return {
    ...backing,
    get length() {
      return backing.length;
    },
    setItem(name, value) {
      const others = names().filter((other) => other !== name);
      const used = others.reduce((sum, key) => sum + (backing.getItem(key)?.length ?? 0), 0);
      if (used + value.length > characters) throw new Error("no room");
      backing.setItem(name, value);
    },
  };
}

const note = (text: string) => ({ kind: "text", title: "Note", text }) as const;
const attachment = { kind: "file", url: "/api/blobs/1", filename: "notes.txt" } as const;

test("a reload restores the text and attachments of a draft with the same key", () => {
  const { drafts, storage, run } = openDraftStore();
  const draft = drafts.get("chat_1");
  draft.change({ text: "Hel" });
  draft.change({ text: "Hello", attachments: [attachment] });
  run();
  expect(openDraftStore(storage).drafts.get("chat_1").get()).toEqual(draft.get());
  expect(openDraftStore(storage).drafts.get("chat_2").get().text).toBe("");
});

test("unsaved typing is stored when the page is left", () => {
  const { drafts, storage } = openDraftStore();
  drafts.get("").change({ text: "Hello" });
  expect(storage.length).toBe(0);
  drafts.save();
  expect(openDraftStore(storage).drafts.get("").get().text).toBe("Hello");
});

test("every change gets a new key, and sending removes what was sent but not what was added since", () => {
  const { drafts, storage, run } = openDraftStore();
  const draft = drafts.get("chat_1");
  draft.change({ text: "first", attachments: [attachment], contexts: [note("one")] });
  const sent = draft.get();
  const later = { ...attachment, url: "/api/blobs/2" };
  draft.change({
    text: "first and more",
    attachments: [attachment, later],
    contexts: [note("one"), note("two")],
  });
  expect(draft.get().key).not.toBe(sent.key);
  drafts.markSent("chat_1", sent);
  expect(draft.get()).toMatchObject({
    text: "and more",
    attachments: [later],
    contexts: [note("two")],
  });
  drafts.markSent("chat_1", draft.get());
  expect(draft.get()).toMatchObject({ text: "", attachments: [], contexts: [] });
  run();
  expect(storage.length).toBe(0);
});

test("only the newest 50 drafts are stored", () => {
  const { drafts, storage } = openDraftStore();
  for (let number = 0; number < 60; number += 1) {
    drafts.get(`chat_${number}`).change({ text: `text ${number}` });
    drafts.save();
  }
  expect(storage.length).toBe(50);
  const { drafts: later } = openDraftStore(storage);
  expect(later.get("chat_9").get().text).toBe("");
  expect(later.get("chat_10").get().text).toBe("text 10");
});

test("in a full storage the oldest draft is replaced, and without a storage drafts stay in memory", () => {
  const backing = createMemoryStorage();
  const small: BrowserStorage = {
    ...backing,
    get length() {
      return backing.length;
    },
    setItem(name, value) {
      if (backing.length >= 2 && backing.getItem(name) === null) throw new Error("no room");
      backing.setItem(name, value);
    },
  };
  const { drafts, storage } = openDraftStore(small);
  for (const chatId of ["chat_1", "chat_2", "chat_3"]) {
    drafts.get(chatId).change({ text: `of ${chatId}` });
    drafts.save();
  }
  const later = openDraftStore(storage).drafts;
  const texts = ["chat_1", "chat_2", "chat_3"].map((chatId) => later.get(chatId).get().text);
  expect(texts).toEqual(["", "of chat_2", "of chat_3"]);
  const nothing = openDraftStore({
    ...createMemoryStorage(),
    setItem() {
      throw new Error("storage is disabled");
    },
  });
  nothing.drafts.get("chat_1").change({ text: "Hello" });
  nothing.drafts.save();
  expect(nothing.drafts.get("chat_1").get().text).toBe("Hello");
});

test("a draft that is too large to be stored replaces no other draft, and is reported once", () => {
  const { drafts, storage, saveFailures } = openDraftStore(createLimitedStorage(1000));
  const write = (chatId: string, text: string) => {
    drafts.get(chatId).change({ text });
    drafts.save();
  };
  for (const chatId of ["chat_1", "chat_2", "chat_3"]) write(chatId, `of ${chatId}`);
  write("chat_3", "x".repeat(2000));
  write("chat_3", "x".repeat(2001));
  expect(saveFailures()).toBe(1);
  const { drafts: later } = openDraftStore(storage);
  const texts = ["chat_1", "chat_2", "chat_3"].map((chatId) => later.get(chatId).get().text);
  // The draft that became too long keeps its last stored text.
  expect(texts).toEqual(["of chat_1", "of chat_2", "of chat_3"]);
  expect(drafts.get("chat_3").get().text).toHaveLength(2001);
  write("chat_3", "short again");
  write("chat_3", "x".repeat(2000));
  expect(saveFailures()).toBe(2);
});

test("empty drafts that are not shown are dropped from the cache", () => {
  const { drafts } = openDraftStore();
  const [idle, seen, written] = ["idle", "seen", "written"].map((chatId) => drafts.get(chatId));
  seen?.subscribe(() => undefined);
  written?.change({ text: "Hello" });
  drafts.save();
  for (let number = 0; number < 60; number += 1) drafts.get(`chat_${number}`);
  expect(drafts.get("seen")).toBe(seen);
  expect(drafts.get("written")).toBe(written);
  expect(drafts.get("idle")).not.toBe(idle);
});

test("invalid stored drafts are ignored", () => {
  const { drafts, storage } = openDraftStore();
  storage.setItem("deltawire.draft.chat_1", "{");
  storage.setItem("deltawire.draft.chat_2", '{"text":7}');
  const nonsense = { text: "a", key: "k", attachments: "x", edits: { node_1: 5 } };
  storage.setItem("deltawire.draft.chat_3", JSON.stringify(nonsense));
  expect(drafts.get("chat_1").get().text).toBe("");
  expect(drafts.get("chat_2").get().text).toBe("");
  expect(drafts.get("chat_3").get()).toEqual({
    text: "a",
    key: "k",
    attachments: [],
    contexts: [],
  });
});

test("a draft is marked as sending until the request has ended", async () => {
  const { drafts } = openDraftStore();
  const draft = drafts.get("chat_1");
  const sending = draft.whileSending(() => Promise.reject(new Error("no network")));
  expect(drafts.get("chat_1").isSending.get()).toBe(true);
  await expect(sending).rejects.toThrow("no network");
  expect(draft.isSending.get()).toBe(false);
});

test("each of two tabs keeps its own draft of a chat when the other sends", () => {
  const storage = createMemoryStorage();
  const firstTab = openDraftStore(storage);
  const secondTab = openDraftStore(storage);
  firstTab.drafts.get("chat_1").change({ text: "an hour of writing" });
  firstTab.drafts.save();
  secondTab.drafts.get("chat_1").change({ text: "ok" });
  secondTab.drafts.save();
  // The other tab does not know the last change.
  firstTab.drafts.get("chat_1").change({ text: "an hour of writing, and more" });
  firstTab.drafts.save();
  secondTab.drafts.markSent("chat_1", secondTab.drafts.get("chat_1").get());
  expect(openDraftStore(storage).drafts.get("chat_1").get().text).toBe(
    "an hour of writing, and more",
  );
  secondTab.drafts.get("chat_1").change({ text: "ok then" });
  secondTab.drafts.save();
  secondTab.drafts.markSent("chat_1", secondTab.drafts.get("chat_1").get());
  expect(openDraftStore(storage).drafts.get("chat_1").get().text).toBe(
    "an hour of writing, and more",
  );
});

/** Reloads a tab: unloads its page and opens a new one. */
function reloadTab(tab: ReturnType<typeof openDraftStore>): ReturnType<typeof openDraftStore> {
  tab.drafts.onPageHide("unloaded");
  return openDraftStore(tab.storage, tab.tabStorage);
}

const getDraftText = ({ drafts }: ReturnType<typeof openDraftStore>) =>
  drafts.get("chat_1").get().text;

function typeText(tab: ReturnType<typeof openDraftStore>, text: string): void {
  tab.drafts.get("chat_1").change({ text });
  tab.drafts.save();
}

test("each of two tabs restores its own draft of a chat after reloads, even if nothing was typed in between", () => {
  const storage = createMemoryStorage();
  let [firstTab, secondTab] = [openDraftStore(storage), openDraftStore(storage)];
  expect([getDraftText(firstTab), getDraftText(secondTab)]).toEqual(["", ""]);
  typeText(firstTab, "of here");
  typeText(secondTab, "of there");
  for (let times = 0; times < 3; times += 1) {
    firstTab = reloadTab(firstTab);
    expect(getDraftText(firstTab)).toBe("of here");
    secondTab = reloadTab(secondTab);
    expect(getDraftText(secondTab)).toBe("of there");
  }
});

test("drafts of closed tabs are shown one after the other, as each is sent or deleted", () => {
  const storage = createMemoryStorage();
  const tabs = [openDraftStore(storage), openDraftStore(storage), openDraftStore(storage)];
  for (const tab of tabs) tab.drafts.get("chat_1");
  for (const [at, tab] of tabs.entries()) typeText(tab, `draft ${at}`);
  let later = openDraftStore(storage);
  expect(getDraftText(later)).toBe("draft 2");
  later.drafts.markSent("chat_1", later.drafts.get("chat_1").get());
  later = reloadTab(later);
  expect(getDraftText(later)).toBe("draft 1");
  typeText(later, "");
  later = reloadTab(later);
  expect(getDraftText(later)).toBe("draft 0");
  typeText(later, "draft 0 and more");
  later = reloadTab(later);
  expect(getDraftText(later)).toBe("draft 0 and more");
  later.drafts.markSent("chat_1", later.drafts.get("chat_1").get());
  expect(storage.length).toBe(0);
});

test("a tab that took over a draft does not delete it if its first tab has changed it since, even in a message editor", () => {
  const storage = createMemoryStorage();
  const firstTab = openDraftStore(storage);
  typeText(firstTab, "first");
  const secondTab = openDraftStore(storage);
  expect(getDraftText(secondTab)).toBe("first");
  firstTab.drafts.get("chat_1").edit("node_1", { text: "in other words" });
  firstTab.drafts.save();
  typeText(secondTab, "");
  const { text, edits } = openDraftStore(storage).drafts.get("chat_1").get();
  expect(text).toBe("first");
  expect(edits?.["node_1"]?.text).toBe("in other words");
});

/** Opens tabs that share a storage and receive each other's storage events. */
function openTabsOfOneBrowser(count: number): ReturnType<typeof openDraftStore>[] {
  const backing = createMemoryStorage();
  const tabs: ReturnType<typeof openDraftStore>[] = [];
  for (let index = 0; index < count; index += 1) {
    const own: BrowserStorage = {
      ...backing,
      get length() {
        return backing.length;
      },
      setItem(name, value) {
        backing.setItem(name, value);
        for (const tab of tabs) if (tab !== tabs[index]) tab.drafts.onStorageChange(name, value);
      },
    };
    tabs.push(openDraftStore(own));
  }
  return tabs;
}

test.each(["the tab that typed it", "the tab that took it over"])(
  "a draft sent by %s is emptied in tabs that show it unchanged, and other text stays",
  (sender) => {
    const tabs = openTabsOfOneBrowser(3);
    const [typing, adopting, other] = tabs;
    if (typing === undefined || adopting === undefined || other === undefined) throw new Error();
    typing.drafts.get("chat_1").edit("node_1", { text: "in other words" });
    typeText(typing, "Hello");
    expect([getDraftText(adopting), getDraftText(other)]).toEqual(["Hello", "Hello"]);
    typeText(other, "Hello there");
    const [sendingTab, otherTab] =
      sender === "the tab that typed it" ? [typing, adopting] : [adopting, typing];
    sendingTab.drafts.markSent("chat_1", sendingTab.drafts.get("chat_1").get());
    expect(tabs.map(getDraftText)).toEqual(["", "", "Hello there"]);
    expect(otherTab.drafts.get("chat_1").get().edits?.["node_1"]?.text).toBe("in other words");
    otherTab.run();
    expect(getDraftText(reloadTab(other))).toBe("Hello there");
  },
);

test("creating a chat clears its draft in all tabs, but deleting the text of a draft does not", () => {
  const [firstTab, secondTab] = openTabsOfOneBrowser(2);
  if (firstTab === undefined || secondTab === undefined) throw new Error();
  firstTab.drafts.get("").change({ text: "Hello" });
  firstTab.drafts.save();
  expect(secondTab.drafts.get("").get().text).toBe("Hello");
  secondTab.drafts.get("").clear();
  secondTab.drafts.save();
  expect(firstTab.drafts.get("").get().text).toBe("");
  firstTab.drafts.save();
  expect(firstTab.storage.length).toBe(0);
  typeText(firstTab, "Good night");
  expect(getDraftText(secondTab)).toBe("Good night");
  typeText(secondTab, "");
  expect(getDraftText(firstTab)).toBe("Good night");
});

test("text sent to a running answer is removed in the other tabs, and attachments stay in the sending tab", () => {
  const tabs = openTabsOfOneBrowser(3);
  const [sending, showing, other] = tabs;
  if (sending === undefined || showing === undefined || other === undefined) throw new Error();
  typeText(sending, "In French");
  expect([getDraftText(showing), getDraftText(other)]).toEqual(["In French", "In French"]);
  typeText(other, "In French, please");
  const sent = sending.drafts.get("chat_1").get();
  sending.drafts.get("chat_1").change({ attachments: [attachment] });
  typeText(sending, "In French, and soon");
  sending.drafts.get("chat_1").clearSentText(sent);
  expect(tabs.map(getDraftText)).toEqual([", and soon", "", "In French, please"]);
  expect(sending.drafts.get("chat_1").get().attachments).toEqual([attachment]);
});

test.each(["hidden", "visible again", "restored from the cache"])(
  "the duplicate of a tab that is %s starts with the same draft, and from then on each has its own",
  (pageState) => {
    const firstTab = openDraftStore();
    typeText(firstTab, "Hello");
    firstTab.drafts.onPageHide("hidden");
    if (pageState === "restored from the cache") firstTab.drafts.onPageHide("unloaded");
    if (pageState !== "hidden") firstTab.drafts.onPageShow();
    const copied = createMemoryStorage();
    const name = firstTab.tabStorage.getItem("deltawire.tab");
    if (name !== null) copied.setItem("deltawire.tab", name);
    const copy = openDraftStore(firstTab.storage, copied);
    expect(getDraftText(copy)).toBe("Hello");
    typeText(copy, "Hello from the copy");
    typeText(firstTab, "Hello from here");
    for (const tab of [firstTab, copy]) tab.drafts.onPageHide("unloaded");
    expect(listSavedTexts(firstTab.storage)).toEqual(["Hello from here", "Hello from the copy"]);
  },
);

test("the newest draft is the one typed last, whichever tab was hidden or reloaded last", () => {
  const storage = createMemoryStorage();
  let [early, late] = [openDraftStore(storage), openDraftStore(storage)];
  for (const tab of [early, late]) tab.drafts.get("chat_1");
  typeText(early, "early words");
  typeText(late, "late words");
  for (const leaving of ["hidden", "unloaded"] as const) {
    late.drafts.onPageHide(leaving);
    early.drafts.onPageHide(leaving);
    expect(getDraftText(openDraftStore(storage))).toBe("late words");
  }
  late = reloadTab(late);
  early = reloadTab(early);
  expect([getDraftText(early), getDraftText(late)]).toEqual(["early words", "late words"]);
  early.drafts.onPageHide("hidden");
  expect(getDraftText(openDraftStore(storage))).toBe("late words");
});

test("leaving a page stores a draft only if it has changed or was deleted by another tab", () => {
  const backing = createMemoryStorage();
  const written: string[] = [];
  const storage: BrowserStorage = {
    ...backing,
    get length() {
      return backing.length;
    },
    setItem(name, value) {
      written.push(name);
      backing.setItem(name, value);
    },
  };
  const firstTab = openDraftStore(storage);
  typeText(firstTab, "Hello");
  firstTab.drafts.onPageHide("hidden");
  expect(written).toHaveLength(1);
  typeText(openDraftStore(backing), "");
  expect(backing.length).toBe(0);
  firstTab.drafts.onPageHide("hidden");
  expect(written).toHaveLength(2);
  expect(getDraftText(openDraftStore(backing))).toBe("Hello");
});

test("text typed in a page that is discarded while hidden is shown by the next page", () => {
  const ended = openDraftStore();
  ended.drafts.get("chat_1").change({ text: "Hello" });
  ended.drafts.onPageHide("hidden");
  const next = openDraftStore(ended.storage, ended.tabStorage);
  expect(getDraftText(next)).toBe("Hello");
  typeText(next, "Hello again");
  expect(listSavedTexts(ended.storage)).toEqual(["Hello again"]);
});

/** Opens a new tab and sends the draft that it shows, until it shows none. Returns the drafts. */
function listSavedTexts(storage: BrowserStorage): string[] {
  const found: string[] = [];
  for (let later = openDraftStore(storage); getDraftText(later) !== ""; later = reloadTab(later)) {
    found.push(getDraftText(later));
    later.drafts.markSent("chat_1", later.drafts.get("chat_1").get());
  }
  return found;
}

test("text typed in a tab is restored there after a reload, whatever other tabs do, until it is sent or deleted", () => {
  const step = fc.record({
    tab: fc.nat(2),
    action: fc.constantFrom("types", "types on", "sends", "deletes", "is reloaded", "is hidden"),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const storage = createMemoryStorage();
      const tabs = Array.from({ length: 3 }, () => openDraftStore(storage));
      for (const tab of tabs) tab.drafts.get("chat_1");
      const typedIn = new Map<number, string>();
      const lost: string[] = [];
      for (const [at, { tab: number, action }] of steps.entries()) {
        const tab = tabs[number] ?? openDraftStore(storage);
        const before = getDraftText(tab);
        if (action === "is hidden") tab.drafts.onPageHide("hidden");
        else if (action === "is reloaded") {
          tabs[number] = reloadTab(tab);
          const own = typedIn.get(number);
          if (own !== undefined && getDraftText(tabs[number]) !== own) lost.push(own);
        } else {
          const texts = { types: `words ${at}`, "types on": `${before}!`, sends: "", deletes: "" };
          if (action === "sends") tab.drafts.markSent("chat_1", tab.drafts.get("chat_1").get());
          else typeText(tab, texts[action]);
          if (texts[action] === "") typedIn.delete(number);
          else typedIn.set(number, texts[action]);
        }
      }
      for (const tab of tabs) tab.drafts.onPageHide("unloaded");
      const found = listSavedTexts(storage);
      for (const text of typedIn.values()) if (!found.includes(text)) lost.push(text);
      expect(lost).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test("a draft of an earlier version, which stored one draft per chat, is adopted", () => {
  const { drafts, storage } = openDraftStore();
  const before = { text: "Hello", attachments: [], contexts: [], key: "k", saved_at: 1 };
  storage.setItem("deltawire.draft.chat_1", JSON.stringify(before));
  expect(drafts.get("chat_1").get().text).toBe("Hello");
  drafts.markSent("chat_1", drafts.get("chat_1").get());
  expect(storage.length).toBe(0);
});

test("a tab that only showed a draft does not restore it after another tab has sent it", () => {
  const storage = createMemoryStorage();
  const firstTab = openDraftStore(storage);
  firstTab.drafts.get("chat_1").change({ text: "ok" });
  firstTab.drafts.save();
  const secondTab = openDraftStore(storage);
  expect(secondTab.drafts.get("chat_1").get().text).toBe("ok");
  firstTab.drafts.markSent("chat_1", firstTab.drafts.get("chat_1").get());
  secondTab.drafts.onPageHide("hidden");
  expect(storage.length).toBe(0);
});

test("the text of message editors stays until the editors are closed, even if the composer sends its draft", () => {
  const { drafts, storage } = openDraftStore();
  const draft = drafts.get("chat_1");
  draft.change({ text: "Hello" });
  const { key } = draft.get();
  draft.edit("node_1", { text: "in other words" });
  draft.edit("node_2", { text: "two" });
  draft.edit("node_1", { text: "in other words", attachments: [] });
  expect(draft.get().key).toBe(key);
  drafts.markSent("chat_1", draft.get());
  draft.clear();
  drafts.save();
  const later = openDraftStore(storage).drafts.get("chat_1");
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

test("the edit of a message keeps its key until its content changes, even after a reload", () => {
  const tab = openDraftStore();
  const draft = tab.drafts.get("chat_1");
  const getKey = (source = draft) => source.get().edits?.["node_1"]?.key;
  draft.edit("node_1", { text: "one" });
  const key = getKey();
  draft.edit("node_1", { text: "one" });
  expect(getKey()).toBe(key);
  expect(getKey(reloadTab(tab).drafts.get("chat_1"))).toBe(key);
  draft.edit("node_1", { text: "one", attachments: [] });
  const other = getKey();
  expect(other).not.toBe(key);
  draft.edit("node_1", { text: "two", attachments: [] });
  expect(new Set([key, other, getKey()]).size).toBe(3);
});

test("the edit of a message is not sent again while it is being sent, and keeps its key after a failure", async () => {
  const { drafts } = openDraftStore();
  const draft = drafts.get("chat_1");
  const sent: string[] = [];
  let answer: (hasArrived: boolean) => void = () => {};
  const send = ({ key }: { key: string }) => {
    sent.push(key);
    return new Promise<boolean>((resolve) => (answer = resolve));
  };
  const getDelivery = () => draft.editDeliveries.get().get("node_1");
  const first = draft.sendEdit("node_1", { text: "one" }, send);
  expect(getDelivery()).toBe("sending");
  await draft.sendEdit("node_1", { text: "one" }, send);
  expect(sent).toHaveLength(1);
  answer(false);
  await first;
  // After a failure the text is still there, and is sent again with the same key.
  expect(getDelivery()).toBe(undefined);
  expect(draft.get().edits?.["node_1"]?.text).toBe("one");
  const second = draft.sendEdit("node_1", { text: "one" }, send);
  expect(sent[1]).toBe(sent[0]);
  answer(true);
  await second;
  expect(getDelivery()).toBe("delivered");
  expect(draft.get().edits).toBe(undefined);
  draft.closeEdit("node_1");
  expect(getDelivery()).toBe(undefined);
});
