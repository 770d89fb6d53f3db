import { trySetItem } from "../browser/storage.ts";
import type { PageHideReason, BrowserEnvironment } from "../browser/browser-environment.ts";
import { shallowEqual } from "../shallow-equal.ts";
import { createCell } from "../cell.ts";
import { createPerChatCache } from "./per-chat-cache.ts";
import {
  isUnchangedInStorage,
  saveDraft,
  readSavedDraft,
  readNewestDraft,
  getDraftKey,
} from "./draft-storage.ts";
import type { ChatDraft, DraftState, EditContent, MessageEdit, EditDelivery } from "./app-store.ts";

export interface DraftStore {
  get(chatId: string): ChatDraft;
  /** Removes the sent content from the draft. Content that was added while sending stays. */
  markSent(chatId: string, sentDraft: DraftState): void;
  /** Saves unsaved changes now. */
  save(): void;
  /** Saves all drafts of this tab. If the page is unloaded, also saves the tab's id, to find the drafts after a reload. */
  onPageHide(reason: PageHideReason): void;
  /** Must be called when the page becomes visible again. */
  onPageShow(): void;
  /** Must be called when another tab has written to the storage. */
  onStorageChange(name: string, value: string): void;
}

const saveDelayMs = 300;
/**
 * The tab's id. It is in `sessionStorage` only while the page is unloaded, because a duplicated tab copies `sessionStorage` but
 * must get another id. If the browser discards a hidden page, the id is lost and the newest draft of any tab is shown.
 */
const tabIdKey = "deltawire.tab";

/** Written and immediately removed. The storage event informs other tabs that the draft with this key was sent. */
const sentSignalKey = "deltawire.sent";

export interface DraftStoreOptions {
  readonly environment: Pick<
    BrowserEnvironment,
    "storage" | "tabStorage" | "schedule" | "now" | "newId"
  >;
  /** Called when a draft could not be stored, so that it will be lost when the page is closed. */
  readonly onSaveFailed: () => void;
}

interface ManagedDraft extends ChatDraft {
  /** True if nothing is lost when the object is dropped. */
  isIdle(): boolean;
  /** Empties the draft if another tab has sent it and it is unchanged here. */
  onSentElsewhere(key: string): void;
  /** Returns false if it could not be stored. */
  save(): boolean;
  saveIfOwnedByTab(): void;
}

/** Stores one draft per chat in the browser. */
export function createDraftStore({ environment, onSaveFailed }: DraftStoreOptions): DraftStore {
  const { storage, tabStorage, newId } = environment;
  const tabId = tabStorage.getItem(tabIdKey) ?? newId();
  const onPageShow = () => tabStorage.removeItem(tabIdKey);
  onPageShow();
  const unsavedChatIds = new Set<string>();
  const failedChatIds = new Set<string>();
  let cancelSave: (() => void) | undefined;

  const save = () => {
    cancelSave?.();
    cancelSave = undefined;
    for (const chatId of unsavedChatIds) {
      if (drafts.get(chatId).save()) failedChatIds.delete(chatId);
      else if (!failedChatIds.has(chatId)) {
        failedChatIds.add(chatId);
        onSaveFailed();
      }
    }
    unsavedChatIds.clear();
  };

  const broadcastSent = (key: string) => {
    trySetItem(storage, sentSignalKey, key);
    storage.removeItem(sentSignalKey);
  };

  const drafts = createPerChatCache((chatId) =>
    createManagedDraft(chatId, tabId, environment, {
      isUnsaved: () => unsavedChatIds.has(chatId),
      onChange() {
        unsavedChatIds.add(chatId);
        cancelSave ??= environment.schedule(saveDelayMs, save);
      },
      onSent: broadcastSent,
    }),
  );

  return {
    save,
    get: (chatId) => drafts.get(chatId),
    markSent(chatId, sentDraft) {
      const draft = drafts.get(chatId);
      draft.change(getRemainingDraft(draft.get(), sentDraft));
      save();
      broadcastSent(sentDraft.key);
    },
    onPageHide(reason) {
      save();
      for (const draft of drafts.entries()) draft.saveIfOwnedByTab();
      if (reason === "unloaded") trySetItem(tabStorage, tabIdKey, tabId);
    },
    onPageShow,
    onStorageChange(name, value) {
      if (name === sentSignalKey)
        for (const draft of drafts.entries()) draft.onSentElsewhere(value);
    },
  };
}

interface DraftCallbacks {
  readonly isUnsaved: () => boolean;
  readonly onChange: () => void;
  readonly onSent: (key: string) => void;
}

/**
 * Starts with this tab's stored draft, else adopts the newest draft of any tab. The adopted draft is deleted from storage when
 * this tab stores its own, unless another tab has changed it since: a tab never overwrites the text of another.
 */
function createManagedDraft(
  chatId: string,
  tabId: string,
  { storage, now, newId }: DraftStoreOptions["environment"],
  { isUnsaved, onChange, onSent }: DraftCallbacks,
): ManagedDraft {
  const storageKey = getDraftKey(chatId, tabId);
  const tabDraft = readSavedDraft(storage, storageKey, newId);
  let adoptedDraft = tabDraft === undefined ? readNewestDraft(storage, chatId, newId) : undefined;
  let isOwnedByTab = tabDraft !== undefined;
  let changedAt = tabDraft?.changedAt ?? 0;
  const state = createCell<DraftState>(
    (tabDraft ?? adoptedDraft)?.draft ?? createEmptyDraft(newId()),
  );
  const isSending = createCell(false);
  const unreachableKey = createCell<string | undefined>(undefined);
  const editDeliveries = createCell<ReadonlyMap<string, EditDelivery>>(new Map());
  const set = (next: DraftState) => {
    state.set(next);
    isOwnedByTab = true;
    changedAt = now();
    onChange();
  };
  const clear = () => set({ ...createEmptyDraft(newId()), edits: state.get().edits });
  const edit = (nodeId: string, content: EditContent | undefined) => {
    const { edits } = state.get();
    const newEdit =
      content === undefined ? undefined : withEditKey(content, edits?.[nodeId], newId);
    set({ ...state.get(), edits: withEdit(edits, nodeId, newEdit) });
    return newEdit;
  };
  const setEditDelivery = (nodeId: string, delivery: EditDelivery | undefined) =>
    editDeliveries.update((deliveries) => {
      const others = [...deliveries].filter(([id]) => id !== nodeId);
      return new Map(delivery === undefined ? others : [...others, [nodeId, delivery]]);
    });
  const save = () => {
    if (isDraftEmpty(state.get())) {
      storage.removeItem(storageKey);
      isOwnedByTab = false;
    } else if (!saveDraft(storage, storageKey, state.get(), changedAt)) return false;
    if (adoptedDraft !== undefined && isUnchangedInStorage(storage, adoptedDraft))
      storage.removeItem(adoptedDraft.storageKey);
    adoptedDraft = undefined;
    return true;
  };
  return {
    save,
    saveIfOwnedByTab() {
      // Another tab may have adopted and deleted the stored draft. `changedAt` stays, because the text has not changed.
      if (isOwnedByTab) save();
    },
    isIdle: () =>
      !state.hasListeners() &&
      !isSending.get() &&
      ![...editDeliveries.get().values()].includes("sending") &&
      !isUnsaved() &&
      isDraftEmpty(state.get()),
    get: state.get,
    subscribe: state.subscribe,
    // A changed draft is another message. With the old key the gateway would reject it.
    change: (patch) => set({ ...state.get(), ...patch, key: newId() }),
    clear() {
      const { key } = state.get();
      clear();
      onSent(key);
    },
    clearSentText({ text, key }) {
      const current = state.get();
      set({ ...current, text: getRemainingText(current.text, text), key: newId() });
      onSent(key);
    },
    onSentElsewhere(key) {
      if (state.get().key === key) clear();
    },
    edit: (nodeId, content) => void edit(nodeId, content),
    isSending,
    async whileSending<Result>(action: () => Promise<Result>): Promise<Result> {
      isSending.set(true);
      try {
        return await action();
      } finally {
        isSending.set(false);
      }
    },
    unreachableKey,
    setUnreachable: unreachableKey.set,
    editDeliveries,
    async sendEdit(nodeId, content, send) {
      if (editDeliveries.get().get(nodeId) === "sending") return;
      const sentEdit = edit(nodeId, content);
      if (sentEdit === undefined) return;
      setEditDelivery(nodeId, "sending");
      let isDelivered = false;
      try {
        isDelivered = await send(sentEdit);
      } finally {
        if (isDelivered) edit(nodeId, undefined);
        setEditDelivery(nodeId, isDelivered ? "delivered" : undefined);
      }
    },
    closeEdit(nodeId) {
      if (editDeliveries.get().get(nodeId) === "delivered") setEditDelivery(nodeId, undefined);
    },
  };
}

function createEmptyDraft(key: string): DraftState {
  return { text: "", attachments: [], contexts: [], key };
}

function isDraftEmpty({ text, attachments, contexts, options, edits }: DraftState): boolean {
  return (
    text === "" &&
    attachments.length === 0 &&
    contexts.length === 0 &&
    options === undefined &&
    edits === undefined
  );
}

/** Adds an idempotency key to an edit: the previous one if nothing was changed, else a new one. */
function withEditKey(
  { text, attachments }: EditContent,
  previous: MessageEdit | undefined,
  newId: () => string,
): MessageEdit {
  const isUnchanged =
    previous !== undefined &&
    previous.text === text &&
    shallowEqual(previous.attachments, attachments);
  const key = isUnchanged ? previous.key : newId();
  return { text, ...(attachments === undefined ? {} : { attachments }), key };
}

/** Sets or removes an edit. The last changed edit comes last. */
function withEdit(
  edits: DraftState["edits"],
  nodeId: string,
  edit: MessageEdit | undefined,
): DraftState["edits"] {
  const { [nodeId]: _, ...others } = edits ?? {};
  if (edit !== undefined) return { ...others, [nodeId]: edit };
  return Object.keys(others).length === 0 ? undefined : others;
}

/** Returns the content that was added to a draft while it was being sent. */
function getRemainingDraft(
  current: DraftState,
  sentDraft: DraftState,
): Pick<DraftState, "text" | "attachments" | "contexts" | "options"> {
  return {
    text: getRemainingText(current.text, sentDraft.text),
    attachments: excludeItems(current.attachments, sentDraft.attachments),
    contexts: excludeItems(current.contexts, sentDraft.contexts),
    options: shallowEqual(current.options, sentDraft.options) ? undefined : current.options,
  };
}

/** Returns the text that was typed after `sentText`. */
export function getRemainingText(content: string, sentText: string): string {
  return content.startsWith(sentText) ? content.slice(sentText.length).trimStart() : content;
}

function excludeItems<Item>(items: readonly Item[], excluded: readonly Item[]): readonly Item[] {
  return items.filter((item) => !excluded.some((other) => shallowEqual(other, item)));
}
