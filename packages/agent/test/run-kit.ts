import { defineAgent, MemoryBlobs, MemoryLog, Runtime } from "@deltawire/agent";
import type { Agent, AgentDefinition, RuntimeOptions, TaskRequest } from "@deltawire/agent";
import {
  taskView,
  validateLog,
  type OutputItem,
  type TaskApproval,
  type TaskEvent,
  type TaskTree,
  type TaskView,
  type ToolResultItem,
} from "@deltawire/tasks";
import { expect } from "vitest";
import { entryOf } from "../src/log/private-parts.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";

export interface Started {
  runtime: Runtime;
  log: MemoryLog;
  blobs: MemoryBlobs;
  id: string;
  agent: Agent;
}

export type Script = Parameters<typeof scriptedModel>[0];

/** An agent whose model says what the script says. */
export function scriptedAgent(
  script: Script,
  more: Partial<AgentDefinition> = {},
): { agent: Agent; model: ScriptedModel } {
  const model = scriptedModel(script);
  return { model, agent: defineAgent({ name: "main", instructions: "Help.", model, ...more }) };
}

/** Nobody has to wait for a model that is only scripted. */
const shortWaits = { firstMs: 1, longestMs: 4, inAllMs: 5000 };

/** A runtime that knows one agent. */
export function runtimeOf(
  agent: Agent,
  options: Partial<RuntimeOptions> & { log?: MemoryLog; blobs?: MemoryBlobs } = {},
): Omit<Started, "id"> {
  const { log = new MemoryLog(), blobs = new MemoryBlobs() } = options;
  const model = (name: string): never => {
    throw new Error(`no model ${name}`);
  };
  const runtime = new Runtime({
    agentFor: () => agent,
    model,
    modelWaits: shortWaits,
    ...options,
    log,
    blobs,
  });
  return { runtime, log, blobs, agent };
}

export async function start(
  agent: Agent,
  request: Partial<TaskRequest> = {},
  options: Parameters<typeof runtimeOf>[1] = {},
): Promise<Started> {
  const made = runtimeOf(agent, options);
  return { ...made, id: await made.runtime.start({ agent: agent.name, input: "Go.", ...request }) };
}

/** The kept state as soon as it is so. */
export async function until(
  { runtime, id }: Pick<Started, "runtime" | "id">,
  is: (state: TaskTree) => boolean,
): Promise<TaskTree> {
  const now = await runtime.state(id);
  if (is(now)) return now;
  return new Promise((resolve) => {
    const end = runtime.subscribe(id, (_entries, state) => {
      if (!is(state)) return;
      end();
      resolve(state);
    });
    const missed = runtime.live(id);
    if (missed !== undefined && is(missed)) {
      end();
      resolve(missed);
    }
  });
}

const terminal = ["completed", "failed", "canceled", "expired"];

export interface Ended {
  view: TaskView;
  state: TaskTree;
  events: TaskEvent[];
}

/** What a task has come to; its log breaks no rule. */
export async function ended(started: Started): Promise<Ended> {
  const { id } = started;
  const state = await until(started, ({ tasks }) => terminal.includes(tasks[id]?.status ?? ""));
  const events = await eventsOf(started);
  expect(validateLog(events, { complete: true })).toBeUndefined();
  return { view: taskView(state), state, events };
}

export async function eventsOf({ log, id }: Pick<Started, "log" | "id">): Promise<TaskEvent[]> {
  return (await log.read(id, -1, 1e6)).map(({ json }) => JSON.parse(json) as TaskEvent);
}

export function warningsIn(
  events: readonly TaskEvent[],
): Extract<TaskEvent, { type: "task.warning" }>[] {
  return events.filter((event) => event.type === "task.warning");
}

/** All that is in the log, with its private parts, as one text. */
export async function textOfLog({ log, id }: Pick<Started, "log" | "id">): Promise<string> {
  return (await log.read(id, -1, 1e6)).map((row) => `${row.json}${row.private ?? ""}`).join("\n");
}

/** What people are asked, once there are so many questions. */
export async function questions(started: Started, count = 1): Promise<TaskApproval[]> {
  const open = ({ approvals }: TaskTree): TaskApproval[] =>
    approvals.filter(({ status }) => status === "pending");
  return open(await until(started, (state) => open(state).length >= count));
}

export async function question(started: Started): Promise<TaskApproval> {
  const [first] = await questions(started);
  if (first === undefined) throw new Error("nothing is asked");
  return first;
}

export async function decide(
  started: Started,
  decision: Partial<Parameters<Runtime["decide"]>[1]>,
): ReturnType<Runtime["decide"]> {
  const { approval_id } = await question(started);
  return started.runtime.decide(approval_id, { decision: "approve", by: "test", ...decision });
}

export function resultsIn(output: readonly OutputItem[]): ToolResultItem[] {
  return output.filter((item) => item.type === "tool_result");
}

/** What people see of a result. */
export function textOf(item: OutputItem | undefined): string {
  if (item?.type !== "tool_result" && item?.type !== "message") return "";
  const texts = item.block_list.map((block) => (block.type === "text" ? block.text : ""));
  return texts.join("");
}

export interface ToldItem {
  type?: string;
  role?: string;
  id?: string;
  call_id?: string;
  output?: unknown;
  content?: { text?: string }[];
}

/** What the model was told in a round; the last one if none is named. */
export function toldItems(model: ScriptedModel, round = model.asked.length - 1): ToldItem[] {
  return (model.asked[round]?.input ?? []) as ToldItem[];
}

/** What the model was told of results, in a round. */
export function toldResults(model: ScriptedModel, round: number): string[] {
  return toldItems(model, round)
    .filter(({ type }) => type === "function_call_output")
    .map(({ output }) => (typeof output === "string" ? output : JSON.stringify(output)));
}

/** A log with what another one had up to an event, as a process leaves it that ends there. */
export async function logUpTo(
  { log, id }: Pick<Started, "log" | "id">,
  isLast: (event: TaskEvent) => boolean = () => false,
): Promise<MemoryLog> {
  const cut = new MemoryLog();
  for (const row of await log.read(id, -1, 1e6)) {
    await cut.append(id, [entryOf(row)]);
    if (isLast(JSON.parse(row.json) as TaskEvent)) break;
  }
  return cut;
}

/** Another process that goes on from a log. */
export async function recovered(
  agent: Agent,
  { log, id }: { log: MemoryLog; id: string },
  options: Parameters<typeof runtimeOf>[1] = {},
): Promise<Started> {
  const made = runtimeOf(agent, { ...options, log });
  expect(await made.runtime.recover()).toEqual([id]);
  return { ...made, id };
}
