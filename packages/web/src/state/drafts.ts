import type { KeptStorage, World } from "../gateway/world.ts";
import { cell, type WritableCell } from "./cell.ts";
import type { Draft, DraftState } from "./page.ts";

export interface Drafts {
  draft(chatId: string): Draft;
  /** Clears the draft that was sent, unless something was typed since. */
  sent(key: string): void;
  /** Writes what is not written yet. */
  save(): void;
}

const prefix = "deltawire.draft.";
/** Older ones make room. */
const mostDrafts = 50;
const saveAfterMs = 300;

/** What is not sent yet, by chat, kept in the browser. */
export function createDrafts(world: Pick<World, "storage" | "schedule" | "now" | "newId">): Drafts {
  const { storage, schedule, now, newId } = world;
  const drafts = new Map<string, Draft & { state: WritableCell<DraftState> }>();
  const unsaved = new Set<string>();
  let cancelSave: (() => void) | undefined;

  const save = () => {
    cancelSave?.();
    cancelSave = undefined;
    for (const chatId of unsaved) {
      const draft = drafts.get(chatId)?.state.get();
      if (draft === undefined || isEmpty(draft)) storage.removeItem(prefix + chatId);
      else keep(storage, prefix + chatId, JSON.stringify({ ...draft, saved_at: now() }));
    }
    unsaved.clear();
  };

  const made = (chatId: string) => {
    const state = cell<DraftState>(readKept(storage, prefix + chatId) ?? empty(newId()));
    const set = (next: DraftState) => {
      state.set(next);
      unsaved.add(chatId);
      cancelSave ??= schedule(saveAfterMs, save);
    };
    return {
      state,
      get: state.get,
      subscribe: state.subscribe,
      // Another text is another message: under the old key the gateway would refuse it.
      change: (patch: Partial<Omit<DraftState, "key">>) =>
        set({ ...state.get(), ...patch, key: newId() }),
      clear: () => set(empty(newId())),
    };
  };

  return {
    save,
    draft(chatId) {
      const known = drafts.get(chatId) ?? made(chatId);
      drafts.set(chatId, known);
      return known;
    },
    sent(key) {
      for (const draft of drafts.values()) if (draft.get().key === key) draft.clear();
      save();
    },
  };
}

function empty(key: string): DraftState {
  return { text: "", attachments: [], contexts: [], key };
}

function isEmpty({ text, attachments, contexts, options }: DraftState): boolean {
  return text === "" && attachments.length === 0 && contexts.length === 0 && options === undefined;
}

function readKept(storage: KeptStorage, name: string): DraftState | undefined {
  try {
    const kept = JSON.parse(storage.getItem(name) ?? "null") as Partial<DraftState> | null;
    if (kept === null || typeof kept.text !== "string" || typeof kept.key !== "string")
      return undefined;
    const { text, key, attachments, contexts, options } = kept;
    return {
      text,
      key,
      attachments: Array.isArray(attachments) ? attachments : [],
      contexts: Array.isArray(contexts) ? contexts : [],
      ...(options === undefined ? {} : { options }),
    };
  } catch {
    return undefined;
  }
}

/** In place of the oldest where there are too many, or where the browser has no room. */
function keep(storage: KeptStorage, name: string, text: string): void {
  const names = namesOf(storage).filter((each) => each !== name);
  const others = names.length < mostDrafts ? undefined : oldestFirst(storage, names);
  if (others !== undefined)
    for (const each of others.splice(0, names.length - mostDrafts + 1)) storage.removeItem(each);
  if (isKept(storage, name, text)) return;
  for (const each of others ?? oldestFirst(storage, names)) {
    storage.removeItem(each);
    if (isKept(storage, name, text)) return;
  }
  // Then it lasts until the page is closed.
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
