import type { Attachment } from "@deltawire/tasks/chats";
import { createCell, type Cell } from "../cell.ts";
import { createPerChatCache, type PerChatCache } from "../state/per-chat-cache.ts";
import type { ChatDraft, DraftState, AppStore } from "../state/app-store.ts";

/** A file that is being uploaded, or whose upload failed. */
export interface Upload {
  readonly id: number;
  readonly file: File;
  readonly state: "sending" | "failed";
}

export interface UploadQueue extends Cell<readonly Upload[]> {
  add(files: readonly File[]): void;
  retry(id: number): void;
  dismiss(id: number): void;
  /** True if the queue has neither uploads nor subscribers. */
  isIdle(): boolean;
}

/** Creates a queue that adds uploaded files to the draft, even if another chat is open by then. */
export function createUploadQueue(
  uploadFile: (file: File) => Promise<Attachment | undefined>,
  getDraft: () => Pick<ChatDraft, "get" | "change">,
): UploadQueue {
  let lastId = 0;
  const uploads = createCell<readonly Upload[]>([]);
  const dismiss = (id: number) =>
    uploads.update((current) => current.filter((upload) => upload.id !== id));
  /** Upload ids. They keep attachments in the order of selection, although small files finish first. */
  const idByAttachment = new WeakMap<Attachment, number>();
  const insertInOrder = (
    attachments: readonly Attachment[],
    newAttachment: Attachment,
    id: number,
  ) => {
    idByAttachment.set(newAttachment, id);
    const index = attachments.findIndex((attachment) => (idByAttachment.get(attachment) ?? 0) > id);
    return attachments.toSpliced(index === -1 ? attachments.length : index, 0, newAttachment);
  };
  const isQueued = (id: number) => uploads.get().some((upload) => upload.id === id);
  const start = async ({ id, file }: Upload) => {
    const attachment = await uploadFile(file).catch(() => undefined);
    if (!isQueued(id)) return;
    if (attachment === undefined) return setState(id, "failed");
    const draft = getDraft();
    draft.change({ attachments: insertInOrder(draft.get().attachments, attachment, id) });
    dismiss(id);
  };
  const setState = (id: number, state: Upload["state"]) =>
    uploads.update((current) =>
      current.map((upload) => (upload.id === id ? { ...upload, state } : upload)),
    );
  return {
    get: uploads.get,
    subscribe: uploads.subscribe,
    dismiss,
    isIdle: () => !uploads.hasListeners() && uploads.get().length === 0,
    add(files) {
      const newUploads = files.map((file): Upload => ({
        id: (lastId += 1),
        file,
        state: "sending",
      }));
      uploads.update((current) => [...current, ...newUploads]);
      for (const upload of newUploads) void start(upload);
    },
    retry(id) {
      const failedUpload = uploads
        .get()
        .find((upload) => upload.id === id && upload.state === "failed");
      if (failedUpload === undefined) return;
      setState(id, "sending");
      void start(failedUpload);
    },
  };
}

const queuesByApp = new WeakMap<AppStore, PerChatCache<UploadQueue>>();

/** Returns the upload queue of a chat's draft. Uploads continue while another chat is open. */
export function getUploadQueue(app: AppStore, chatId: string): UploadQueue {
  const queues = queuesByApp.get(app) ?? createPerChatCache((id) => createChatUploadQueue(app, id));
  queuesByApp.set(app, queues);
  return queues.get(chatId);
}

function createChatUploadQueue(app: AppStore, chatId: string): UploadQueue {
  return createUploadQueue(
    (file) => app.upload(file),
    () => app.getDraft(chatId),
  );
}

/** Why a draft cannot be sent now. */
export type SendBlocker =
  | "deleted"
  | "sending"
  | "uploading"
  | "failed upload"
  | "empty"
  | "no model";

export interface SendPreconditions {
  readonly draft: Pick<DraftState, "text" | "attachments" | "contexts">;
  readonly uploads: readonly Pick<Upload, "state">[];
  readonly isDeleted: boolean;
  readonly isSending: boolean;
  /** False if no model or agent is selected and there is no default. True while the default is unknown. */
  readonly hasResponder: boolean;
}

export function findSendBlocker({
  draft,
  uploads,
  isDeleted,
  isSending,
  hasResponder,
}: SendPreconditions): SendBlocker | undefined {
  if (isDeleted) return "deleted";
  if (isSending) return "sending";
  if (uploads.some(({ state }) => state === "sending")) return "uploading";
  if (uploads.length > 0) return "failed upload";
  const hasContent =
    draft.text.trim() !== "" ||
    draft.attachments.length > 0 ||
    draft.contexts.some(({ text }) => text.trim() !== "");
  if (!hasContent) return "empty";
  return hasResponder ? undefined : "no model";
}
