import type { Grant, Resolution, TaskApproval, TaskWriter, TreeWriter } from "@deltawire/tasks";
import type { Activity } from "../task/activity.ts";
import type { Agent } from "../agent.ts";
import { callAfter } from "../event-loop.ts";
import { messageOf } from "../event-text.ts";
import { checkDecision, type PersonsDecision } from "./check-decision.ts";
import { unlessStopped, type Stop } from "../task/stop.ts";
import type { TreeContext } from "../task/context.ts";
import type { Variables } from "../variables/variables.ts";

export type Decided =
  | { is: "resolved"; approval: TaskApproval }
  /** This very decision was sent before: by the same key, or without one by the same person in the same words. */
  | { is: "repeated"; approval: TaskApproval }
  /** Somebody was faster, or it has expired. */
  | { is: "late"; approval: TaskApproval }
  | { is: "invalid"; message: string }
  | { is: "unknown" };

/** Who waits for a person. */
export interface Waiting {
  activity: Activity;
  /** What waits: a call, or the task. */
  key: string;
  task: TaskWriter;
  signal: AbortSignal;
}

/** What decisions need of the tree that they are about. */
interface DecisionTree extends TreeContext {
  readonly writer: TreeWriter;
  readonly variables: Variables | undefined;
  readonly journal: { settled(): Promise<void> };
  /** The tasks that run, by id. */
  readonly tasks: ReadonlyMap<string, { readonly agent: Agent }>;
  stop(stop: Stop): void;
}

/** What people decide in a tree of tasks: the one place where it comes in. What was decided is in the tasks' state. */
export class Decisions {
  readonly #tree: DecisionTree;
  /** By the approval that they wait for. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(tree: DecisionTree) {
    this.#tree = tree;
  }

  approval(approvalId: string): TaskApproval | undefined {
    return this.#tree.state.approvals.find(({ approval_id }) => approval_id === approvalId);
  }

  /** One decision wins: between looking and writing nothing else can happen. */
  async decide(approvalId: string, resolution: PersonsDecision): Promise<Decided> {
    const approval = this.approval(approvalId);
    if (approval === undefined) return { is: "unknown" };
    if (approval.status !== "pending") return decidedBefore(approval, resolution);
    const checked = await checkDecision(resolution, approval, {
      agent: this.agentOf(approval.task_id),
      variables: this.#tree.variables,
      blobs: this.#tree.options.blobs,
    });
    if (!checked.ok) return { is: "invalid", message: checked.message };
    const task = this.#tree.writer.task(approval.task_id);
    if (this.#isPast(approval)) this.#expire(approvalId, task);
    const now = this.approval(approvalId);
    if (now?.status !== "pending") return decidedBefore(now ?? approval, resolution);
    const approves = resolution.decision === "approve";
    const usual = approval.scopes?.includes("session") === true ? "session" : "once";
    const scope = approves ? (resolution.scope ?? usual) : "once";
    task.approvalResolved(approvalId, {
      ...resolution,
      scope,
      ...(checked.expanded === undefined ? {} : { expanded_arguments: checked.expanded }),
    });
    this.#told(approvalId);
    if (resolution.decision === "abort") this.#tree.stop(stopBy(resolution));
    await this.#tree.journal.settled();
    return { is: "resolved", approval: this.approval(approvalId) ?? approval };
  }

  /** Resolves when a person has decided, or has not in time. */
  async wait(approvalId: string, { activity, key, task, signal }: Waiting): Promise<void> {
    const approval = this.approval(approvalId);
    if (approval?.status !== "pending") return;
    const decided = new Promise<void>((resolve) => {
      const others = this.#waiting.get(approvalId) ?? new Set();
      this.#waiting.set(approvalId, others.add(resolve));
    });
    activity.set(key, [approvalId]);
    const { expires_at } = approval;
    const clear =
      expires_at === undefined
        ? undefined
        : callAfter(Date.parse(expires_at) - this.#tree.options.now(), () =>
            this.#expire(approvalId, task),
          );
    try {
      await unlessStopped(decided, signal);
      activity.set(key, []);
    } finally {
      clear?.();
    }
  }

  /** That a person has ended the task, and the process that was told did not come to it. */
  get abort(): Stop | undefined {
    const aborted = this.#tree.state.approvals.find(
      ({ resolution }) => resolution?.decision === "abort",
    );
    return aborted?.resolution && stopBy(aborted.resolution);
  }

  /** Whether it has been allowed in this session, also in one of its other tasks. */
  async isGranted(tool: string, argsHash: string): Promise<boolean> {
    const { log, onFailure } = this.#tree.options;
    try {
      const grants = await log.grants(this.#session);
      return grants.some(
        (grant) =>
          grant.tool === tool && (grant.args_hash === undefined || grant.args_hash === argsHash),
      );
    } catch (error) {
      onFailure(`what was allowed before cannot be read: ${messageOf(error)}`, error);
      return false;
    }
  }

  /** What cannot be kept is asked again. */
  async grant(grant: Grant): Promise<void> {
    const { log, onFailure } = this.#tree.options;
    try {
      await log.addGrant(this.#session, grant);
    } catch (error) {
      onFailure(`what is allowed from now on cannot be kept: ${messageOf(error)}`, error);
    }
  }

  /** It may be asked before the timer that ends it has been set: by a process that has just begun. */
  #isPast({ expires_at }: TaskApproval): boolean {
    return expires_at !== undefined && Date.parse(expires_at) <= this.#tree.options.now();
  }

  #expire(approvalId: string, task: TaskWriter): void {
    if (this.approval(approvalId)?.status !== "pending") return;
    task.approvalExpired(approvalId);
    this.#told(approvalId);
  }

  #told(approvalId: string): void {
    const waiting = this.#waiting.get(approvalId) ?? [];
    this.#waiting.delete(approvalId);
    for (const resolve of waiting) resolve();
  }

  /** Who works on a task, also on one that has not been taken up yet. */
  agentOf(taskId: string): Agent | undefined {
    const running = this.#tree.tasks.get(taskId);
    if (running !== undefined) return running.agent;
    const { parent_task_id, agent } = this.#tree.state.tasks[taskId]?.info ?? {};
    if (parent_task_id === undefined) return undefined;
    return this.agentOf(parent_task_id)?.agents.find(({ name }) => name === agent);
  }

  /** A session is the chat, else the root task. */
  get #session(): string {
    const { state, rootTaskId } = this.#tree;
    return state.tasks[rootTaskId]?.info.session_id ?? rootTaskId;
  }
}

/** Of an approval that is no longer open: whether this decision is the one that holds. */
export function decidedBefore(approval: TaskApproval, sent: PersonsDecision): Decided {
  const holds = approval.resolution;
  const isSame = holds !== undefined && holds.by === sent.by && isRepeated(holds, sent);
  return { is: isSame ? "repeated" : "late", approval };
}

function isRepeated(holds: Resolution, sent: PersonsDecision): boolean {
  if (sent.idempotency_key !== undefined && holds.idempotency_key !== sent.idempotency_key)
    return false;
  return (
    holds.decision === sent.decision &&
    (sent.scope === undefined || holds.scope === sent.scope) &&
    (holds.any_arguments ?? false) === (sent.any_arguments ?? false) &&
    holds.arguments === sent.arguments &&
    holds.reason === sent.reason &&
    holds.replacement === sent.replacement
  );
}

function stopBy({ by, reason }: Pick<Resolution, "by" | "reason">): Stop {
  return { why: "canceled", by, ...(reason === undefined ? {} : { reason }) };
}
