import { useRef, useSyncExternalStore } from "react";
import { isSame } from "../same.ts";
import type { Cell } from "../cell.ts";

/** Draws again when the cell's value changes. */
export function useCell<Value>(source: Cell<Value>): Value {
  return useSyncExternalStore(source.subscribe, source.get, source.get);
}

/** Draws again only when what is picked from it is another value, or for arrays and objects of one level: other members. */
export function usePicked<Value, Picked>(
  source: Cell<Value>,
  pick: (value: Value) => Picked,
): Picked {
  const last = useRef<{ value: Value; pick: typeof pick; picked: Picked } | undefined>(undefined);
  const get = () => {
    const value = source.get();
    const { current } = last;
    if (current !== undefined && current.value === value && current.pick === pick)
      return current.picked;
    const now = pick(value);
    const picked = current !== undefined && isSame(current.picked, now) ? current.picked : now;
    last.current = { value, pick, picked };
    return picked;
  };
  return useSyncExternalStore(source.subscribe, get, get);
}
