import type { JsonObject, TaskApproval, TaskLog, TaskState, TaskTree } from "@deltawire/tasks";
import type { PendingApproval } from "@deltawire/tasks/chats";
import type { Agent } from "../agent.ts";
import { readTaskLog, type PrivateRecords } from "../log/private-records.ts";
import { buildToolset } from "../task/toolset.ts";
import type { ApprovalDecisions } from "./decisions.ts";

/** A pending approval with everything that a user needs to decide on it. The caller adds the chat. */
export type PendingTaskApproval = Omit<PendingApproval, "chat">;

interface RunningTree {
  readonly owner: string;
  /** The state after the events that are stored in the log. */
  readonly storedState: TaskTree;
  readonly privateRecords: PrivateRecords;
  readonly decisions: Pick<ApprovalDecisions, "findAgent">;
}

/** The pending approvals of a store that several processes share. */
export interface ApprovalIndex {
  /** Returns the root tasks with pending approvals, oldest first. */
  listPendingApprovals(): Promise<{ approvalId: string; rootTaskId: string; owner: string }[]>;
}

export interface PendingApprovalsOptions {
  log: TaskLog;
  /** Lists the approvals of all processes. Without it, all unfinished tasks are searched. */
  index: ApprovalIndex | undefined;
  /** Returns the running task tree, or undefined if this process does not run it. */
  findTree: (rootTaskId: string) => RunningTree | undefined;
}

/** Lists the pending approvals of all unfinished tasks. */
export class PendingApprovals {
  readonly #options: PendingApprovalsOptions;
  /** Pending approvals of tasks that this process does not run, by root task id. */
  readonly #cache = new Map<string, CachedApprovals>();

  constructor(options: PendingApprovalsOptions) {
    this.#options = options;
  }

  /** Returns the pending approvals, oldest first. With `owner`, only those of this owner's tasks. */
  async list(owner?: string): Promise<PendingTaskApproval[]> {
    const tasks = await this.#listTasks();
    for (const id of this.#cache.keys()) if (!tasks.has(id)) this.#cache.delete(id);
    const pending: PendingTaskApproval[] = [];
    for (const [id, candidate] of tasks) {
      if (owner !== undefined && (candidate.owner ?? owner) !== owner) continue;
      const tree = this.#options.findTree(id);
      const approvals =
        tree === undefined
          ? await this.#readTask(id, candidate.approvalIds)
          : { owner: tree.owner, pending: collectFromRunningTree(tree) };
      if (owner === undefined || approvals.owner === owner) pending.push(...approvals.pending);
    }
    return pending.toSorted((a, b) => Date.parse(a.requested_at) - Date.parse(b.requested_at));
  }

  /** Drops the cached approvals of a task that this process now runs. */
  markRunning(rootTaskId: string): void {
    this.#cache.delete(rootTaskId);
  }

  /** Returns the root tasks that may have pending approvals. */
  async #listTasks(): Promise<Map<string, CandidateTask>> {
    const { log, index } = this.#options;
    const tasks = new Map<string, CandidateTask>();
    if (index === undefined)
      for (const id of await log.listUnfinished()) tasks.set(id, { approvalIds: "" });
    else
      for (const { rootTaskId, approvalId, owner } of await index.listPendingApprovals()) {
        const approvalIds = `${tasks.get(rootTaskId)?.approvalIds ?? ""},${approvalId}`;
        tasks.set(rootTaskId, { approvalIds, owner });
      }
    return tasks;
  }

  async #readTask(rootTaskId: string, approvalIds: string): Promise<CachedApprovals> {
    const cached = this.#cache.get(rootTaskId);
    if (cached?.approvalIds === approvalIds) return cached;
    const { state, privateRecords } = await readTaskLog(this.#options.log, rootTaskId);
    const pending = collectPending(state, privateRecords, () => undefined);
    const approvals = { approvalIds, owner: privateRecords.owner(rootTaskId), pending };
    if (this.#options.findTree(rootTaskId) === undefined) this.#cache.set(rootTaskId, approvals);
    return approvals;
  }
}

/** A root task that may have pending approvals. */
interface CandidateTask {
  /** Ids of the pending approvals; empty if they are unknown. */
  readonly approvalIds: string;
  readonly owner?: string;
}

interface CachedApprovals {
  /**
   * Ids of the approvals that were pending when the log was read. The cache entry is outdated if the index now lists other ids.
   * Without an index, only this process writes logs, so the log of a task that is not running does not change.
   */
  readonly approvalIds: string;
  readonly owner: string;
  readonly pending: readonly PendingTaskApproval[];
}

function collectFromRunningTree({
  storedState,
  privateRecords,
  decisions,
}: RunningTree): PendingTaskApproval[] {
  return collectPending(storedState, privateRecords, (taskId) => decisions.findAgent(taskId));
}

function collectPending(
  { root_task_id, tasks, approvals }: TaskTree,
  privateRecords: PrivateRecords,
  findAgent: (taskId: string) => Agent | undefined,
): PendingTaskApproval[] {
  return approvals.flatMap((approval): PendingTaskApproval[] => {
    const task = approval.status === "pending" ? tasks[approval.task_id] : undefined;
    if (task === undefined) return [];
    const { agent, depth, created_at } = task.info;
    const call = task.output.find(
      (item) => item.type === "tool_call" && item.call_id === approval.call_id,
    );
    const input_schema = findInputSchema(approval, findAgent);
    const outcome = findHeldOutcome(approval, task);
    return [
      {
        approval,
        root_task_id,
        requested_at: privateRecords.requestedAt(approval.approval_id) ?? created_at,
        agent,
        depth,
        ...(call?.type === "tool_call"
          ? { call: { name: call.name, arguments: call.arguments } }
          : {}),
        ...(input_schema === undefined ? {} : { input_schema }),
        ...(outcome === undefined ? {} : { outcome }),
      },
    ];
  });
}

function findInputSchema(
  { kind, tool = "", task_id }: TaskApproval,
  findAgent: (taskId: string) => Agent | undefined,
): JsonObject | undefined {
  const agent = kind === "call" ? findAgent(task_id) : undefined;
  return agent && buildToolset(agent).tools.get(tool)?.parameters;
}

/** Returns the outcome of the execution whose result is held for approval. */
function findHeldOutcome({ kind, call_id }: TaskApproval, { executions }: TaskState) {
  if (kind !== "result") return undefined;
  return executions.findLast((execution) => execution.call_id === call_id)?.outcome;
}
