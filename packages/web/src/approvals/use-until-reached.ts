import { useState } from "react";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import type { NotDecided } from "./not-decided.ts";

/** What went wrong: that nobody could be reached only until somebody can. */
export function useUntilReached() {
  const isLive = usePicked(usePage().connection, ({ is }) => is === "live" || is === "outdated");
  const [wasLive, setWasLive] = useState(isLive);
  const [problem, setProblem] = useState<NotDecided>();
  if (isLive !== wasLive) {
    setWasLive(isLive);
    if (isLive && problem?.isUnreachable === true) setProblem(undefined);
  }
  return [problem, setProblem] as const;
}
