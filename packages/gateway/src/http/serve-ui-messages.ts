import { hasEnded, TaskError, type UiApproval } from "@deltawire/tasks";
import type { TaskService } from "../tasks/task-service.ts";
import type { TranslatedStreams } from "../tasks/follow/translated-streams.ts";
import { readUiRequest, type UiRequest } from "../tasks/ui-messages/ui-request.ts";
import { UiTranslator } from "../tasks/ui-messages/ui-translator.ts";
import type { Call } from "./call.ts";
import { Problem } from "../problem.ts";
import { readJson } from "./request-body.ts";
import type { TaskHandlers } from "./server.ts";
import { approvalNotFound, byWhom, checkRoot, replaysAll, served } from "./task-calls.ts";

export interface UiMessageServer {
  tasks: TaskService;
  streams: TranslatedStreams;
}

/** What `useChat` of the `ai` SDK asks for: a chat is a session, and each message of the assistant a task. */
export function uiMessageHandlers(server: UiMessageServer): TaskHandlers {
  return {
    "ui messages": served(takeMessages, server),
    "resume ui messages": served(resume, server),
  };
}

async function takeMessages(call: Call, server: UiMessageServer): Promise<void> {
  const { tasks } = server;
  const asked = read(await readJson(call), call);
  if (asked.is === "go on") {
    await checkRoot(asked.taskId, tasks);
    for (const approval of asked.approvals) await decide(call, tasks, approval);
    return tell(call, server, asked.taskId, asked.after);
  }
  const { request, chat } = asked;
  call.model = request.model ?? request.agent;
  const before = chat === undefined ? undefined : await newestTask(chat, tasks);
  const { taskId } = await tasks.start(request);
  // The user speaks instead of waiting for its end, or of deciding what it asks.
  if (before !== undefined && !hasEnded(before.status))
    await tasks.runtime.cancel(before.task_id, byWhom(call), "the chat went on without it");
  return tell(call, server, taskId);
}

/** 204 where nothing is under way: that is how the SDK hears that there is nothing to resume. */
async function resume(call: Call, server: UiMessageServer): Promise<void> {
  const { response, rest: chat, url, request } = call;
  const isReplay = replaysAll(url.searchParams);
  const task = await newestTask(chat, server.tasks);
  if (task === undefined || (hasEnded(task.status) && !isReplay))
    return void response.writeHead(204).end();
  if (request.method === "HEAD") return void response.writeHead(200, streamVersion).end();
  return tell(call, server, task.task_id);
}

const streamVersion = { "x-vercel-ai-ui-message-stream": "v1" };

/** Whoever leaves has not cancelled anything: the task goes on, and the chat can be resumed. */
function tell(
  call: Call,
  { streams }: UiMessageServer,
  taskId: string,
  after?: number,
): Promise<void> {
  const { response } = call;
  for (const [name, value] of Object.entries(streamVersion)) response.setHeader(name, value);
  response.setHeader("x-deltawire-task", taskId);
  return streams.stream(call, taskId, new UiTranslator(after), { comesBack: true });
}

function read(body: unknown, { url }: Call): UiRequest {
  try {
    return readUiRequest(body, url.searchParams);
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    throw new Problem("invalid_request", error.message, { param: error.path, cause: error });
  }
}

/** A decision that came too late changes nothing, and the stream tells which one holds. */
async function decide(
  call: Call,
  { runtime }: TaskService,
  { approval_id, approved, reason }: UiApproval,
): Promise<void> {
  const outcome = await runtime.decide(approval_id, {
    decision: approved ? "approve" : "deny",
    by: byWhom(call),
    ...(reason === undefined ? {} : { reason }),
  });
  if (outcome.is === "invalid") throw new Problem("invalid_request", outcome.message);
  if (outcome.is === "unknown") throw approvalNotFound(approval_id);
}

async function newestTask(chat: string, { records }: TaskService) {
  const [task] = await records.listTasks({ session: chat, limit: 1 });
  return task;
}
