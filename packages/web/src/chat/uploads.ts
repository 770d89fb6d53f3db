import type { Attachment } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../cell.ts";
import { keepByChat, type KeptByChat } from "../state/kept-by-chat.ts";
import type { Draft, DraftState, Page } from "../state/page.ts";

/** A file that is no attachment yet. */
export interface Upload {
  readonly id: number;
  readonly file: File;
  readonly state: "sending" | "failed";
}

export interface Uploads extends Cell<readonly Upload[]> {
  add(files: readonly File[]): void;
  retry(id: number): void;
  dismiss(id: number): void;
  /** Nothing is sent, and nobody looks. */
  isIdle(): boolean;
}

/** What has been sent lands in the draft, in whatever chat its writer is meanwhile. */
export function createUploads(
  send: (file: File) => Promise<Attachment | undefined>,
  draft: () => Pick<Draft, "get" | "change">,
): Uploads {
  let count = 0;
  const all = cell<readonly Upload[]>([]);
  const dismiss = (id: number) => all.update((uploads) => uploads.filter((each) => each.id !== id));
  /** Large ones come later than small ones that were chosen after them. */
  const ids = new WeakMap<Attachment, number>();
  const inOrder = (attachments: readonly Attachment[], added: Attachment, id: number) => {
    ids.set(added, id);
    const after = attachments.findIndex((each) => (ids.get(each) ?? 0) > id);
    return attachments.toSpliced(after === -1 ? attachments.length : after, 0, added);
  };
  const isWanted = (id: number) => all.get().some((each) => each.id === id);
  const start = async ({ id, file }: Upload) => {
    const attachment = await send(file).catch(() => undefined);
    if (!isWanted(id)) return;
    if (attachment === undefined) return mark(id, "failed");
    const { get, change } = draft();
    change({ attachments: inOrder(get().attachments, attachment, id) });
    dismiss(id);
  };
  const mark = (id: number, state: Upload["state"]) =>
    all.update((uploads) => uploads.map((each) => (each.id === id ? { ...each, state } : each)));
  return {
    get: all.get,
    subscribe: all.subscribe,
    dismiss,
    isIdle: () => !all.isHeard() && all.get().length === 0,
    add(files) {
      const added = files.map((file): Upload => ({ id: (count += 1), file, state: "sending" }));
      all.update((uploads) => [...uploads, ...added]);
      for (const upload of added) void start(upload);
    },
    retry(id) {
      const upload = all.get().find((each) => each.id === id);
      if (upload === undefined || upload.state === "sending") return;
      mark(id, "sending");
      void start(upload);
    },
  };
}

const kept = new WeakMap<Page, KeptByChat<Uploads>>();

/** Those of a chat's draft: a file goes on being sent while another chat is looked at. */
export function uploadsOf(page: Page, chatId: string): Uploads {
  const chats = kept.get(page) ?? keepByChat((id) => uploadsInto(page, id));
  kept.set(page, chats);
  return chats.of(chatId);
}

function uploadsInto(page: Page, chatId: string): Uploads {
  return createUploads(
    (file) => page.upload(file),
    () => page.draft(chatId),
  );
}

/** Why what is written cannot be sent now. */
export type Obstacle = "deleted" | "sending" | "uploading" | "failed upload" | "empty" | "no model";

export interface Writing {
  readonly draft: Pick<DraftState, "text" | "attachments" | "contexts">;
  readonly uploads: readonly Pick<Upload, "state">[];
  readonly isDeleted: boolean;
  readonly isSending: boolean;
  /** False: nothing is chosen to answer, as far as that is known. */
  readonly hasAnswerer: boolean;
}

export function obstacleTo({
  draft,
  uploads,
  isDeleted,
  isSending,
  hasAnswerer,
}: Writing): Obstacle | undefined {
  if (isDeleted) return "deleted";
  if (isSending) return "sending";
  if (uploads.some(({ state }) => state === "sending")) return "uploading";
  if (uploads.length > 0) return "failed upload";
  const hasSomething =
    draft.text.trim() !== "" ||
    draft.attachments.length > 0 ||
    draft.contexts.some(({ text }) => text.trim() !== "");
  if (!hasSomething) return "empty";
  return hasAnswerer ? undefined : "no model";
}
