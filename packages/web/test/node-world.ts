import { onTestFinished } from "vitest";
import { memoryStorage, type BrowserStorage } from "../src/browser/storage.ts";
import type { Leaving, World } from "../src/browser/world.ts";
import { cell, type Cell } from "../src/cell.ts";
import { createPage } from "../src/state/create-page.ts";
import type { Page } from "../src/state/page.ts";
import type { Route } from "../src/browser/route.ts";

export interface NodeWorld extends World {
  /** As if the person looked elsewhere, or the network went. */
  turn(to: { visible?: boolean; online?: boolean }): void;
  leave(): void;
}

/** A tab without a browser: Node's fetch, and timers that a test can run faster. */
export function nodeWorld(
  base: string,
  { storage = memoryStorage(), faster = 1 }: { storage?: BrowserStorage; faster?: number } = {},
): NodeWorld {
  const now = { visible: true, online: true };
  const listeners = new Set<() => void>();
  const leaving = new Set<(how: Leaving) => void>();
  const route = cell<Route>({ is: "new" });
  let ids = 0;
  let cut = new AbortController();
  return {
    base,
    async fetch(url, init) {
      if (!now.online) throw new TypeError("there is no network");
      const signals = [cut.signal, ...(init?.signal ? [init.signal] : [])];
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
    tabStorage: memoryStorage(),
    onStored: () => () => {},
    router: { route, go: route.set, replace: route.set },
    languages: ["en"],
    isVisible: () => now.visible,
    isOnline: () => now.online,
    onChange: (listener) => added(listeners, listener),
    onLeave: (listener) => added(leaving, listener),
    turn(to) {
      Object.assign(now, to);
      if (!now.online) cut.abort(new TypeError("the network is gone"));
      cut = new AbortController();
      for (const tell of listeners) tell();
    },
    leave: () => leaving.forEach((tell) => tell("gone")),
  };
}

/** A tab of its own. */
export function openTab(base: string, world: World = nodeWorld(base)): Page {
  const page = createPage(world);
  onTestFinished(() => page.close());
  return page;
}

/** What a cell has once it is as wanted. */
export async function until<Value, Wanted extends Value>(
  source: Cell<Value>,
  isWanted: (value: Value) => value is Wanted,
): Promise<Wanted>;
export async function until<Value>(
  source: Cell<Value>,
  isWanted: (value: Value) => boolean,
): Promise<Value>;
export async function until<Value>(
  source: Cell<Value>,
  isWanted: (value: Value) => boolean,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = setTimeout(() => {
      leave();
      reject(new Error(`it stayed at ${JSON.stringify(source.get()).slice(0, 2000)}`));
    }, 10_000);
    const look = () => {
      const value = source.get();
      if (!isWanted(value)) return;
      clearTimeout(fail);
      leave();
      resolve(value);
    };
    const leave = source.subscribe(look);
    look();
  });
}

function added<Listener>(set: Set<Listener>, listener: Listener): () => void {
  set.add(listener);
  return () => set.delete(listener);
}
