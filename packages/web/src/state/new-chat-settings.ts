import { settingsAfter, type ChatSettings, type PersonEdit } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../cell.ts";
import type { KeptTexts } from "./preferences.ts";

/** Of the chat that is not made yet, kept over reloads until it is. */
export interface NewChatSettings extends Cell<ChatSettings> {
  change(patch: Extract<PersonEdit, { type: "settings" }>["patch"]): void;
  clear(): void;
}

const name = "deltawire.new-chat";

export function createNewChatSettings(storage: KeptTexts): NewChatSettings {
  const state = cell<ChatSettings>(readKept(storage));
  const set = (settings: ChatSettings) => {
    state.set(settings);
    try {
      storage.setItem(name, JSON.stringify(settings));
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

function readKept(storage: KeptTexts): ChatSettings {
  try {
    const kept: unknown = JSON.parse(storage.getItem(name) ?? "{}");
    return typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  } catch {
    return {};
  }
}
