import { useState, useSyncExternalStore } from "react";
import type { TaskApproval } from "@deltawire/tasks";

interface DisclosureChoice {
  readonly open: boolean;
  /** The approvals that were pending inside at the time of the choice. */
  readonly approvals: ApprovalRefs;
}

type ApprovalRefs = readonly Pick<TaskApproval, "approval_id">[];

/*
 * What the user has opened or closed, most recent last. Keys contain the id of a call, item or version. The map outlives the
 * components, so that the state survives the end of an answer and unmounting by scrolling.
 */
const choices = new Map<string, DisclosureChoice>();
const listeners = new Map<string, Set<() => void>>();

/** Beyond this number the oldest choices are dropped. */
const maxChoices = 2000;

export function useDisclosureState(
  key: string,
  defaultOpen: boolean,
): [boolean, (open: boolean) => void] {
  return useStoredChoice(key, defaultOpen, noApprovals);
}

const noApprovals: ApprovalRefs = [];

/** A new approval inside opens the disclosure; the user can close it again. */
export function useDisclosureWithApprovals(
  key: string,
  pending: ApprovalRefs = noApprovals,
): [boolean, (open: boolean) => void] {
  const [lastPending, setLastPending] = useState(pending);
  // Stays open after the last decision.
  const approvals = pending.length === 0 ? lastPending : pending;
  if (approvals !== lastPending) setLastPending(approvals);
  return useStoredChoice(key, approvals.length > 0, approvals);
}

export function setDisclosureOpen(
  key: string,
  open: boolean,
  approvals: ApprovalRefs = noApprovals,
): void {
  choices.delete(key);
  choices.set(key, { open, approvals });
  const [oldest] = choices.keys();
  if (choices.size > maxChoices && oldest !== undefined) choices.delete(oldest);
  for (const notify of listeners.get(key) ?? []) notify();
}

function useStoredChoice(
  key: string,
  defaultOpen: boolean,
  approvals: ApprovalRefs,
): [boolean, (open: boolean) => void] {
  const getSnapshot = () => {
    const choice = choices.get(key);
    return choice === undefined || hasNewApproval(approvals, choice) ? defaultOpen : choice.open;
  };
  const open = useSyncExternalStore(
    (listener) => subscribeToKey(key, listener),
    getSnapshot,
    getSnapshot,
  );
  return [open, (next) => setDisclosureOpen(key, next, approvals)];
}

function hasNewApproval(approvals: ApprovalRefs, choice: DisclosureChoice): boolean {
  const previousIds = new Set(choice.approvals.map(({ approval_id }) => approval_id));
  return approvals.some(({ approval_id }) => !previousIds.has(approval_id));
}

function subscribeToKey(key: string, listener: () => void): () => void {
  const keyListeners = listeners.get(key) ?? new Set();
  listeners.set(key, keyListeners);
  keyListeners.add(listener);
  return () => {
    keyListeners.delete(listener);
    if (keyListeners.size === 0) listeners.delete(key);
  };
}
