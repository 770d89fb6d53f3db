import { hash } from "node:crypto";
import type { TaskRequest } from "@deltawire/agent";
import { assertNever, type TaskCreation } from "@deltawire/tasks";
import {
  buildRequestEcho,
  MessagesOverResponses,
  translateChatRequest,
  translateMessagesToResponses,
  translateResponsesReplyToMessage,
  type ChatOverResponsesOptions,
  type JsonObject,
  type MessagesOverResponsesOptions,
  type ResponsesRequest,
} from "@deltawire/wire";
import type { ResponseHistory } from "../history/response-history.ts";
import { newId } from "../new-id.ts";
import type { ClientRequest } from "../relay/client-request.ts";
import { AgentChatStream, toChatCompletion } from "../tasks/agent-models/agent-chat-stream.ts";
import { AgentReply } from "../tasks/agent-models/agent-reply.ts";
import { buildAgentTaskRequest } from "../tasks/agent-models/agent-request.ts";
import {
  AgentTranslator,
  createChatEncoding,
  createMessagesEncoding,
  noEncoding,
  responsesEncoding,
} from "../tasks/agent-models/agent-translator.ts";
import { toTaskError } from "../tasks/task-errors.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { TranslatedStreams } from "../tasks/streams/translated-streams.ts";
import { getClientScope, sendJson, type RequestContext } from "./request-context.ts";
import { assertAgentScope } from "./route-scopes.ts";
import { withAccessKey } from "./task-request-params.ts";
import { isGatewayErrorCode, GatewayError } from "../gateway-error.ts";

/** Dependencies of the handlers that run agents as models. */
export interface AgentRouteServices {
  tasks: TaskService;
  streams: TranslatedStreams;
  /** Replies of agents, for `previous_response_id`. */
  history: ResponseHistory;
  /** True while the gateway is shutting down. Tasks are then not canceled, so that they resume after the next start. */
  isShuttingDown(): boolean;
}

/**
 * Runs an agent that a client requested as a model. The task is canceled if the client disconnects, because the client
 * has no other way to stop it. A task that needs an approval waits for it, and the client gets an error that says so.
 */
export async function serveAgent(
  context: RequestContext,
  services: AgentRouteServices,
  client: ClientRequest,
  { agent, responseId }: { agent: string; responseId: string | undefined },
): Promise<void> {
  const { tasks, streams, history } = services;
  const { response, signal, accessKey } = context;
  if (accessKey !== undefined) assertAgentScope(accessKey, agent);
  const { request, format } = toResponsesRequest(client, agent);
  const resolved = await history.resolve(request, getClientScope(context));
  if (resolved.unresolved !== undefined) throw resolved.unresolved;
  const agentTask = buildAgentTaskRequest(resolved.request, agent, client);
  const replyKey = hash("sha256", JSON.stringify([getClientScope(context), agentTask.requestKey]));
  const { records } = tasks;
  // The client repeats a request after an approval, and automatically if the gateway has stopped.
  const waitingTaskId = await records.findTaskWithLostReply(replyKey);
  const { owner } = context;
  const taskId =
    waitingTaskId ??
    (await startTask(tasks, withAccessKey(agentTask.task, context), { owner, replyKey }));
  response.setHeader("x-deltawire-task", taskId);
  const reply = new AgentReply({
    taskId,
    retractedIds:
      waitingTaskId === undefined ? new Set() : await findRetractedIds(waitingTaskId, tasks),
    origin: getOrigin(context),
    responseId: responseId ?? newId(idPrefixes[client.wire]),
    createdAt: Math.floor(Date.now() / 1000),
    model: agent,
    isCodex: client.wire === "responses" && client.isCodex,
    reasoning: client.wire === "responses" ? client.reasoning : "summary",
    echo: buildEchoedFields(request),
  });
  const isStreamed = client.request.stream === true;
  try {
    if (isStreamed) {
      const translator = new AgentTranslator(reply, createEncoding(format));
      await streams.stream(context, taskId, translator, { isResumable: false });
    } else await streams.runToEnd(taskId, new AgentTranslator(reply, noEncoding), signal);
  } finally {
    recordExchange(context, reply);
    if (reply.failure?.code === "approval_required") await records.setReplyLost(taskId, true);
    else if (reply.hasEnded) {
      if (waitingTaskId !== undefined) await records.setReplyLost(taskId, false);
    } else if (waitingTaskId === undefined && !services.isShuttingDown())
      await tasks.runtime.cancel(taskId, "client", "the client disconnected");
  }
  if (
    reply.hasEnded &&
    reply.failure === undefined &&
    client.wire === "responses" &&
    request.store !== false
  )
    await history.save(resolved, getClientScope(context), reply.response as unknown as JsonObject);
  if (!isStreamed && reply.hasEnded && !signal.aborted) sendCompleteReply(context, reply, format);
}

const idPrefixes = { responses: "resp", chat: "chatcmpl", messages: "msg" } as const;

/** The API of the client, to which the reply is converted. */
type ReplyFormat =
  | { api: "responses" }
  | { api: "chat"; options: ChatOverResponsesOptions }
  | { api: "messages"; options: MessagesOverResponsesOptions };

function createEncoding(format: ReplyFormat) {
  switch (format.api) {
    case "responses":
      return responsesEncoding;
    case "chat":
      return createChatEncoding(new AgentChatStream(format.options));
    case "messages":
      return createMessagesEncoding(new MessagesOverResponses(format.options));
    default:
      return assertNever(format);
  }
}

/** Converts the request to the Responses API. `format`: how the reply is converted back. */
function toResponsesRequest(
  client: ClientRequest,
  agent: string,
): { request: ResponsesRequest; format: ReplyFormat } {
  switch (client.wire) {
    case "responses":
      return { request: client.request, format: { api: "responses" } };
    case "chat": {
      const { body, includeUsage } = translateChatRequest(client.request);
      const createdAt = Math.floor(Date.now() / 1000);
      return {
        request: body,
        format: { api: "chat", options: { newId, createdAt, includeUsage, model: agent } },
      };
    }
    case "messages": {
      const { body } = translateMessagesToResponses(client.request);
      const options = {
        messageId: newId("msg"),
        newId,
        model: agent,
        requestId: client.requestId,
      };
      return { request: body, format: { api: "messages", options } };
    }
    default:
      return assertNever(client);
  }
}

/** Returns the ids of the items that the task has retracted, which the reply omits. */
async function findRetractedIds(taskId: string, tasks: TaskService): Promise<ReadonlySet<string>> {
  const output = (await tasks.loadTree(taskId)).tasks[taskId]?.output ?? [];
  return new Set(output.flatMap(({ type, id }) => (type === "retracted" ? [id] : [])));
}

async function startTask(
  tasks: TaskService,
  agentTask: TaskRequest,
  creation: TaskCreation,
): Promise<string> {
  try {
    return (await tasks.start(agentTask, creation)).taskId;
  } catch (error) {
    throw toTaskError(error);
  }
}

/** Returns the gateway's origin as the client reaches it, possibly through a proxy. */
function getOrigin({ request }: RequestContext): string {
  const { host = "localhost", "x-forwarded-proto": scheme } = request.headers;
  return `${scheme === "https" ? "https" : "http"}://${host}`;
}

/** Returns the fields of a response that repeat those of the request. */
function buildEchoedFields({
  metadata = null,
  previous_response_id = null,
  store,
}: ResponsesRequest): JsonObject {
  // The agent has its own tools and settings, and the client's tools are never called.
  return buildRequestEcho({ metadata, previous_response_id, store: store ?? true });
}

function recordExchange(context: RequestContext, { response, failure }: AgentReply): void {
  context.record = {
    attempts: 0,
    lessons: [],
    repairs: new Map(),
    usage: response.usage ?? undefined,
    ...(failure === undefined ? {} : { failure: failure.code }),
  };
}

function sendCompleteReply(
  context: RequestContext,
  { response, failure }: AgentReply,
  format: ReplyFormat,
): void {
  context.firstByteAt = performance.now();
  if (format.api === "responses") return sendJson(context.response, 200, response);
  if (failure !== undefined) {
    const { code, message, ...extraFields } = failure;
    throw new GatewayError(isGatewayErrorCode(code) ? code : "upstream_error", message, {
      providerError: extraFields,
    });
  }
  if (format.api === "messages") {
    const reply = translateResponsesReplyToMessage(
      response as unknown as JsonObject,
      format.options,
    );
    if (!reply.ok) throw new GatewayError("upstream_error", reply.error.error.message);
    return sendJson(context.response, 200, reply.message);
  }
  const conversion = toChatCompletion(response, format.options);
  if (!conversion.ok) throw new GatewayError("upstream_error", conversion.error.message);
  sendJson(context.response, 200, conversion.completion);
}
