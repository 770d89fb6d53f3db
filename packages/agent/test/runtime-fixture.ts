import { defineAgent, MemoryBlobs, MemoryLog, Runtime } from "@deltawire/agent";
import type { Agent, AgentDefinition, RuntimeOptions, TaskRequest } from "@deltawire/agent";
import {
  buildTaskView,
  validateLog,
  type OutputItem,
  type TaskApproval,
  type TaskEvent,
  type TaskTree,
  type TaskView,
  type ToolResultItem,
} from "@deltawire/tasks";
import { expect } from "vitest";
import { parseLogRow } from "../src/log/private-records.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";

export interface StartedTask {
  runtime: Runtime;
  log: MemoryLog;
  blobs: MemoryBlobs;
  id: string;
  agent: Agent;
}

export type Script = Parameters<typeof scriptedModel>[0];

/** Creates an agent whose model follows the script. */
export function scriptedAgent(
  script: Script,
  overrides: Partial<AgentDefinition> = {},
): { agent: Agent; model: ScriptedModel } {
  const model = scriptedModel(script);
  return {
    model,
    agent: defineAgent({ name: "main", instructions: "Help.", model, ...overrides }),
  };
}

/** Short delays, to keep tests fast. */
const shortRetryPolicy = { initialDelayMs: 1, maxDelayMs: 4, maxElapsedMs: 5000 };

/** Creates a runtime with one agent. */
export function createRuntime(
  agent: Agent,
  options: Partial<RuntimeOptions> & { log?: MemoryLog; blobs?: MemoryBlobs } = {},
): Omit<StartedTask, "id"> {
  const { log = new MemoryLog(), blobs = new MemoryBlobs() } = options;
  const getModel = (name: string): never => {
    throw new Error(`no model ${name}`);
  };
  const runtime = new Runtime({
    agentFor: () => agent,
    getModel,
    modelRetryPolicy: shortRetryPolicy,
    ...options,
    log,
    blobs,
  });
  return { runtime, log, blobs, agent };
}

export async function start(
  agent: Agent,
  request: Partial<TaskRequest> = {},
  options: Parameters<typeof createRuntime>[1] = {},
): Promise<StartedTask> {
  const fixture = createRuntime(agent, options);
  return {
    ...fixture,
    id: await fixture.runtime.start({ agent: agent.name, input: "Go.", ...request }),
  };
}

/** Resolves with the stored state as soon as it meets the condition. */
export async function waitUntil(
  { runtime, id }: Pick<StartedTask, "runtime" | "id">,
  condition: (state: TaskTree) => boolean,
): Promise<TaskTree> {
  const current = await runtime.state(id);
  if (condition(current)) return current;
  return new Promise((resolve) => {
    const unsubscribe = runtime.subscribe(id, () => {
      const state = runtime.live(id);
      if (state === undefined || !condition(state)) return;
      unsubscribe();
      resolve(state);
    });
    const latest = runtime.live(id);
    if (latest !== undefined && condition(latest)) {
      unsubscribe();
      resolve(latest);
    }
  });
}

const endStatuses = ["completed", "failed", "canceled", "expired"];

export interface EndedTask {
  view: TaskView;
  state: TaskTree;
  events: TaskEvent[];
}

/** Resolves when the task has ended, and checks that its log is valid. */
export async function waitForEnd(started: StartedTask): Promise<EndedTask> {
  const { id } = started;
  const state = await waitUntil(started, ({ tasks }) =>
    endStatuses.includes(tasks[id]?.status ?? ""),
  );
  const events = await readEvents(started);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  return { view: buildTaskView(state), state, events };
}

export async function readEvents({
  log,
  id,
}: Pick<StartedTask, "log" | "id">): Promise<TaskEvent[]> {
  return (await log.read(id, -1, 1e6)).map(({ json }) => JSON.parse(json) as TaskEvent);
}

export function filterWarnings(
  events: readonly TaskEvent[],
): Extract<TaskEvent, { type: "task.warning" }>[] {
  return events.filter((event) => event.type === "task.warning");
}

/** Returns the complete log with its private data as one text. */
export async function readLogText({ log, id }: Pick<StartedTask, "log" | "id">): Promise<string> {
  return (await log.read(id, -1, 1e6)).map((row) => `${row.json}${row.private ?? ""}`).join("\n");
}

/** Resolves with the pending approvals as soon as there are `count` of them. */
export async function waitForApprovals(started: StartedTask, count = 1): Promise<TaskApproval[]> {
  const filterPending = ({ approvals }: TaskTree): TaskApproval[] =>
    approvals.filter(({ status }) => status === "pending");
  return filterPending(await waitUntil(started, (state) => filterPending(state).length >= count));
}

export async function waitForApproval(started: StartedTask): Promise<TaskApproval> {
  const [first] = await waitForApprovals(started);
  if (first === undefined) throw new Error("no approval is pending");
  return first;
}

export async function decide(
  started: StartedTask,
  decision: Partial<Parameters<Runtime["decide"]>[1]>,
): ReturnType<Runtime["decide"]> {
  const { approval_id } = await waitForApproval(started);
  return started.runtime.decide(approval_id, { decision: "approve", by: "test", ...decision });
}

export function filterResults(output: readonly OutputItem[]): ToolResultItem[] {
  return output.filter((item) => item.type === "tool_result");
}

/** Returns the text of an item as users see it. */
export function getItemText(item: OutputItem | undefined): string {
  if (item?.type !== "tool_result" && item?.type !== "message") return "";
  const texts = item.block_list.map((block) => (block.type === "text" ? block.text : ""));
  return texts.join("");
}

export interface SentItem {
  type?: string;
  role?: string;
  id?: string;
  call_id?: string;
  output?: unknown;
  content?: { text?: string }[];
}

/** Returns the input items of a round; default: the last one. */
export function getSentItems(model: ScriptedModel, round = model.requests.length - 1): SentItem[] {
  return (model.requests[round]?.input ?? []) as SentItem[];
}

/** Returns the tool results in the input of a round. */
export function getSentResults(model: ScriptedModel, round: number): string[] {
  return getSentItems(model, round)
    .filter(({ type }) => type === "function_call_output")
    .map(({ output }) => (typeof output === "string" ? output : JSON.stringify(output)));
}

/** Copies a log up to an event, as a process that crashes there would leave it. */
export async function copyLogUntil(
  { log, id }: Pick<StartedTask, "log" | "id">,
  isLast: (event: TaskEvent) => boolean = () => false,
): Promise<MemoryLog> {
  const copy = new MemoryLog();
  for (const row of await log.read(id, -1, 1e6)) {
    await copy.append(id, [parseLogRow(row)]);
    if (isLast(JSON.parse(row.json) as TaskEvent)) break;
  }
  return copy;
}

/** Resumes a task from its log, like another process. */
export async function recoverTask(
  agent: Agent,
  { log, id }: { log: MemoryLog; id: string },
  options: Parameters<typeof createRuntime>[1] = {},
): Promise<StartedTask> {
  const fixture = createRuntime(agent, { ...options, log });
  expect(await fixture.runtime.recover()).toEqual([id]);
  return { ...fixture, id };
}
