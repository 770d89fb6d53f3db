import { storedNames, tryToStore, type BrowserStorage } from "../browser/storage.ts";
import type { DraftState, MessageEdit } from "./page.ts";

export interface KeptDraft {
  /** Where it is kept. */
  readonly name: string;
  /** What is kept there, whenever it was changed. */
  readonly content: string;
  readonly changedAt: number;
  readonly draft: DraftState;
}

const prefix = "deltawire.draft.";
/** Older ones make room. */
const mostDrafts = 50;

/** A place that only this tab writes to: drafts of one chat in two tabs stand side by side. */
export function placeOf(chatId: string, tab: string): string {
  return `${prefix}${chatId}.${tab}`;
}

export function keptAt(
  storage: BrowserStorage,
  name: string,
  newId: () => string,
): KeptDraft | undefined {
  const text = storage.getItem(name) ?? "";
  const draft = readDraft(text, newId);
  if (draft === undefined) return undefined;
  return { name, content: contentOf(text), changedAt: savedAt(text), draft };
}

/** Of all drafts of a chat the one that was changed last. */
export function lastKept(
  storage: BrowserStorage,
  chatId: string,
  newId: () => string,
): KeptDraft | undefined {
  for (const name of placesOf(storage, chatId).toReversed()) {
    const kept = keptAt(storage, name, newId);
    if (kept !== undefined) return kept;
  }
  return undefined;
}

/** Whether it is there, as it was read. */
export function isStillKept(storage: BrowserStorage, { name, content }: KeptDraft): boolean {
  const text = storage.getItem(name);
  return text !== null && contentOf(text) === content;
}

export function keepDraft(
  storage: BrowserStorage,
  name: string,
  draft: DraftState,
  changedAt: number,
): boolean {
  const text = JSON.stringify({ ...draft, saved_at: changedAt });
  return storage.getItem(name) === text || keep(storage, name, text);
}

/** In place of the oldest where there are too many, or where the browser has no room; of none if that is not enough. */
function keep(storage: BrowserStorage, name: string, text: string): boolean {
  const names = storedNames(storage, prefix).filter((each) => each !== name);
  const tooMany = names.length - mostDrafts + 1;
  if (tooMany <= 0 && tryToStore(storage, name, text)) return true;
  const removed = new Map<string, string>();
  for (const each of oldestFirst(storage, names)) {
    removed.set(each, storage.getItem(each) ?? "");
    storage.removeItem(each);
    if (removed.size >= tooMany && tryToStore(storage, name, text)) return true;
  }
  for (const [each, kept] of removed) tryToStore(storage, each, kept);
  return false;
}

/** The oldest first. Pages of before had one place for each chat, without an id. */
function placesOf(storage: BrowserStorage, chatId: string): string[] {
  const own = prefix + chatId;
  const names = storedNames(storage, prefix).filter(
    (name) => name === own || name.startsWith(`${own}.`),
  );
  return oldestFirst(storage, names);
}

function oldestFirst(storage: BrowserStorage, names: readonly string[]): string[] {
  const times = new Map(names.map((name) => [name, savedAt(storage.getItem(name) ?? "")]));
  return names.toSorted((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0));
}

/** At the end, where it is read without parsing what may be long. */
const time = /,"saved_at":(\d+)\}$/;

function savedAt(text: string): number {
  return Number(time.exec(text)?.[1] ?? 0);
}

function contentOf(text: string): string {
  return text.replace(time, "}");
}

function readDraft(text: string, newId: () => string): DraftState | undefined {
  try {
    const kept = JSON.parse(text) as Partial<DraftState> | null;
    if (kept === null || typeof kept.text !== "string" || typeof kept.key !== "string")
      return undefined;
    const { key, attachments, contexts, options } = kept;
    const edits = Object.entries(kept.edits ?? {}).flatMap(([nodeId, edit]) =>
      typeof edit.text === "string" ? [[nodeId, withKey(edit, newId)] as const] : [],
    );
    return {
      text: kept.text,
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

function withKey(edit: MessageEdit, newId: () => string): MessageEdit {
  return typeof edit.key === "string" ? edit : { ...edit, key: newId() };
}
