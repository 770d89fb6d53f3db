import type {
  Grant,
  ApprovalResolution,
  TaskApproval,
  TaskWriter,
  TreeWriter,
} from "@deltawire/tasks";
import type { Activity } from "../task/waiting-status.ts";
import type { Agent } from "../agent.ts";
import { setLongTimeout } from "../event-loop.ts";
import { getErrorMessage } from "../event-text.ts";
import { checkDecision, type UserDecision } from "./check-decision.ts";
import { raceWithAbort, type StopReason } from "../task/stop-reason.ts";
import type { TreeContext } from "../task/context.ts";
import type { Variables } from "../variables/variables.ts";

export type DecisionResult =
  | { type: "resolved"; approval: TaskApproval }
  /** The same decision was sent before: with the same idempotency key, or without one by the same user with the same content. */
  | { type: "repeated"; approval: TaskApproval }
  /** Another decision was made first, or the approval has expired. */
  | { type: "superseded"; approval: TaskApproval }
  | { type: "invalid"; message: string }
  | { type: "not_found" };

/** A task or call that is waiting for a decision. */
export interface DecisionWaiter {
  activity: Activity;
  /** The call id, or the task id. */
  key: string;
  task: TaskWriter;
  signal: AbortSignal;
}

/** The members of the task tree that decisions use. */
interface DecisionTree extends TreeContext {
  readonly writer: TreeWriter;
  readonly variables: Variables | undefined;
  readonly journal: { whenStored(): Promise<void> };
  /** The running tasks, by id. */
  readonly tasks: ReadonlyMap<string, { readonly agent: Agent }>;
  stop(reason: StopReason): void;
}

/** Receives all decisions on approvals of one task tree. The decisions themselves are part of the state of the tasks. */
export class ApprovalDecisions {
  readonly #tree: DecisionTree;
  /** By approval id. */
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(tree: DecisionTree) {
    this.#tree = tree;
  }

  findApproval(approvalId: string): TaskApproval | undefined {
    return this.#tree.state.approvals.find(({ approval_id }) => approval_id === approvalId);
  }

  /** Applies a decision. The first one wins: everything between the second status check and the write is synchronous. */
  async decide(approvalId: string, decision: UserDecision): Promise<DecisionResult> {
    const approval = this.findApproval(approvalId);
    if (approval === undefined) return { type: "not_found" };
    if (approval.status !== "pending") return toLateDecisionResult(approval, decision);
    const checked = await checkDecision(decision, approval, {
      agent: this.findAgent(approval.task_id),
      variables: this.#tree.variables,
      blobs: this.#tree.options.blobs,
    });
    if (!checked.ok) return { type: "invalid", message: checked.message };
    const task = this.#tree.writer.task(approval.task_id);
    if (this.#isExpired(approval)) this.#expire(approvalId, task);
    const current = this.findApproval(approvalId);
    if (current?.status !== "pending") return toLateDecisionResult(current ?? approval, decision);
    const defaultScope = approval.scopes?.includes("session") === true ? "session" : "once";
    const scope = decision.decision === "approve" ? (decision.scope ?? defaultScope) : "once";
    task.approvalResolved(approvalId, {
      ...decision,
      scope,
      ...(checked.expanded === undefined ? {} : { expanded_arguments: checked.expanded }),
    });
    this.#notifyWaiters(approvalId);
    if (decision.decision === "abort") this.#tree.stop(toStopReason(decision));
    await this.#tree.journal.whenStored();
    return { type: "resolved", approval: this.findApproval(approvalId) ?? approval };
  }

  /** Resolves when the approval is decided or has expired. */
  async waitForDecision(
    approvalId: string,
    { activity, key, task, signal }: DecisionWaiter,
  ): Promise<void> {
    const approval = this.findApproval(approvalId);
    if (approval?.status !== "pending") return;
    const decisionMade = new Promise<void>((resolve) => {
      const waiters = this.#waiters.get(approvalId) ?? new Set();
      this.#waiters.set(approvalId, waiters.add(resolve));
    });
    activity.set(key, [approvalId]);
    const { expires_at } = approval;
    const cancelTimer =
      expires_at === undefined
        ? undefined
        : setLongTimeout(Date.parse(expires_at) - this.#tree.options.now(), () =>
            this.#expire(approvalId, task),
          );
    try {
      await raceWithAbort(decisionMade, signal);
      activity.set(key, []);
    } finally {
      cancelTimer?.();
    }
  }

  /** Set if a user aborted the tree. The process that received the decision may have ended before it stopped the tree. */
  get abortStop(): StopReason | undefined {
    const abortedApproval = this.#tree.state.approvals.find(
      ({ resolution }) => resolution?.decision === "abort",
    );
    return abortedApproval?.resolution && toStopReason(abortedApproval.resolution);
  }

  /** True if the call was granted in this session, by any of its tasks. */
  async isGranted(tool: string, argsHash: string): Promise<boolean> {
    const { log, onFailure } = this.#tree.options;
    try {
      const grants = await log.listGrants(this.#sessionId, this.#tree.owner);
      return grants.some(
        (grant) =>
          grant.tool === tool && (grant.args_hash === undefined || grant.args_hash === argsHash),
      );
    } catch (error) {
      onFailure(`could not read the grants of the session: ${getErrorMessage(error)}`, error);
      return false;
    }
  }

  /** Stores a grant for the session. If that fails, the next call needs an approval again. */
  async addGrant(grant: Grant): Promise<void> {
    const { log, onFailure } = this.#tree.options;
    try {
      await log.addGrant(this.#sessionId, grant, this.#tree.owner);
    } catch (error) {
      onFailure(`could not store a grant for the session: ${getErrorMessage(error)}`, error);
    }
  }

  /** Needed in addition to the expiry timer: after a restart a decision can arrive before the timer is set. */
  #isExpired({ expires_at }: TaskApproval): boolean {
    return expires_at !== undefined && Date.parse(expires_at) <= this.#tree.options.now();
  }

  #expire(approvalId: string, task: TaskWriter): void {
    if (this.findApproval(approvalId)?.status !== "pending") return;
    task.approvalExpired(approvalId);
    this.#notifyWaiters(approvalId);
  }

  #notifyWaiters(approvalId: string): void {
    const waiters = this.#waiters.get(approvalId) ?? [];
    this.#waiters.delete(approvalId);
    for (const resolve of waiters) resolve();
  }

  /** Returns the agent of a task, even if the task has not been resumed yet. */
  findAgent(taskId: string): Agent | undefined {
    const running = this.#tree.tasks.get(taskId);
    if (running !== undefined) return running.agent;
    const { parent_task_id, agent } = this.#tree.state.tasks[taskId]?.info ?? {};
    if (parent_task_id === undefined) return undefined;
    return this.findAgent(parent_task_id)?.agents.find(({ name }) => name === agent);
  }

  /** The session of the root task. A task without one is a session of its own. */
  get #sessionId(): string {
    const { state, rootTaskId } = this.#tree;
    return state.tasks[rootTaskId]?.info.session_id ?? rootTaskId;
  }
}

/** Returns the result for an approval that is no longer pending: `repeated` if the same decision resolved it, else `superseded`. */
export function toLateDecisionResult(
  approval: TaskApproval,
  incoming: UserDecision,
): DecisionResult {
  const earlier = approval.resolution;
  const isSame =
    earlier !== undefined && earlier.by === incoming.by && isSameDecision(earlier, incoming);
  return { type: isSame ? "repeated" : "superseded", approval };
}

function isSameDecision(earlier: ApprovalResolution, incoming: UserDecision): boolean {
  if (
    incoming.idempotency_key !== undefined &&
    earlier.idempotency_key !== incoming.idempotency_key
  )
    return false;
  return (
    earlier.decision === incoming.decision &&
    (incoming.scope === undefined || earlier.scope === incoming.scope) &&
    (earlier.any_arguments ?? false) === (incoming.any_arguments ?? false) &&
    earlier.arguments === incoming.arguments &&
    earlier.reason === incoming.reason &&
    earlier.replacement === incoming.replacement
  );
}

function toStopReason({ by, reason }: Pick<ApprovalResolution, "by" | "reason">): StopReason {
  return { type: "canceled", by, ...(reason === undefined ? {} : { reason }) };
}
