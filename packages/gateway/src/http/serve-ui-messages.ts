import { TaskError, type UiApproval } from "@deltawire/tasks";
import { invalid } from "../tasks/body-fields.ts";
import { taskNotFound } from "../tasks/followers.ts";
import { taskProblem } from "../tasks/task-problem.ts";
import { hasEnded } from "../tasks/task-runtime.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { Tellings } from "../tasks/tellings.ts";
import { readUiRequest, type UiRequest } from "../tasks/ui-request.ts";
import { UiTeller } from "../tasks/ui-teller.ts";
import type { Call } from "./call.ts";
import { Problem } from "./problem.ts";
import { readJson } from "./request-body.ts";
import type { Handler, TaskHandlers } from "./server.ts";

export interface UiMessageServer {
  tasks: TaskService;
  tellings: Tellings;
  maxBodyBytes: number;
}

/** What `useChat` of the `ai` SDK asks for: a chat is a session, and each message of the assistant a task. */
export function uiMessageHandlers(server: UiMessageServer): TaskHandlers {
  const served = (serve: (call: Call, server: UiMessageServer) => Promise<void>): Handler => {
    return async (call) => {
      try {
        await serve(call, server);
      } catch (error) {
        throw taskProblem(error);
      }
    };
  };
  return { "ui messages": served(takeMessages), "resume ui messages": served(resume) };
}

async function takeMessages(call: Call, server: UiMessageServer): Promise<void> {
  const { tasks, maxBodyBytes } = server;
  const asked = read(await readJson(call.request, maxBodyBytes), call);
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
  const replay = url.searchParams.get("replay");
  if (replay !== null && replay !== "all") throw invalid("replay", 'expected "all", or nothing');
  const task = await newestTask(chat, server.tasks);
  if (task === undefined || (hasEnded(task.status) && replay !== "all"))
    return void response.writeHead(204).end();
  if (request.method === "HEAD") return void response.writeHead(200, streamVersion).end();
  return tell(call, server, task.task_id);
}

const streamVersion = { "x-vercel-ai-ui-message-stream": "v1" };

/** Whoever leaves has not cancelled anything: the task goes on, and the chat can be resumed. */
function tell(
  call: Call,
  { tellings }: UiMessageServer,
  taskId: string,
  after?: number,
): Promise<void> {
  const { response } = call;
  for (const [name, value] of Object.entries(streamVersion)) response.setHeader(name, value);
  response.setHeader("x-deltawire-task", taskId);
  return tellings.stream(call, taskId, new UiTeller(after), { comesBack: true });
}

function read(body: unknown, { url }: Call): UiRequest {
  try {
    return readUiRequest(body, url.searchParams);
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    throw new Problem("invalid_request", error.message, { param: "messages", cause: error });
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
  if (outcome.is === "unknown")
    throw new Problem("approval_not_found", `there is no approval "${approval_id.slice(0, 100)}"`);
}

async function newestTask(chat: string, { records }: TaskService) {
  const [task] = await records.listTasks({ session: chat, limit: 1 });
  return task;
}

async function checkRoot(taskId: string, { records }: TaskService): Promise<void> {
  if ((await records.rootOf(taskId)) !== taskId) throw taskNotFound(taskId);
}

function byWhom({ client }: Call): string {
  return client?.name ?? "user";
}
