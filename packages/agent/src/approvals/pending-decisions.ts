import type { JsonObject, TaskApproval, TaskLog, TaskState, TaskTree } from "@deltawire/tasks";
import type { PendingApproval } from "@deltawire/tasks/chats";
import type { Agent } from "../agent.ts";
import { readTask, type PrivateParts } from "../log/private-parts.ts";
import { toolsetOf } from "../task/toolset.ts";
import type { Decisions } from "./decisions.ts";

/** What a task waits for, with what a person needs to decide it. Who serves it knows which chat it is of. */
export type PendingDecision = Omit<PendingApproval, "chat">;

interface RunningTree {
  /** As far as it is in the log. */
  readonly kept: TaskTree;
  readonly privateParts: PrivateParts;
  readonly decisions: Pick<Decisions, "agentOf">;
}

/** What all tasks that have not ended wait for. */
export class PendingDecisions {
  readonly #log: TaskLog;
  readonly #running: (rootTaskId: string) => RunningTree | undefined;
  /** Of tasks that nobody works on: their logs stay as they are until somebody does. */
  readonly #idle = new Map<string, readonly PendingDecision[]>();

  constructor(log: TaskLog, running: (rootTaskId: string) => RunningTree | undefined) {
    this.#log = log;
    this.#running = running;
  }

  /** The oldest first. */
  async all(): Promise<PendingDecision[]> {
    const ids = new Set(await this.#log.unfinished());
    for (const id of this.#idle.keys()) if (!ids.has(id)) this.#idle.delete(id);
    const found: PendingDecision[] = [];
    for (const id of ids) {
      const tree = this.#running(id);
      found.push(...(tree === undefined ? await this.#ofIdle(id) : ofRunning(tree)));
    }
    const time = ({ requested_at }: PendingDecision): number => Date.parse(requested_at);
    return found.toSorted((one, other) => time(one) - time(other));
  }

  /** Somebody works on it from now on. */
  taken(rootTaskId: string): void {
    this.#idle.delete(rootTaskId);
  }

  async #ofIdle(rootTaskId: string): Promise<readonly PendingDecision[]> {
    const known = this.#idle.get(rootTaskId);
    if (known !== undefined) return known;
    const { state, privateParts } = await readTask(this.#log, rootTaskId);
    const pending = pendingIn(state, privateParts, () => undefined);
    if (this.#running(rootTaskId) === undefined) this.#idle.set(rootTaskId, pending);
    return pending;
  }
}

function ofRunning({ kept, privateParts, decisions }: RunningTree): PendingDecision[] {
  return pendingIn(kept, privateParts, (taskId) => decisions.agentOf(taskId));
}

function pendingIn(
  { root_task_id, tasks, approvals }: TaskTree,
  privateParts: PrivateParts,
  agentOf: (taskId: string) => Agent | undefined,
): PendingDecision[] {
  return approvals.flatMap((approval): PendingDecision[] => {
    const task = approval.status === "pending" ? tasks[approval.task_id] : undefined;
    if (task === undefined) return [];
    const { agent, depth, created_at } = task.info;
    const call = task.output.find(
      (item) => item.type === "tool_call" && item.call_id === approval.call_id,
    );
    const input_schema = schemaOf(approval, agentOf);
    const outcome = heldOutcome(approval, task);
    return [
      {
        approval,
        root_task_id,
        requested_at: privateParts.askedAt(approval.approval_id) ?? created_at,
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

function schemaOf(
  { kind, tool = "", task_id }: TaskApproval,
  agentOf: (taskId: string) => Agent | undefined,
): JsonObject | undefined {
  const agent = kind === "call" ? agentOf(task_id) : undefined;
  return agent && toolsetOf(agent).tools.get(tool)?.parameters;
}

/** What a run came to whose result is held. */
function heldOutcome({ kind, call_id }: TaskApproval, { executions }: TaskState) {
  if (kind !== "result") return undefined;
  return executions.findLast((run) => run.call_id === call_id)?.outcome;
}
