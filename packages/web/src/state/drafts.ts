import { tryToStore } from "../browser/storage.ts";
import type { Leaving, World } from "../browser/world.ts";
import { isSame } from "../same.ts";
import { cell } from "../cell.ts";
import { keepByChat } from "./kept-by-chat.ts";
import { isStillKept, keepDraft, keptAt, lastKept, placeOf } from "./kept-drafts.ts";
import type { Draft, DraftState, EditWords, MessageEdit, SentEdit } from "./page.ts";

export interface Drafts {
  draft(chatId: string): Draft;
  /** Takes what was sent out of the draft: what came to it since stays. */
  sent(chatId: string, sent: DraftState): void;
  /** Writes what is not written yet. */
  save(): void;
  /** Writes all that was changed here, and where the page is gone by what name this tab finds it again. */
  leave(leaving: Leaving): void;
  /** The page that was left is looked at again. */
  comeBack(): void;
  /** What another tab has put into the storage. */
  hear(name: string, value: string): void;
}

const saveAfterMs = 300;
/**
 * Kept by the tab, and only while its page is gone: a copy that is made of the tab, also of a hidden one, is to have
 * another name. Where the browser ends a hidden page the name is lost, and the last draft there is comes up.
 */
const nameOfTab = "deltawire.tab";

/** For the moment in which other tabs hear of it: the key of a draft that the gateway has. */
const nameOfSent = "deltawire.sent";

export interface DraftsOptions {
  readonly world: Pick<World, "storage" | "tabStorage" | "schedule" | "now" | "newId">;
  /** The browser does not keep a draft any more, which lasts until the page is closed. */
  readonly onNotKept: () => void;
}

interface KeptDraft extends Draft {
  isIdle(): boolean;
  /** The gateway has it, by another tab: here too it is gone, unless something was changed in it since. */
  sentElsewhere(key: string): void;
  /** Answers with whether the browser has kept it. */
  save(): boolean;
  leave(): void;
}

/** What is not sent yet, by chat, kept in the browser. */
export function createDrafts({ world, onNotKept }: DraftsOptions): Drafts {
  const { storage, tabStorage, newId } = world;
  const tab = tabStorage.getItem(nameOfTab) ?? newId();
  const comeBack = () => tabStorage.removeItem(nameOfTab);
  comeBack();
  const unsaved = new Set<string>();
  const notKept = new Set<string>();
  let cancelSave: (() => void) | undefined;

  const save = () => {
    cancelSave?.();
    cancelSave = undefined;
    for (const chatId of unsaved) {
      if (drafts.of(chatId).save()) notKept.delete(chatId);
      else if (!notKept.has(chatId)) {
        notKept.add(chatId);
        onNotKept();
      }
    }
    unsaved.clear();
  };

  const tellSent = (key: string) => {
    tryToStore(storage, nameOfSent, key);
    storage.removeItem(nameOfSent);
  };

  const drafts = keepByChat((chatId) =>
    createDraft(chatId, tab, world, {
      isUnsaved: () => unsaved.has(chatId),
      onChange() {
        unsaved.add(chatId);
        cancelSave ??= world.schedule(saveAfterMs, save);
      },
      onSent: tellSent,
    }),
  );

  return {
    save,
    draft: (chatId) => drafts.of(chatId),
    sent(chatId, sent) {
      const draft = drafts.of(chatId);
      draft.change(restOfDraft(draft.get(), sent));
      save();
      tellSent(sent.key);
    },
    leave(leaving) {
      save();
      for (const draft of drafts.all()) draft.leave();
      if (leaving === "gone") tryToStore(tabStorage, nameOfTab, tab);
    },
    comeBack,
    hear(name, value) {
      if (name === nameOfSent) for (const draft of drafts.all()) draft.sentElsewhere(value);
    },
  };
}

interface Saving {
  readonly isUnsaved: () => boolean;
  readonly onChange: () => void;
  readonly onSent: (key: string) => void;
}

/**
 * It begins as what this tab has kept for the chat, else as the last one that any has. That one is left alone until something
 * is changed here, and for ever if it was changed elsewhere since: nobody writes over what somebody else typed.
 */
function createDraft(
  chatId: string,
  tab: string,
  { storage, now, newId }: DraftsOptions["world"],
  { isUnsaved, onChange, onSent }: Saving,
): KeptDraft {
  const place = placeOf(chatId, tab);
  const own = keptAt(storage, place, newId);
  let taken = own === undefined ? lastKept(storage, chatId, newId) : undefined;
  let isOwn = own !== undefined;
  let changedAt = own?.changedAt ?? 0;
  const state = cell<DraftState>((own ?? taken)?.draft ?? empty(newId()));
  const isSending = cell(false);
  const unreached = cell<string | undefined>(undefined);
  const sentEdits = cell<ReadonlyMap<string, SentEdit>>(new Map());
  const set = (next: DraftState) => {
    state.set(next);
    isOwn = true;
    changedAt = now();
    onChange();
  };
  const clear = () => set({ ...empty(newId()), edits: state.get().edits });
  const edit = (nodeId: string, words: EditWords | undefined) => {
    const { edits } = state.get();
    const edited = words === undefined ? undefined : withKey(words, edits?.[nodeId], newId);
    set({ ...state.get(), edits: withEdit(edits, nodeId, edited) });
    return edited;
  };
  const markEdit = (nodeId: string, mark: SentEdit | undefined) =>
    sentEdits.update((all) => {
      const others = [...all].filter(([each]) => each !== nodeId);
      return new Map(mark === undefined ? others : [...others, [nodeId, mark]]);
    });
  const save = () => {
    if (isEmpty(state.get())) {
      storage.removeItem(place);
      isOwn = false;
    } else if (!keepDraft(storage, place, state.get(), changedAt)) return false;
    if (taken !== undefined && isStillKept(storage, taken)) storage.removeItem(taken.name);
    taken = undefined;
    return true;
  };
  return {
    save,
    leave() {
      // Another tab that has shown it may have put its own in its place. It is as old as its words.
      if (isOwn) save();
    },
    isIdle: () =>
      !state.isHeard() &&
      !isSending.get() &&
      ![...sentEdits.get().values()].includes("on its way") &&
      !isUnsaved() &&
      isEmpty(state.get()),
    get: state.get,
    subscribe: state.subscribe,
    // Another text is another message: under the old key the gateway would refuse it.
    change: (patch) => set({ ...state.get(), ...patch, key: newId() }),
    clear() {
      const { key } = state.get();
      clear();
      onSent(key);
    },
    told({ text, key }) {
      const now = state.get();
      set({ ...now, text: restAfter(now.text, text), key: newId() });
      onSent(key);
    },
    sentElsewhere(key) {
      if (state.get().key === key) clear();
    },
    edit: (nodeId, words) => void edit(nodeId, words),
    isSending,
    async whileSending<Result>(action: () => Promise<Result>): Promise<Result> {
      isSending.set(true);
      try {
        return await action();
      } finally {
        isSending.set(false);
      }
    },
    unreached,
    setUnreached: unreached.set,
    sentEdits,
    async sendEdit(nodeId, words, send) {
      if (sentEdits.get().get(nodeId) === "on its way") return;
      const sent = edit(nodeId, words);
      if (sent === undefined) return;
      markEdit(nodeId, "on its way");
      let hasArrived = false;
      try {
        hasArrived = await send(sent);
      } finally {
        if (hasArrived) edit(nodeId, undefined);
        markEdit(nodeId, hasArrived ? "arrived" : undefined);
      }
    },
    editClosed(nodeId) {
      if (sentEdits.get().get(nodeId) === "arrived") markEdit(nodeId, undefined);
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

/** Other words are another edit, with a key of their own. */
function withKey(
  { text, attachments }: EditWords,
  before: MessageEdit | undefined,
  newId: () => string,
): MessageEdit {
  const isAsBefore =
    before !== undefined && before.text === text && isSame(before.attachments, attachments);
  const key = isAsBefore ? before.key : newId();
  return { text, ...(attachments === undefined ? {} : { attachments }), key };
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

/** What came to a draft while it was on its way. */
function restOfDraft(
  now: DraftState,
  sent: DraftState,
): Pick<DraftState, "text" | "attachments" | "contexts" | "options"> {
  return {
    text: restAfter(now.text, sent.text),
    attachments: without(now.attachments, sent.attachments),
    contexts: without(now.contexts, sent.contexts),
    options: isSame(now.options, sent.options) ? undefined : now.options,
  };
}

/** What is left of the words once a part of them was told: somebody may have gone on writing. */
export function restAfter(words: string, told: string): string {
  return words.startsWith(told) ? words.slice(told.length).trimStart() : words;
}

function without<Item>(items: readonly Item[], gone: readonly Item[]): readonly Item[] {
  return items.filter((item) => !gone.some((each) => isSame(each, item)));
}
