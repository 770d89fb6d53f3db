import { useRef, useSyncExternalStore } from "react";
import { isSame } from "../same.ts";
import type { Cell } from "../state/cell.ts";

/** Draws again when the cell's value changes. */
export function useCell<Value>(source: Cell<Value>): Value {
  return useSyncExternalStore(source.subscribe, source.get, source.get);
}

/** Draws again only when what is picked from it is another value, or for arrays and objects of one level: other members. */
export function usePicked<Value, Picked>(
  source: Cell<Value>,
  pick: (value: Value) => Picked,
): Picked {
  const last = useRef<{ picked: Picked } | undefined>(undefined);
  const get = () => {
    const picked = pick(source.get());
    if (last.current !== undefined && isSame(last.current.picked, picked))
      return last.current.picked;
    last.current = { picked };
    return picked;
  };
  return useSyncExternalStore(source.subscribe, get, get);
}
