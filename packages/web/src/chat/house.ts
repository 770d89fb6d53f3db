import { createNearWatcher, type NearWatcher } from "./near-watcher.ts";

/** What all rooms of a list have in common. */
export interface House {
  readonly watcher: NearWatcher;
  /** How high they were when they were last drawn, by how many nodes they hold, and from which on. */
  readonly heights: Map<string, number>;
  /** Whether the list has been drawn: what is added at its end from then on is seen at once. */
  isOpen(): boolean;
  open(): void;
}

export function createHouse(): House {
  let isOpen = false;
  return {
    watcher: createNearWatcher(),
    heights: new Map(),
    isOpen: () => isOpen,
    open() {
      isOpen = true;
    },
  };
}
