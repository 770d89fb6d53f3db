import type { Schedule } from "@deltawire/tasks";
import { createHashRouter, type Router } from "./hash-router.ts";
import { scheduleFrame } from "./frame-scheduler.ts";
import { openStorage, type BrowserStorage } from "./storage.ts";

/** Everything that the page needs from the browser. Replaced in tests. */
export interface BrowserEnvironment {
  /** URL of the gateway without a trailing slash; "" if it serves this page. */
  readonly baseUrl: string;
  readonly fetch: (url: string, request?: RequestInit) => Promise<Response>;
  /** 0 ms means one of the next frames, or as soon as possible while the page is hidden. */
  readonly schedule: Schedule;
  readonly random: () => number;
  /** In ms since the epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly storage: BrowserStorage;
  /** `sessionStorage`: survives a reload of this tab. A duplicated tab starts with a copy. */
  readonly tabStorage: BrowserStorage;
  /** Calls the listener when another tab writes to `storage`. */
  readonly onStorageChange: (listener: (key: string, value: string) => void) => () => void;
  readonly router: Router;
  /** The browser's preferred languages, most preferred first. */
  readonly languages: readonly string[];
  readonly isVisible: () => boolean;
  readonly isOnline: () => boolean;
  /** Calls the listener when `isVisible` or `isOnline` may have changed, or the page is restored from the back/forward cache. */
  readonly onChange: (listener: () => void) => () => void;
  /** Calls the listener when the page may be about to close. This is the last chance to save. */
  readonly onPageHide: (listener: (reason: PageHideReason) => void) => () => void;
}

/** A hidden page may be discarded without another event. An unloaded page may return from the back/forward cache. */
export type PageHideReason = "hidden" | "unloaded";

/** The maximum delay of a browser timer. With a longer delay, a timer fires immediately. */
const maxTimeoutMs = 2 ** 31 - 1;

export function createBrowserEnvironment(window: Window & typeof globalThis): BrowserEnvironment {
  const { document, navigator } = window;
  return {
    baseUrl: "",
    fetch: (url, request) => window.fetch(url, request),
    schedule(ms, run) {
      // A hidden page has no animation frames.
      if (ms === 0 && document.visibilityState === "visible") return scheduleFrame(run);
      const timer = window.setTimeout(run, Math.min(ms, maxTimeoutMs));
      return () => window.clearTimeout(timer);
    },
    random: Math.random,
    now: Date.now,
    newId: () => createRandomId(window.crypto),
    storage: openStorage(() => window.localStorage),
    tabStorage: openStorage(() => window.sessionStorage),
    onStorageChange(listener) {
      const onStorage = ({ key, newValue }: StorageEvent) => {
        if (key !== null && newValue !== null) listener(key, newValue);
      };
      window.addEventListener("storage", onStorage);
      return () => window.removeEventListener("storage", onStorage);
    },
    router: createHashRouter(window),
    languages: navigator.languages,
    isVisible: () => document.visibilityState === "visible",
    isOnline: () => navigator.onLine,
    onChange(listener) {
      const unsubscribers = [
        addListener(window, "online", listener),
        addListener(window, "offline", listener),
        addListener(window, "pageshow", listener),
        addListener(document, "visibilitychange", listener),
      ];
      return () => unsubscribers.forEach((unsubscribe) => unsubscribe());
    },
    onPageHide(listener) {
      const onVisibilityChange = () => {
        if (document.visibilityState === "hidden") listener("hidden");
      };
      const unsubscribers = [
        addListener(window, "pagehide", () => listener("unloaded")),
        // On phones this is the last event that a page receives.
        addListener(document, "visibilitychange", onVisibilityChange),
      ];
      return () => unsubscribers.forEach((unsubscribe) => unsubscribe());
    },
  };
}

function addListener(target: EventTarget, name: string, listener: () => void): () => void {
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}

/** Returns 128 random bits in hex. `crypto.randomUUID` is only available on localhost and over HTTPS. */
function createRandomId(crypto: Crypto): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
