import { settingsAfter, type ChatSettings, type PersonEdit } from "@deltawire/tasks/chats";
import { storedCell, type BrowserStorage } from "../browser/storage.ts";
import type { Cell } from "../cell.ts";

/** Of the chat that is not made yet, kept over reloads until it is. */
export interface NewChatSettings extends Cell<ChatSettings> {
  change(patch: Extract<PersonEdit, { type: "settings" }>["patch"]): void;
  clear(): void;
}

const name = "deltawire.new-chat";

export function createNewChatSettings(storage: BrowserStorage): NewChatSettings {
  const state = storedCell<ChatSettings>(storage, name, (stored) =>
    typeof stored === "object" && stored !== null && !Array.isArray(stored) ? stored : {},
  );
  return {
    get: state.get,
    subscribe: state.subscribe,
    change: (patch) => state.set(settingsAfter(state.get(), patch)),
    clear: () => state.set({}),
  };
}
