import type { KeptStorage, World } from "../gateway/world.ts";
import { cell } from "./cell.ts";
import { keepByChat } from "./kept-by-chat.ts";
import type { Draft, DraftState, MessageEdit } from "./page.ts";
import { restOfDraft } from "./rest-of-draft.ts";

export interface Drafts {
  draft(chatId: string): Draft;
  /** Takes what was sent out of the draft: what came to it since stays. */
  sent(chatId: string, sent: DraftState): void;
  /** Writes what is not written yet. */
  save(): void;
  /** Writes all that was changed here: another tab may have put its own in its place. */
  leave(): void;
}

const prefix = "deltawire.draft.";
/** Older ones make room. */
const mostDrafts = 50;
const saveAfterMs = 300;

export interface DraftsOptions {
  readonly world: Pick<World, "storage" | "schedule" | "now" | "newId">;
  /** The browser does not keep a draft any more, which lasts until the page is closed. */
  readonly onNotKept: () => void;
}

/** What is not sent yet, by chat, kept in the browser. */
export function createDrafts({ world, onNotKept }: DraftsOptions): Drafts {
  const { storage, schedule, now, newId } = world;
  const unsaved = new Set<string>();
  const changedHere = new Set<string>();
  /** The keys of what was read or written here: only that is removed, and nothing of another tab. */
  const ours = new Map<string, string>();
  const notKept = new Set<string>();
  let cancelSave: (() => void) | undefined;

  const save = () => {
    cancelSave?.();
    cancelSave = undefined;
    for (const chatId of unsaved) {
      if (isSaved(chatId)) notKept.delete(chatId);
      else if (!notKept.has(chatId)) {
        notKept.add(chatId);
        onNotKept();
      }
    }
    unsaved.clear();
  };
  const isSaved = (chatId: string): boolean => {
    const draft = drafts.of(chatId).get();
    const name = prefix + chatId;
    if (isEmpty(draft)) {
      changedHere.delete(chatId);
      if (readKept(storage, name)?.key === ours.get(chatId)) storage.removeItem(name);
      return true;
    }
    const isDone = keep(storage, name, JSON.stringify({ ...draft, saved_at: now() }));
    if (isDone) ours.set(chatId, draft.key);
    return isDone;
  };

  const drafts = keepByChat((chatId) => {
    const kept = readKept(storage, prefix + chatId);
    if (kept !== undefined) ours.set(chatId, kept.key);
    const state = cell<DraftState>(kept ?? empty(newId()));
    const isSending = cell(false);
    const set = (next: DraftState) => {
      state.set(next);
      unsaved.add(chatId);
      changedHere.add(chatId);
      cancelSave ??= schedule(saveAfterMs, save);
    };
    return {
      isIdle: () =>
        !state.isHeard() && !isSending.get() && !unsaved.has(chatId) && isEmpty(state.get()),
      get: state.get,
      subscribe: state.subscribe,
      // Another text is another message: under the old key the gateway would refuse it.
      change: (patch: Partial<Omit<DraftState, "key" | "edits">>) =>
        set({ ...state.get(), ...patch, key: newId() }),
      clear: () => set({ ...empty(newId()), edits: state.get().edits }),
      edit: (nodeId: string, edit: MessageEdit | undefined) =>
        set({ ...state.get(), edits: withEdit(state.get().edits, nodeId, edit) }),
      isSending,
      async whileSending<Result>(action: () => Promise<Result>): Promise<Result> {
        isSending.set(true);
        try {
          return await action();
        } finally {
          isSending.set(false);
        }
      },
    };
  });

  return {
    save,
    draft: (chatId) => drafts.of(chatId),
    sent(chatId, sent) {
      const draft = drafts.of(chatId);
      draft.change(restOfDraft(draft.get(), sent));
      save();
    },
    leave() {
      for (const chatId of changedHere) unsaved.add(chatId);
      save();
    },
  };
}

function empty(key: string): DraftState {
  return { text: "", attachments: [], contexts: [], key };
}

function isEmpty({ text, attachments, contexts, options, edits }: DraftState): boolean {
  return (
    text === "" &&
    attachments.length === 0 &&
    contexts.length === 0 &&
    options === undefined &&
    edits === undefined
  );
}

/** The one that was typed into last stands last. */
function withEdit(
  edits: DraftState["edits"],
  nodeId: string,
  edit: MessageEdit | undefined,
): DraftState["edits"] {
  const { [nodeId]: _, ...others } = edits ?? {};
  if (edit !== undefined) return { ...others, [nodeId]: edit };
  return Object.keys(others).length === 0 ? undefined : others;
}

function readKept(storage: KeptStorage, name: string): DraftState | undefined {
  try {
    const kept = JSON.parse(storage.getItem(name) ?? "null") as Partial<DraftState> | null;
    if (kept === null || typeof kept.text !== "string" || typeof kept.key !== "string")
      return undefined;
    const { text, key, attachments, contexts, options } = kept;
    const edits = Object.entries(kept.edits ?? {}).filter(
      ([, { text }]) => typeof text === "string",
    );
    return {
      text,
      key,
      attachments: Array.isArray(attachments) ? attachments : [],
      contexts: Array.isArray(contexts) ? contexts : [],
      ...(options === undefined ? {} : { options }),
      ...(edits.length === 0 ? {} : { edits: Object.fromEntries(edits) }),
    };
  } catch {
    return undefined;
  }
}

/** In place of the oldest where there are too many, or where the browser has no room; of none if that is not enough. */
function keep(storage: KeptStorage, name: string, text: string): boolean {
  const names = namesOf(storage).filter((each) => each !== name);
  const tooMany = names.length - mostDrafts + 1;
  if (tooMany <= 0 && isKept(storage, name, text)) return true;
  const removed = new Map<string, string>();
  for (const each of oldestFirst(storage, names)) {
    removed.set(each, storage.getItem(each) ?? "");
    storage.removeItem(each);
    if (removed.size >= tooMany && isKept(storage, name, text)) return true;
  }
  for (const [each, kept] of removed) isKept(storage, each, kept);
  return false;
}

function isKept(storage: KeptStorage, name: string, text: string): boolean {
  try {
    storage.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

function namesOf(storage: KeptStorage): string[] {
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
  return names.filter((name) => name.startsWith(prefix));
}

function oldestFirst(storage: KeptStorage, names: readonly string[]): string[] {
  const times = new Map(names.map((name) => [name, savedAt(storage.getItem(name) ?? "")]));
  return names.toSorted((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0));
}

/** Read without parsing what may be long: it stands at the end. */
function savedAt(text: string): number {
  return Number(/"saved_at":(\d+)\}$/.exec(text)?.[1] ?? 0);
}
