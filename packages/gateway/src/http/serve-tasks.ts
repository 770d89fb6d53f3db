import { hasEnded, isBlobHash, taskStatuses, type TaskStatus } from "@deltawire/tasks";
import {
  cancelBody,
  decisionBody,
  taskInputBody,
  type ApprovalsReply,
} from "@deltawire/tasks/chats";
import type { AnswerPlaces } from "../chats/answer-places.ts";
import { chatsName, reachedCursors, readCursor, readTaskCursor } from "../tasks/follow/cursors.ts";
import type { EventStreams } from "../tasks/follow/event-streams.ts";
import { invalid } from "../parse-body.ts";
import { taskRequest } from "../tasks/task-request.ts";
import { taskNotFound } from "../tasks/task-problem.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { TaskRecords } from "../tasks/task-runtime.ts";
import { sendJson, type Call } from "./call.ts";
import { pageOf, readLimit } from "./listed-page.ts";
import { Problem } from "../problem.ts";
import { readBody } from "./request-body.ts";
import { sendBlob } from "./send-blob.ts";
import type { Handler, TaskHandlers } from "./server.ts";
import {
  approvalNotFound,
  byWhom,
  checkRoot,
  headerOf,
  idempotencyKey,
  sentKey,
  replaysAll,
  rootProblem,
  served,
  readStamp,
} from "./task-calls.ts";

export interface TaskServer {
  tasks: TaskService;
  streams: EventStreams;
  /** Where the chats are in which tasks answer; undefined: there are none. */
  places?: Pick<AnswerPlaces, "of">;
}

/** The handlers of all routes that are about tasks. */
export function taskHandlers(server: TaskServer): TaskHandlers {
  const handler = (serve: (call: Call, server: TaskServer) => Promise<void>): Handler =>
    served(serve, server);
  return {
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
}

async function startTask(call: Call, { tasks, streams }: TaskServer): Promise<void> {
  const { request, response } = call;
  const asked = await readBody(call, taskRequest);
  call.model = asked.model ?? asked.agent;
  const { taskId, isNew } = await tasks.start(asked, idempotencyKey(call));
  const headers = {
    location: `/api/tasks/${encodeURIComponent(taskId)}`,
    ...(isNew ? {} : { "idempotent-replayed": "true" }),
  };
  if (!/\btext\/event-stream\b/i.test(request.headers.accept ?? ""))
    return sendJson(response, 201, await viewOf(taskId, tasks), headers);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  await streams.serve(call, {
    cursors: [{ taskId, after: -1 }],
    several: false,
    replayAll: false,
    cameBack: false,
  });
}

async function listTasks({ response, url }: Call, { tasks }: TaskServer): Promise<void> {
  const { limit, ...query } = taskQuery(url.searchParams);
  const page = await pageOf(
    limit,
    (limit) => tasks.records.listTasks({ ...query, limit }),
    ({ task_id }) => task_id,
  );
  sendJson(response, 200, page);
}

const includable = ["task", "content"];

/**
 * `include=task` adds what the view leaves out: what was asked of whom, and what all of it cost. `include=content` adds what
 * the model said and received. Both: `include=task,content`.
 */
async function serveTask({ response, rest, url }: Call, { tasks }: TaskServer): Promise<void> {
  const include = url.searchParams.getAll("include").flatMap((names) => names.split(","));
  const unknown = include.find((name) => !includable.includes(name));
  if (unknown !== undefined)
    throw invalid("include", `expected "task", "content" or both ("task,content")`);
  const seen = await tasks.seen(rest);
  const view = include.includes("content") ? await tasks.viewWithContent(rest) : seen?.view;
  if (seen === undefined || view === undefined) throw taskNotFound(rest);
  if (!include.includes("task")) return sendJson(response, 200, view);
  const { info, tree_usage, ended } = seen.state;
  sendJson(response, 200, {
    ...view,
    task: info,
    tree_usage: tree_usage ?? null,
    ended: ended ?? null,
  });
}

async function serveTaskEvents(call: Call, { tasks, streams }: TaskServer): Promise<void> {
  const { request, rest: taskId, url } = call;
  const lastEventId = headerOf(request.headers["last-event-id"]);
  const asked = url.searchParams.get("after");
  // An EventSource that comes back still has the address that it began with.
  const after =
    lastEventId !== undefined
      ? readCursor(lastEventId, "Last-Event-ID")
      : asked !== null
        ? readCursor(asked, "after")
        : undefined;
  await checkRoot(taskId, tasks);
  await streams.serve(call, {
    cursors: [{ taskId, after }],
    several: false,
    replayAll: replaysAll(url.searchParams),
    cameBack: lastEventId !== undefined,
  });
}

/** The tasks that one connection may follow: every event's id names all of them. */
const mostTasks = 100;

/**
 * Tasks, and with `chats` the changes of chats, on one connection. A task that is gone is refused in the stream, so that the
 * rest goes on; by the status where there is no rest.
 */
async function serveEvents(call: Call, { tasks, streams }: TaskServer): Promise<void> {
  const { request, url } = call;
  const query = url.searchParams;
  const named = query.getAll("task").map((text) => readTaskCursor(text, "task"));
  const stamps = query
    .getAll(chatsName)
    .map((text) => (text === "" ? undefined : readStamp(text, chatsName)));
  if (stamps.length > 1) throw invalid(chatsName, "expected one stamp");
  if (named.length === 0 && stamps.length === 0)
    throw invalid("task", "expected at least one ?task=TASK:NUMBER, or ?chats=STAMP");
  if (named.length > mostTasks)
    throw invalid("task", `expected at most ${mostTasks} tasks, got ${named.length}`);
  if (new Set(named.map(({ taskId }) => taskId)).size < named.length)
    throw invalid("task", "the same task is named twice");
  const lastEventId = headerOf(request.headers["last-event-id"]);
  const reached = reachedCursors(lastEventId);
  const chats = stamps.map((stamp) => ({ after: reached.get(chatsName) ?? stamp }))[0];
  const refused: { taskId: string; problem: Problem }[] = [];
  for (const { taskId } of named) {
    const problem = await rootProblem(taskId, tasks);
    if (problem !== undefined) refused.push({ taskId, problem });
  }
  const [first] = refused;
  if (first !== undefined && refused.length === named.length && chats === undefined)
    throw first.problem;
  await streams.serve(call, {
    cursors: named
      .filter(({ taskId }) => !refused.some((one) => one.taskId === taskId))
      .map(({ taskId, after }) => ({ taskId, after: reached.get(taskId) ?? after })),
    chats,
    refused,
    several: true,
    replayAll: replaysAll(query),
    cameBack: lastEventId !== undefined,
  });
}

async function cancelTask(call: Call, { tasks }: TaskServer): Promise<void> {
  const { response, rest: taskId } = call;
  const { reason } = await readBody(call, cancelBody, { whenEmpty: {} });
  const outcome = await tasks.runtime.cancel(taskId, byWhom(call), reason);
  if (outcome === "unknown") throw taskNotFound(taskId);
  if (outcome === "canceled") await tasks.ended(taskId, longestCancelMs);
  const view = await viewOf(taskId, tasks);
  // Whoever stops a task twice has what it wants.
  if (outcome === "ended" && view.status !== "canceled") throw notRunning(taskId, view.status);
  sendJson(response, 200, view);
}

/** How long the answer waits for the end; the task ends in any case. */
const longestCancelMs = 1000;

async function addInput(call: Call, { tasks }: TaskServer): Promise<void> {
  const { response, rest: taskId } = call;
  const input = await readBody(call, taskInputBody);
  const outcome = await tasks.tell(taskId, input, idempotencyKey(call));
  if (outcome === "unknown") throw taskNotFound(taskId);
  if (outcome === "ended") throw notRunning(taskId, (await viewOf(taskId, tasks)).status);
  const headers = outcome === "added" ? {} : { "idempotent-replayed": "true" };
  sendJson(response, 200, { task_id: taskId, delivery: input.delivery }, headers);
}

/** Of the tasks that have ended none is looked at. */
async function listApprovals({ response }: Call, { tasks, places }: TaskServer): Promise<void> {
  const pending = await tasks.runtime.pending();
  const chats = await places?.of(new Set(pending.map(({ root_task_id }) => root_task_id)));
  const data = pending.map((one) => {
    const chat = chats?.get(one.root_task_id);
    return chat === undefined ? one : { ...one, chat };
  });
  sendJson(response, 200, { data } satisfies ApprovalsReply);
}

async function decideApproval(call: Call, { tasks }: TaskServer): Promise<void> {
  const { response, rest: approvalId } = call;
  const { arguments: args, ...decision } = await readBody(call, decisionBody);
  const key = sentKey(call);
  const outcome = await tasks.runtime.decide(approvalId, {
    ...decision,
    ...(args === undefined
      ? {}
      : { arguments: typeof args === "string" ? args : JSON.stringify(args) }),
    by: byWhom(call),
    ...(key === undefined ? {} : { idempotency_key: key }),
  });
  switch (outcome.is) {
    case "resolved":
      return sendJson(response, 200, { approval: outcome.approval });
    case "repeated":
      return sendJson(
        response,
        200,
        { approval: outcome.approval },
        { "idempotent-replayed": "true" },
      );
    case "late": {
      const { approval } = outcome;
      const { resolution, status, task_id } = approval;
      if (status === "pending") throw notRunning(task_id, (await viewOf(task_id, tasks)).status);
      throw new Problem(
        "approval_resolved",
        resolution === undefined
          ? `the approval is no longer open: it is ${status}`
          : `${resolution.by} was first and decided: ${resolution.decision}`,
        { beside: { approval } },
      );
    }
    case "invalid":
      throw new Problem("invalid_request", outcome.message, {
        param: /^(\w+):/.exec(outcome.message)?.[1],
      });
    case "unknown":
      throw approvalNotFound(approvalId);
  }
}

async function serveBlob({ request, response, rest }: Call, { tasks }: TaskServer): Promise<void> {
  const blob = isBlobHash(rest) ? await tasks.records.get(rest) : undefined;
  if (blob === undefined)
    throw new Problem("blob_not_found", "there is no such blob; it may have been removed");
  sendBlob(response, request.headers, rest, blob);
}

async function viewOf(taskId: string, tasks: TaskService) {
  const view = await tasks.view(taskId);
  if (view === undefined) throw taskNotFound(taskId);
  return view;
}

function notRunning(taskId: string, status: TaskStatus): Problem {
  if (hasEnded(status)) return new Problem("task_ended", `${taskId} has ended: it is ${status}`);
  return new Problem("task_not_running", `${taskId} waits to be taken up again; try again soon`, {
    retryAfter: 5,
  });
}

function taskQuery(query: URLSearchParams): Parameters<TaskRecords["listTasks"]>[0] {
  const before = query.get("before");
  const session = query.get("session_id");
  const status = query.get("status");
  if (status !== null && !taskStatuses.some((each) => each === status))
    throw invalid("status", `expected one of ${taskStatuses.join(", ")}`);
  return {
    limit: readLimit(query),
    ...(before === null ? {} : { before }),
    ...(session === null ? {} : { session }),
    ...(status === null ? {} : { status }),
  };
}
