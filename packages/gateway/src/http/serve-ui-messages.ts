import { hasEnded, TaskError, type UiApproval } from "@deltawire/tasks";
import type { TaskService } from "../tasks/task-service.ts";
import type { TranslatedStreams } from "../tasks/streams/translated-streams.ts";
import { parseUiRequest, type UiRequest } from "../tasks/ui-messages/ui-request.ts";
import { UiMessageTranslator } from "../tasks/ui-messages/ui-message-translator.ts";
import type { RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import { readJsonBody } from "./request-body.ts";
import { createNotFoundError } from "./route-owners.ts";
import type { TaskRouteHandlers } from "./server.ts";
import {
  getActorName,
  assertRootTask,
  parseReplayAll,
  withAccessKey,
  withTaskErrors,
} from "./task-request-params.ts";

export interface UiMessageRouteServices {
  tasks: TaskService;
  streams: TranslatedStreams;
}

/** Returns the handlers for `useChat` of the `ai` SDK. A chat is a session, and each assistant message is a task. */
export function createUiMessageHandlers(services: UiMessageRouteServices): TaskRouteHandlers {
  return {
    "ui messages": withTaskErrors(handleMessages, services),
    "resume ui messages": withTaskErrors(resumeStream, services),
  };
}

async function handleMessages(
  context: RequestContext,
  services: UiMessageRouteServices,
): Promise<void> {
  const { tasks } = services;
  const uiRequest = parseRequest(await readJsonBody(context), context);
  if (uiRequest.type === "continue") {
    await assertRootTask(uiRequest.taskId, context.owner, tasks);
    for (const approval of uiRequest.approvals) await decideApproval(context, tasks, approval);
    return streamTask(context, services, uiRequest.taskId, uiRequest.after);
  }
  const { request, chat } = uiRequest;
  context.model = request.model ?? request.agent;
  const previousTask =
    chat === undefined ? undefined : await findNewestTask(chat, context.owner, tasks);
  const { taskId } = await tasks.start(withAccessKey(request, context), { owner: context.owner });
  // A new message replaces the running task, even if that is waiting for an approval.
  if (previousTask !== undefined && !hasEnded(previousTask.status))
    await tasks.runtime.cancel(
      previousTask.task_id,
      getActorName(context),
      "the user sent another message",
    );
  return streamTask(context, services, taskId);
}

/** Replies 204 if no task is running, which tells the SDK that there is nothing to resume. */
async function resumeStream(
  context: RequestContext,
  services: UiMessageRouteServices,
): Promise<void> {
  const { response, pathParam: chatId, url, request } = context;
  const isReplay = parseReplayAll(url.searchParams);
  const task = await findNewestTask(chatId, context.owner, services.tasks);
  if (task === undefined || (hasEnded(task.status) && !isReplay))
    return void response.writeHead(204).end();
  if (request.method === "HEAD") return void response.writeHead(200, streamVersion).end();
  return streamTask(context, services, task.task_id);
}

const streamVersion = { "x-vercel-ai-ui-message-stream": "v1" };

/** Streams a task. A client that disconnects does not cancel it, and can resume the stream. */
function streamTask(
  context: RequestContext,
  { streams }: UiMessageRouteServices,
  taskId: string,
  after?: number,
): Promise<void> {
  const { response } = context;
  for (const [name, value] of Object.entries(streamVersion)) response.setHeader(name, value);
  response.setHeader("x-deltawire-task", taskId);
  return streams.stream(context, taskId, new UiMessageTranslator(after), { isResumable: true });
}

function parseRequest(body: unknown, { url }: RequestContext): UiRequest {
  try {
    return parseUiRequest(body, url.searchParams);
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    throw new GatewayError("invalid_request", error.message, { param: error.path, cause: error });
  }
}

/** Applies a decision. If another one was first, it is ignored, and the stream shows the one that applies. */
async function decideApproval(
  context: RequestContext,
  { runtime, records }: TaskService,
  { approval_id, approved, reason }: UiApproval,
): Promise<void> {
  if (!(await records.owns(context.owner, "approval", approval_id)))
    throw createNotFoundError("approval", approval_id);
  const outcome = await runtime.decide(approval_id, {
    decision: approved ? "approve" : "deny",
    by: getActorName(context),
    ...(reason === undefined ? {} : { reason }),
  });
  if (outcome.type === "invalid") throw new GatewayError("invalid_request", outcome.message);
  if (outcome.type === "not_found") throw createNotFoundError("approval", approval_id);
}

async function findNewestTask(chatId: string, owner: string, { records }: TaskService) {
  const [task] = await records.listTasks({ owner, session: chatId, limit: 1 });
  return task;
}
