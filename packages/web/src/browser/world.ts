import type { Schedule } from "@deltawire/tasks";
import { createRouter, type Router } from "./route.ts";
import { inFrame } from "./frames.ts";
import { storageOf, type BrowserStorage } from "./storage.ts";

/** What the page needs of the browser, so that all else runs without one. */
export interface World {
  /** Where the gateway is, without a slash at the end; "" for a page of its own. */
  readonly base: string;
  readonly fetch: (url: string, request?: RequestInit) => Promise<Response>;
  /** 0 ms is the next frame that is drawn, or one soon after it; soon as well while nothing is. */
  readonly schedule: Schedule;
  readonly random: () => number;
  /** In ms since 1970. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly storage: BrowserStorage;
  /** What this tab alone finds again after a reload; a copy of the tab begins with a copy of it. */
  readonly tabStorage: BrowserStorage;
  /** Told what another tab puts into `storage`. */
  readonly onStored: (listener: (name: string, value: string) => void) => () => void;
  readonly router: Router;
  /** As the browser prefers them. */
  readonly languages: readonly string[];
  readonly isVisible: () => boolean;
  readonly isOnline: () => boolean;
  /** Told when one of the two above may have changed, and when the page was taken out of the browser's cache. */
  readonly onChange: (listener: () => void) => () => void;
  /** It may be the last moment of the page. */
  readonly onLeave: (listener: (leaving: Leaving) => void) => () => void;
}

/** A page that is hidden may live on, or end and hear of nothing more; one that is gone may come back out of a cache. */
export type Leaving = "hidden" | "gone";

/** More does not fit into a browser's timer, which would run at once. */
const longestWaitMs = 2 ** 31 - 1;

export function browserWorld(window: Window & typeof globalThis): World {
  const { document, navigator } = window;
  return {
    base: "",
    fetch: (url, request) => window.fetch(url, request),
    schedule(ms, run) {
      // A page that is not drawn has no frames.
      if (ms === 0 && document.visibilityState === "visible") return inFrame(run);
      const timer = window.setTimeout(run, Math.min(ms, longestWaitMs));
      return () => window.clearTimeout(timer);
    },
    random: Math.random,
    now: Date.now,
    newId: () => newId(window.crypto),
    storage: storageOf(() => window.localStorage),
    tabStorage: storageOf(() => window.sessionStorage),
    onStored(listener) {
      const stored = ({ key, newValue }: StorageEvent) => {
        if (key !== null && newValue !== null) listener(key, newValue);
      };
      window.addEventListener("storage", stored);
      return () => window.removeEventListener("storage", stored);
    },
    router: createRouter(window),
    languages: navigator.languages,
    isVisible: () => document.visibilityState === "visible",
    isOnline: () => navigator.onLine,
    onChange(listener) {
      const leave = [
        listen(window, "online", listener),
        listen(window, "offline", listener),
        listen(window, "pageshow", listener),
        listen(document, "visibilitychange", listener),
      ];
      return () => leave.forEach((each) => each());
    },
    onLeave(listener) {
      const hidden = () => {
        if (document.visibilityState === "hidden") listener("hidden");
      };
      const leave = [
        listen(window, "pagehide", () => listener("gone")),
        // On phones the last that a page hears of.
        listen(document, "visibilitychange", hidden),
      ];
      return () => leave.forEach((each) => each());
    },
  };
}

function listen(target: EventTarget, name: string, listener: () => void): () => void {
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}

/** `randomUUID` is there only on pages of this machine and of https. */
function newId(crypto: Crypto): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
