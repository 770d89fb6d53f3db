import { expect, test } from "vitest";
import type { Attachment } from "@deltawire/tasks/chats";
import { memoryStorage, storedNames } from "../../src/browser/storage.ts";
import { meaningOfPaste, withoutPasted } from "../../src/chat/message-box.tsx";
import { effortIn, withEffort } from "../../src/chat/settings-form.ts";
import { createNewChatSettings } from "../../src/state/preferences.ts";
import { createUploads, obstacleTo, uploadsOf } from "../../src/chat/uploads.ts";
import { cell } from "../../src/cell.ts";
import type { DraftState, Page } from "../../src/state/page.ts";
import { restAfter } from "../../src/state/drafts.ts";

const empty: DraftState = { text: "", attachments: [], contexts: [], key: "key" };
const file: Attachment = { kind: "file", url: "/api/blobs/1", filename: "a.txt" };
const free = { uploads: [], isDeleted: false, isSending: false, hasAnswerer: true };

test("words, or something beside them, can be sent; blanks cannot", () => {
  expect(obstacleTo({ ...free, draft: empty })).toBe("empty");
  expect(obstacleTo({ ...free, draft: { ...empty, text: " \n" } })).toBe("empty");
  expect(obstacleTo({ ...free, draft: { ...empty, text: "a" } })).toBeUndefined();
  const unanswered = { ...free, hasAnswerer: false };
  expect(obstacleTo({ ...unanswered, draft: { ...empty, text: "a" } })).toBe("no model");
  expect(obstacleTo({ ...unanswered, draft: empty })).toBe("empty");
  expect(obstacleTo({ ...free, draft: { ...empty, attachments: [file] } })).toBeUndefined();
});

test("a message waits for its files, and does not go without one that failed", () => {
  const draft = { ...empty, text: "a" };
  expect(obstacleTo({ ...free, draft, uploads: [{ state: "sending" }] })).toBe("uploading");
  expect(obstacleTo({ ...free, draft, uploads: [{ state: "failed" }] })).toBe("failed upload");
});

test("what was typed while the words before it were told stays", () => {
  expect(restAfter("Stop that", "Stop that")).toBe("");
  expect(restAfter("Stop that. And more", "Stop that.")).toBe("And more");
  expect(restAfter("Something else", "Stop that")).toBe("Something else");
});

test("files are attached, but a text that has its own picture with it is a text", () => {
  expect(meaningOfPaste({ types: ["Files"], files: 1, text: "" })).toBe("files");
  expect(meaningOfPaste({ types: ["text/html", "Files"], files: 1, text: "" })).toBe("files");
  const cells = { types: ["text/plain", "text/html", "Files"], files: 1, text: "a\tb" };
  expect(meaningOfPaste(cells)).toBe("text");
  expect(meaningOfPaste({ types: ["text/plain"], files: 0, text: "a".repeat(5000) })).toBe(
    "long text",
  );
});

test("a pasted text is taken out of the words where it stands, with lines as a textarea ends them", () => {
  expect(withoutPasted("before one\ntwo after", "one\r\ntwo")).toBe("before  after");
  expect(withoutPasted("somebody has changed it", "one\r\ntwo")).toBeUndefined();
});

test("an effort is set and taken out without touching the other options", () => {
  const options = { temperature: 0.2, reasoning: { summary: "auto" } };
  const set = withEffort(options, "high");
  expect(set).toEqual({ temperature: 0.2, reasoning: { summary: "auto", effort: "high" } });
  expect(effortIn(set ?? undefined)).toBe("high");
  expect(withEffort(set ?? undefined, undefined)).toEqual(options);
  expect(withEffort({ reasoning: { effort: "low" } }, undefined)).toBeNull();
});

function draftForTests() {
  const state = cell<DraftState>(empty);
  return {
    ...state,
    change: (patch: Partial<DraftState>) => state.update((all) => ({ ...all, ...patch })),
  };
}

test("a file that is uploaded becomes an attachment of the draft, one that fails can be tried again", async () => {
  const draft = draftForTests();
  let isDown = true;
  const uploads = createUploads(
    async (sent) => (isDown ? undefined : { ...file, filename: sent.name }),
    () => draft,
  );
  uploads.add([new File(["x"], "a.txt")]);
  expect(uploads.get()).toMatchObject([{ state: "sending" }]);
  await settled();
  expect(uploads.get()).toMatchObject([{ state: "failed" }]);
  expect(draft.get().attachments).toEqual([]);
  isDown = false;
  uploads.retry(uploads.get()[0]?.id ?? 0);
  expect(uploads.get()).toMatchObject([{ state: "sending" }]);
  await settled();
  expect(uploads.get()).toEqual([]);
  expect(draft.get().attachments).toEqual([file]);
});

test("a file that was removed while it was sent is not attached", async () => {
  const draft = draftForTests();
  const uploads = createUploads(
    async () => file,
    () => draft,
  );
  uploads.add([new File(["x"], "a.txt")]);
  uploads.dismiss(uploads.get()[0]?.id ?? 0);
  await settled();
  expect(draft.get().attachments).toEqual([]);
});

test("files are attached in the order in which they were chosen, whichever is sent first", async () => {
  const draft = draftForTests();
  const arrivals = new Map<string, () => void>();
  const uploads = createUploads(
    (sent) =>
      new Promise((resolve) => {
        arrivals.set(sent.name, () => resolve({ ...file, filename: sent.name }));
      }),
    () => draft,
  );
  draft.change({ attachments: [{ ...file, filename: "before" }] });
  uploads.add(["large", "middle", "small"].map((name) => new File(["x"], name)));
  for (const name of ["small", "large", "middle"]) {
    arrivals.get(name)?.();
    await settled();
  }
  const names = draft.get().attachments.map(({ filename }) => filename);
  expect(names).toEqual(["before", "large", "middle", "small"]);
});

test("an upload that throws is one that failed", async () => {
  const uploads = createUploads(() => Promise.reject(new Error("no network")), draftForTests);
  uploads.add([new File(["x"], "a.txt")]);
  await settled();
  expect(uploads.get()).toMatchObject([{ state: "failed" }]);
});

test("a file of a chat that was left goes on being sent and lands in its draft; where nothing is sent nothing is held", async () => {
  const drafts = new Map<string, ReturnType<typeof draftForTests>>();
  const draft = (chatId: string) => {
    const known = drafts.get(chatId) ?? draftForTests();
    drafts.set(chatId, known);
    return known;
  };
  let arrive = () => {};
  const upload = () => new Promise<Attachment>((resolve) => (arrive = () => resolve(file)));
  const page = { upload, draft } as unknown as Page;
  const [sending, idle] = [uploadsOf(page, "sending"), uploadsOf(page, "idle")];
  sending.add([new File(["x"], "a.txt")]);
  for (let number = 0; number < 60; number += 1) uploadsOf(page, `chat_${number}`);
  expect(uploadsOf(page, "sending")).toBe(sending);
  expect(uploadsOf(page, "idle")).not.toBe(idle);
  drafts.clear();
  arrive();
  await settled();
  expect(draft("sending").get().attachments).toEqual([file]);
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test("the choice for a chat that is not made yet survives a reload, and nonsense in its place does no harm", () => {
  const storage = memoryStorage();
  createNewChatSettings(storage).change({ agent: "demo-agent", model: null });
  expect(createNewChatSettings(storage).get()).toEqual({ agent: "demo-agent" });
  for (const name of storedNames(storage, "")) storage.setItem(name, "[1");
  expect(createNewChatSettings(storage).get()).toEqual({});
});
