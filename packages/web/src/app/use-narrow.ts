import { useSyncExternalStore } from "react";

const narrow = "(max-width: 860px)";

/** Whether the list lies over the content instead of beside it. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = matchMedia(narrow);
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => matchMedia(narrow).matches,
    () => false,
  );
}
