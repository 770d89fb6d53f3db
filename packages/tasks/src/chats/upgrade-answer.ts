import { isOutputItem } from "../content.ts";
import type { OutputItem, RetractedItem, ToolCallItem } from "../items.ts";
import type {
  ToolExecution,
  TaskApproval,
  TaskReference,
  TaskState,
  TaskWarning,
} from "../state.ts";
import { noUsage } from "../usage.ts";
import { toTaskInfo } from "./answer-task.ts";
import type { Removal, RemovedNodes, RemovedVersion } from "./edit.ts";
import type { AnswerVersion, ChatNode } from "./chat-types.ts";
import type { CallRecord, ChainStats } from "./tool-chain.ts";

/*
 * Converts answers that earlier releases stored or exported: they have the items of a sub-agent inside the result of its call, and
 * a separate record of all calls. Used when stored chats or files are read; the rest of the code does not know this format.
 */

/** An answer in the earlier or the current format. */
interface LegacyAnswerVersion extends AnswerVersion {
  readonly chain?: {
    readonly calls: readonly CallRecord[];
    readonly stats: ChainStats;
    readonly warnings?: readonly TaskWarning[];
  };
}

/** Returns the same node if it has no answers in the earlier format. */
export function upgradeNode(node: ChatNode): ChatNode {
  if (node.kind !== "answer" || !node.versions.some(isLegacy)) return node;
  return { ...node, versions: node.versions.map(upgradeVersion) };
}

/** A removal in the format of earlier releases. */
type LegacyRemoval =
  | (Omit<RemovedNodes, "type"> & { readonly what: "nodes" })
  | (Omit<RemovedVersion, "type"> & { readonly what: "version" });

/** Upgrades the answers of a removal too. */
export function upgradeRemoval(storedRemoval: Removal | LegacyRemoval): Removal {
  const removal = withType(storedRemoval);
  if (removal.type === "nodes") return { ...removal, nodes: removal.nodes.map(upgradeNode) };
  const { version } = removal;
  return "output" in version ? { ...removal, version: upgradeVersion(version) } : removal;
}

function withType(removal: Removal | LegacyRemoval): Removal {
  if (!("what" in removal)) return removal;
  const { what, ...rest } = removal;
  return { ...rest, type: what } as Removal;
}

function upgradeVersion(storedVersion: LegacyAnswerVersion): AnswerVersion {
  if (!isLegacy(storedVersion)) return storedVersion;
  const { chain, ...version } = storedVersion;
  const upgrade = new AnswerUpgrade(version, chain?.calls ?? []);
  const root = upgrade.upgradeTask(version.output, version.task_id ?? version.version_id, 0);
  const children = [...upgrade.children.values()];
  const rounds = children.reduce((sum, { round }) => sum + round, 0);
  const references = version.child_references ?? upgrade.inferReferences();
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

function isLegacy(version: LegacyAnswerVersion): boolean {
  return (
    version.chain !== undefined ||
    version.output.some((item) => item.type === "tool_result" && item.block_list.some(isOutputItem))
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

  /** Returns the fields of a task of the answer, and adds the tasks below it to `children`. */
  upgradeTask(
    items: AnswerVersion["output"],
    taskId: string,
    depth: number,
  ): { output: (OutputItem | RetractedItem)[]; executions?: ToolExecution[]; round: number } {
    const calls = items.filter((item) => item.type === "tool_call");
    const executions = calls.flatMap(({ call_id }) => this.#toExecutions(call_id));
    for (const { call_id } of calls) this.#addApprovals(call_id, taskId);
    const callsById = new Map(calls.map((call) => [call.call_id, call]));
    const output = items.map((item) => {
      if (item.type !== "tool_result") return item;
      const nestedItems = item.block_list.filter(isOutputItem);
      const call = callsById.get(item.call_id);
      if (nestedItems.length > 0 || call?.child_task_ids !== undefined)
        this.#addChild(nestedItems, item.call_id, call, { taskId, depth });
      return { ...item, block_list: item.block_list.filter((block) => !isOutputItem(block)) };
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

  /** Early releases did not store the references of sub-agents: they are inferred from the numbers of the blocks. */
  inferReferences(): TaskReference[] {
    return [...this.children.values()].flatMap(({ task_id, output }) =>
      output.flatMap((item) => {
        if (item.type !== "tool_result") return [];
        const indexes = new Map<number, number[]>();
        for (const [index, block] of item.block_list.entries()) {
          const number = isOutputItem(block) ? undefined : block.id;
          if (number !== undefined) indexes.set(number, [...(indexes.get(number) ?? []), index]);
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
    const executedArguments = record?.changed_arguments ?? call?.arguments ?? "";
    const { executions = [], output, round } = this.upgradeTask(items, taskId, parent.depth + 1);
    this.children.set(taskId, {
      task_id: taskId,
      info: {
        ...toTaskInfo(this.#version),
        parent_task_id: parent.taskId,
        parent_call_id: taskId,
        depth: parent.depth + 1,
        agent: parseAgentName(executedArguments),
        model: "",
      },
      status: error !== undefined ? "failed" : isCompleted(record) ? "completed" : "canceled",
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

  #toExecutions(call_id: string): ToolExecution[] {
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

  #addApprovals(call_id: string, task_id: string): void {
    const { decisions = [], changed_arguments: editedArguments } = this.#records.get(call_id) ?? {};
    const approvedIndex = decisions.lastIndexOf("approve");
    for (const [index, decision] of decisions.entries())
      this.approvals.push({
        approval_id: `${call_id}:${index}`,
        // The kind was not stored. For a rejected call it makes no difference: there is no result to hide.
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
                ...(editedArguments !== undefined && index === approvedIndex
                  ? { arguments: editedArguments }
                  : {}),
              },
            }
          : { status: "expired" }),
      });
  }
}

function isCompleted(record: CallRecord | undefined): boolean {
  return record === undefined || record.outcome === "completed";
}

type Decision = NonNullable<TaskApproval["resolution"]>["decision"];

function isDecision(value: string): value is Decision {
  return value === "approve" || value === "deny" || value === "redact" || value === "abort";
}

/** Returns the name of the sub-agent from the arguments of its call. */
function parseAgentName(json: string): string {
  try {
    const parsed = JSON.parse(json) as { name?: unknown } | null;
    return typeof parsed?.name === "string" ? parsed.name : "";
  } catch {
    return "";
  }
}
