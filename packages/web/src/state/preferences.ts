import { settingsAfter, type ChatSettings, type PersonEdit } from "@deltawire/tasks/chats";
import type { Language } from "../words/words.ts";
import { storedCell, type BrowserStorage } from "../browser/storage.ts";
import type { Cell } from "../cell.ts";

/** Of this browser, not of the gateway. */
export interface Preferences {
  /** `system`: as the machine has it. */
  readonly theme: "system" | "light" | "dark";
  readonly language: Language;
  /** Whether the page follows the end of an answer, or holds where it begins. */
  readonly follow: "end" | "start";
  /** What sends a message. */
  readonly sendKey: "enter" | "mod+enter";
  /** Whether reasoning is shown unfolded while it comes. */
  readonly reasoning: "folded" | "open";
  readonly sidebar: "shown" | "hidden";
}

export interface PreferencesCell extends Cell<Preferences> {
  change(patch: Partial<Preferences>): void;
}

const storedName = "deltawire.preferences";

const choices: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  theme: ["system", "light", "dark"],
  language: ["en", "zh"],
  follow: ["end", "start"],
  sendKey: ["enter", "mod+enter"],
  reasoning: ["folded", "open"],
  sidebar: ["shown", "hidden"],
};

export function createPreferences(storage: BrowserStorage, language: Language): PreferencesCell {
  const usual: Preferences = {
    theme: "system",
    language,
    follow: "end",
    sendKey: "enter",
    reasoning: "folded",
    sidebar: "shown",
  };
  const state = storedCell(storage, storedName, (stored) => ({ ...usual, ...allowedIn(stored) }));
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => state.set({ ...state.get(), ...patch }),
  };
}

function allowedIn(stored: unknown): Partial<Preferences> {
  const values = (stored ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(choices)
      .filter(([key, allowed]) => (allowed as readonly unknown[]).includes(values[key]))
      .map(([key]) => [key, values[key]]),
  );
}

/** Of the chat that is not made yet, kept over reloads until it is. */
export interface NewChatSettings extends Cell<ChatSettings> {
  change(patch: Extract<PersonEdit, { type: "settings" }>["patch"]): void;
  clear(): void;
}

const nameOfNewChat = "deltawire.new-chat";

export function createNewChatSettings(storage: BrowserStorage): NewChatSettings {
  const state = storedCell<ChatSettings>(storage, nameOfNewChat, (stored) =>
    typeof stored === "object" && stored !== null && !Array.isArray(stored) ? stored : {},
  );
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => state.set(settingsAfter(state.get(), patch)),
    clear: () => state.set({}),
  };
}
