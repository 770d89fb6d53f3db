import { useState, useSyncExternalStore } from "react";
import type { TaskApproval } from "@deltawire/tasks";

interface Choice {
  readonly open: boolean;
  /** What people were asked within when it was chosen. */
  readonly asked: Asked;
}

type Asked = readonly Pick<TaskApproval, "approval_id">[];

/*
 * What a reader has unfolded or folded, by the id of the call or the item, the last chosen last. It outlives the components:
 * an answer that ends, or that is scrolled far away and back, stays as it was left.
 */
const chosen = new Map<string, Choice>();
const listeners = new Map<string, Set<() => void>>();

/** What was chosen before so many others is as usual again. */
const mostChosen = 2000;

export function useFold(key: string, usual: boolean): [boolean, (open: boolean) => void] {
  return useChoice(key, usual, nothing);
}

const nothing: Asked = [];

/** What has to be decided is never hidden: it is open from a question on, until a reader folds it who has seen that one. */
export function useFoldWithQuestions(
  key: string,
  pending: Asked = nothing,
): [boolean, (open: boolean) => void] {
  const [last, setLast] = useState(pending);
  // It does not fold under the hand of whoever has just decided.
  const asked = pending.length === 0 ? last : pending;
  if (asked !== last) setLast(asked);
  return useChoice(key, asked.length > 0, asked);
}

export function setFold(key: string, open: boolean, asked: Asked = nothing): void {
  chosen.delete(key);
  chosen.set(key, { open, asked });
  const [oldest] = chosen.keys();
  if (chosen.size > mostChosen && oldest !== undefined) chosen.delete(oldest);
  for (const tell of listeners.get(key) ?? []) tell();
}

function useChoice(key: string, usual: boolean, asked: Asked): [boolean, (open: boolean) => void] {
  const get = () => {
    const choice = chosen.get(key);
    return choice === undefined || hasNews(asked, choice) ? usual : choice.open;
  };
  const open = useSyncExternalStore((listener) => listen(key, listener), get, get);
  return [open, (next) => setFold(key, next, asked)];
}

function hasNews(asked: Asked, choice: Choice): boolean {
  const known = new Set(choice.asked.map(({ approval_id }) => approval_id));
  return asked.some(({ approval_id }) => !known.has(approval_id));
}

function listen(key: string, listener: () => void): () => void {
  const own = listeners.get(key) ?? new Set();
  listeners.set(key, own);
  own.add(listener);
  return () => {
    own.delete(listener);
    if (own.size === 0) listeners.delete(key);
  };
}
