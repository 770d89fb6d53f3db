import type { ServerResponse } from "node:http";
import type { TaskView } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import type { TestGateway } from "./running-gateway.ts";
import { scene } from "./scene.ts";
import {
  beginStream,
  chunk,
  event,
  says,
  type Received,
  type ScriptedUpstream,
} from "./scripted-upstream.ts";

/* Agents of a deltawire.toml, asked as models, on a model that does what a script says. */

const agents = `
[agents.clerk]
model = "up/m"
instructions = "You are the clerk."
tool_groups = ["time"]
agents = ["aide"]

[agents.aide]
model = "up/m"
instructions = "You are the aide."
tool_groups = ["time"]
`;
export const asksFirst = `${agents}\n[tools.time]\napproval = "ask always"\n`;

export type Round = (response: ServerResponse, request: Received) => void | Promise<void>;

/** The model says one thing after the other, whoever asks. */
export function office(rounds: readonly Round[], options: Parameters<typeof scene>[1] = {}) {
  let asked = 0;
  const script = (request: Received, response: ServerResponse) => {
    const round = rounds[Math.min(asked, rounds.length - 1)];
    asked += 1;
    return round?.(response, request);
  };
  return scene(script, { toml: agents, ...options });
}

/** Thinks, says something, and calls. */
export function calls(name: string, args: JsonObject, words = "One moment."): Round {
  return (response) => {
    beginStream(response);
    const call = { name, arguments: JSON.stringify(args) };
    response.write(event(chunk({ reasoning_content: `I need ${name}.` })));
    response.write(event(chunk({ content: words })));
    const calling = {
      tool_calls: [{ index: 0, id: "call_abcdef", type: "function", function: call }],
    };
    response.write(event(chunk(calling)));
    response.write(event(chunk({}, "tool_calls")));
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    response.write(event({ ...chunk({}), choices: [], usage }));
    response.end(event("[DONE]"));
  };
}

export const answers =
  (...words: string[]): Round =>
  (response) => {
    beginStream(response);
    response.write(event(chunk({ reasoning_content: "Now I know." })));
    says(response, ...words);
  };

export const clock = calls("current_time", {});
export const ask = { model: "clerk", input: "What time is it?" };
export const askChat = {
  model: "clerk",
  messages: [{ role: "user", content: "What time is it?" }],
};
export const streamed = { stream: true };

export const typesOf = (events: readonly JsonObject[]) => events.map(({ type }) => type);

export function itemsOf(response: JsonObject): JsonObject[] {
  return response["output"] as JsonObject[];
}

export function textsOf(response: JsonObject): string[] {
  return itemsOf(response).flatMap((item) =>
    item["type"] === "message"
      ? (item["content"] as { text: string }[]).map(({ text }) => text)
      : [],
  );
}

/** What the model was told, the n-th time that it was asked. */
export function messagesOf({ requests }: ScriptedUpstream, n: number): JsonObject[] {
  return (requests[n]?.body["messages"] ?? []) as JsonObject[];
}

export function lastResponse(events: readonly JsonObject[]): JsonObject {
  return events.at(-1)?.["response"] as JsonObject;
}

export async function viewOf({ url }: TestGateway, taskId: string | null): Promise<TaskView> {
  return (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
}

export async function tasksOf({
  url,
}: TestGateway): Promise<{ task_id: string; status: string }[]> {
  const list = (await (await fetch(`${url}/api/tasks`)).json()) as { data: [] };
  return list.data;
}

export async function decide(
  { url }: TestGateway,
  view: TaskView,
  decision: string,
): Promise<void> {
  const id = view.approvals.find(({ status }) => status === "pending")?.approval_id;
  const body = JSON.stringify({ decision });
  const headers = { "content-type": "application/json" };
  const reply = await fetch(`${url}/api/approvals/${id}`, { method: "POST", headers, body });
  if (reply.status !== 200) throw new Error(await reply.text());
}
