import { useRef, useSyncExternalStore } from "react";
import { shallowEqual } from "../shallow-equal.ts";
import type { Cell } from "../cell.ts";

/** Re-renders when the cell's value changes. */
export function useCell<Value>(cell: Cell<Value>): Value {
  return useSyncExternalStore(cell.subscribe, cell.get, cell.get);
}

/** Re-renders only when the selected value changes, compared by `shallowEqual`. */
export function useCellSelector<Value, Selected>(
  cell: Cell<Value>,
  select: (value: Value) => Selected,
): Selected {
  const cache = useRef<{ value: Value; select: typeof select; selected: Selected } | undefined>(
    undefined,
  );
  const getSelected = () => {
    const value = cell.get();
    const { current } = cache;
    if (current !== undefined && current.value === value && current.select === select)
      return current.selected;
    const next = select(value);
    const selected =
      current !== undefined && shallowEqual(current.selected, next) ? current.selected : next;
    cache.current = { value, select, selected };
    return selected;
  };
  return useSyncExternalStore(cell.subscribe, getSelected, getSelected);
}
