import { quoted } from "@deltawire/tasks";
import { invalid } from "../parse-body.ts";
import { taskNotFound, taskProblem } from "../tasks/task-problem.ts";
import type { TaskService } from "../tasks/task-service.ts";
import type { Call } from "./call.ts";
import { Problem } from "../problem.ts";
import type { Handler } from "./server.ts";

/* What all routes that are about tasks have in common. */

/** What the runtime or the store refuses becomes what a client is told. */
export function served<Server>(
  serve: (call: Call, server: Server) => Promise<void>,
  server: Server,
): Handler {
  return async (call) => {
    try {
      await serve(call, server);
    } catch (error) {
      throw taskProblem(error);
    }
  };
}

/** Only root tasks have streams of their own. */
export async function checkRoot(taskId: string, tasks: TaskService): Promise<void> {
  const problem = await rootProblem(taskId, tasks);
  if (problem !== undefined) throw problem;
}

/** Why a task has no stream; undefined: it has. */
export async function rootProblem(
  taskId: string,
  { records }: TaskService,
): Promise<Problem | undefined> {
  const rootTaskId = await records.rootOf(taskId);
  if (rootTaskId === undefined) return taskNotFound(taskId);
  if (rootTaskId === taskId) return undefined;
  return new Problem(
    "not_a_root_task",
    `${taskId} is a sub-agent's task, whose events are among those of ${rootTaskId}; follow that`,
    { beside: { root_task_id: rootTaskId } },
  );
}

/** Who decides or cancels, for the log of the task. */
export function byWhom({ client }: Call): string {
  return client?.name ?? "user";
}

export function replaysAll(query: URLSearchParams): boolean {
  const given = query.get("replay");
  if (given !== null && given !== "all") throw invalid("replay", 'expected "all", or nothing');
  return given === "all";
}

/** Of a change of a chat, as it stands in an address or in a header. */
export function readStamp(text: string, param: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid(param, `expected the stamp of a change, got "${text.slice(0, 50)}"`);
}

export function approvalNotFound(approvalId: string): Problem {
  return new Problem("approval_not_found", `there is no approval ${quoted(approvalId)}`);
}

/** Keys of one client are nothing to another. */
export function idempotencyKey(call: Call): string | undefined {
  const key = sentKey(call);
  return key === undefined ? undefined : JSON.stringify([call.client?.name ?? "", key]);
}

/** The Idempotency-Key as it was sent. Throws if it is too long. */
export function sentKey({ request }: Call): string | undefined {
  const key = headerOf(request.headers["idempotency-key"]);
  if (key !== undefined && key.length > longestKey)
    throw new Problem("invalid_header", `Idempotency-Key: at most ${longestKey} characters`, {
      param: "Idempotency-Key",
    });
  return key;
}

const longestKey = 255;

export function headerOf(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === "" ? undefined : text;
}
