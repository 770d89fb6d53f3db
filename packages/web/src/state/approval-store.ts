import { hasEnded, type TaskApproval, type TaskTree } from "@deltawire/tasks";
import {
  ChatApiError,
  type AnswerLocation,
  type ChatClient,
  type DecisionBody,
  type PendingApproval,
} from "@deltawire/tasks/chats";
import type { BrowserStorage } from "../browser/storage.ts";
import { createCell } from "../cell.ts";
import { shallowEqual } from "../shallow-equal.ts";
import type { ApprovalStore } from "./app-store.ts";
import type { Notifier } from "./notifier.ts";
import { createDecisionDrafts } from "./decision-drafts.ts";

export interface ApprovalStoreOptions {
  readonly client: ChatClient;
  readonly storage: BrowserStorage;
  readonly notifier: Notifier;
  readonly now: () => number;
  readonly newId: () => string;
  /** Returns the trees of the followed tasks. They receive approvals and decisions before the gateway's list is reloaded. */
  readonly getTrees: () => readonly TaskTree[];
  /** Returns the answer that a task writes, or undefined if its chat is not open. */
  readonly findAnswerLocation: (rootTaskId: string) => AnswerLocation | undefined;
}

export interface ManagedApprovalStore extends ApprovalStore {
  /** Loads the pending approvals of all tasks. */
  reload(): Promise<void>;
  /** Updates the list if approvals in the trees have changed. */
  updateFromTrees(): void;
}

export function createApprovalStore(options: ApprovalStoreOptions): ManagedApprovalStore {
  const { client, storage, notifier, now, newId, getTrees, findAnswerLocation } = options;
  const pending = createCell<readonly PendingApproval[]>([]);
  const deciding = createCell<ReadonlySet<string>>(new Set());
  const decisionDrafts = createDecisionDrafts(storage);
  /** The gateway's list; undefined until it is loaded. */
  let gatewayList: readonly PendingApproval[] | undefined;
  /** Approvals decided here. An older list or tree may still have them as pending. */
  const decidedIds = new Set<string>();
  /** Approvals that are no longer in the gateway's list. An older tree may still have them as pending. */
  const vanishedIds = new Set<string>();
  /** Idempotency keys of sent decisions, by approval id and body: the same decision has the same key. */
  const sentKeys = new Map<string, Map<string, string>>();
  /** When an approval was first seen in a tree, by approval id. */
  const seenAt = new Map<string, string>();
  let seenApprovals: readonly (readonly TaskApproval[])[] = [];
  let reloading: Promise<void> | undefined;
  let isStale = false;

  /** Updates `pending`. Returns true if a tree has a pending approval that the gateway's list lacks. */
  const publish = () => {
    const treeApprovals = getTrees().flatMap((tree) => listTreeApprovals(tree));
    notifyDecidedElsewhere(treeApprovals);
    const openIds = new Set(
      treeApprovals.filter(isStillPending).map(({ approval }) => approval.approval_id),
    );
    const resolvedIds = new Set(
      treeApprovals.filter((item) => !isStillPending(item)).map(getApprovalId),
    );
    const listedIds = new Set(gatewayList?.map(getApprovalId));
    for (const ids of [decidedIds, vanishedIds])
      for (const id of ids) if (!openIds.has(id) && !listedIds.has(id)) ids.delete(id);
    for (const id of seenAt.keys()) if (!openIds.has(id)) seenAt.delete(id);
    const isClosed = (id: string) => decidedIds.has(id) || vanishedIds.has(id);
    const unlistedApprovals = treeApprovals
      .filter((item) => isStillPending(item) && !listedIds.has(getApprovalId(item)))
      .map(({ approval, tree }) =>
        toPendingApproval(tree, approval, getFirstSeenAt(approval), findAnswerLocation),
      );
    // Approvals that only a tree has are the newest, even if this machine's clock says otherwise.
    const mergedApprovals = [
      ...(gatewayList ?? []).toSorted(compareAge),
      ...unlistedApprovals.toSorted(compareAge),
    ].filter((item) => !isClosed(getApprovalId(item)) && !resolvedIds.has(getApprovalId(item)));
    pending.set(reuseEqualApprovals(pending.get(), mergedApprovals));
    if (gatewayList !== undefined)
      decisionDrafts.retain(new Set(mergedApprovals.map(getApprovalId)));
    return unlistedApprovals.some((item) => !isClosed(getApprovalId(item)));
  };

  /** Shows a toast for each approval that disappears because it was decided elsewhere. */
  const notifyDecidedElsewhere = (treeApprovals: readonly TreeApproval[]) => {
    // Includes approvals that have left the gateway's list: the decision may arrive later in the tree.
    const shownIds = new Set([...pending.get().map(getApprovalId), ...vanishedIds]);
    for (const { approval } of treeApprovals) {
      const { approval_id, resolution, tool = "" } = approval;
      const key = resolution?.idempotency_key;
      const isDecidedHere =
        decidedIds.has(approval_id) ||
        deciding.get().has(approval_id) ||
        // Decided here, but the reply was lost.
        [...(sentKeys.get(approval_id)?.values() ?? [])].some((sentKey) => sentKey === key);
      if (resolution === undefined || !shownIds.has(approval_id) || isDecidedHere) continue;
      showDecidedToast(tool, resolution.decision);
    }
  };

  const showDecidedToast = (tool: string, decision: string) => {
    const text = notifier.getMessages().decidedElsewhere(tool, decision);
    notifier.toasts.show({ kind: "info", text });
  };

  const getFirstSeenAt = ({ approval_id }: TaskApproval): string => {
    const time = seenAt.get(approval_id) ?? new Date(now()).toISOString();
    seenAt.set(approval_id, time);
    return time;
  };

  const reloadOnce = async () => {
    let data: readonly PendingApproval[];
    try {
      ({ data } = await client.approvals());
    } catch {
      return; // The connection notice shows this. The list is reloaded when the connection is back.
    }
    const ids = new Set(data.map(getApprovalId));
    const shownIds = new Set(pending.get().map(getApprovalId));
    for (const id of gatewayList?.map(getApprovalId) ?? [])
      if (shownIds.has(id)) vanishedIds.add(id);
    for (const id of ids) vanishedIds.delete(id);
    gatewayList = data;
    publish();
  };

  /** Sends one request at a time. A call during a request causes another request, because the running one may be too old. */
  const reload = async () => {
    isStale = true;
    reloading ??= (async () => {
      while (isStale) {
        isStale = false;
        await reloadOnce();
      }
    })().finally(() => (reloading = undefined));
    await reloading;
  };

  const getIdempotencyKey = (approvalId: string, decision: DecisionBody): string => {
    const body = JSON.stringify(decision);
    const keys = sentKeys.get(approvalId) ?? new Map<string, string>();
    const key = keys.get(body) ?? newId();
    sentKeys.set(approvalId, keys.set(body, key));
    return key;
  };

  const close = (approvalId: string) => {
    decidedIds.add(approvalId);
    publish();
  };

  return {
    pending,
    deciding,
    decisionDrafts: decisionDrafts.all,
    setDecisionDraft: decisionDrafts.set,
    reload,
    updateFromTrees() {
      const current = getTrees().map(({ approvals }) => approvals);
      if (shallowEqual(current, seenApprovals)) return;
      seenApprovals = current;
      // The gateway's list has more details, such as the schema of the arguments.
      if (publish()) void reload();
    },
    async decide(approvalId, body) {
      // Read first, because the approval may have left the list when the gateway replies.
      const { tool = "" } =
        pending.get().find((item) => getApprovalId(item) === approvalId)?.approval ?? {};
      deciding.update((ids) => new Set([...ids, approvalId]));
      try {
        await client.decide(approvalId, body, {
          idempotencyKey: getIdempotencyKey(approvalId, body),
        });
        close(approvalId);
      } catch (failure) {
        if (!(failure instanceof ChatApiError) || failure.code !== "approval_resolved")
          throw failure;
        close(approvalId);
        showDecidedToast(tool, failure.decision ?? "expired");
      } finally {
        deciding.update((ids) => new Set([...ids].filter((id) => id !== approvalId)));
        // The decision may have led to new approvals.
        void reload();
      }
    },
  };
}

interface TreeApproval {
  readonly tree: TaskTree;
  readonly approval: TaskApproval;
}

function listTreeApprovals(tree: TaskTree): TreeApproval[] {
  return tree.approvals.map((approval) => ({ tree, approval }));
}

/** Approvals of an ended task stay "pending" in its tree. */
function isStillPending({ approval, tree }: TreeApproval): boolean {
  const isOver = (taskId: string) => hasEnded(tree.tasks[taskId]?.status);
  return approval.status === "pending" && !isOver(approval.task_id) && !isOver(tree.root_task_id);
}

function getApprovalId({ approval }: { readonly approval: TaskApproval }): string {
  return approval.approval_id;
}

function toPendingApproval(
  { root_task_id, tasks }: TaskTree,
  approval: TaskApproval,
  requested_at: string,
  findAnswerLocation: (rootTaskId: string) => AnswerLocation | undefined,
): PendingApproval {
  const task = tasks[approval.task_id];
  const call = task?.output.find(
    (item) => item.type === "tool_call" && item.call_id === approval.call_id,
  );
  const chat = findAnswerLocation(root_task_id);
  return {
    approval,
    root_task_id,
    requested_at,
    agent: task?.info.agent ?? "",
    depth: task?.info.depth ?? 0,
    ...(call?.type === "tool_call" ? { call: { name: call.name, arguments: call.arguments } } : {}),
    ...(chat === undefined ? {} : { chat }),
  };
}

function compareAge(a: PendingApproval, b: PendingApproval): number {
  return Date.parse(a.requested_at) - Date.parse(b.requested_at);
}

/** Reuses equal objects, so that components do not rerender. */
function reuseEqualApprovals(
  previous: readonly PendingApproval[],
  current: readonly PendingApproval[],
): readonly PendingApproval[] {
  const stable = current.map((item) => {
    const existing = previous.find((other) => getApprovalId(other) === getApprovalId(item));
    return existing !== undefined && JSON.stringify(existing) === JSON.stringify(item)
      ? existing
      : item;
  });
  const isSame =
    stable.length === previous.length && stable.every((item, index) => item === previous[index]);
  return isSame ? previous : stable;
}
