import { settingsAfter, type ChatSettings } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../state/cell.ts";
import type { KeptTexts } from "../state/preferences.ts";
import type { SettingsPatch } from "./settings-form.ts";

/** Of the chat that is not made yet, kept over reloads until it is. */
export interface NewChatSettings extends Cell<ChatSettings> {
  change(patch: SettingsPatch): void;
  clear(): void;
}

const name = "deltawire.new-chat";

export function createNewChatSettings(storage: KeptTexts | undefined): NewChatSettings {
  const state = cell<ChatSettings>(readKept(storage));
  const set = (settings: ChatSettings) => {
    state.set(settings);
    try {
      storage?.setItem(name, JSON.stringify(settings));
    } catch {
      // A browser that keeps nothing has them until the page is closed.
    }
  };
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => set(settingsAfter(state.get(), patch)),
    clear: () => set({}),
  };
}

let shared: NewChatSettings | undefined;

export function newChatSettings(): NewChatSettings {
  shared ??= createNewChatSettings(ownStorage());
  return shared;
}

/** Reading it throws where a browser has forbidden it. */
function ownStorage(): KeptTexts | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}

function readKept(storage: KeptTexts | undefined): ChatSettings {
  try {
    const kept: unknown = JSON.parse(storage?.getItem(name) ?? "{}");
    return typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  } catch {
    return {};
  }
}
