import { onTestFinished } from "vitest";
import { createMemoryStorage, type BrowserStorage } from "../src/browser/storage.ts";
import type { PageHideReason, BrowserEnvironment } from "../src/browser/browser-environment.ts";
import { createCell, type Cell } from "../src/cell.ts";
import { createAppStore } from "../src/state/create-app-store.ts";
import type { AppStore } from "../src/state/app-store.ts";
import type { HashRoute } from "../src/browser/hash-router.ts";

export interface NodeEnvironment extends BrowserEnvironment {
  /** Simulates a hidden page or a lost network. */
  simulate(change: { visible?: boolean; online?: boolean }): void;
  simulatePageHide(): void;
}

/** Creates a browser environment in Node. `faster`: factor by which timers run faster. */
export function createNodeEnvironment(
  baseUrl: string,
  {
    storage = createMemoryStorage(),
    faster = 1,
  }: { storage?: BrowserStorage; faster?: number } = {},
): NodeEnvironment {
  const now = { visible: true, online: true };
  const listeners = new Set<() => void>();
  const pageHideListeners = new Set<(reason: PageHideReason) => void>();
  const route = createCell<HashRoute>({ type: "new" });
  let ids = 0;
  let connectionAbort = new AbortController();
  return {
    baseUrl,
    async fetch(url, init) {
      if (!now.online) throw new TypeError("offline");
      const signals = [connectionAbort.signal, ...(init?.signal ? [init.signal] : [])];
      return fetch(url, { ...init, signal: AbortSignal.any(signals) });
    },
    schedule(ms, run) {
      const timer = setTimeout(run, Math.min(ms / faster, 2 ** 31 - 1));
      return () => clearTimeout(timer);
    },
    random: Math.random,
    now: Date.now,
    newId: () => `id-${(ids += 1)}-${Math.random()}`,
    storage,
    tabStorage: createMemoryStorage(),
    onStorageChange: () => () => {},
    router: { route, navigate: route.set, replace: route.set },
    languages: ["en"],
    isVisible: () => now.visible,
    isOnline: () => now.online,
    onChange: (listener) => addListener(listeners, listener),
    onPageHide: (listener) => addListener(pageHideListeners, listener),
    simulate(change) {
      Object.assign(now, change);
      if (!now.online) connectionAbort.abort(new TypeError("connection lost"));
      connectionAbort = new AbortController();
      for (const notify of listeners) notify();
    },
    simulatePageHide: () => pageHideListeners.forEach((notify) => notify("unloaded")),
  };
}

/** Opens the app store of a tab, which is closed after the test. */
export function openTestApp(
  base: string,
  environment: BrowserEnvironment = createNodeEnvironment(base),
): AppStore {
  const page = createAppStore(environment);
  onTestFinished(() => page.close());
  return page;
}

/** Resolves to the cell's value once it matches. Rejects after 10 s. */
export async function waitForCell<Value, Match extends Value>(
  source: Cell<Value>,
  isMatch: (value: Value) => value is Match,
): Promise<Match>;
export async function waitForCell<Value>(
  source: Cell<Value>,
  isMatch: (value: Value) => boolean,
): Promise<Value>;
export async function waitForCell<Value>(
  source: Cell<Value>,
  isMatch: (value: Value) => boolean,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = setTimeout(() => {
      leave();
      reject(
        new Error(
          `the cell did not match within 10 s: ${JSON.stringify(source.get()).slice(0, 2000)}`,
        ),
      );
    }, 10_000);
    const check = () => {
      const value = source.get();
      if (!isMatch(value)) return;
      clearTimeout(fail);
      leave();
      resolve(value);
    };
    const leave = source.subscribe(check);
    check();
  });
}

function addListener<Listener>(set: Set<Listener>, listener: Listener): () => void {
  set.add(listener);
  return () => set.delete(listener);
}
