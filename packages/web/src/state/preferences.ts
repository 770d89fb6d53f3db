import type { Language } from "../words/words.ts";
import { cell, type Cell } from "../cell.ts";

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

export type KeptTexts = Pick<Storage, "getItem" | "setItem" | "removeItem">;

const name = "deltawire.preferences";

const choices: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  theme: ["system", "light", "dark"],
  language: ["en", "zh"],
  follow: ["end", "start"],
  sendKey: ["enter", "mod+enter"],
  reasoning: ["folded", "open"],
  sidebar: ["shown", "hidden"],
};

/** What is kept from an older page, or by hand, counts only where it makes sense. */
export function createPreferences(storage: KeptTexts, language: Language): PreferencesCell {
  const usual: Preferences = {
    theme: "system",
    language,
    follow: "end",
    sendKey: "enter",
    reasoning: "folded",
    sidebar: "shown",
  };
  const state = cell<Preferences>({ ...usual, ...readKept(storage) });
  return {
    get: state.get,
    subscribe: state.subscribe,
    change(patch) {
      state.set({ ...state.get(), ...patch });
      try {
        storage.setItem(name, JSON.stringify(state.get()));
      } catch {
        // A browser that keeps nothing has them until the page is closed.
      }
    },
  };
}

function readKept(storage: KeptTexts): Partial<Preferences> {
  try {
    const kept = JSON.parse(storage.getItem(name) ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(choices)
        .filter(([key, allowed]) => (allowed as readonly unknown[]).includes(kept[key]))
        .map(([key]) => [key, kept[key]]),
    );
  } catch {
    return {};
  }
}
