import type { ChatClient, FoundChat } from "@deltawire/tasks/chats";
import { cell, type Cell } from "../cell.ts";

export type SearchState =
  | { readonly is: "idle" }
  /** `found`: what the words before gave, shown until the new answer is there. */
  | { readonly is: "searching"; readonly query: string; readonly found: readonly FoundChat[] }
  | { readonly is: "found"; readonly query: string; readonly found: readonly FoundChat[] }
  | { readonly is: "failed"; readonly query: string; readonly message: string };

export interface Search {
  readonly state: Cell<SearchState>;
  /** What the box says, with each letter; nothing ends the search. */
  look(text: string, tag: string | undefined): void;
  /** The same words once more, at once. */
  readonly again: () => void;
  close(): void;
}

export interface SearchWorld {
  readonly ask: (query: string, tag: string | undefined) => Promise<readonly FoundChat[]>;
  /** Runs something later; the answer takes it back. */
  readonly later: (run: () => void, ms: number) => () => void;
}

/** Long enough for the next letter of somebody who types, too short to be waited for. */
const pause = 180;

/** Asks once the typing pauses. An answer to older words that comes late is dropped. */
export function createSearch({ ask, later }: SearchWorld): Search {
  const state = cell<SearchState>({ is: "idle" });
  let asked = 0;
  let last: { query: string; tag: string | undefined } = { query: "", tag: undefined };
  let takeBack = () => {};

  const askNow = async () => {
    asked += 1;
    const turn = asked;
    const { query, tag } = last;
    try {
      const found = await ask(query, tag);
      if (turn === asked) state.set({ is: "found", query, found });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (turn === asked) state.set({ is: "failed", query, message });
    }
  };
  const begin = (wait: number) => {
    takeBack();
    asked += 1;
    const before = state.get();
    const found = "found" in before ? before.found : [];
    state.set({ is: "searching", query: last.query, found });
    takeBack = later(() => void askNow(), wait);
  };

  return {
    state,
    look(text, tag) {
      const query = text.trim();
      if (query === last.query && tag === last.tag) return;
      last = { query, tag };
      if (query !== "") return begin(pause);
      takeBack();
      asked += 1;
      state.set({ is: "idle" });
    },
    again: () => begin(0),
    close() {
      takeBack();
      asked += 1;
    },
  };
}

/** A search by the gateway, in all chats. */
export function searchWith(client: Pick<ChatClient, "search">, limit: number): Search {
  return createSearch({
    ask: async (query, tag) =>
      (await client.search(query, { limit, ...(tag === undefined ? {} : { tag }) })).data,
    later: (run, ms) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
}
