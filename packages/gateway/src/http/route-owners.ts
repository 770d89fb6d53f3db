import type { OwnedKind, Store } from "@deltawire/store";
import { assertNever, quoteExcerpt } from "@deltawire/tasks";
import { GatewayError } from "../gateway-error.ts";
import { createTaskNotFoundError, toTaskError } from "../tasks/task-errors.ts";
import type { RequestContext } from "./request-context.ts";
import type { RouteHandler, TaskRouteHandlers, TaskRouteName } from "./server.ts";

/**
 * The kind of data that the `{…}` in the path of a route identifies, for the owner check. `none`: not checked, because the
 * handler reads and changes only data of `context.owner`.
 */
export const ownedPathParams = {
  "start task": "none",
  tasks: "none",
  task: "task",
  "task events": "task",
  "cancel task": "task",
  "task input": "task",
  approvals: "none",
  "decide approval": "approval",
  events: "none",
  "ui messages": "none",
  // The session of a client; the handler finds only sessions of the owner.
  "resume ui messages": "none",
  blob: "blob",
  chats: "none",
  "create chat": "none",
  "chat events": "none",
  "chat choices": "none",
  "chat tags": "none",
  "import chats": "none",
  "open chat": "chat",
  "delete chat": "chat",
  "restore chat": "chat",
  "edit chat": "chat",
  "undo deletion": "chat",
  "send message": "chat",
  "rerun answer": "chat",
  "edit message": "chat",
  "continue answer": "chat",
  "stop answers": "chat",
  "extract chat": "chat",
  "export chat": "chat",
  "chat removals": "chat",
  "chat variables": "chat",
  "upload blob": "none",
} as const satisfies Readonly<Record<TaskRouteName, OwnedKind | "none">>;

/** Lets handlers only see what belongs to the owner of the request: everything else is reported like an unknown id. */
export function withOwnerChecks(
  handlers: TaskRouteHandlers,
  store: Pick<Store, "owns">,
): TaskRouteHandlers {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => {
      const kind = ownedPathParams[name as TaskRouteName];
      if (kind === "none") return [name, handler];
      const checkedHandler: RouteHandler = async (context) => {
        try {
          await assertOwned(context, kind, store);
        } catch (error) {
          throw toTaskError(error);
        }
        return handler(context);
      };
      return [name, checkedHandler];
    }),
  );
}

async function assertOwned(
  { owner, pathParam: id }: RequestContext,
  kind: OwnedKind,
  store: Pick<Store, "owns">,
): Promise<void> {
  if (!(await store.owns(owner, kind, id))) throw createNotFoundError(kind, id);
}

/** Returns the error for an id that does not exist or belongs to another owner. */
export function createNotFoundError(kind: OwnedKind, id: string): GatewayError {
  switch (kind) {
    case "task":
      return createTaskNotFoundError(id);
    case "approval":
      return new GatewayError("approval_not_found", `approval ${quoteExcerpt(id)} not found`);
    case "chat":
      return new GatewayError("chat_not_found", `chat ${quoteExcerpt(id)} not found`);
    case "blob":
      return new GatewayError("blob_not_found", "blob not found; it may have been removed");
    default:
      return assertNever(kind);
  }
}
