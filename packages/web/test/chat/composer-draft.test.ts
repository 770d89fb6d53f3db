import { expect, test } from "vitest";
import type { Attachment } from "@deltawire/tasks/chats";
import { createMemoryStorage, listStorageKeys } from "../../src/browser/storage.ts";
import { classifyPaste, removePastedText } from "../../src/chat/composer-input.tsx";
import { getEffort, withEffort } from "../../src/chat/settings-form.ts";
import { createNewChatSettings } from "../../src/state/preferences.ts";
import { createUploadQueue, findSendBlocker, getUploadQueue } from "../../src/chat/upload-queue.ts";
import { createCell } from "../../src/cell.ts";
import type { DraftState, AppStore } from "../../src/state/app-store.ts";
import { getRemainingText } from "../../src/state/draft-store.ts";

const empty: DraftState = { text: "", attachments: [], contexts: [], key: "key" };
const file: Attachment = { kind: "file", url: "/api/blobs/1", filename: "a.txt" };
const sendableState = { uploads: [], isDeleted: false, isSending: false, hasResponder: true };

test("a message needs text or an attachment, and a model to answer it", () => {
  expect(findSendBlocker({ ...sendableState, draft: empty })).toBe("empty");
  expect(findSendBlocker({ ...sendableState, draft: { ...empty, text: " \n" } })).toBe("empty");
  expect(findSendBlocker({ ...sendableState, draft: { ...empty, text: "a" } })).toBeUndefined();
  const withoutModel = { ...sendableState, hasResponder: false };
  expect(findSendBlocker({ ...withoutModel, draft: { ...empty, text: "a" } })).toBe("no model");
  expect(findSendBlocker({ ...withoutModel, draft: empty })).toBe("empty");
  expect(
    findSendBlocker({ ...sendableState, draft: { ...empty, attachments: [file] } }),
  ).toBeUndefined();
});

test("a message cannot be sent while an upload is pending or has failed", () => {
  const draft = { ...empty, text: "a" };
  expect(findSendBlocker({ ...sendableState, draft, uploads: [{ state: "sending" }] })).toBe(
    "uploading",
  );
  expect(findSendBlocker({ ...sendableState, draft, uploads: [{ state: "failed" }] })).toBe(
    "failed upload",
  );
});

test("text that was typed after the sent text stays in the draft", () => {
  expect(getRemainingText("Stop that", "Stop that")).toBe("");
  expect(getRemainingText("Stop that. And more", "Stop that.")).toBe("And more");
  expect(getRemainingText("Something else", "Stop that")).toBe("Something else");
});

test("pasted files are attached, but not an image that accompanies copied text", () => {
  expect(classifyPaste({ types: ["Files"], fileCount: 1, text: "" })).toBe("files");
  expect(classifyPaste({ types: ["text/html", "Files"], fileCount: 1, text: "" })).toBe("files");
  const cells = { types: ["text/plain", "text/html", "Files"], fileCount: 1, text: "a\tb" };
  expect(classifyPaste(cells)).toBe("text");
  expect(classifyPaste({ types: ["text/plain"], fileCount: 0, text: "a".repeat(5000) })).toBe(
    "long text",
  );
});

test("pasted text is removed from the draft, even if its line breaks differ", () => {
  expect(removePastedText("before one\ntwo after", "one\r\ntwo")).toBe("before  after");
  expect(removePastedText("somebody has changed it", "one\r\ntwo")).toBeUndefined();
});

test("setting and removing the effort leaves the other options unchanged", () => {
  const options = { temperature: 0.2, reasoning: { summary: "auto" } };
  const set = withEffort(options, "high");
  expect(set).toEqual({ temperature: 0.2, reasoning: { summary: "auto", effort: "high" } });
  expect(getEffort(set ?? undefined)).toBe("high");
  expect(withEffort(set ?? undefined, undefined)).toEqual(options);
  expect(withEffort({ reasoning: { effort: "low" } }, undefined)).toBeNull();
});

function createTestDraft() {
  const state = createCell<DraftState>(empty);
  return {
    ...state,
    change: (patch: Partial<DraftState>) => state.update((all) => ({ ...all, ...patch })),
  };
}

test("an uploaded file becomes an attachment of the draft, and a failed upload can be retried", async () => {
  const draft = createTestDraft();
  let isUnreachable = true;
  const uploads = createUploadQueue(
    async (sent) => (isUnreachable ? undefined : { ...file, filename: sent.name }),
    () => draft,
  );
  uploads.add([new File(["x"], "a.txt")]);
  expect(uploads.get()).toMatchObject([{ state: "sending" }]);
  await flushPromises();
  expect(uploads.get()).toMatchObject([{ state: "failed" }]);
  expect(draft.get().attachments).toEqual([]);
  isUnreachable = false;
  uploads.retry(uploads.get()[0]?.id ?? 0);
  expect(uploads.get()).toMatchObject([{ state: "sending" }]);
  await flushPromises();
  expect(uploads.get()).toEqual([]);
  expect(draft.get().attachments).toEqual([file]);
});

test("a file that is removed during its upload is not attached", async () => {
  const draft = createTestDraft();
  const uploads = createUploadQueue(
    async () => file,
    () => draft,
  );
  uploads.add([new File(["x"], "a.txt")]);
  uploads.dismiss(uploads.get()[0]?.id ?? 0);
  await flushPromises();
  expect(draft.get().attachments).toEqual([]);
});

test("files are attached in the order of selection, whichever upload finishes first", async () => {
  const draft = createTestDraft();
  const finishUpload = new Map<string, () => void>();
  const uploads = createUploadQueue(
    ({ name }) =>
      new Promise((resolve) => {
        finishUpload.set(name, () => resolve({ ...file, filename: name }));
      }),
    () => draft,
  );
  draft.change({ attachments: [{ ...file, filename: "before" }] });
  uploads.add(["large", "middle", "small"].map((name) => new File(["x"], name)));
  for (const name of ["small", "large", "middle"]) {
    finishUpload.get(name)?.();
    await flushPromises();
  }
  const names = draft.get().attachments.map(({ filename }) => filename);
  expect(names).toEqual(["before", "large", "middle", "small"]);
});

test("an upload fails if its request throws", async () => {
  const uploads = createUploadQueue(() => Promise.reject(new Error("no network")), createTestDraft);
  uploads.add([new File(["x"], "a.txt")]);
  await flushPromises();
  expect(uploads.get()).toMatchObject([{ state: "failed" }]);
});

test("an upload continues while other chats are open, and queues without uploads are released", async () => {
  const drafts = new Map<string, ReturnType<typeof createTestDraft>>();
  const draft = (chatId: string) => {
    const existing = drafts.get(chatId) ?? createTestDraft();
    drafts.set(chatId, existing);
    return existing;
  };
  let finishUpload = () => {};
  const upload = () => new Promise<Attachment>((resolve) => (finishUpload = () => resolve(file)));
  const app = { upload, getDraft: draft } as unknown as AppStore;
  const [sending, idle] = [getUploadQueue(app, "sending"), getUploadQueue(app, "idle")];
  sending.add([new File(["x"], "a.txt")]);
  for (let number = 0; number < 60; number += 1) getUploadQueue(app, `chat_${number}`);
  expect(getUploadQueue(app, "sending")).toBe(sending);
  expect(getUploadQueue(app, "idle")).not.toBe(idle);
  drafts.clear();
  finishUpload();
  await flushPromises();
  expect(draft("sending").get().attachments).toEqual([file]);
});

async function flushPromises(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0));
}

test("the settings for a new chat survive a reload, and invalid stored data is ignored", () => {
  const storage = createMemoryStorage();
  createNewChatSettings(storage).change({ agent: "demo-agent", model: null });
  expect(createNewChatSettings(storage).get()).toEqual({ agent: "demo-agent" });
  for (const name of listStorageKeys(storage, "")) storage.setItem(name, "[1");
  expect(createNewChatSettings(storage).get()).toEqual({});
});
