import { hasEnded, type TaskApproval, type TaskTree } from "@deltawire/tasks";
import {
  ChatApiError,
  type AnswerPlace,
  type ChatClient,
  type DecisionBody,
  type PendingApproval,
} from "@deltawire/tasks/chats";
import type { BrowserStorage } from "../browser/storage.ts";
import { cell } from "../cell.ts";
import type { Approvals } from "./page.ts";
import type { Telling } from "./telling.ts";
import { createWrittenDecisions } from "./written-decisions.ts";

export interface ApprovalsOptions {
  readonly client: ChatClient;
  readonly storage: BrowserStorage;
  readonly telling: Telling;
  readonly now: () => number;
  readonly newId: () => string;
  /** Of tasks that are followed: there it is known at once what is asked and decided. */
  readonly trees: () => readonly TaskTree[];
  /** The answer that a task makes. */
  readonly placeOf: (rootTaskId: string) => AnswerPlace | undefined;
}

export interface KeptApprovals extends Approvals {
  /** Asks the gateway, which knows of those of all tasks. */
  read(): Promise<void>;
  /** A tree may have changed. */
  look(): void;
}

export function createApprovals(options: ApprovalsOptions): KeptApprovals {
  const { client, storage, telling, now, newId, trees, placeOf } = options;
  const pending = cell<readonly PendingApproval[]>([]);
  const deciding = cell<ReadonlySet<string>>(new Set());
  const written = createWrittenDecisions(storage);
  /** Undefined before the gateway has told of any. */
  let listed: readonly PendingApproval[] | undefined;
  /** Decided here, whatever a list or a tree says that is older than that. */
  const decided = new Set<string>();
  /** Was listed and is no longer: a tree that has it still is older than that. */
  const vanished = new Set<string>();
  /** The keys of decisions that were sent, by approval and body: the same one sent again is made once. */
  const sent = new Map<string, Map<string, string>>();
  /** When a tree was first seen to ask. */
  const seenAt = new Map<string, string>();
  let seenTrees: readonly (readonly TaskApproval[])[] = [];
  let reading: Promise<void> | undefined;
  let isStale = false;

  const show = () => {
    const asked = trees().flatMap((tree) => approvalsIn(tree));
    tellOfOthers(asked);
    const open = new Set(asked.filter(isOpen).map(({ approval }) => approval.approval_id));
    const resolved = new Set(asked.filter((each) => !isOpen(each)).map(idOf));
    const known = new Set(listed?.map(idOf));
    for (const ids of [decided, vanished])
      for (const id of ids) if (!open.has(id) && !known.has(id)) ids.delete(id);
    for (const id of seenAt.keys()) if (!open.has(id)) seenAt.delete(id);
    const isClosed = (id: string) => decided.has(id) || vanished.has(id);
    const live = asked
      .filter((each) => isOpen(each) && !known.has(idOf(each)))
      .map(({ approval, tree }) => pendingIn(tree, approval, timeOf(approval), placeOf));
    // Those that only a tree has told are the newest, whatever the clock of this machine says.
    const all = [...(listed ?? []).toSorted(byAge), ...live.toSorted(byAge)].filter(
      (each) => !isClosed(idOf(each)) && !resolved.has(idOf(each)),
    );
    pending.set(unlessSame(pending.get(), all));
    if (listed !== undefined) written.keepOnly(new Set(all.map(idOf)));
    return live.some((each) => !isClosed(idOf(each)));
  };

  /** Whoever looks at a question, or writes an answer to it, is told why it goes. */
  const tellOfOthers = (asked: readonly Asked[]) => {
    // The list may have been without it before the tree says why.
    const shown = new Set([...pending.get().map(idOf), ...vanished]);
    for (const { approval } of asked) {
      const { approval_id, resolution, tool = "" } = approval;
      const key = resolution?.idempotency_key;
      const isOurs =
        decided.has(approval_id) ||
        deciding.get().has(approval_id) ||
        // The reply was lost.
        [...(sent.get(approval_id)?.values() ?? [])].some((one) => one === key);
      if (resolution === undefined || !shown.has(approval_id) || isOurs) continue;
      tellDecided(tool, resolution.decision);
    }
  };

  const tellDecided = (tool: string, decision: string) => {
    const text = telling.words().decidedElsewhere(tool, decision);
    telling.toasts.show({ kind: "info", text });
  };

  const timeOf = ({ approval_id }: TaskApproval): string => {
    const time = seenAt.get(approval_id) ?? new Date(now()).toISOString();
    seenAt.set(approval_id, time);
    return time;
  };

  const readOnce = async () => {
    let data: readonly PendingApproval[];
    try {
      ({ data } = await client.approvals());
    } catch {
      return; // The connection says that nobody answers, and it is asked again when somebody does.
    }
    const ids = new Set(data.map(idOf));
    const shown = new Set(pending.get().map(idOf));
    for (const each of listed ?? []) if (shown.has(idOf(each))) vanished.add(idOf(each));
    for (const id of ids) vanished.delete(id);
    listed = data;
    show();
  };

  /** One at a time. Whoever asks meanwhile knows something newer than what is on its way. */
  const read = async () => {
    isStale = true;
    reading ??= (async () => {
      while (isStale) {
        isStale = false;
        await readOnce();
      }
    })().finally(() => (reading = undefined));
    await reading;
  };

  const keyFor = (approvalId: string, decision: DecisionBody): string => {
    const body = JSON.stringify(decision);
    const keys = sent.get(approvalId) ?? new Map<string, string>();
    const key = keys.get(body) ?? newId();
    sent.set(approvalId, keys.set(body, key));
    return key;
  };

  const close = (approvalId: string) => {
    decided.add(approvalId);
    show();
  };

  return {
    pending,
    deciding,
    written: written.all,
    write: written.write,
    read,
    look() {
      const now = trees().map(({ approvals }) => approvals);
      const isSame =
        now.length === seenTrees.length && now.every((each, index) => each === seenTrees[index]);
      if (isSame) return;
      seenTrees = now;
      // The gateway tells more of them: what their arguments must be like.
      if (show()) void read();
    },
    async decide(approvalId, body) {
      // Asked for now: it may be gone from the list when the gateway says that it was decided.
      const { tool = "" } = pending.get().find((each) => idOf(each) === approvalId)?.approval ?? {};
      deciding.update((ids) => new Set([...ids, approvalId]));
      try {
        await client.decide(approvalId, body, { idempotencyKey: keyFor(approvalId, body) });
        close(approvalId);
      } catch (failure) {
        if (!(failure instanceof ChatApiError) || failure.code !== "approval_resolved")
          throw failure;
        close(approvalId);
        tellDecided(tool, failure.decision ?? "expired");
      } finally {
        deciding.update((ids) => new Set([...ids].filter((id) => id !== approvalId)));
        // Whatever became of it, more may be asked by now.
        void read();
      }
    },
  };
}

interface Asked {
  readonly tree: TaskTree;
  readonly approval: TaskApproval;
}

function approvalsIn(tree: TaskTree): Asked[] {
  return tree.approvals.map((approval) => ({ tree, approval }));
}

/** A task that was stopped leaves what it asked as it is. */
function isOpen({ approval, tree }: Asked): boolean {
  const isOver = (taskId: string) => hasEnded(tree.tasks[taskId]?.status);
  return approval.status === "pending" && !isOver(approval.task_id) && !isOver(tree.root_task_id);
}

function idOf({ approval }: { readonly approval: TaskApproval }): string {
  return approval.approval_id;
}

function pendingIn(
  { root_task_id, tasks }: TaskTree,
  approval: TaskApproval,
  requested_at: string,
  placeOf: (rootTaskId: string) => AnswerPlace | undefined,
): PendingApproval {
  const task = tasks[approval.task_id];
  const call = task?.output.find(
    (item) => item.type === "tool_call" && item.call_id === approval.call_id,
  );
  const chat = placeOf(root_task_id);
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

function byAge(one: PendingApproval, other: PendingApproval): number {
  return Date.parse(one.requested_at) - Date.parse(other.requested_at);
}

/** What says the same stays the same object, so that nobody draws it again. */
function unlessSame(
  before: readonly PendingApproval[],
  after: readonly PendingApproval[],
): readonly PendingApproval[] {
  const kept = after.map((each) => {
    const known = before.find((one) => idOf(one) === idOf(each));
    return known !== undefined && JSON.stringify(known) === JSON.stringify(each) ? known : each;
  });
  const isSame = kept.length === before.length && kept.every((each, at) => each === before[at]);
  return isSame ? before : kept;
}
