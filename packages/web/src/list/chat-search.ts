import type { ChatClient, ChatSearchResult } from "@deltawire/tasks/chats";
import { createCell, type Cell } from "../cell.ts";

export type ChatSearchState =
  | { readonly status: "idle" }
  /** `results` are those of the previous query. They stay visible until the new ones arrive. */
  | {
      readonly status: "searching";
      readonly query: string;
      readonly results: readonly ChatSearchResult[];
    }
  | {
      readonly status: "ready";
      readonly query: string;
      readonly results: readonly ChatSearchResult[];
    }
  | { readonly status: "failed"; readonly query: string; readonly message: string };

export interface ChatSearch {
  readonly state: Cell<ChatSearchState>;
  /** Call this on every input event. Empty text ends the search. */
  setQuery(text: string, tag: string | undefined): void;
  /** Repeats the search now. */
  readonly retry: () => void;
  close(): void;
}

export interface ChatSearchEnvironment {
  readonly search: (query: string, tag: string | undefined) => Promise<readonly ChatSearchResult[]>;
  /** Runs a callback later. Returns a function that cancels it. */
  readonly schedule: (run: () => void, ms: number) => () => void;
}

/** Longer than the usual gap between two keystrokes, too short to be noticed. */
const debounceMs = 180;

/** Creates a search that starts when the user stops typing. Late results of an earlier query are ignored. */
export function createChatSearch({ search, schedule }: ChatSearchEnvironment): ChatSearch {
  const state = createCell<ChatSearchState>({ status: "idle" });
  let latestRequest = 0;
  let current: { query: string; tag: string | undefined } = { query: "", tag: undefined };
  let cancelScheduled = () => {};

  const runSearch = async () => {
    latestRequest += 1;
    const thisRequest = latestRequest;
    const { query, tag } = current;
    try {
      const results = await search(query, tag);
      if (thisRequest === latestRequest) state.set({ status: "ready", query, results });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (thisRequest === latestRequest) state.set({ status: "failed", query, message });
    }
  };
  const scheduleSearch = (delayMs: number) => {
    cancelScheduled();
    latestRequest += 1;
    const previous = state.get();
    const results = "results" in previous ? previous.results : [];
    state.set({ status: "searching", query: current.query, results });
    cancelScheduled = schedule(() => void runSearch(), delayMs);
  };

  return {
    state,
    setQuery(text, tag) {
      const query = text.trim();
      if (query === current.query && tag === current.tag) return;
      current = { query, tag };
      if (query !== "") return scheduleSearch(debounceMs);
      cancelScheduled();
      latestRequest += 1;
      state.set({ status: "idle" });
    },
    retry: () => scheduleSearch(0),
    close() {
      cancelScheduled();
      latestRequest += 1;
    },
  };
}

/** Creates a search of all chats on the gateway. */
export function createGatewaySearch(client: Pick<ChatClient, "search">, limit: number): ChatSearch {
  return createChatSearch({
    search: async (query, tag) =>
      (await client.search(query, { limit, ...(tag === undefined ? {} : { tag }) })).data,
    schedule: (run, ms) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
}
