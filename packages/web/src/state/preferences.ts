import { applySettingsPatch, type ChatSettings, type UserEdit } from "@deltawire/tasks/chats";
import type { Language } from "../messages/define-messages.ts";
import { createStoredCell, type BrowserStorage } from "../browser/storage.ts";
import type { Cell } from "../cell.ts";

/** Settings of the page. Stored in this browser, not by the gateway. */
export interface Preferences {
  /** `system` follows the operating system. */
  readonly theme: "system" | "light" | "dark";
  readonly language: Language;
  /** Whether the view follows the end of a streaming answer or stays at its start. */
  readonly follow: "end" | "start";
  /** The key that sends a message. */
  readonly sendKey: "enter" | "mod+enter";
  /** `open`: reasoning is expanded while it streams. */
  readonly reasoning: "folded" | "open";
  readonly sidebar: "shown" | "hidden";
}

export interface PreferencesCell extends Cell<Preferences> {
  change(patch: Partial<Preferences>): void;
}

const storageKey = "deltawire.preferences";

const allowedValues: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  theme: ["system", "light", "dark"],
  language: ["en", "zh"],
  follow: ["end", "start"],
  sendKey: ["enter", "mod+enter"],
  reasoning: ["folded", "open"],
  sidebar: ["shown", "hidden"],
};

export function createPreferences(storage: BrowserStorage, language: Language): PreferencesCell {
  const defaults: Preferences = {
    theme: "system",
    language,
    follow: "end",
    sendKey: "enter",
    reasoning: "folded",
    sidebar: "shown",
  };
  const state = createStoredCell(storage, storageKey, (storedValue) => ({
    ...defaults,
    ...pickAllowed(storedValue),
  }));
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => state.set({ ...state.get(), ...patch }),
  };
}

function pickAllowed(storedValue: unknown): Partial<Preferences> {
  const values = (storedValue ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(allowedValues)
      .filter(([key, allowed]) => (allowed as readonly unknown[]).includes(values[key]))
      .map(([key]) => [key, values[key]]),
  );
}

/** Settings of the new chat, stored until it is created. */
export interface NewChatSettingsCell extends Cell<ChatSettings> {
  change(patch: Extract<UserEdit, { type: "settings" }>["patch"]): void;
  clear(): void;
}

const newChatSettingsKey = "deltawire.new-chat";

export function createNewChatSettings(storage: BrowserStorage): NewChatSettingsCell {
  const state = createStoredCell<ChatSettings>(storage, newChatSettingsKey, (storedValue) =>
    typeof storedValue === "object" && storedValue !== null && !Array.isArray(storedValue)
      ? applySettingsPatch(storedValue, {})
      : {},
  );
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => state.set(applySettingsPatch(state.get(), patch)),
    clear: () => state.set({}),
  };
}
