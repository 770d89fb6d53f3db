import { isItem } from "../content.ts";
import type { OutputItem, RetractedItem, ToolCallItem } from "../items.ts";
import type { Execution, TaskApproval, TaskReference, TaskState, TaskWarning } from "../state.ts";
import { noUsage } from "../usage.ts";
import { answerTaskInfo } from "./answer-task.ts";
import type { Removal } from "./edit.ts";
import type { AnswerVersion, ChatNode } from "./shapes.ts";
import type { CallRecord, ChainStats } from "./tool-chain.ts";

/*
 * Answers as earlier releases stored and exported them: what a sub-agent did stands inside the result of its call, and beside
 * the items there is a record of all calls. What reads stored chats or files converts them here; nothing else knows that shape.
 */

/** An answer of the earlier shape, or of today's. */
interface StoredAnswerVersion extends AnswerVersion {
  readonly chain?: {
    readonly calls: readonly CallRecord[];
    readonly stats: ChainStats;
    readonly warnings?: readonly TaskWarning[];
  };
}

/** The same node if it has nothing of the earlier shape. */
export function upgradeNode(node: ChatNode): ChatNode {
  if (node.kind !== "answer" || !node.versions.some(isEarlier)) return node;
  return { ...node, versions: node.versions.map(upgradeVersion) };
}

export function upgradeRemoval(removal: Removal): Removal {
  if (removal.what === "nodes") return { ...removal, nodes: removal.nodes.map(upgradeNode) };
  const { version } = removal;
  return "output" in version ? { ...removal, version: upgradeVersion(version) } : removal;
}

function upgradeVersion(stored: StoredAnswerVersion): AnswerVersion {
  if (!isEarlier(stored)) return stored;
  const { chain, ...version } = stored;
  const upgrade = new AnswerUpgrade(version, chain?.calls ?? []);
  const root = upgrade.task(version.output, version.task_id ?? version.version_id, 0);
  const children = [...upgrade.children.values()];
  const rounds = children.reduce((sum, { round }) => sum + round, 0);
  const references = version.child_references ?? upgrade.numbered();
  const { round, ...rest } = root;
  return {
    ...version,
    ...rest,
    ...(references.length === 0 ? {} : { child_references: references }),
    ...(children.length === 0 ? {} : { child_tasks: Object.fromEntries(upgrade.children) }),
    ...(upgrade.approvals.length === 0 ? {} : { approvals: upgrade.approvals }),
    ...(chain === undefined
      ? {}
      : {
          round: Math.max(round, chain.stats.rounds - rounds),
          model_ms: chain.stats.model_ms,
          waited_ms: chain.stats.waited_ms,
        }),
    ...(chain?.warnings === undefined ? {} : { warnings: chain.warnings }),
  };
}

function isEarlier(version: StoredAnswerVersion): boolean {
  return (
    version.chain !== undefined ||
    version.output.some((item) => item.type === "tool_result" && item.block_list.some(isItem))
  );
}

class AnswerUpgrade {
  readonly children = new Map<string, TaskState>();
  readonly approvals: TaskApproval[] = [];
  readonly #version: AnswerVersion;
  readonly #records: ReadonlyMap<string, CallRecord>;

  constructor(version: AnswerVersion, records: readonly CallRecord[]) {
    this.#version = version;
    this.#records = new Map(records.map((record) => [record.call_id, record]));
  }

  /** What a task of the answer holds; those below it become `children`. */
  task(
    items: AnswerVersion["output"],
    taskId: string,
    depth: number,
  ): { output: (OutputItem | RetractedItem)[]; executions?: Execution[]; round: number } {
    const calls = items.filter((item) => item.type === "tool_call");
    const executions = calls.flatMap(({ call_id }) => this.#execution(call_id));
    for (const { call_id } of calls) this.#decided(call_id, taskId);
    const asked = new Map(calls.map((call) => [call.call_id, call]));
    const output = items.map((item) => {
      if (item.type !== "tool_result") return item;
      const nested = item.block_list.filter(isItem);
      const call = asked.get(item.call_id);
      if (nested.length > 0 || call?.child_task_ids !== undefined)
        this.#addChild(nested, item.call_id, call, { taskId, depth });
      return { ...item, block_list: item.block_list.filter((one) => !isItem(one)) };
    });
    const lastRound = calls.reduce(
      (last, { call_id }) => Math.max(last, this.#records.get(call_id)?.round ?? 0),
      0,
    );
    return {
      output,
      ...(executions.length === 0 ? {} : { executions }),
      round: lastRound,
    };
  }

  /** Before the references of sub-agents were stored, blocks that can be cited had their numbers. */
  numbered(): TaskReference[] {
    return [...this.children.values()].flatMap(({ task_id, output }) =>
      output.flatMap((item) => {
        if (item.type !== "tool_result") return [];
        const indexes = new Map<number, number[]>();
        for (const [at, block] of item.block_list.entries()) {
          const number = isItem(block) ? undefined : block.id;
          if (number !== undefined) indexes.set(number, [...(indexes.get(number) ?? []), at]);
        }
        return [...indexes].map(([reference_id, block_indexes]) => ({
          task_id,
          reference_id,
          item_id: item.id,
          block_indexes,
        }));
      }),
    );
  }

  #addChild(
    items: readonly OutputItem[],
    taskId: string,
    call: ToolCallItem | undefined,
    parent: { taskId: string; depth: number },
  ): void {
    const record = this.#records.get(taskId);
    const { error, usage = noUsage } = record ?? {};
    const ran = record?.changed_arguments ?? call?.arguments ?? "";
    const { executions = [], output, round } = this.task(items, taskId, parent.depth + 1);
    this.children.set(taskId, {
      task_id: taskId,
      info: {
        ...answerTaskInfo(this.#version),
        parent_task_id: parent.taskId,
        parent_call_id: taskId,
        depth: parent.depth + 1,
        agent: agentIn(ran),
        model: "",
      },
      status: error !== undefined ? "failed" : isDone(record) ? "completed" : "canceled",
      output,
      executions,
      usage,
      tree_usage: usage,
      round: Math.max(round, output.length === 0 ? 0 : 1),
      round_done: true,
      round_started_at_index: 0,
      epoch: 0,
      inputs: [],
      ...(error === undefined ? {} : { error: { ...error, retryable: false } }),
    });
  }

  #execution(call_id: string): Execution[] {
    const { started_at, duration_ms, outcome, error } = this.#records.get(call_id) ?? {};
    if (started_at === undefined && duration_ms === undefined) return [];
    return [
      {
        call_id,
        execution_id: call_id,
        attempt: 1,
        args_hash: "",
        effect: "once",
        idempotency_key: "",
        ...(started_at === undefined ? {} : { started_at }),
        ...(outcome === undefined ? {} : { outcome }),
        ...(duration_ms === undefined ? {} : { duration_ms }),
        ...(error === undefined ? {} : { error: error.message }),
      },
    ];
  }

  #decided(call_id: string, task_id: string): void {
    const { decisions = [], changed_arguments: changed } = this.#records.get(call_id) ?? {};
    const approved = decisions.lastIndexOf("approve");
    for (const [at, decision] of decisions.entries())
      this.approvals.push({
        approval_id: `${call_id}:${at}`,
        // A call that was refused has no result to hide.
        kind: decision === "approve" ? "call" : "result",
        call_id,
        choices: [],
        task_id,
        ...(isDecision(decision)
          ? {
              status: "resolved",
              resolution: {
                decision,
                by: "",
                scope: "once",
                ...(changed !== undefined && at === approved ? { arguments: changed } : {}),
              },
            }
          : { status: "expired" }),
      });
  }
}

function isDone(record: CallRecord | undefined): boolean {
  return record === undefined || record.outcome === "completed";
}

type Decision = NonNullable<TaskApproval["resolution"]>["decision"];

function isDecision(word: string): word is Decision {
  return word === "approve" || word === "deny" || word === "redact" || word === "abort";
}

/** The name by which a sub-agent was called. */
function agentIn(json: string): string {
  try {
    const given = JSON.parse(json) as { name?: unknown } | null;
    return typeof given?.name === "string" ? given.name : "";
  } catch {
    return "";
  }
}
