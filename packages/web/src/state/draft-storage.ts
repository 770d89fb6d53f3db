import { listStorageKeys, trySetItem, type BrowserStorage } from "../browser/storage.ts";
import type { DraftState, MessageEdit } from "./app-store.ts";

export interface SavedDraft {
  readonly storageKey: string;
  /** The stored JSON without `saved_at`. */
  readonly content: string;
  readonly changedAt: number;
  readonly draft: DraftState;
}

const keyPrefix = "deltawire.draft.";
/** Beyond this number the oldest drafts are deleted. */
const maxDrafts = 50;

/** Returns a storage key that only this tab writes to, so that two tabs can have drafts of the same chat. */
export function getDraftKey(chatId: string, tabId: string): string {
  return `${keyPrefix}${chatId}.${tabId}`;
}

export function readSavedDraft(
  storage: BrowserStorage,
  storageKey: string,
  newId: () => string,
): SavedDraft | undefined {
  const text = storage.getItem(storageKey) ?? "";
  const draft = parseDraft(text, newId);
  if (draft === undefined) return undefined;
  return { storageKey, content: removeSavedAt(text), changedAt: parseSavedAt(text), draft };
}

/** Returns the most recently changed draft of a chat, from any tab. */
export function readNewestDraft(
  storage: BrowserStorage,
  chatId: string,
  newId: () => string,
): SavedDraft | undefined {
  for (const storageKey of findDraftKeys(storage, chatId).toReversed()) {
    const savedDraft = readSavedDraft(storage, storageKey, newId);
    if (savedDraft !== undefined) return savedDraft;
  }
  return undefined;
}

/** True if the stored draft is still the one that was read. */
export function isUnchangedInStorage(
  storage: BrowserStorage,
  { storageKey, content }: SavedDraft,
): boolean {
  const text = storage.getItem(storageKey);
  return text !== null && removeSavedAt(text) === content;
}

/** Returns false if the draft does not fit into the storage. */
export function saveDraft(
  storage: BrowserStorage,
  storageKey: string,
  draft: DraftState,
  changedAt: number,
): boolean {
  const text = JSON.stringify({ ...draft, saved_at: changedAt });
  return storage.getItem(storageKey) === text || saveEvictingOldest(storage, storageKey, text);
}

/** Deletes the oldest drafts if there are too many or the storage is full. If the draft still does not fit, restores them. */
function saveEvictingOldest(storage: BrowserStorage, storageKey: string, text: string): boolean {
  const otherKeys = listStorageKeys(storage, keyPrefix).filter((key) => key !== storageKey);
  const excess = otherKeys.length - maxDrafts + 1;
  if (excess <= 0 && trySetItem(storage, storageKey, text)) return true;
  const removedDrafts = new Map<string, string>();
  for (const key of sortOldestFirst(storage, otherKeys)) {
    removedDrafts.set(key, storage.getItem(key) ?? "");
    storage.removeItem(key);
    if (removedDrafts.size >= excess && trySetItem(storage, storageKey, text)) return true;
  }
  for (const [key, removedText] of removedDrafts) trySetItem(storage, key, removedText);
  return false;
}

/** Returns the storage keys, the oldest draft first. Earlier versions had one key per chat, without a tab id. */
function findDraftKeys(storage: BrowserStorage, chatId: string): string[] {
  const chatKey = keyPrefix + chatId;
  const keys = listStorageKeys(storage, keyPrefix).filter(
    (key) => key === chatKey || key.startsWith(`${chatKey}.`),
  );
  return sortOldestFirst(storage, keys);
}

function sortOldestFirst(storage: BrowserStorage, keys: readonly string[]): string[] {
  const times = new Map(keys.map((key) => [key, parseSavedAt(storage.getItem(key) ?? "")]));
  return keys.toSorted((a, b) => (times.get(a) ?? 0) - (times.get(b) ?? 0));
}

/** `saved_at` is at the end of the JSON, so that it is found without parsing a long draft. */
const savedAtPattern = /,"saved_at":(\d+)\}$/;

function parseSavedAt(text: string): number {
  return Number(savedAtPattern.exec(text)?.[1] ?? 0);
}

function removeSavedAt(text: string): string {
  return text.replace(savedAtPattern, "}");
}

function parseDraft(text: string, newId: () => string): DraftState | undefined {
  try {
    const savedDraft = JSON.parse(text) as Partial<DraftState> | null;
    if (
      savedDraft === null ||
      typeof savedDraft.text !== "string" ||
      typeof savedDraft.key !== "string"
    )
      return undefined;
    const { key, attachments, contexts, options } = savedDraft;
    const edits = Object.entries(savedDraft.edits ?? {}).flatMap(([nodeId, edit]) =>
      typeof edit.text === "string" ? [[nodeId, withEditKey(edit, newId)] as const] : [],
    );
    return {
      text: savedDraft.text,
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

function withEditKey(edit: MessageEdit, newId: () => string): MessageEdit {
  return typeof edit.key === "string" ? edit : { ...edit, key: newId() };
}
