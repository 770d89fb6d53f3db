import { createContext, useContext, useState } from "react";
import { onUseEnd } from "./in-use.ts";
import { createNearWatcher, type NearWatcher } from "./near-watcher.ts";

/** What all rooms of a list have in common. */
export interface House {
  readonly watcher: NearWatcher;
  /** How high they were when they were last drawn, by their names. */
  readonly heights: Map<string, number>;
  /** Whether the list has been drawn: what is added at its end from then on is seen at once. */
  isOpen(): boolean;
  open(): void;
}

export function createHouse(): House {
  let isOpen = false;
  return {
    watcher: createNearWatcher(scrollerAround, onUseEnd),
    heights: new Map(),
    isOpen: () => isOpen,
    open() {
      isOpen = true;
    },
  };
}

export const HouseContext = createContext<House | undefined>(undefined);

/** That of all that is scrolled together, so that it is drawn in turn. */
export function useHouse(): House {
  const around = useContext(HouseContext);
  if (around === undefined) throw new Error("there is no house around this room");
  return around;
}

/** The one around, or one for whoever stands alone. */
export function useHouseOrOwn(): House {
  const around = useContext(HouseContext);
  const [own] = useState(createHouse);
  return around ?? own;
}

function scrollerAround(element: Element): Element | null {
  for (let around = element.parentElement; around !== null; around = around.parentElement)
    if (scrolls.has(getComputedStyle(around).overflowY)) return around;
  return null;
}

const scrolls = new Set(["auto", "scroll"]);
