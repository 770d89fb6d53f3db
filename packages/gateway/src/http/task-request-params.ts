import { invalidRequest } from "../parse-body.ts";
import { createTaskNotFoundError, toTaskError } from "../tasks/task-errors.ts";
import type { TaskService } from "../tasks/task-service.ts";
import { getClientScope, type RequestContext } from "./request-context.ts";
import { GatewayError } from "../gateway-error.ts";
import type { RouteHandler } from "./server.ts";

/* Shared by all task routes. */

/** Wraps a handler so that errors of the runtime and the store become GatewayErrors. */
export function withTaskErrors<Services>(
  serve: (context: RequestContext, services: Services) => Promise<void>,
  services: Services,
): RouteHandler {
  return async (context) => {
    try {
      await serve(context, services);
    } catch (error) {
      throw toTaskError(error);
    }
  };
}

/** Throws a GatewayError unless the task is a root task of the owner: only root tasks have their own event stream. */
export async function assertRootTask(
  taskId: string,
  owner: string,
  tasks: TaskService,
): Promise<void> {
  const problem = await findRootTaskError(taskId, owner, tasks);
  if (problem !== undefined) throw problem;
}

/** Returns the error for a task that does not exist, belongs to another owner, or is not a root task; else undefined. */
export async function findRootTaskError(
  taskId: string,
  owner: string,
  { records }: TaskService,
): Promise<GatewayError | undefined> {
  if (!(await records.owns(owner, "task", taskId))) return createTaskNotFoundError(taskId);
  const rootTaskId = await records.findRootTask(taskId);
  if (rootTaskId === undefined) return createTaskNotFoundError(taskId);
  if (rootTaskId === taskId) return undefined;
  return new GatewayError(
    "not_a_root_task",
    `${taskId} is a sub-agent's task; its events are in the stream of ${rootTaskId}`,
    { extraFields: { root_task_id: rootTaskId } },
  );
}

/** Adds the client's access key to a task, so that the task's model requests count toward the limits of the key. */
export function withAccessKey<Request extends object>(
  request: Request,
  { accessKey }: RequestContext,
): Request & { access_key?: string } {
  return accessKey === undefined ? request : { ...request, access_key: accessKey.id };
}

/** Returns the name that the task's log shows for a decision or a cancellation: the client, or `user`. */
export function getActorName({ client }: RequestContext): string {
  return client?.name ?? "user";
}

export function parseReplayAll(query: URLSearchParams): boolean {
  const value = query.get("replay");
  if (value !== null && value !== "all") throw invalidRequest("replay", 'expected "all"');
  return value === "all";
}

/** Parses the stamp of a chat change from a query parameter or a header. */
export function parseStamp(text: string, param: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalidRequest(param, `expected the stamp of a change, got "${text.slice(0, 50)}"`);
}

/** Returns the Idempotency-Key with the name of the client, because clients do not share keys. */
export function getScopedIdempotencyKey(context: RequestContext): string | undefined {
  const key = readIdempotencyKey(context);
  return key === undefined ? undefined : JSON.stringify([getClientScope(context), key]);
}

/** Returns the Idempotency-Key header unchanged. Throws a GatewayError if it is too long. */
export function readIdempotencyKey({ request }: RequestContext): string | undefined {
  const key = getFirstHeaderValue(request.headers["idempotency-key"]);
  if (key !== undefined && key.length > maxKeyLength)
    throw new GatewayError(
      "invalid_header",
      `Idempotency-Key: expected at most ${maxKeyLength} characters`,
      {
        param: "Idempotency-Key",
      },
    );
  return key;
}

const maxKeyLength = 255;

export function getFirstHeaderValue(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === "" ? undefined : text;
}
