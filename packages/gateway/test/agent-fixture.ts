import type { ServerResponse } from "node:http";
import type { TaskView } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import type { TestGateway } from "./test-gateway.ts";
import { gatewayFixture } from "./gateway-fixture.ts";
import {
  beginStream,
  chatChunk,
  formatEvent,
  streamText,
  type ReceivedRequest,
  type ScriptedUpstream,
} from "./scripted-upstream.ts";

/* A gateway with configured agents, whose model is scripted. */

const agentsToml = `
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
export const approvalToml = `${agentsToml}\n[tools.time]\napproval = "ask_always"\n`;

export type ScriptedRound = (
  response: ServerResponse,
  request: ReceivedRequest,
) => void | Promise<void>;

/** The model plays one round per request, in order, and repeats the last one. */
export function scriptedAgentFixture(
  rounds: readonly ScriptedRound[],
  options: Parameters<typeof gatewayFixture>[1] = {},
) {
  let roundIndex = 0;
  const script = (request: ReceivedRequest, response: ServerResponse) => {
    const round = rounds[Math.min(roundIndex, rounds.length - 1)];
    roundIndex += 1;
    return round?.(response, request);
  };
  return gatewayFixture(script, { toml: agentsToml, ...options });
}

/** A round in which the model reasons, writes a message and calls a tool. */
export function callTool(name: string, args: JsonObject, content = "One moment."): ScriptedRound {
  return (response) => {
    beginStream(response);
    const call = { name, arguments: JSON.stringify(args) };
    response.write(formatEvent(chatChunk({ reasoning_content: `I need ${name}.` })));
    response.write(formatEvent(chatChunk({ content: content })));
    const calling = {
      tool_calls: [{ index: 0, id: "call_abcdef", type: "function", function: call }],
    };
    response.write(formatEvent(chatChunk(calling)));
    response.write(formatEvent(chatChunk({}, "tool_calls")));
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    response.write(formatEvent({ ...chatChunk({}), choices: [], usage }));
    response.end(formatEvent("[DONE]"));
  };
}

export const answerText =
  (...content: string[]): ScriptedRound =>
  (response) => {
    beginStream(response);
    response.write(formatEvent(chatChunk({ reasoning_content: "Now I know." })));
    streamText(response, ...content);
  };

export const callClock = callTool("current_time", {});
export const agentResponsesRequest = { model: "clerk", input: "What time is it?" };
export const agentChatRequest = {
  model: "clerk",
  messages: [{ role: "user", content: "What time is it?" }],
};
export const streamOption = { stream: true };

export const listEventTypes = (events: readonly JsonObject[]) => events.map(({ type }) => type);

export function getOutput(response: JsonObject): JsonObject[] {
  return response["output"] as JsonObject[];
}

export function getOutputTexts(response: JsonObject): string[] {
  return getOutput(response).flatMap((item) =>
    item["type"] === "message"
      ? (item["content"] as { text: string }[]).map(({ text }) => text)
      : [],
  );
}

/** Returns the messages that the n-th request sent to the model. */
export function getSentMessages({ requests }: ScriptedUpstream, n: number): JsonObject[] {
  return (requests[n]?.body["messages"] ?? []) as JsonObject[];
}

export function getFinalResponse(events: readonly JsonObject[]): JsonObject {
  return events.at(-1)?.["response"] as JsonObject;
}

export async function fetchTaskView(
  { url }: TestGateway,
  taskId: string | null,
): Promise<TaskView> {
  return (await (await fetch(`${url}/api/tasks/${taskId}`)).json()) as TaskView;
}

export async function fetchTasks({
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
