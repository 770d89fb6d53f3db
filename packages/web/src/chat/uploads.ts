import type { Attachment } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../state/cell.ts";
import type { Draft, Page } from "../state/page.ts";

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
}

/** What has been sent lands in the draft, in whatever chat its writer is meanwhile. */
export function createUploads(
  send: (file: File) => Promise<Attachment | undefined>,
  draft: Pick<Draft, "get" | "change">,
): Uploads {
  let ids = 0;
  const all = cell<readonly Upload[]>([]);
  const dismiss = (id: number) => all.update((uploads) => uploads.filter((each) => each.id !== id));
  const isWanted = (id: number) => all.get().some((each) => each.id === id);
  const start = async ({ id, file }: Upload) => {
    const attachment = await send(file).catch(() => undefined);
    if (!isWanted(id)) return;
    if (attachment === undefined) return mark(id, "failed");
    draft.change({ attachments: [...draft.get().attachments, attachment] });
    dismiss(id);
  };
  const mark = (id: number, state: Upload["state"]) =>
    all.update((uploads) => uploads.map((each) => (each.id === id ? { ...each, state } : each)));
  return {
    get: all.get,
    subscribe: all.subscribe,
    dismiss,
    add(files) {
      const added = files.map((file): Upload => ({ id: (ids += 1), file, state: "sending" }));
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

const kept = new WeakMap<Page, Map<string, Uploads>>();

/** Those of a chat's draft: a file goes on being sent while another chat is looked at. */
export function uploadsOf(page: Page, chatId: string): Uploads {
  const chats = kept.get(page) ?? new Map<string, Uploads>();
  kept.set(page, chats);
  const known = chats.get(chatId);
  if (known !== undefined) return known;
  const made = createUploads((file) => page.upload(file), page.draft(chatId));
  chats.set(chatId, made);
  return made;
}
