import {
  hasEnded,
  isBlobHash,
  taskStatuses,
  type ApprovalDecision,
  type TaskStatus,
} from "@deltawire/tasks";
import {
  cancelBody,
  decisionBody,
  taskInputBody,
  type ApprovalsReply,
} from "@deltawire/tasks/chats";
import type { AnswerLocator } from "../chats/answer-locator.ts";
import {
  chatsCursorName,
  parseLastEventId,
  parseCursor,
  parseTaskCursor,
} from "../tasks/streams/cursors.ts";
import type { EventStreams } from "../tasks/streams/event-streams.ts";
import { invalidRequest } from "../parse-body.ts";
import { taskRequestSchema } from "../tasks/task-request.ts";
import { createTaskNotFoundError } from "../tasks/task-errors.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { TaskRecords } from "../tasks/task-runtime.ts";
import { sendJson, type RequestContext } from "./request-context.ts";
import { paginate, parseLimit } from "./pagination.ts";
import { GatewayError } from "../gateway-error.ts";
import { readValidatedBody } from "./request-body.ts";
import { createNotFoundError, withOwnerChecks } from "./route-owners.ts";
import { sendBlob } from "./send-blob.ts";
import type { RouteHandler, TaskRouteHandlers } from "./server.ts";
import {
  getActorName,
  assertRootTask,
  getFirstHeaderValue,
  getScopedIdempotencyKey,
  readIdempotencyKey,
  parseReplayAll,
  findRootTaskError,
  withAccessKey,
  withTaskErrors,
  parseStamp,
} from "./task-request-params.ts";

export interface TaskRouteServices {
  tasks: TaskService;
  streams: EventStreams;
  /** Finds the chats that tasks belong to. Undefined: there are no chats. */
  answerLocator?: Pick<AnswerLocator, "locate">;
}

/** Returns the handlers of all task routes. */
export function createTaskHandlers(services: TaskRouteServices): TaskRouteHandlers {
  const handler = (
    serve: (context: RequestContext, services: TaskRouteServices) => Promise<void>,
  ): RouteHandler => withTaskErrors(serve, services);
  const handlers: TaskRouteHandlers = {
    "start task": handler(startTask),
    tasks: handler(listTasks),
    task: handler(serveTask),
    "task events": handler(serveTaskEvents),
    "cancel task": handler(cancelTask),
    "task input": handler(addInput),
    approvals: handler(listApprovals),
    "decide approval": handler(decideApproval),
    events: handler(serveEvents),
    blob: handler(serveBlob),
  };
  return withOwnerChecks(handlers, services.tasks.records);
}

async function startTask(
  context: RequestContext,
  { tasks, streams }: TaskRouteServices,
): Promise<void> {
  const { request, response } = context;
  const taskRequest = await readValidatedBody(context, taskRequestSchema);
  context.model = taskRequest.model ?? taskRequest.agent;
  const { taskId, isNew } = await tasks.start(withAccessKey(taskRequest, context), {
    idempotencyKey: getScopedIdempotencyKey(context),
    owner: context.owner,
  });
  const headers = {
    location: `/api/tasks/${encodeURIComponent(taskId)}`,
    ...(isNew ? {} : { "idempotent-replayed": "true" }),
  };
  if (!/\btext\/event-stream\b/i.test(request.headers.accept ?? ""))
    return sendJson(response, 201, await loadTaskView(taskId, tasks), headers);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  await streams.serve(context, {
    cursors: [{ taskId, after: -1 }],
    usesCursorVector: false,
    replayAll: false,
    isReconnect: false,
  });
}

async function listTasks(
  { response, url, owner }: RequestContext,
  { tasks }: TaskRouteServices,
): Promise<void> {
  const { limit, ...query } = { ...parseTaskQuery(url.searchParams), owner };
  const page = await paginate(
    limit,
    (rowLimit) => tasks.records.listTasks({ ...query, limit: rowLimit }),
    ({ task_id }) => task_id,
  );
  sendJson(response, 200, page);
}

const includableFields = ["task", "content"];

/**
 * Sends a task. `include=task` adds the request with agent and limits, the total usage and why the task ended.
 * `include=content` adds the text of messages and tool results. Both: `include=task,content`.
 */
async function serveTask(
  { response, pathParam, url }: RequestContext,
  { tasks }: TaskRouteServices,
): Promise<void> {
  const include = url.searchParams.getAll("include").flatMap((names) => names.split(","));
  const unknownName = include.find((name) => !includableFields.includes(name));
  if (unknownName !== undefined)
    throw invalidRequest("include", `expected "task", "content" or both ("task,content")`);
  const task = await tasks.findTask(pathParam);
  const view = include.includes("content")
    ? await tasks.loadViewWithContent(pathParam)
    : task?.view;
  if (task === undefined || view === undefined) throw createTaskNotFoundError(pathParam);
  if (!include.includes("task")) return sendJson(response, 200, view);
  const { info, tree_usage, ended } = task.state;
  sendJson(response, 200, {
    ...view,
    task: info,
    tree_usage: tree_usage ?? null,
    ended: ended ?? null,
  });
}

async function serveTaskEvents(
  context: RequestContext,
  { tasks, streams }: TaskRouteServices,
): Promise<void> {
  const { request, pathParam: taskId, url } = context;
  const lastEventId = getFirstHeaderValue(request.headers["last-event-id"]);
  const afterParam = url.searchParams.get("after");
  // An EventSource that reconnects still uses its original URL.
  const after =
    lastEventId !== undefined
      ? parseCursor(lastEventId, "Last-Event-ID")
      : afterParam !== null
        ? parseCursor(afterParam, "after")
        : undefined;
  await assertRootTask(taskId, context.owner, tasks);
  await streams.serve(context, {
    cursors: [{ taskId, after }],
    usesCursorVector: false,
    replayAll: parseReplayAll(url.searchParams),
    isReconnect: lastEventId !== undefined,
  });
}

/** Maximum number of tasks per connection, because the id of each event contains the positions of all of them. */
const maxTasks = 100;

/**
 * Streams tasks, and with `chats` the changes of chats, on one connection. An unknown task is reported in the stream, so
 * that the others continue, or by the status if there are no others.
 */
async function serveEvents(
  context: RequestContext,
  { tasks, streams }: TaskRouteServices,
): Promise<void> {
  const { request, url } = context;
  const query = url.searchParams;
  const cursors = query.getAll("task").map((text) => parseTaskCursor(text, "task"));
  const stamps = query
    .getAll(chatsCursorName)
    .map((text) => (text === "" ? undefined : parseStamp(text, chatsCursorName)));
  if (stamps.length > 1) throw invalidRequest(chatsCursorName, "expected one stamp");
  if (cursors.length === 0 && stamps.length === 0)
    throw invalidRequest("task", "expected at least one ?task=TASK:NUMBER, or ?chats=STAMP");
  if (cursors.length > maxTasks)
    throw invalidRequest("task", `expected at most ${maxTasks} tasks, got ${cursors.length}`);
  if (new Set(cursors.map(({ taskId }) => taskId)).size < cursors.length)
    throw invalidRequest("task", "expected each task only once");
  const lastEventId = getFirstHeaderValue(request.headers["last-event-id"]);
  const resumeCursors = parseLastEventId(lastEventId);
  const chats = stamps.map((stamp) => ({ after: resumeCursors.get(chatsCursorName) ?? stamp }))[0];
  const rejectedTasks: { taskId: string; problem: GatewayError }[] = [];
  for (const { taskId } of cursors) {
    const problem = await findRootTaskError(taskId, context.owner, tasks);
    if (problem !== undefined) rejectedTasks.push({ taskId, problem });
  }
  const [firstRejected] = rejectedTasks;
  if (firstRejected !== undefined && rejectedTasks.length === cursors.length && chats === undefined)
    throw firstRejected.problem;
  await streams.serve(context, {
    cursors: cursors
      .filter(({ taskId }) => !rejectedTasks.some((task) => task.taskId === taskId))
      .map(({ taskId, after }) => ({ taskId, after: resumeCursors.get(taskId) ?? after })),
    chats,
    rejectedTasks,
    usesCursorVector: true,
    replayAll: parseReplayAll(query),
    isReconnect: lastEventId !== undefined,
  });
}

async function cancelTask(context: RequestContext, { tasks }: TaskRouteServices): Promise<void> {
  const { response, pathParam: taskId } = context;
  const { reason } = await readValidatedBody(context, cancelBody, { whenEmpty: {} });
  const outcome = await tasks.runtime.cancel(taskId, getActorName(context), reason);
  if (outcome === "unknown") throw createTaskNotFoundError(taskId);
  if (outcome === "canceled") await tasks.waitForEnd(taskId, maxCancelWaitMs);
  const view = await loadTaskView(taskId, tasks);
  // Canceling a task twice is not an error.
  if (outcome === "ended" && view.status !== "canceled")
    throw createNotRunningError(taskId, view.status);
  sendJson(response, 200, view);
}

/** How long the reply waits for the task to end. A task that takes longer is canceled all the same. */
const maxCancelWaitMs = 1000;

async function addInput(context: RequestContext, { tasks }: TaskRouteServices): Promise<void> {
  const { response, pathParam: taskId } = context;
  const input = await readValidatedBody(context, taskInputBody);
  const outcome = await tasks.addInput(taskId, input, getScopedIdempotencyKey(context));
  if (outcome === "unknown") throw createTaskNotFoundError(taskId);
  if (outcome === "ended")
    throw createNotRunningError(taskId, (await loadTaskView(taskId, tasks)).status);
  const headers = outcome === "added" ? {} : { "idempotent-replayed": "true" };
  sendJson(response, 200, { task_id: taskId, delivery: input.delivery }, headers);
}

/** Lists the pending approvals of the owner, each with the chat that its task belongs to, if any. */
async function listApprovals(
  { response, owner }: RequestContext,
  { tasks, answerLocator }: TaskRouteServices,
): Promise<void> {
  const pending = await tasks.runtime.pending(owner);
  const chats = await answerLocator?.locate(
    new Set(pending.map(({ root_task_id }) => root_task_id)),
  );
  const data = pending.map((approval) => {
    const chat = chats?.get(approval.root_task_id);
    return chat === undefined ? approval : { ...approval, chat };
  });
  sendJson(response, 200, { data } satisfies ApprovalsReply);
}

async function decideApproval(
  context: RequestContext,
  { tasks }: TaskRouteServices,
): Promise<void> {
  const { response, pathParam: approvalId } = context;
  const { arguments: args, ...decision } = await readValidatedBody(context, decisionBody);
  const key = readIdempotencyKey(context);
  const outcome = await tasks.runtime.decide(approvalId, {
    ...decision,
    ...(args === undefined
      ? {}
      : { arguments: typeof args === "string" ? args : JSON.stringify(args) }),
    by: getActorName(context),
    ...(key === undefined ? {} : { idempotency_key: key }),
  });
  switch (outcome.type) {
    case "resolved":
      return sendJson(response, 200, { approval: outcome.approval });
    case "repeated":
      return sendJson(
        response,
        200,
        { approval: outcome.approval },
        { "idempotent-replayed": "true" },
      );
    case "superseded": {
      const { approval } = outcome;
      const { resolution, status, task_id } = approval;
      if (status === "pending")
        throw createNotRunningError(task_id, (await loadTaskView(task_id, tasks)).status);
      throw new GatewayError(
        "approval_resolved",
        resolution === undefined
          ? `the approval is no longer pending (${status})`
          : `already ${pastParticiples[resolution.decision]} by ${resolution.by}`,
        { extraFields: { approval } },
      );
    }
    case "invalid":
      throw new GatewayError("invalid_request", outcome.message, {
        param: /^(\w+):/.exec(outcome.message)?.[1],
      });
    case "not_found":
      throw createNotFoundError("approval", approvalId);
  }
}

const pastParticiples: Readonly<Record<ApprovalDecision, string>> = {
  approve: "approved",
  deny: "denied",
  redact: "redacted",
  abort: "aborted",
};

async function serveBlob(
  { request, response, pathParam, owner }: RequestContext,
  { tasks }: TaskRouteServices,
): Promise<void> {
  const blob = isBlobHash(pathParam) ? await tasks.records.get(pathParam, { owner }) : undefined;
  if (blob === undefined) throw createNotFoundError("blob", pathParam);
  sendBlob(response, request.headers, pathParam, blob);
}

async function loadTaskView(taskId: string, tasks: TaskService) {
  const view = await tasks.loadView(taskId);
  if (view === undefined) throw createTaskNotFoundError(taskId);
  return view;
}

function createNotRunningError(taskId: string, status: TaskStatus): GatewayError {
  if (hasEnded(status))
    return new GatewayError("task_ended", `${taskId} has already ended (${status})`);
  return new GatewayError(
    "task_not_running",
    `${taskId} is waiting to be resumed; try again in a few seconds`,
    {
      retryAfter: 5,
    },
  );
}

function parseTaskQuery(
  query: URLSearchParams,
): Omit<Parameters<TaskRecords["listTasks"]>[0], "owner"> {
  const before = query.get("before");
  const session = query.get("session_id");
  const status = query.get("status");
  if (status !== null && !taskStatuses.some((known) => known === status))
    throw invalidRequest("status", `expected one of ${taskStatuses.join(", ")}`);
  return {
    limit: parseLimit(query),
    ...(before === null ? {} : { before }),
    ...(session === null ? {} : { session }),
    ...(status === null ? {} : { status }),
  };
}
