import { usePicked } from "../hooks/use-cell.ts";
import { cell } from "../state/cell.ts";
import type { CallView } from "./timeline-view.ts";

/** The way to the call that somebody went to last: these are drawn, wherever they are. */
const wanted = cell<readonly string[]>([]);

export function wantCalls(path: readonly string[]): void {
  wanted.set([...path]);
}

/** Also those that ask something are: what has to be decided is never hidden, and what is written for it stays. */
export function useIsWanted(calls: () => readonly CallView[]): boolean {
  return usePicked(wanted, (path) =>
    calls().some(
      ({ call, asked, child }) =>
        asked.length > 0 ||
        (child !== undefined && child.timeline.pending.length > 0) ||
        path.includes(call.call_id),
    ),
  );
}
