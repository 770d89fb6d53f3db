import { hash } from "node:crypto";
import { hasEnded } from "@deltawire/tasks";
import {
  responsesRequest,
  type ChatOverResponsesOptions,
  type JsonObject,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { KeptResponses } from "../history/kept-responses.ts";
import { newId } from "../new-id.ts";
import type { ClientRequest } from "../relay/plan.ts";
import { AgentChat, chatOfAgent } from "../tasks/agent-models/agent-chat.ts";
import { AgentReply } from "../tasks/agent-models/agent-reply.ts";
import { agentRequest } from "../tasks/agent-models/agent-request.ts";
import {
  AgentTranslator,
  chatWire,
  noWire,
  responsesWire,
} from "../tasks/agent-models/agent-translator.ts";
import { taskProblem } from "../tasks/task-problem.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { TranslatedStreams } from "../tasks/follow/translated-streams.ts";
import type { ReplyRequest, WaitingReplies } from "../tasks/agent-models/waiting-replies.ts";
import { sendJson, type Call } from "./call.ts";
import { isProblemCode, Problem } from "../problem.ts";

/** Where agents run that are asked as models. */
export interface AgentServer {
  tasks: TaskService;
  streams: TranslatedStreams;
  /** What clients refer to, of replies of agents. */
  kept: KeptResponses;
  waiting: WaitingReplies;
  /** It is the gateway that leaves, not the client: the task goes on after the next start. */
  isEnding(): boolean;
}

/**
 * An agent where a client asked for a model. Its task ends when the client leaves, who has no other hold on it; unless a
 * person is needed: then the client is told so, and the task waits.
 */
export async function serveAgent(
  call: Call,
  server: AgentServer,
  client: ClientRequest,
  agent: string,
): Promise<void> {
  const { tasks, streams, kept, waiting } = server;
  const { response, signal } = call;
  const { request, chat } = translated(client, agent);
  const expanded = kept.expand(request, call.client?.name);
  const asked = agentRequest(expanded.request, agent, client);
  const key = hash("sha256", JSON.stringify([call.client?.name ?? "", asked.key]));
  const found = await waitingTask(key, server);
  const taskId = found ?? (await started(tasks, { ...asked.task, reply_key: key }));
  response.setHeader("x-deltawire-task", taskId);
  const reply = new AgentReply({
    taskId,
    retracted: found === undefined ? new Set() : await retractedOf(found, tasks),
    origin: originOf(call),
    responseId: newId(client.wire === "chat" ? "chatcmpl" : "resp"),
    createdAt: Math.floor(Date.now() / 1000),
    model: agent,
    codex: client.wire === "responses" && client.codex,
    reasoning: client.wire === "responses" ? client.reasoning : "summary",
    echo: echoOf(request),
  });
  const isStreamed = client.request.stream === true;
  try {
    if (isStreamed) {
      const wire = chat === undefined ? responsesWire : chatWire(new AgentChat(chat));
      const translator = new AgentTranslator(reply, wire);
      await streams.stream(call, taskId, translator, { comesBack: false });
    } else await streams.whole(taskId, new AgentTranslator(reply, noWire), signal);
  } finally {
    note(call, reply);
    if (reply.failure?.code === "approval_required") waiting.keep(key, taskId);
    else if (reply.ended) waiting.forget(key);
    else if (found === undefined && !server.isEnding())
      await tasks.runtime.cancel(taskId, "client", "the client left");
  }
  if (reply.ended && reply.failure === undefined && request.store !== false)
    kept.keep(expanded, reply.response);
  if (!isStreamed && reply.ended && !signal.aborted) sendWhole(call, reply, chat);
}

/** The request on the Responses wire, and what a reply on the Chat wire needs to know of it. */
function translated(
  client: ClientRequest,
  agent: string,
): { request: ResponsesRequest; chat: ChatOverResponsesOptions | undefined } {
  if (client.wire === "responses") return { request: client.request, chat: undefined };
  const { body, includeUsage } = responsesRequest(client.request);
  const createdAt = Math.floor(Date.now() / 1000);
  return { request: body, chat: { newId, createdAt, includeUsage, model: agent } };
}

/** A task that was left waiting by the same request. One that came to no good is not told again. */
async function waitingTask(
  key: string,
  { tasks, waiting }: AgentServer,
): Promise<string | undefined> {
  const taskId = waiting.taskOf(key);
  const kept = taskId === undefined ? undefined : await tasks.records.head(taskId);
  return kept === undefined || (hasEnded(kept.status) && kept.status !== "completed")
    ? undefined
    : taskId;
}

/** What such a task has taken back need not be said first. */
async function retractedOf(taskId: string, tasks: TaskService): Promise<ReadonlySet<string>> {
  const output = (await tasks.tree(taskId)).tasks[taskId]?.output ?? [];
  return new Set(output.flatMap(({ type, id }) => (type === "retracted" ? [id] : [])));
}

async function started(tasks: TaskService, asked: ReplyRequest): Promise<string> {
  try {
    return (await tasks.start(asked)).taskId;
  } catch (error) {
    throw taskProblem(error);
  }
}

/** Where the client reached the gateway; a proxy in between says how. */
function originOf({ request }: Call): string {
  const { host = "localhost", "x-forwarded-proto": scheme } = request.headers;
  return `${scheme === "https" ? "https" : "http"}://${host}`;
}

function echoOf({ metadata, previous_response_id, store }: ResponsesRequest): JsonObject {
  return {
    metadata: metadata ?? {},
    parallel_tool_calls: true,
    previous_response_id: previous_response_id ?? null,
    store: store ?? true,
    tool_choice: "auto",
    // Those that it has are its own, and those of the client are not called.
    tools: [],
  };
}

function note(call: Call, { response, failure }: AgentReply): void {
  call.record = {
    attempts: 0,
    lessons: [],
    repairs: new Map(),
    usage: response.usage ?? undefined,
    ...(failure === undefined ? {} : { failure: failure.code }),
  };
}

function sendWhole(
  call: Call,
  { response, failure }: AgentReply,
  chat: ChatOverResponsesOptions | undefined,
): void {
  call.firstByteAt = performance.now();
  if (chat === undefined) return sendJson(call.response, 200, response);
  if (failure !== undefined) {
    const { code, message, ...more } = failure;
    throw new Problem(isProblemCode(code) ? code : "upstream_error", message, { provider: more });
  }
  const collected = chatOfAgent(response, chat);
  if (!collected.ok) throw new Problem("upstream_error", collected.error.message);
  sendJson(call.response, 200, collected.completion);
}
