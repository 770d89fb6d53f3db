import type {
  CallOutcome,
  OutputItem,
  TaskApproval,
  TaskState,
  TaskTree,
  ToolCallItem,
  ToolResultItem,
} from "@deltawire/tasks";
import { upgradeNode, type AnswerNode, type AnswerVersion } from "@deltawire/tasks/chats";

/** Creates a stored answer version. */
export function createVersion(overrides: Partial<AnswerVersion>): AnswerVersion {
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
    ...overrides,
  };
}

/** Creates a version in the format of an earlier release and upgrades it to the current format. */
export function createUpgradedVersion(
  overrides: Partial<AnswerVersion> & { chain: object },
): AnswerVersion {
  const node = upgradeNode(createAnswerNode(createVersion(overrides)));
  const [version] = node.kind === "answer" ? node.versions : [];
  if (version === undefined) throw new TypeError("the upgraded node has no version");
  return version;
}

export function createAnswerNode(version: AnswerVersion): AnswerNode {
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

/** `outcome` defaults to "completed"; null: the call has not ended. */
interface CallOverrides extends Partial<Omit<ToolCallItem, "outcome">> {
  outcome?: CallOutcome | null;
}

export function createCall(
  id: string,
  { outcome = "completed", ...overrides }: CallOverrides = {},
): ToolCallItem {
  return {
    type: "tool_call",
    id: `item_${id}`,
    call_id: id,
    name: "get_weather",
    arguments: '{"city":"Paris"}',
    status: "completed",
    ...(outcome === null ? {} : { outcome }),
    ...overrides,
  };
}

export function createResult(id: string, overrides: Partial<ToolResultItem> = {}): ToolResultItem {
  return {
    type: "tool_result",
    id: `result_${id}`,
    call_id: id,
    status: "completed",
    outcome: "completed",
    block_list: [{ type: "text", text: "sunny", id: 1 }],
    ...overrides,
  };
}

export function createMessage(text: string): OutputItem {
  return {
    type: "message",
    id: `message_${text.slice(0, 8)}`,
    role: "assistant",
    status: "completed",
    block_list: [{ type: "text", text }],
  };
}

/** Creates a running task: the root task, or with `parent` the task of a sub-agent. */
export function createRunningTask(
  task_id: string,
  overrides: Partial<TaskState>,
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
    ...overrides,
  };
}

export function createTaskTree(
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
