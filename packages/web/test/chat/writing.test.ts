import { expect, test } from "vitest";
import type { Attachment } from "@deltawire/tasks/chats";
import { obstacleTo, restAfter } from "../../src/chat/may-send.ts";
import { meaningOfPaste, withoutPasted } from "../../src/chat/pasted-text.ts";
import { effortIn, withEffort } from "../../src/chat/reasoning-effort.ts";
import { createNewChatSettings } from "../../src/chat/new-chat-settings.ts";
import { createUploads } from "../../src/chat/uploads.ts";
import { cell } from "../../src/state/cell.ts";
import type { DraftState } from "../../src/state/page.ts";

const empty: DraftState = { text: "", attachments: [], contexts: [], key: "key" };
const file: Attachment = { kind: "file", url: "/api/blobs/1", filename: "a.txt" };
const free = { uploads: [], isDeleted: false, isSending: false };

test("words, or something beside them, can be sent; blanks cannot", () => {
  expect(obstacleTo({ ...free, draft: empty })).toBe("empty");
  expect(obstacleTo({ ...free, draft: { ...empty, text: " \n" } })).toBe("empty");
  expect(obstacleTo({ ...free, draft: { ...empty, text: "a" } })).toBeUndefined();
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
    draft,
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
  const uploads = createUploads(async () => file, draft);
  uploads.add([new File(["x"], "a.txt")]);
  uploads.dismiss(uploads.get()[0]?.id ?? 0);
  await settled();
  expect(draft.get().attachments).toEqual([]);
});

test("an upload that throws is one that failed", async () => {
  const uploads = createUploads(() => Promise.reject(new Error("no network")), draftForTests());
  uploads.add([new File(["x"], "a.txt")]);
  await settled();
  expect(uploads.get()).toMatchObject([{ state: "failed" }]);
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test("the choice for a chat that is not made yet survives a reload, and nonsense in its place does no harm", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
    removeItem: (name: string) => void kept.delete(name),
  };
  createNewChatSettings(storage).change({ agent: "demo-agent", model: null });
  expect(createNewChatSettings(storage).get()).toEqual({ agent: "demo-agent" });
  for (const name of kept.keys()) kept.set(name, "[1");
  expect(createNewChatSettings(storage).get()).toEqual({});
  expect(createNewChatSettings(undefined).get()).toEqual({});
});
