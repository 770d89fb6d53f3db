import type {
  Outcome,
  OutputItem,
  TaskApproval,
  TaskState,
  TaskTree,
  ToolCallItem,
  ToolResultItem,
} from "@deltawire/tasks";
import { upgradeNode, type AnswerNode, type AnswerVersion } from "@deltawire/tasks/chats";

/** An answer that a chat keeps. */
export function sampleVersion(given: Partial<AnswerVersion>): AnswerVersion {
  return {
    version_id: "version_1",
    created_at: "2026-01-01T10:00:00.000Z",
    by: "model",
    status: "completed",
    model_type: "chat",
    task_id: "task_1",
    output: [],
    references: [],
    notices: [],
    ...given,
  };
}

/** One that an earlier release has stored, as it is read today. */
export function earlierVersion(given: Partial<AnswerVersion> & { chain: object }): AnswerVersion {
  const node = upgradeNode(sampleNode(sampleVersion(given)));
  const [version] = node.kind === "answer" ? node.versions : [];
  if (version === undefined) throw new TypeError("the node has one version");
  return version;
}

export function sampleNode(version: AnswerVersion): AnswerNode {
  return {
    kind: "answer",
    node_id: "node_1",
    parent: "node_0",
    children: [],
    created_at: version.created_at,
    pinned: false,
    hidden: false,
    versions: [version],
    version: version.version_id,
  };
}

/** `outcome: null`: it has none yet. */
interface GivenCall extends Partial<Omit<ToolCallItem, "outcome">> {
  outcome?: Outcome | null;
}

export function call(
  id: string,
  { outcome = "completed", ...given }: GivenCall = {},
): ToolCallItem {
  return {
    type: "tool_call",
    id: `item_${id}`,
    call_id: id,
    name: "get_weather",
    arguments: '{"city":"Paris"}',
    status: "completed",
    ...(outcome === null ? {} : { outcome }),
    ...given,
  };
}

export function result(id: string, given: Partial<ToolResultItem> = {}): ToolResultItem {
  return {
    type: "tool_result",
    id: `result_${id}`,
    call_id: id,
    status: "completed",
    outcome: "completed",
    block_list: [{ type: "text", text: "sunny", id: 1 }],
    ...given,
  };
}

export function message(text: string): OutputItem {
  return {
    type: "message",
    id: `message_${text.slice(0, 8)}`,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text }],
  };
}

/** A task that runs, as the root or below another. */
export function runningTask(
  task_id: string,
  given: Partial<TaskState>,
  parent?: string,
): TaskState {
  return {
    task_id,
    info: {
      root_task_id: "task_1",
      ...(parent === undefined ? {} : { parent_task_id: parent, parent_call_id: task_id }),
      attempt: 1,
      depth: parent === undefined ? 0 : 1,
      agent: parent === undefined ? "clerk" : "forecaster",
      model: "demo/clean",
      status: "created",
      limits: {},
      created_at: "2026-01-01T10:00:00.000Z",
      protocol_version: "1.0",
    },
    status: "working",
    output: [],
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    round: 1,
    round_done: false,
    round_started_at_index: 0,
    epoch: 0,
    executions: [],
    inputs: [],
    ...given,
  };
}

export function treeOfTasks(
  tasks: readonly TaskState[],
  approvals: readonly TaskApproval[] = [],
): TaskTree {
  return {
    root_task_id: "task_1",
    head: 1,
    tasks: Object.fromEntries(tasks.map((task) => [task.task_id, task])),
    references: [],
    approvals,
  };
}
